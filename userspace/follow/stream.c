/*
 * stream.c
 *		References of the WAL of a cluster, decoded ahead of redo.
 *
 * WAL is read from pg_wal, where the server puts what it gets from an archive or a
 * primary, too.  Where it ends, the next attempt comes a few milliseconds later, with the
 * file opened anew: another one may have been put in its place.  If redo has gone on
 * behind that position, decoding begins again where redo is.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/log.h"
#include "common/available.h"
#include "follow/stream.h"

/* Decode at most so far ahead of redo, bytes: WAL, too, takes room in the page cache. */
#define DECODE_AHEAD	(256 * 1024 * 1024)

/* Time between two attempts where WAL ended, us. */
#define RETRY_US		5000

/* Time between two searches for a new timeline, us. */
#define TIMELINE_US		1000000

/* The recent-block cache is created for at most so many blocks. */
#define RECENT_BLOCKS	(1024 * 1024)

/*
 * And for one in so many blocks of available memory.  It holds at most a quarter of them
 * then; with more, blocks would be taken for resident that are evicted.
 */
#define RECENT_PART		(4 * RECENT_BLOCKS_EXCESS)

/* Open the WAL of a timeline.  Returns 0, or -errno after a message. */
static int
open_segments(struct stream *stream, uint32_t segment_bytes, uint32_t timeline)
{
	int			err = wal_segments__open(&stream->segments, stream->directory, segment_bytes,
										 timeline, NULL);

	if (err < 0)
		log_warning("cannot follow the WAL: %s", stream->segments.message);
	return err;
}

/*
 * If segments are fetched ahead, let `redoahead restore` know that their blocks are read:
 * it reads them itself while nobody holds a lock on the directory.
 */
static void
lock_spool(struct stream *stream)
{
	if (stream->spool_fd >= 0)
		return;
	stream->spool_fd = openat(stream->segments.dirfd, WAL_SPOOL_NAME,
							  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (stream->spool_fd >= 0 && flock(stream->spool_fd, LOCK_SH | LOCK_NB) < 0)
	{
		close(stream->spool_fd);
		stream->spool_fd = -1;
	}
}

/* Begin to decode.  Returns 0, or -errno after a message. */
int
stream__begin(struct stream *stream, const struct cluster *cluster,
			  const struct controlfile *control, const struct recoverystart *start)
{
	uint64_t	memory_blocks = available__bytes() / control->block_size / RECENT_PART;
	uint32_t	recent = memory_blocks < RECENT_BLOCKS ? (uint32_t) memory_blocks : RECENT_BLOCKS;
	struct wal_reader_options options = {
		.source = {wal_segments__read, &stream->segments},
		.system_identifier = control->system_identifier,
		.segment_bytes = control->wal_segment_bytes,
		.page_bytes = control->wal_page_bytes,
		.block_size = control->block_size,
	};
	int			err;

	*stream = (struct stream) {.segments = {.fd = -1,.dirfd = -1},.spool_fd = -1};
	if (snprintf(stream->directory, sizeof(stream->directory), "%s/pg_wal", cluster->path) >=
		(int) sizeof(stream->directory))
		return -ENAMETOOLONG;
	err = open_segments(stream, options.segment_bytes, start->timeline);
	if (err < 0)
		return err;
	err = wal_reader__create(&stream->reader, &options);
	if (err == 0)
		err = needed_blocks__create(&stream->needed, control->block_size, control->commit_ts, recent);
	stream->open = true;
	if (err < 0)
	{
		log_warning("cannot follow the WAL: %s", strerror(-err));
		stream__end(stream);
		return err;
	}
	wal_reader__begin(&stream->reader, start->lsn);
	stream->found = true;
	lock_spool(stream);
	return 0;
}

void
stream__end(struct stream *stream)
{
	if (!stream->open)
		return;
	needed_blocks__destroy(&stream->needed);
	wal_reader__destroy(&stream->reader);
	wal_segments__close(&stream->segments);
	if (stream->spool_fd >= 0)
		close(stream->spool_fd);
	stream->open = false;
}

/* If there is a later timeline that goes on from this one, read that. */
static void
follow_timeline(struct stream *stream)
{
	const struct timeline_history *history = &stream->segments.history;
	uint32_t	timeline = history->entries[history->count - 1].timeline;
	uint32_t	latest = wal_segments__latest_timeline(&stream->segments);
	struct wal_segments newer;
	bool		follows = false;

	if (latest <= timeline)
		return;
	if (wal_segments__open(&newer, stream->directory, stream->segments.segment_bytes, latest,
						   NULL) < 0)
	{
		log_debug("not following timeline %" PRIu32 ": %s", latest, newer.message);
		return;
	}
	for (unsigned i = 0; i + 1 < newer.history.count; i++)
		follows = follows || (newer.history.entries[i].timeline == timeline &&
							  newer.history.entries[i + 1].begin >= stream->reader.previous_lsn);
	if (!follows)
	{
		wal_segments__close(&newer);
		return;
	}
	log_info("following timeline %" PRIu32, latest);
	wal_segments__close(&stream->segments);
	stream->segments = newer;
}

/* WAL ends here at present.  Prepare the next attempt. */
static void
end_for_now(struct stream *stream, uint64_t replay_lsn, uint64_t now_us)
{
	stream->retry_us = now_us + RETRY_US;
	wal_segments__forget(&stream->segments);
	lock_spool(stream);
	/* Redo knows better. */
	if (replay_lsn > stream->reader.next_lsn)
	{
		log_debug("WAL ended for us, but redo goes on: %s", stream->reader.message);
		stream->found = wal_reader__find(&stream->reader, replay_lsn) == WAL_READER_RECORD;
	}
	if (now_us >= stream->timeline_us)
	{
		stream->timeline_us = now_us + TIMELINE_US;
		follow_timeline(stream);
	}
}

/*
 * Decode the next record, and return the blocks that redo of it reads, unless redo is
 * behind it already.  *more is false if there is no further record to decode now.
 */
unsigned
stream__next(struct stream *stream, uint64_t replay_lsn, uint64_t now_us,
			 struct redoahead_ref out[NEEDED_BLOCKS_MAX], bool *more)
{
	unsigned	count;

	*more = false;
	if (now_us < stream->retry_us || stream->reader.next_lsn > replay_lsn + DECODE_AHEAD)
		return 0;
	if (!stream->found)
		stream->found = wal_reader__find(&stream->reader, replay_lsn) == WAL_READER_RECORD;
	if (!stream->found || wal_reader__next(&stream->reader) != WAL_READER_RECORD)
	{
		end_for_now(stream, replay_lsn, now_us);
		return 0;
	}
	*more = true;
	stream->retry_us = 0;
	stream->records++;
	count = needed_blocks__of_record(&stream->needed, &stream->reader.record, replay_lsn, out);
	return stream->reader.record.lsn >= replay_lsn ? count : 0;
}
