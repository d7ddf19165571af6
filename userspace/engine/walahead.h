/*
 * walahead.h
 *		Which part of the WAL to read before it is decoded.
 */
#ifndef REDOAHEAD_ENGINE_WALAHEAD_H
#define REDOAHEAD_ENGINE_WALAHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/block_queue.h"

struct walahead
{
	uint32_t	timeline;		/* of the files; 0: read no WAL */
	uint32_t	segment_bytes;	/* size of a segment, bytes */
	uint32_t	block_size;		/* of the requests' blocks, bytes */
	uint64_t	next;			/* all before this LSN has been submitted */
};

void		walahead__begin(struct walahead *wal, const struct relpath_layout *layout);
bool		walahead__next(struct walahead *wal, uint64_t limit_bytes, uint64_t decode_lsn,
						   uint64_t known_lsn, struct block_run *run);
void		walahead__take(struct walahead *wal, const struct block_run *run);

#endif							/* REDOAHEAD_ENGINE_WALAHEAD_H */
