/*
 * prefault.c
 *		Reads the blocks into the page cache that redo of a part of WAL will read: each
 *		block once, in batches that are sorted by file and block.
 *
 * There is no redo to follow: a batch is given to the engine as a whole, which reads it
 * as if redo were waiting, and when it is read, redo counts as having used it.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/lsn.h"
#include "base/signals.h"
#include "cluster/cluster.h"
#include "cluster/controlfile.h"
#include "cluster/readers.h"
#include "cluster/recoverystart.h"
#include "common/available.h"
#include "engine/residency.h"
#include "engine/setup.h"
#include "prefault/prefault.h"
#include "prefault/prefault_report.h"
#include "prefault/range.h"
#include "wal/needed_blocks.h"
#include "wal/reader.h"
#include "wal/segments.h"

/* Most blocks in a batch, before memory bounds it. */
#define BATCH_BLOCKS		32768

/* A batch is at most one in so many blocks of the read-ahead limit, so that all of it fits. */
#define LIMIT_PART			2

/* Longest wait for reads, us. */
#define WAIT_US				10000

/* With a limited rate, a batch is what may be read in this time, s. */
#define RATE_BATCH_S		0.1

/* Time between two reports of progress, us. */
#define PROGRESS_US			1000000

struct prefault
{
	const struct prefault_options *options;
	struct cluster cluster;
	struct controlfile control;
	struct recoverystart start; /* of the next recovery */
	struct engine *engine;
	const struct backend_ops *backend;	/* how it reads */
	struct needed_blocks needed;	/* which blocks redo reads */
	uint32_t	relation[3];	/* tablespace, database and relfilenumber that are wanted */
	int			signal_fd;		/* SIGTERM and SIGINT */
	bool		stop;			/* one of them has arrived */
	unsigned	batch_limit;	/* blocks in a batch */
	unsigned	batch_count;	/* blocks in this one */
	struct redoahead_ref batch[BATCH_BLOCKS + NEEDED_BLOCKS_MAX];
	uint64_t	progress_us;	/* time of the last report of progress, us */
	struct prefault_summary summary;	/* what was done */
};

/* What sessions read; kept from one run to the next. */
static struct readers readers;

static bool
signal_arrived(struct prefault *prefault)
{
	struct pollfd signal = {.fd = prefault->signal_fd,.events = POLLIN};

	prefault->stop = prefault->stop || poll(&signal, 1, 0) > 0;
	return prefault->stop;
}

/* Wait until so many blocks as were read would have taken their time at the limited rate. */
static void
keep_rate(struct prefault *prefault)
{
	double		rate = prefault->options->limit_rate * 1e6;
	uint64_t	read = engine__counters(prefault->engine)->blocks_read;
	struct pollfd signal = {.fd = prefault->signal_fd,.events = POLLIN};
	double		due_us;
	double		now_us;

	if (rate == 0)
		return;
	due_us = (double) read * prefault->control.block_size / rate * 1e6;
	now_us = (double) (clock__now_us() - prefault->summary.begin_us);
	if (due_us > now_us)
		(void) poll(&signal, 1, (int) ((due_us - now_us) / 1000) + 1);
}

/* Read the batch, and wait until it is read.  Returns 0 or -errno. */
static int
read_batch(struct prefault *prefault)
{
	struct engine *engine = prefault->engine;
	uint64_t	begin_lsn = prefault->batch_count > 0 ? prefault->batch[0].lsn : 0;
	unsigned	offered = 0;
	int			err = 0;

	while (err >= 0 && !signal_arrived(prefault))
	{
		unsigned	part = prefault->batch_count - offered;
		unsigned	room = engine__room(engine);
		unsigned	queued;
		struct engine_state state;

		if (part > room)
			part = room;
		engine__offer(engine, prefault->batch + offered, part);
		offered += part;
		queued = engine__state(engine).queued;
		/* While sessions of a server read, their reads must not wait for ours. */
		engine__share(engine, readers__of_server(&readers, &prefault->cluster, clock__now_us()));
		err = engine__run(engine, begin_lsn, 0, WAIT_US, WAIT_US);
		state = engine__state(engine);
		/* If it submits no more, memory has become short: the rest is left out. */
		if (state.in_flight == 0 && err <= 0 && state.queued == queued &&
			(offered == prefault->batch_count || engine__room(engine) == 0))
			break;
	}
	if (err >= 0)
		err = engine__run(engine, UINT64_MAX, 0, 0, 0);
	prefault->batch_count = 0;
	if (err < 0)
		log_error("reading failed: %s; try --backend=fadvise", strerror(-err));
	keep_rate(prefault);
	return err < 0 ? err : 0;
}

/* How many blocks the next batch may have. */
static void
fit_batch(struct prefault *prefault)
{
	double		rate = prefault->options->limit_rate * 1e6;
	unsigned	limit = (unsigned) engine__control(prefault->engine)->readahead_limit / LIMIT_PART;

	if (limit > BATCH_BLOCKS)
		limit = BATCH_BLOCKS;
	if (rate > 0 && limit > rate * RATE_BATCH_S / prefault->control.block_size)
		limit = (unsigned) (rate * RATE_BATCH_S / prefault->control.block_size);
	prefault->batch_limit = limit > 0 ? limit : 1;
}

/* Is this a block of a relation that the user wants? */
static bool
is_wanted(const struct prefault *prefault, const struct redoahead_ref *ref)
{
	return prefault->options->relation == NULL ||
		(ref->kind == REDOAHEAD_KIND_RELATION && ref->spc == prefault->relation[0] &&
		 ref->db == prefault->relation[1] && ref->rel == prefault->relation[2]);
}

/* List or read the blocks that redo of a record needs.  Returns 0 or -errno. */
static int
take_record(struct prefault *prefault, const struct wal_record *record)
{
	struct redoahead_ref *refs = prefault->batch + prefault->batch_count;
	unsigned	count = needed_blocks__of_record(&prefault->needed, record, 0, refs);
	unsigned	wanted = 0;

	for (unsigned i = 0; i < count; i++)
		if (is_wanted(prefault, &refs[i]))
			refs[wanted++] = refs[i];
	prefault->summary.records++;
	prefault->summary.blocks += wanted;
	if (prefault->options->dry_run)
	{
		for (unsigned i = 0; i < wanted; i++)
			prefault_report__block(&refs[i]);
		return 0;
	}
	prefault->batch_count += wanted;
	if (prefault->batch_count < prefault->batch_limit)
		return 0;
	fit_batch(prefault);
	return read_batch(prefault);
}

/* Report progress, if it is time; "lsn" has been reached of "end". */
static void
report_progress(struct prefault *prefault, const struct range *range, uint64_t lsn, uint64_t end)
{
	uint64_t	now_us = clock__now_us();

	if (!prefault->options->progress || now_us - prefault->progress_us < PROGRESS_US)
		return;
	prefault->progress_us = now_us;
	prefault_report__progress(&prefault->summary, lsn - range->from, end - range->from, now_us);
}

/* Go through the records of a range.  Returns 0 or -errno. */
static int
take_records(struct prefault *prefault, const struct range *range, struct wal_reader *reader,
			 struct wal_segments *segments)
{
	uint64_t	end = range->to;
	const char *reason;
	int			err = 0;
	int			result = wal_reader__find(reader, range->from);

	if (result != WAL_READER_RECORD)
	{
		log_error("no WAL of timeline %" PRIu32 " from " LSN_FORMAT " on in \"%s\": %s",
				  range->timeline, LSN_ARGS(range->from), range->directory,
				  result < 0 && segments->message[0] != '\0' ? segments->message :
				  reader->message);
		return result < 0 ? result : -ENOENT;
	}
	if (end == RANGE_OPEN_END)
		end = wal_segments__end(segments, range->from);
	while (err == 0 && !prefault->stop &&
		   (result = wal_reader__next(reader)) == WAL_READER_RECORD &&
		   reader->record.lsn < range->to)
	{
		err = take_record(prefault, &reader->record);
		report_progress(prefault, range, reader->next_lsn, end);
		if (prefault->summary.records % BATCH_BLOCKS == 0)
			(void) signal_arrived(prefault);
	}
	prefault->summary.wal_bytes += reader->next_lsn - range->from;
	if (err < 0 || result == WAL_READER_RECORD)
		return err;
	if (result == WAL_READER_END && range->may_end)
	{
		log_info("WAL ends at " LSN_FORMAT ": %s", LSN_ARGS(reader->next_lsn), reader->message);
		return 0;
	}
	reason = segments->message[0] != '\0' ? segments->message : reader->message;
	if (range->to == RANGE_OPEN_END)
		log_error("cannot read WAL from " LSN_FORMAT " on: %s", LSN_ARGS(reader->next_lsn), reason);
	else
		log_error("WAL ends at " LSN_FORMAT ", before " LSN_FORMAT ": %s",
				  LSN_ARGS(reader->next_lsn), LSN_ARGS(range->to), reason);
	return result < 0 ? result : -ENODATA;
}

/*
 * Open the WAL of a range: where redo is to go on from pg_control's checkpoint to the end,
 * that of the newest timeline that descends from its own, as a server that was promoted and
 * then crashed will read it.  Returns 0, or -errno after a message.
 */
static int
open_range(struct prefault *prefault, const struct range *range, struct wal_segments *segments)
{
	uint32_t	bytes = prefault->control.wal_segment_bytes;
	const char *decompress = prefault->options->decompress;
	uint32_t	newer = 0;
	uint64_t	begin;
	int			err = wal_segments__open(segments, range->directory, bytes, range->timeline, decompress);

	if (err == 0 && prefault->options->word_count == 0 && prefault->options->timeline == 0)
		newer = wal_segments__descendant(segments, range->timeline, range->from, &begin);
	if (newer != 0)
	{
		wal_segments__close(segments);
		err = wal_segments__open(segments, range->directory, bytes, newer, decompress);
	}
	if (err < 0)
		log_error("%s", segments->message);
	return err;
}

/* Prefault what redo of a range needs.  Returns 0 or -errno. */
static int
take_range(struct prefault *prefault, const struct range *range)
{
	struct wal_segments segments;
	struct wal_reader_options options = {
		.source = {wal_segments__read, &segments},
		.system_identifier = prefault->control.system_identifier,
		.segment_bytes = prefault->control.wal_segment_bytes,
		.page_bytes = prefault->control.wal_page_bytes,
		.block_size = prefault->control.block_size,
	};
	struct wal_reader reader;
	int			err;

	err = open_range(prefault, range, &segments);
	if (err < 0)
		return err;
	err = wal_reader__create(&reader, &options);
	if (err == 0)
		err = take_records(prefault, range, &reader, &segments);
	if (err == 0 && prefault->batch_count > 0)
		err = read_batch(prefault);
	wal_reader__destroy(&reader);
	wal_segments__close(&segments);
	return err;
}

/* Take the ranges one after the other.  Returns 0 or -errno. */
static int
take_ranges(struct prefault *prefault)
{
	const struct prefault_options *options = prefault->options;
	const struct controlfile *control = &prefault->control;
	char		directory[PATH_MAX];
	const struct recoverystart *start = &prefault->start;
	struct range range;
	uint32_t	timeline;
	int			err = 0;

	timeline = options->timeline != 0 ? (uint32_t) options->timeline : start->timeline;
	if (snprintf(directory, sizeof(directory), "%s%s", options->wal != NULL ? options->wal :
				 prefault->cluster.path, options->wal != NULL ? "" : "/pg_wal") >=
		(int) sizeof(directory))
	{
		log_error("the path of the directory of WAL is longer than %d bytes", PATH_MAX - 1);
		return -ENAMETOOLONG;
	}
	if (options->word_count == 0)
	{
		range = (struct range) {.timeline = timeline,.from = start->lsn,.to = RANGE_OPEN_END,
		.may_end = true};
		memcpy(range.directory, directory, sizeof(directory));
		return take_range(prefault, &range);
	}
	/* All words are parsed before any of them takes its time. */
	for (unsigned i = 0; i < options->word_count && err == 0; i++)
		err = range__parse(&range, options->words[i], directory, timeline,
						   control->wal_segment_bytes);
	for (unsigned i = 0; i < options->word_count && err == 0 && !prefault->stop; i++)
	{
		(void) range__parse(&range, options->words[i], directory, timeline,
							control->wal_segment_bytes);
		err = take_range(prefault, &range);
	}
	return err;
}

/* Open the cluster as its owner, and learn its layout.  Returns 0 or -errno. */
static int
open_cluster(struct prefault *prefault)
{
	int			err = cluster__open(&prefault->cluster, prefault->options->pgdata);

	if (err == 0)
		err = cluster__become_owner(&prefault->cluster);
	if (err < 0)
		return err;
	err = recoverystart__read(&prefault->start, &prefault->control, &prefault->cluster);
	if (err < 0)
		log_error("cannot use \"%s/global/pg_control\": %s; is the data directory complete?",
				  prefault->cluster.path, strerror(-err));
	return err;
}

/* Make the engine, which knows of no redo.  Returns 0 or -errno. */
static int
open_engine(struct prefault *prefault)
{
	struct relpath_layout layout = controlfile__layout(&prefault->control, &prefault->cluster);
	struct engine_options options = {
		.dirfd = prefault->cluster.dirfd,
		.io_depth = (unsigned) prefault->options->io_depth,
		.readahead_limit = BATCH_BLOCKS * LIMIT_PART,
		.files = SETUP_FILES_NUMBER,
		.no_redo = true,
	};
	int			err;

	err = setup__engine(&prefault->engine, options, prefault->options->backend, false,
						&prefault->backend);
	if (err < 0)
		return err;
	engine__begin(prefault->engine, &layout,
				  residency__works(prefault->cluster.dirfd, layout.tablespace_dir));
	fit_batch(prefault);
	return 0;
}

/* Prefault what the user requested, and report.  Returns 0 or -errno. */
static int
run(struct prefault *prefault)
{
	int			err = 0;

	prefault->summary.begin_us = clock__now_us();
	if (!prefault->options->dry_run)
		err = open_engine(prefault);
	if (err == 0)
		err = needed_blocks__create(&prefault->needed, prefault->control.block_size,
									prefault->control.commit_ts,
									/* what is listed does not depend on memory */
									needed_blocks__recent(prefault->options->dry_run ? UINT64_MAX :
														  available__bytes(),
														  prefault->control.block_size));
	if (err == 0)
		err = take_ranges(prefault);
	prefault->summary.stopped = prefault->stop;
	if (prefault->engine != NULL)
	{
		(void) engine__end(prefault->engine);
		prefault->summary.counters = *engine__counters(prefault->engine);
	}
	if (err == 0)
		prefault_report__summary(&prefault->summary, prefault->options->json,
								 prefault->options->dry_run);
	needed_blocks__destroy(&prefault->needed);
	engine__destroy(prefault->engine);
	return err == 0 && prefault->stop ? -EINTR : err;
}

/*
 * Prefault what the user wants.  "bytes", which may be NULL, receives the size of the blocks
 * that redo needs.  Returns 0, or -errno after a message.
 */
int
prefault__run(const struct prefault_options *options, uint64_t *bytes)
{
	static struct prefault prefault;
	int			err;

	memset(&prefault, 0, sizeof(prefault));
	prefault.options = options;
	prefault.cluster.dirfd = -1;
	if (options->relation != NULL &&
		sscanf(options->relation, "%" SCNu32 "/%" SCNu32 "/%" SCNu32, &prefault.relation[0],
			   &prefault.relation[1], &prefault.relation[2]) != 3)
	{
		log_error("--relation=%s: give TABLESPACE/DATABASE/RELFILENUMBER, as pg_waldump prints them",
				  options->relation);
		return -EINVAL;
	}
	err = open_cluster(&prefault);
	if (err == 0)
		err = prefault.signal_fd = signals__open();
	if (err >= 0)
	{
		err = run(&prefault);
		close(prefault.signal_fd);
	}
	cluster__close(&prefault.cluster);
	if (bytes != NULL)
		*bytes = prefault.summary.blocks * prefault.control.block_size;
	return err;
}
