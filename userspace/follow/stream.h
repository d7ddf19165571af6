/*
 * stream.h
 *		References of the WAL of a cluster, decoded ahead of redo.
 */
#ifndef REDOAHEAD_FOLLOW_STREAM_H
#define REDOAHEAD_FOLLOW_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/cluster.h"
#include "cluster/controlfile.h"
#include "cluster/recoverystart.h"
#include "wal/needed_blocks.h"
#include "wal/reader.h"
#include "wal/segments.h"

struct stream
{
	bool		open;			/* between stream__begin() and stream__end() */
	char		directory[PATH_MAX];	/* of the WAL */
	struct wal_segments segments;	/* its files */
	struct wal_reader reader;	/* its records */
	struct needed_blocks needed;	/* which blocks redo reads */
	bool		found;			/* the reader is at a record */
	uint64_t	retry_us;		/* where WAL ended, time of the next attempt, us */
	bool		chosen;			/* the server has chosen another timeline than the newest */
	uint64_t	records;		/* records decoded */
	int			spool_fd;		/* the spool of `redoahead restore`, locked; -1: none */
};

int			stream__begin(struct stream *stream, const struct cluster *cluster,
						  const struct controlfile *control, const struct recoverystart *start);
void		stream__end(struct stream *stream);
void		stream__check_timeline(struct stream *stream, uint32_t timeline, uint64_t segment,
								   uint64_t replay_lsn);
unsigned	stream__next(struct stream *stream, uint64_t replay_lsn, uint64_t now_us,
						 struct redoahead_ref out[NEEDED_BLOCKS_MAX], bool *more);

#endif							/* REDOAHEAD_FOLLOW_STREAM_H */
