/*
 * engine.c
 *		Keeps the right number of reads in flight, in the right order.
 *
 * References wait in a queue (block_queue.h), which puts them in order; the engine
 * makes one request of each run of blocks, unless redo has come to it already.
 * Those that come out of the order of LSNs, because the server has found out only
 * shortly before redo comes to them, have a queue of their own, which goes first.
 * How many blocks may be in flight, and how many may be there before redo needs
 * them, is decided by the controller (control.h) from how fast blocks come.
 * Knows neither where references come from nor how a backend reads.  Every block
 * ends in exactly one counter: duplicate, read, found, failed, stale or abandoned.
 */
#include <errno.h>
#include <stdlib.h>

#include "engine/engine_internal.h"

/*
 * How long the end of a recovery waits for one completion at a time, and for
 * all of them, us.
 */
#define DRAIN_WAIT_US	100000
#define DRAIN_TIMEOUT_US	30000000

/*
 * Of the blocks that may be in flight, one in so many, but at least so many,
 * are those that redo will want next, wherever they are.
 */
#define DEADLINE_PART	32
#define DEADLINE_MIN		4

/* Longest time to ask for blocks before looking for answers, us. */
#define SUBMIT_US			5000

/*
 * A sweep is begun only when this part of the window is free: what redo frees
 * piece by piece would be asked for piece by piece, in no order.
 */
#define SWEEP_PART		8

/* Part of the window that what is asked for late, and what is not, has at least. */
#define OUT_OF_ORDER_PART_MIN	8

/*
 * What redo has used is let go of so many blocks later: the kernel puts off what it
 * does to a page's place in its lists, and would first have to do that on all CPUs.
 * But not much later: it may have left shared buffers, and be in the page cache anew.
 */
#define RELEASE_NEAREST	64
#define RELEASE_FARTHEST	2048

/* Longest time to let go of blocks before asking for others, us. */
#define RELEASE_US		1000

/* What redo comes to next is looked for once more; depths. */
#define REVALIDATE_DEPTHS	4

/* What came late is counted in so many references, the latest ones. */
#define RECENT_REFS		65536

static unsigned
min(unsigned a, unsigned b)
{
	return a < b ? a : b;
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
		err = block_queue__create(&engine->out_of_order, options->readahead_limit);
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
				  options->backend->set_io_depth != NULL);
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
	block_queue__destroy(&engine->out_of_order);
	free(engine);
}

/* A recovery begins: counters start at zero. */
void
engine__begin(struct engine *engine, const struct relpath_layout *layout)
{
	reader__begin(&engine->reader, layout);
	engine->blocked = false;
	engine->moved_us = engine->suspected_us = engine->reader.now_us;
	engine->memory_us = engine->replay_lsn = engine->newest_lsn = 0;
	engine->recent_refs = engine->recent_out_of_order = 0;
	engine->full = false;
	block_queue__clear(&engine->queue);
	block_queue__clear(&engine->out_of_order);
	walahead__begin(&engine->wal, layout);
	revalidate__begin(&engine->revalidate);
	revalidate__begin(&engine->out_of_order_revalidate);
	control__begin(&engine->control, engine->reader.now_us);
	if (engine->options.backend->set_io_depth != NULL)
		engine->options.backend->set_io_depth(engine->reader.backend, engine->control.io_depth);
}

/*
 * Ask for a run that a queue told last; false if it must wait.
 *
 * Where memory is short, only if it is not there.  The kernel marks dirty pages that it
 * wants to reclaim with the bit that elsewhere means that a reader will go on, so that
 * to read one starts read-ahead of what nobody wants (PG_reclaim is PG_readahead; no
 * advice to the file changes that).
 */
static bool
submit_run(struct engine *engine, struct block_queue *queue, const struct block_run *run)
{
	enum block_outcome outcome;
	int			found = -1;		/* not known */
	int			submitted;

	if (control__memory_limited(&engine->control))
		found = reader__residency(&engine->reader, run);
	if (found == RESIDENT_ALL)
	{
		reader__skip_resident(&engine->reader, run);
		engine->reader.counters.refs_duplicate += block_queue__finish(queue, run, BLOCK_RESIDENT);
		return true;
	}
	submitted = reader__submit(&engine->reader, run);
	if (submitted < 0)
	{
		engine->blocked = true;
		return false;
	}
	outcome = submitted == 0 ? BLOCK_REFUSED : found == RESIDENT_NONE ? BLOCK_READ_ABSENT : BLOCK_SUBMITTED;
	engine->reader.counters.refs_duplicate += block_queue__finish(queue, run, outcome);
	return true;
}

/* May so many more blocks be in flight, and is there time to ask for them? */
static bool
has_room(struct engine *engine, unsigned blocks)
{
	if (engine->reader.in_flight > 0 && engine->reader.in_flight + blocks > engine->control.io_depth)
	{
		engine->limited = true;
		return false;
	}
	/* Opening files takes its time on a busy disk. */
	return engine->options.environment.now_us() - engine->reader.now_us < SUBMIT_US;
}

/* Ask for WAL that will be decoded soon.  False if it must wait. */
static bool
submit_wal(struct engine *engine, uint64_t decode_lsn)
{
	struct block_run run;

	walahead__fit(&engine->wal, (uint64_t) engine->control.readahead_limit * engine->reader.layout.block_size);
	while (walahead__next(&engine->wal, decode_lsn, &run))
	{
		int			submitted;

		if (!has_room(engine, reader__weight(&run)))
			return false;
		submitted = reader__submit(&engine->reader, &run);
		engine->blocked = submitted < 0;
		if (submitted < 0)
			return false;
		/* A segment that is missing is the end of WAL. */
		walahead__take(&engine->wal, &run);
	}
	return true;
}

/* Ask again for what is gone of a queue although redo is near.  False if it must wait. */
static bool
submit_evicted(struct engine *engine, struct revalidate *revalidate, struct block_queue *queue)
{
	uint64_t	until_lsn = block_queue__lsn_ahead(&engine->queue, engine->control.io_depth * REVALIDATE_DEPTHS);
	struct block_run run;
	int			submitted;

	while (revalidate__next(revalidate, queue, &engine->reader, until_lsn, &run))
	{
		if (!has_room(engine, 1))
			return false;
		submitted = reader__submit(&engine->reader, &run);
		engine->blocked = submitted < 0;
		if (submitted < 0)
			return false;
		revalidate__take(revalidate);
	}
	return true;
}

/* Ask for what redo wants next, wherever it is.  False if it must wait. */
static bool
submit_deadline(struct engine *engine, struct block_queue *queue)
{
	unsigned	deadline_blocks = engine->control.io_depth / DEADLINE_PART;
	struct block_run run;

	if (deadline_blocks < DEADLINE_MIN)
		deadline_blocks = DEADLINE_MIN;
	while (block_queue__next_deadline(queue, deadline_blocks, &run))
		if (!has_room(engine, 1) || !submit_run(engine, queue, &run))
			return false;
	return true;
}

/*
 * Ask for blocks in sweeps, until so many are there before redo needs them; a
 * new sweep is begun when at least so many may be in it.  False if it must wait.
 */
static bool
submit_sweeps(struct engine *engine, struct block_queue *queue, unsigned ahead, unsigned least)
{
	struct block_run run;

	while (queue->waiting > 0 && queue->ahead < ahead)
	{
		if (!block_queue__next(queue, engine->reader.max_run, &run))
		{
			if (ahead - queue->ahead < least || block_queue__begin_sweep(queue, ahead - queue->ahead) == 0)
				return true;
			engine->reader.counters.sweeps++;
			continue;
		}
		if (!has_room(engine, run.blocks) || !submit_run(engine, queue, &run))
			return false;
	}
	return true;
}

/*
 * How much of the window is left for what will be asked for late, blocks: such a
 * part as it has had lately, but neither nearly nothing nor nearly all.
 */
static unsigned
limit_for_out_of_order(const struct engine *engine)
{
	unsigned	readahead_limit = engine->control.readahead_limit;
	unsigned	part;

	if (engine->recent_out_of_order == 0)
		return 0;
	part = (unsigned) ((double) engine->recent_out_of_order / (double) engine->recent_refs * readahead_limit);
	if (part < readahead_limit / OUT_OF_ORDER_PART_MIN)
		return readahead_limit / OUT_OF_ORDER_PART_MIN;
	return min(part, readahead_limit - readahead_limit / OUT_OF_ORDER_PART_MIN);
}

/* Ask for as much as may be in flight: WAL, what is gone, what redo wants next, the rest. */
static void
submit_all(struct engine *engine, uint64_t decode_lsn)
{
	unsigned	for_out_of_order = limit_for_out_of_order(engine);
	unsigned	for_queue = engine->control.readahead_limit - for_out_of_order;

	/* What the others do not use. */
	if (engine->queue.ahead < for_queue)
		for_out_of_order += for_queue - engine->queue.ahead;
	engine->blocked = engine->limited = false;
	if (submit_wal(engine, decode_lsn) &&
		submit_evicted(engine, &engine->out_of_order_revalidate, &engine->out_of_order) &&
		submit_evicted(engine, &engine->revalidate, &engine->queue) &&
		submit_deadline(engine, &engine->out_of_order) &&
		submit_deadline(engine, &engine->queue) &&
		submit_sweeps(engine, &engine->out_of_order, for_out_of_order, 0))
		submit_sweeps(engine, &engine->queue, for_queue, for_queue / SWEEP_PART);
}

/* Give up what redo has come to before it was asked for. */
static void
retire(struct engine *engine, uint64_t replay_lsn, uint64_t *counter, const char *result)
{
	struct block_run missed;

	while (block_queue__retire(&engine->queue, replay_lsn, &missed) ||
		   block_queue__retire(&engine->out_of_order, replay_lsn, &missed))
	{
		(*counter)++;
		reader__log(&engine->reader, &missed, 0, 1, result, 0);
	}
}

/*
 * Where memory is short and full, let go of what redo has come to, as far as it was
 * read for that.  It is in shared buffers now, and what redo changes is written from
 * there, so that it would only keep others out of the page cache; and for long, since
 * two have read it, which makes it look worth keeping.
 */
static void
release_used(struct engine *engine)
{
	struct block_run run;

	if (!engine->full || !control__memory_limited(&engine->control))
		return;
	while (engine->options.environment.now_us() - engine->reader.now_us < RELEASE_US &&
		   (block_queue__used(&engine->queue, RELEASE_NEAREST, RELEASE_FARTHEST, &run) ||
			block_queue__used(&engine->out_of_order, RELEASE_NEAREST, RELEASE_FARTHEST, &run)))
		reader__release(&engine->reader, &run);
}

/*
 * One round: ask for what may be asked for, and collect what is there.  If that
 * is nothing it waits for completions, up to busy_wait_us while some of the
 * plan must wait for them, up to spare_wait_us when all of it has been asked
 * for.  Returns the number of completions or -errno if the backend is broken.
 */
int
engine__run(struct engine *engine, uint64_t replay_lsn, uint64_t decode_lsn,
			unsigned busy_wait_us, unsigned spare_wait_us)
{
	unsigned	in_flight_requests;
	unsigned	want;

	engine->reader.now_us = engine->options.environment.now_us();
	if (replay_lsn != engine->replay_lsn)
	{
		engine->replay_lsn = replay_lsn;
		engine->moved_us = engine->reader.now_us;
	}
	retire(engine, replay_lsn, &engine->reader.counters.blocks_stale, "stale");
	release_used(engine);
	submit_all(engine, decode_lsn);
	engine_steer(engine);

	in_flight_requests = reader__requests(&engine->reader);
	if (in_flight_requests == 0)
		return 0;

	/*
	 * Wake up for a quarter of what is in flight rather than for each block:
	 * a wake-up costs more than a read, and the rest keeps the disk busy.
	 */
	want = in_flight_requests / 4;
	if (want == 0 || engine->blocked)
		want = 1;
	return reader__reap(&engine->reader, want, engine__queued(engine) == 0 ? spare_wait_us : busy_wait_us);
}

/*
 * The recovery is over: give up the plan, wait for what is in flight, close
 * all files.  Returns -ETIMEDOUT if reads do not come back; they can only be
 * ended with the backend then.
 */
int
engine__end(struct engine *engine)
{
	uint64_t	deadline_us = engine->options.environment.now_us() + DRAIN_TIMEOUT_US;
	int			err = 0;

	retire(engine, UINT64_MAX, &engine->reader.counters.blocks_abandoned, "abandoned");
	engine->reader.counters.blocks_abandoned += engine__queued(engine);	/* of no possible LSN */
	block_queue__clear(&engine->queue);
	block_queue__clear(&engine->out_of_order);
	while (engine->reader.in_flight > 0 && err >= 0)
		err = engine->options.environment.now_us() < deadline_us ?
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
	unsigned	room = block_queue__room(&engine->queue);
	unsigned	late = block_queue__room(&engine->out_of_order);

	return min(room, late);
}

/* Take references, no more than engine__room allows. */
void
engine__offer(struct engine *engine, const struct redoahead_ref *refs, unsigned count)
{
	engine->reader.counters.refs_taken += count;
	engine->recent_refs += count;
	if (engine->recent_refs > RECENT_REFS)
	{
		engine->recent_refs /= 2;
		engine->recent_out_of_order /= 2;
	}
	for (unsigned i = 0; i < count; i++)
	{
		struct relpath_key key;
		uint32_t	block;
		enum invalid_reason reason;

		if (refs[i].flags & REDOAHEAD_REF_IMPLIED)
			engine->reader.counters.refs_implied++;
		if (relpath__resolve(&refs[i], &engine->reader.layout, &key, &block, &reason) < 0)
			engine->reader.counters.refs_invalid[reason]++;
		else if (refs[i].lsn < engine->newest_lsn)
		{
			engine->reader.counters.refs_out_of_order++;
			engine->recent_out_of_order++;
			block_queue__add(&engine->out_of_order, &key, block, refs[i].lsn);
		}
		else
		{
			engine->newest_lsn = refs[i].lsn;
			block_queue__add(&engine->queue, &key, block, refs[i].lsn);
		}
	}
}

/* Close files that were unlinked; call it often. */
void
engine__sweep(struct engine *engine)
{
	fdcache__sweep(engine->reader.files, engine->options.environment.now_us(), &engine->reader.counters);
}

/* Blocks asked for and not yet there. */
unsigned
engine__in_flight(const struct engine *engine)
{
	return engine->reader.in_flight;
}

/* Blocks that have not been asked for. */
unsigned
engine__queued(const struct engine *engine)
{
	return engine->queue.waiting + engine->out_of_order.waiting;
}

/* Blocks that have been asked for and not used by redo. */
unsigned
engine__ahead(const struct engine *engine)
{
	return engine->queue.ahead + engine->out_of_order.ahead;
}

/* Data files open now. */
unsigned
engine__open_files(const struct engine *engine)
{
	return fdcache__open_files(engine->reader.files);
}

/* Is there nothing to ask for and nothing in flight? */
bool
engine__idle(const struct engine *engine)
{
	return engine->reader.in_flight == 0 && engine__queued(engine) == 0;
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
