/*
 * timeline.h
 *		The timelines that a server's WAL went through.
 */
#ifndef REDOAHEAD_WAL_TIMELINE_H
#define REDOAHEAD_WAL_TIMELINE_H

#include <stdint.h>
#include <stdio.h>

/* Most timelines in a history; a server adds one each time it is promoted. */
#define TIMELINE_MAX_ENTRIES	4096

/* Room for a message about a history file, bytes. */
#define TIMELINE_MESSAGE_BYTES	256

/* One timeline. */
struct timeline_entry
{
	uint32_t	timeline;		/* its ID */
	uint64_t	begin;			/* position from which it has the WAL */
	uint64_t	end;			/* position from which a newer one has it */
};

/* All timelines up to the present one, which is the last. */
struct timeline_history
{
	struct timeline_entry *entries; /* in ascending order */
	unsigned	count;			/* how many */
};

int			timeline__parse(struct timeline_history *history, uint32_t timeline, FILE *file,
							char message[TIMELINE_MESSAGE_BYTES]);
int			timeline__read(struct timeline_history *history, uint32_t timeline, int dirfd,
						   char message[TIMELINE_MESSAGE_BYTES]);
void		timeline__destroy(struct timeline_history *history);

#endif							/* REDOAHEAD_WAL_TIMELINE_H */
