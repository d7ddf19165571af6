/*
 * writeback.h
 *		The write buffer of a drive.
 */
#ifndef DISKMODEL_WRITEBACK_H
#define DISKMODEL_WRITEBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "geometry.h"

#define WRITEBACK_ENTRIES	1024

/* A write that the drive has confirmed and not done yet. */
struct writeback_entry
{
	uint64_t	offset;			/* bytes */
	uint32_t	length;			/* bytes */
	uint64_t	number;			/* counts writes */
};

struct writeback
{
	struct writeback_entry entries[WRITEBACK_ENTRIES];	/* oldest first */
	unsigned	count;			/* entries in use */
	uint64_t	bytes;			/* in them, bytes */
	uint64_t	last_number;	/* of the newest write, 0: there was none */
};

bool		writeback__add(struct writeback *buffer, uint64_t offset, uint32_t length);
bool		writeback__covers(const struct writeback *buffer, uint64_t offset, uint32_t length);
bool		writeback__half_full(const struct writeback *buffer);
bool		writeback__settled(const struct writeback *buffer, uint64_t number);
unsigned	writeback__choose(const struct writeback *buffer, const struct geometry *geometry,
							  uint64_t track, uint64_t time, uint64_t last);
void		writeback__remove(struct writeback *buffer, unsigned index);

#endif							/* DISKMODEL_WRITEBACK_H */
