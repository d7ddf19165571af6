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

/* Decode at most so far ahead of redo, or behind it, bytes: WAL takes room in the page cache. */
#define DECODE_AHEAD	(256 * 1024 * 1024)

/* Time between two attempts where WAL ended, us. */
#define RETRY_US		5000

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
	uint32_t	recent = needed_blocks__recent(available__bytes(), control->block_size);
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
	stream__check_timeline(stream, 0, 0, start->lsn);
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

/* Read another timeline, which branched off at "begin" from what has been read so far. */
static void
switch_timeline(struct stream *stream, uint32_t timeline, uint64_t begin, uint64_t replay_lsn)
{
	struct wal_segments other;

	if (wal_segments__open(&other, stream->directory, stream->segments.segment_bytes, timeline,
						   NULL) < 0)
	{
		log_debug("not following timeline %" PRIu32 ": %s", timeline, other.message);
		return;
	}
	log_info("following timeline %" PRIu32, timeline);
	wal_segments__close(&stream->segments);
	stream->segments = other;
	stream->retry_us = 0;
	stream->reader.buffer_bytes = 0;	/* WAL of the other timeline */
	/* What was decoded beyond that is not what redo will replay. */
	if (stream->reader.next_lsn > begin)
		stream->found = wal_reader__find(&stream->reader, begin > replay_lsn ? begin :
										 replay_lsn) == WAL_READER_RECORD;
}

/* Is a segment of a timeline among those that we read? */
static bool
is_read(const struct stream *stream, uint32_t timeline, uint64_t segment)
{
	const struct timeline_history *history = &stream->segments.history;
	uint32_t	bytes = stream->segments.segment_bytes;

	for (unsigned i = 0; i < history->count; i++)
		if (history->entries[i].timeline == timeline)
			return segment >= history->entries[i].begin / bytes &&
				segment <= history->entries[i].end / bytes;
	return false;
}

/*
 * Read the timeline that the server reads: that of the segment in the title of its startup
 * process (0: not known); at its end it takes the newest one that goes on from there, if
 * it is not told otherwise.
 */
void
stream__check_timeline(struct stream *stream, uint32_t timeline, uint64_t segment,
					   uint64_t replay_lsn)
{
	const struct timeline_history *history = &stream->segments.history;
	uint64_t	begin;
	uint32_t	newer;

	if (timeline != 0 && !is_read(stream, timeline, segment))
	{
		stream->chosen = true;
		switch_timeline(stream, timeline, replay_lsn, replay_lsn);
		return;
	}
	if (stream->chosen)
		return;
	newer = wal_segments__descendant(&stream->segments,
									 history->entries[history->count - 1].timeline, replay_lsn, &begin);
	if (newer != 0)
		switch_timeline(stream, newer, begin, replay_lsn);
}

/* WAL ends here at present.  Prepare the next attempt. */
static void
end_for_now(struct stream *stream, uint64_t replay_lsn, uint64_t now_us)
{
	stream->retry_us = now_us + RETRY_US;
	wal_segments__forget(&stream->segments);
	lock_spool(stream);
	/* Redo is ahead: continue there. */
	if (replay_lsn > stream->reader.next_lsn)
	{
		log_debug("WAL ended for us, but redo goes on: %s", stream->reader.message);
		stream->found = wal_reader__find(&stream->reader, replay_lsn) == WAL_READER_RECORD;
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
	/* Behind by so much, there is nothing to gain before redo's position. */
	if (!stream->found || replay_lsn > stream->reader.next_lsn + DECODE_AHEAD)
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
