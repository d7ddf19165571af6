/*
 * engine.c
 *		Keeps the right number of reads in flight, in the right order.
 *
 * References are queued (block_queue.h) and submitted as runs of blocks: first those
 * that redo needs next, then the rest in sweeps.  The controller (control.h) chooses how many blocks may be in flight and
 * how many may be read ahead.  Does not know where references come from nor how a
 * backend reads.  Every block ends in exactly one counter: duplicate, read, resident,
 * failed, stale or abandoned.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/block_queue.h"
#include "engine/engine.h"
#include "engine/reader.h"
#include "engine/walahead.h"

/*
 * How long the end of a recovery waits for one completion, and for all of them, us.
 */
#define DRAIN_WAIT_US	100000
#define DRAIN_TIMEOUT_US	30000000

/*
 * Of the blocks that may be in flight, one in DEADLINE_PART, but at least
 * DEADLINE_MIN, are those that redo needs next, wherever they are on disk.
 */
#define DEADLINE_PART	32
#define DEADLINE_MIN	4

/* Longest time to submit blocks before completions are fetched, us. */
#define SUBMIT_US		5000

/*
 * A sweep begins when this part of the read-ahead limit is free: otherwise blocks
 * would be submitted one by one as redo proceeds, in no order.
 */
#define SWEEP_PART		8

/*
 * Blocks are released so many blocks after redo has reached them: the kernel defers
 * the moves of pages between its lists, and would have to complete them on all CPUs
 * first.  Not much later: they may be resident anew, after eviction from shared buffers.
 */
#define RELEASE_NEAREST	64
#define RELEASE_FARTHEST	2048

/* Longest time to release blocks before others are submitted, us. */
#define RELEASE_US		1000

/*
 * When redo waits, the blocks that it needs next may have been evicted: so many times
 * the I/O depth are checked.
 */
#define REVALIDATE_DEPTHS	4

/*
 * Part of available memory that may hold blocks read ahead.  Redo modifies most of the
 * pages that it reads, new pages pass a list that holds half of the page cache, and
 * other processes use memory, too.
 */
#define MEMORY_PART		8

/* Time between two readings of available memory, us. */
#define MEMORY_US		1000000

/* Redo waits if it has not proceeded for so long, us. */
#define STALLED_US		500

struct engine
{
	struct engine_options options;	/* as given */
	struct reader reader;		/* reads blocks */
	struct control control;		/* how many blocks, and how far ahead */
	struct block_queue queue;	/* blocks to read */
	struct walahead wal;		/* WAL to read */
	uint64_t	newest_lsn;		/* latest record with a reference */
	bool		blocked;		/* no descriptor until a request completes */
	bool		limited;		/* more is wanted than may be in flight */
	bool		memory_full;	/* less memory is unused than may hold blocks read ahead */
	uint64_t	memory_us;		/* time of the last reading of memory, us */
	uint64_t	replay_lsn;		/* position of redo */
	uint64_t	moved_us;		/* time of its last change, us */
	uint64_t	checked_us;		/* moved_us when revalidation began last, us */
	uint64_t	revalidate;		/* position in the queue to revalidate next */
	uint64_t	revalidate_end;	/* position to stop at */
	bool		no_residency;	/* the kernel does not report residency */
};

static uint64_t
now_us(const struct engine *engine)
{
	return engine->options.environment.now_us();
}

/* Make an engine; it opens no file of the cluster before engine__begin. */
int
engine__create(struct engine **result, const struct engine_options *options)
{
	struct engine *engine;
	int			err;

	engine = calloc(1, sizeof(*engine));
	if (engine == NULL)
		return -ENOMEM;
	engine->options = *options;
	err = block_queue__create(&engine->queue, options->readahead_limit);
	if (err == 0)
		err = reader__create(&engine->reader, options->backend, options->dirfd,
							 options->io_depth, options->files, options->block_log,
							 options->environment.now_us);
	if (err < 0)
	{
		engine__destroy(engine);
		return err;
	}
	control__init(&engine->control, options->io_depth, options->readahead_limit,
				  options->backend->adaptive);
	*result = engine;
	return 0;
}

/* Free an engine; requests in flight are waited for. */
void
engine__destroy(struct engine *engine)
{
	if (engine == NULL)
		return;
	reader__destroy(&engine->reader);
	block_queue__destroy(&engine->queue);
	free(engine);
}

/* A recovery begins: counters start at zero. */
void
engine__begin(struct engine *engine, const struct relpath_layout *layout)
{
	reader__begin(&engine->reader, layout);
	engine->blocked = false;
	engine->moved_us = engine->checked_us = engine->reader.now_us;
	engine->memory_us = engine->replay_lsn = engine->newest_lsn = 0;
	engine->memory_full = false;
	block_queue__clear(&engine->queue);
	walahead__begin(&engine->wal, layout);
	engine->revalidate = engine->revalidate_end = 0;
	control__begin(&engine->control, engine->reader.now_us);
}

/*
 * Submit a run that the queue has returned; false if it must wait.
 *
 * Under memory pressure, only if it is not resident: the kernel marks dirty pages that
 * it wants to reclaim with the bit that elsewhere triggers read-ahead (PG_reclaim is
 * PG_readahead), so that reading one reads others that nobody wants, whatever the
 * advice to the file.
 */
static bool
submit_run(struct engine *engine, const struct block_run *run)
{
	enum block_outcome outcome;
	int			residency = -1; /* unknown */
	int			submitted;

	if (control__memory_limited(&engine->control))
		residency = reader__residency(&engine->reader, run);
	if (residency == RESIDENT_ALL)
	{
		reader__skip_resident(&engine->reader, run);
		outcome = BLOCK_RESIDENT;
	}
	else
	{
		submitted = reader__submit(&engine->reader, run);
		if (submitted < 0)
		{
			engine->blocked = true;
			return false;
		}
		outcome = submitted == 0 ? BLOCK_REFUSED :
			residency == RESIDENT_NONE ? BLOCK_READ_ABSENT : BLOCK_SUBMITTED;
	}
	engine->reader.counters.refs_duplicate += block_queue__finish(&engine->queue, run, outcome);
	return true;
}

/* May so many more blocks be in flight, and is there time to submit them? */
static bool
has_room(struct engine *engine, unsigned blocks)
{
	if (engine->reader.in_flight > 0 && engine->reader.in_flight + blocks > engine->control.io_depth)
	{
		engine->limited = true;
		return false;
	}
	/* Opening files is slow on a busy disk. */
	return now_us(engine) - engine->reader.now_us < SUBMIT_US;
}

/* Submit WAL that will be decoded soon.  False if it must wait. */
static bool
submit_wal(struct engine *engine, uint64_t decode_lsn)
{
	struct block_run run;

	walahead__fit(&engine->wal, (uint64_t) engine->control.readahead_limit *
				  engine->reader.layout.block_size);
	while (walahead__next(&engine->wal, decode_lsn, &run))
	{
		if (!has_room(engine, reader__weight(&run)))
			return false;
		if (reader__submit(&engine->reader, &run) < 0)
		{
			engine->blocked = true;
			return false;
		}
		/* A segment that is missing is the end of WAL. */
		walahead__take(&engine->wal, &run);
	}
	return true;
}

/*
 * Submit again the blocks that redo needs next and that were evicted: another process
 * may drop the page cache, or the kernel reclaim it.  False if they must wait.
 */
static bool
submit_evicted(struct engine *engine)
{
	struct reader *reader = &engine->reader;
	struct block_run run;

	for (; engine->revalidate < engine->revalidate_end; engine->revalidate++)
	{
		int			residency;

		if (!block_queue__submitted(&engine->queue, engine->revalidate, &run))
			continue;
		residency = reader__residency(reader, &run);
		if (residency < 0 && residency != -ENOENT)
		{
			engine->no_residency = true;
			engine->revalidate_end = engine->revalidate;
			log_debug("cannot check whether blocks are in the page cache (%s); blocks evicted "
					  "before redo are not read again", strerror(-residency));
			break;
		}
		reader->counters.blocks_rechecked++;
		if (residency == RESIDENT_ALL || residency == -ENOENT)
			continue;
		if (!has_room(engine, 1))
			return false;
		if (reader__submit(reader, &run) < 0)
		{
			engine->blocked = true;
			return false;
		}
	}
	return true;
}

/* Submit the blocks that redo needs next.  False if they must wait. */
static bool
submit_deadline(struct engine *engine)
{
	unsigned	count = engine->control.io_depth / DEADLINE_PART;
	struct block_run run;

	if (count < DEADLINE_MIN)
		count = DEADLINE_MIN;
	while (block_queue__next_deadline(&engine->queue, count, &run))
		if (!has_room(engine, 1) || !submit_run(engine, &run))
			return false;
	return true;
}

/* Submit blocks in sweeps until the read-ahead limit is reached. */
static void
submit_sweeps(struct engine *engine)
{
	struct block_queue *queue = &engine->queue;
	unsigned	limit = engine->control.readahead_limit;
	struct block_run run;

	while (queue->queued > 0 && queue->ahead < limit)
	{
		if (!block_queue__next(queue, engine->reader.max_run, &run))
		{
			if (limit - queue->ahead < limit / SWEEP_PART ||
				block_queue__begin_sweep(queue, limit - queue->ahead) == 0)
				return;
			engine->reader.counters.sweeps++;
			continue;
		}
		if (!has_room(engine, run.blocks) || !submit_run(engine, &run))
			return;
	}
}

/* Submit as much as may be in flight: WAL, evicted blocks, what redo needs next, the rest. */
static void
submit_all(struct engine *engine, uint64_t decode_lsn)
{
	engine->blocked = engine->limited = false;
	if (submit_wal(engine, decode_lsn) && submit_evicted(engine) && submit_deadline(engine))
		submit_sweeps(engine);
}

/* Remove blocks that redo has reached; those not submitted go to a counter. */
static void
retire(struct engine *engine, uint64_t replay_lsn, uint64_t *counter, const char *result)
{
	struct block_run missed;

	while (block_queue__retire(&engine->queue, replay_lsn, &missed))
	{
		(*counter)++;
		reader__log(&engine->reader, &missed, 0, 1, result, 0);
	}
}

/*
 * Under memory pressure, remove blocks that redo has reached and that were read for
 * it from the page cache.  They are in shared buffers, and redo's changes are written
 * from there; the page cache would keep them for long, because they were read twice.
 */
static void
release_used(struct engine *engine)
{
	struct block_run run;

	if (!engine->memory_full || !control__memory_limited(&engine->control))
		return;
	while (now_us(engine) - engine->reader.now_us < RELEASE_US &&
		   block_queue__used(&engine->queue, RELEASE_NEAREST, RELEASE_FARTHEST, &run))
		reader__release(&engine->reader, &run);
}

/* Follow memory, and let the controller measure. */
static void
steer(struct engine *engine)
{
	const struct engine_environment *environment = &engine->options.environment;
	struct control *control = &engine->control;
	struct reader *reader = &engine->reader;
	bool		stalled = reader->now_us - engine->moved_us >= STALLED_US;

	if (stalled && engine->checked_us != engine->moved_us && !engine->no_residency)
	{
		engine->checked_us = engine->moved_us;
		engine->revalidate = engine->queue.tail;
		engine->revalidate_end = engine->queue.tail + control->io_depth * REVALIDATE_DEPTHS;
	}
	if (reader->now_us - engine->memory_us >= MEMORY_US)
	{
		uint64_t	part = environment->available_bytes() / MEMORY_PART;

		engine->memory_us = reader->now_us;
		engine->memory_full = environment->free_bytes() <= part;
		control__fit(control, reader->now_us, part / reader->layout.block_size);
	}
	control__note(control, reader->now_us, reader->counters.blocks_read +
				  reader->counters.blocks_reread, engine->limited, stalled);
}

/*
 * One round: submit what may be submitted, and fetch completions.  If there are none,
 * wait for them, up to busy_wait_us while queued blocks wait for them, up to
 * spare_wait_us when all have been submitted.  Returns the number of completions, or
 * -errno if the backend is broken.
 */
int
engine__run(struct engine *engine, uint64_t replay_lsn, uint64_t decode_lsn,
			unsigned busy_wait_us, unsigned spare_wait_us)
{
	unsigned	requests;
	unsigned	want;

	engine->reader.now_us = now_us(engine);
	if (replay_lsn != engine->replay_lsn)
	{
		engine->replay_lsn = replay_lsn;
		engine->moved_us = engine->reader.now_us;
	}
	retire(engine, replay_lsn, &engine->reader.counters.blocks_stale, "stale");
	release_used(engine);
	submit_all(engine, decode_lsn);
	steer(engine);

	requests = reader__requests(&engine->reader);
	if (requests == 0)
		return 0;

	/*
	 * Wake up for a quarter of what is in flight rather than for each block: a
	 * wake-up costs more than a read, and the rest keeps the disk busy.
	 */
	want = requests / 4;
	if (want == 0 || engine->blocked)
		want = 1;
	return reader__reap(&engine->reader, want,
						engine->queue.queued == 0 ? spare_wait_us : busy_wait_us);
}

/*
 * The recovery has ended: drop what is queued, wait for what is in flight, close all
 * files.  Returns -ETIMEDOUT if reads do not complete; only closing the backend ends
 * them then.
 */
int
engine__end(struct engine *engine)
{
	uint64_t	deadline_us = now_us(engine) + DRAIN_TIMEOUT_US;
	int			err = 0;

	retire(engine, UINT64_MAX, &engine->reader.counters.blocks_abandoned, "abandoned");
	/* Blocks with the greatest LSN are not retired. */
	engine->reader.counters.blocks_abandoned += engine->queue.queued;
	block_queue__clear(&engine->queue);
	while (engine->reader.in_flight > 0 && err >= 0)
		err = now_us(engine) < deadline_us ?
			reader__reap(&engine->reader, 1, DRAIN_WAIT_US) : -ETIMEDOUT;
	if (err >= 0)
		fdcache__clear(engine->reader.files);
	block_log__flush(engine->options.block_log);
	return err < 0 ? err : 0;
}

/* References that engine__offer takes now. */
unsigned
engine__room(const struct engine *engine)
{
	return block_queue__room(&engine->queue);
}

/* Take references, no more than engine__room returns. */
void
engine__offer(struct engine *engine, const struct redoahead_ref *refs, unsigned count)
{
	struct counters *counters = &engine->reader.counters;

	counters->refs_taken += count;
	for (unsigned i = 0; i < count; i++)
	{
		struct relpath_key key;
		uint32_t	block;
		enum invalid_reason reason;

		if (refs[i].flags & REDOAHEAD_REF_IMPLIED)
			counters->refs_implied++;
		if (relpath__resolve(&refs[i], &engine->reader.layout, &key, &block, &reason) < 0)
			counters->refs_invalid[reason]++;
		else
		{
			if (refs[i].lsn < engine->newest_lsn)
				counters->refs_out_of_order++;
			else
				engine->newest_lsn = refs[i].lsn;
			block_queue__add(&engine->queue, &key, block, refs[i].lsn);
		}
	}
}

/* Close files that were unlinked; to be called often. */
void
engine__sweep(struct engine *engine)
{
	fdcache__sweep(engine->reader.files, now_us(engine), &engine->reader.counters);
}

/* The state between two rounds. */
struct engine_state
engine__state(const struct engine *engine)
{
	return (struct engine_state)
	{
		.queued = engine->queue.queued,.in_flight = engine->reader.in_flight,
			.ahead = engine->queue.ahead,.open_files = fdcache__open_files(engine->reader.files)
	};
}

/* Counters of the present recovery, to read and to add to. */
struct counters *
engine__counters(struct engine *engine)
{
	return &engine->reader.counters;
}

/* The limits now, and why they changed. */
const struct control *
engine__control(const struct engine *engine)
{
	return &engine->control;
}
