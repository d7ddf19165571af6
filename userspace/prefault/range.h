/*
 * range.h
 *		The part of WAL that a word on the command line names.
 */
#ifndef REDOAHEAD_PREFAULT_RANGE_H
#define REDOAHEAD_PREFAULT_RANGE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* Behind all WAL. */
#define RANGE_OPEN_END	UINT64_MAX

struct range
{
	char		directory[PATH_MAX];	/* where its segments are */
	uint32_t	timeline;		/* whose WAL, with that of the timelines before */
	uint64_t	from;			/* records that begin here or behind */
	uint64_t	to;				/* and before this position, or RANGE_OPEN_END */
	bool		may_end;		/* WAL may end before that */
};

int			range__parse(struct range *range, const char *word, const char *directory,
						 uint32_t timeline, uint32_t segment_bytes);

#endif							/* REDOAHEAD_PREFAULT_RANGE_H */
