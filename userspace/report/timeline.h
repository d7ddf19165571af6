/*
 * timeline.h
 *		The progress of a recovery, in samples.
 */
#ifndef REDOAHEAD_REPORT_TIMELINE_H
#define REDOAHEAD_REPORT_TIMELINE_H

#include <stdint.h>
#include <stdio.h>

#include "engine/engine.h"

/* Time between two lines, us. */
#define TIMELINE_US		100000

/* One sample. */
struct timeline_sample
{
	uint64_t	at_us;			/* since the recovery was connected, us */
	uint64_t	replay_lsn;		/* all records before it have been replayed */
	struct engine_state engine; /* blocks queued, in flight and ahead */
	unsigned	io_depth;		/* most blocks that may be in flight */
	unsigned	gap_bytes;		/* longest gap that a request reads */
	unsigned	readahead_limit;	/* most blocks that may be ahead */
	uint64_t	blocks_read;	/* blocks read so far */
};

void		timeline__begin(FILE *file);
void		timeline__add(FILE *file, const struct timeline_sample *sample);

#endif							/* REDOAHEAD_REPORT_TIMELINE_H */
