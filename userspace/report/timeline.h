/*
 * timeline.h
 *		How a recovery went, moment by moment.
 */
#ifndef REDOAHEAD_REPORT_TIMELINE_H
#define REDOAHEAD_REPORT_TIMELINE_H

#include <stdint.h>

/* Time between two lines, us. */
#define TIMELINE_US		100000

/* One moment. */
struct timeline_moment
{
	uint64_t	at_us;			/* since the recovery was attached, us */
	uint64_t	replay_lsn;		/* start of the record being replayed */
	unsigned	waiting;		/* blocks not asked for yet */
	unsigned	in_flight;		/* blocks asked for and not there yet */
	unsigned	ahead;			/* blocks asked for and not used by redo yet */
	unsigned	depth;			/* most blocks that may be in flight */
	unsigned	window;			/* most blocks that may be ahead */
	uint64_t	blocks_read;	/* blocks brought in so far */
};

struct timeline;

int			timeline__open(struct timeline **timeline, const char *path);
void		timeline__add(struct timeline *timeline, const struct timeline_moment *moment);
void		timeline__close(struct timeline *timeline);

#endif							/* REDOAHEAD_REPORT_TIMELINE_H */
