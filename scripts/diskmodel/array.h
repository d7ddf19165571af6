/*
 * array.h
 *		All modelled disks, their data, and their clock.
 */
#ifndef DISKMODEL_ARRAY_H
#define DISKMODEL_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "backing.h"
#include "disk.h"

#define ARRAY_MAX_DISKS		32

enum array_phase
{
	ARRAY_LOADING,				/* no request waits for the model */
	ARRAY_RUNNING				/* requests take as long as the model computes */
};

/* How well the model keeps its own time, since the last reset. */
struct array_health
{
	uint64_t	modelled;		/* requests whose time the model decided */
	uint64_t	late;			/* of those, answered over 1 ms after that time */
	uint64_t	backing_slow;	/* of the late ones, those that waited for their data */
	uint64_t	late_max;		/* the latest of them, ns */
	uint64_t	late_total;		/* how late they were together, ns */
	uint64_t	response_total; /* what the model wanted all requests to take, ns */
};

struct array;

/*
 * One request and its data.  The array calls `done` when both the model and
 * the backing file are done with it.
 */
struct transfer
{
	struct request request;		/* what the model sees */
	unsigned	disk;			/* which disk */
	void	   *buffer;			/* page aligned; not of a flush */
	int			error;			/* 0, or the errno of the backing file */
	bool		modelled;		/* the model is done with it */
	bool		moved;			/* the backing file is done with it */
	void		(*done) (struct transfer *transfer);
};

/* What an array is made of. */
struct array_settings
{
	enum disk_kind kind;		/* which model */
	unsigned	disks;			/* 1 to ARRAY_MAX_DISKS */
	uint64_t	disk_bytes;		/* of each, bytes */
	const char *directory;		/* where the backing files are */
};

int			array__create(struct array **array, const struct array_settings *settings);
void		array__destroy(struct array *array);
int			array__poll_fd(const struct array *array);
void		array__start(struct array *array, struct transfer *transfer);
void		array__advance(struct array *array);
uint64_t	array__wait_ns(const struct array *array, bool *undisturbed);
void		array__set_phase(struct array *array, enum array_phase phase);
void		array__fail_reads(struct array *array, uint64_t reads);
void		array__stall(struct array *array, uint64_t duration);
char	   *array__describe(const struct array *array);

#endif							/* DISKMODEL_ARRAY_H */
