/*
 * readahead.h
 *		The read cache of a drive.
 */
#ifndef DISKMODEL_READAHEAD_H
#define DISKMODEL_READAHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "geometry.h"

#define READAHEAD_SEGMENTS	16

/* A range of the disk that is in the cache; empty if start == end. */
struct readahead_segment
{
	uint64_t	start;			/* bytes */
	uint64_t	end;			/* bytes */
};

struct readahead
{
	struct readahead_segment segments[READAHEAD_SEGMENTS];	/* reused in turn */
	unsigned	newest;			/* index of the one that was started last */
	bool		reading;		/* the head is behind its end and reads on */
	uint64_t	since;			/* when the head was at its end, ns */
	uint64_t	demanded;		/* end of what was requested from it, bytes */
	uint64_t	disk_bytes;		/* there is nothing to read after this, bytes */
};

void		readahead__reset(struct readahead *cache, uint64_t disk_bytes);
bool		readahead__lookup(const struct readahead *cache, const struct geometry *geometry,
							  uint64_t offset, uint32_t length, uint64_t time, uint64_t *there);
void		readahead__use(struct readahead *cache, const struct geometry *geometry,
						   uint64_t offset, uint32_t length, uint64_t there);
void		readahead__start(struct readahead *cache, uint64_t offset, uint32_t length,
							 uint64_t time);
bool		readahead__stop(struct readahead *cache, const struct geometry *geometry,
							uint64_t time, uint64_t *head);
void		readahead__forget(struct readahead *cache, uint64_t offset, uint32_t length);

#endif							/* DISKMODEL_READAHEAD_H */
