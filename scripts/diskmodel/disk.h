/*
 * disk.h
 *		A modelled disk: takes requests and computes when they complete.
 *
 * The caller passes the time, in ns; it must not run backwards.
 */
#ifndef DISKMODEL_DISK_H
#define DISKMODEL_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "request.h"

enum disk_kind
{
	DISK_HDD,					/* a 7200 rpm spindle */
	DISK_GP3					/* a network volume with a limit of requests per second */
};

/* What a disk did since the last reset. */
struct disk_counters
{
	uint64_t	reads;			/* requests done */
	uint64_t	writes;			/* requests confirmed */
	uint64_t	cache_hits;		/* reads that the drive's own cache answered */
	uint64_t	destaged;		/* buffered writes that went to the platter */
	double		busy;			/* of a spindle: serving requests, ns */
	double		seek;			/* of that, the arm moved, ns */
	double		rotation;		/* of that, waited for the sector, ns */
};

struct disk;

int			disk__create(struct disk **disk, enum disk_kind kind, uint64_t bytes, unsigned number);
void		disk__destroy(struct disk *disk);
void		disk__submit(struct disk *disk, struct request *request, uint64_t now);
uint64_t	disk__due(const struct disk *disk);
uint64_t	disk__busy_until(const struct disk *disk);
struct request *disk__take(struct disk *disk, uint64_t now);
void		disk__reset(struct disk *disk);
const struct disk_counters *disk__counters(const struct disk *disk);
unsigned	disk__pending(const struct disk *disk);

#endif							/* DISKMODEL_DISK_H */
