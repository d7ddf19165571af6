/*
 * engine.c
 *		Keeps the right number of reads in flight, in the right order.
 *
 * References wait in a pool (pool.h), which puts them in order; the engine
 * makes one request of each run of blocks, unless redo has come to it already.
 * Those that come out of the order of LSNs, because the server has found out only
 * shortly before redo comes to them, have a pool of their own, which goes first.
 * How many blocks may be in flight, and how many may be there before redo needs
 * them, is decided by the controller (control.h) from how fast blocks come.
 * Knows neither where references come from nor how a sink reads.  Every block
 * ends in exactly one counter: duplicate, read, found, failed, stale or abandoned.
 */
#include <errno.h>
#include <stdlib.h>

#include "ablate.h"
#include "engine/engine_internal.h"
#include "report/clock.h"

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
#define EXPRESS_PART	32
#define EXPRESS_MIN		4

/* Longest time to ask for blocks before looking for answers, us. */
#define ASK_US			5000

/*
 * A sweep is begun only when this part of the window is free: what redo frees
 * piece by piece would be asked for piece by piece, in no order.
 */
#define SWEEP_PART		8

/* Part of the window that what is asked for late, and what is not, has at least. */
#define LATE_PART_MIN	8

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
#define RECHECK_DEPTHS	4

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
	err = pool__create(&engine->pool, options->window);
	if (err == 0)
		err = pool__create(&engine->late, options->window);
	if (err == 0)
		err = reader__create(&engine->reader, options->sink, options->dirfd,
							 options->depth, options->files, options->trace);
	if (err < 0)
	{
		engine__destroy(engine);
		return err;
	}
	control__init(&engine->control, options->start_depth, options->depth, options->start_window,
				  options->window, options->sink->set_depth != NULL);
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
	pool__destroy(&engine->pool);
	pool__destroy(&engine->late);
	free(engine);
}

/* A recovery begins: counters start at zero. */
void
engine__begin(struct engine *engine, const struct relpath_layout *layout)
{
	reader__begin(&engine->reader, layout);
	engine->blocked = false;
	engine->moved_us = engine->suspected_us = engine->reader.now_us;
	engine->steered_us = engine->fed_us = engine->reader.now_us;
	engine->stood_us = 0;
	engine->fed = engine->reader.counters;
	engine->memory_us = engine->replay_lsn = engine->newest_lsn = 0;
	engine->recent_refs = engine->recent_late = 0;
	engine->full = false;
	pool__clear(&engine->pool);
	pool__clear(&engine->late);
	walahead__begin(&engine->wal, layout);
	recheck__begin(&engine->recheck);
	recheck__begin(&engine->late_recheck);
	control__begin(&engine->control, engine->reader.now_us);
	if (engine->options.sink->set_depth != NULL)
		engine->options.sink->set_depth(engine->reader.sink, engine->control.depth);
}

/*
 * Ask for a run that a pool told last; false if it must wait.
 *
 * Where memory is short, only if it is not there.  The kernel marks dirty pages that it
 * wants to reclaim with the bit that elsewhere means that a reader will go on, so that
 * to read one starts read-ahead of what nobody wants (PG_reclaim is PG_readahead; no
 * advice to the file changes that).
 */
static bool
ask_for(struct engine *engine, struct pool *pool, const struct pool_run *run)
{
	enum pool_outcome outcome;
	int			found = -1;		/* not known */
	int			asked;

	if (control__is_short(&engine->control) && !ablated(lookbefore))
		found = reader__finds(&engine->reader, run);
	if (found == PRESENT_ALL)
	{
		reader__found(&engine->reader, run);
		engine->reader.counters.refs_duplicate += pool__take(pool, run, POOL_FOUND);
		return true;
	}
	asked = reader__ask(&engine->reader, run);
	if (asked < 0)
	{
		engine->blocked = true;
		return false;
	}
	/* What is not looked for is released like what was not there. */
	if (ablated(lookbefore))
		found = PRESENT_NONE;
	outcome = asked == 0 ? POOL_REFUSED : found == PRESENT_NONE ? POOL_ABSENT : POOL_ASKED;
	engine->reader.counters.refs_duplicate += pool__take(pool, run, outcome);
	return true;
}

/* May so many more blocks be in flight, and is there time to ask for them? */
static bool
has_room(struct engine *engine, unsigned blocks)
{
	if (engine->reader.in_flight > 0 && engine->reader.in_flight + blocks > engine->control.depth)
	{
		engine->limited = true;
		return false;
	}
	/* Opening files takes its time on a busy disk. */
	return clock__now_us() - engine->reader.now_us < ASK_US;
}

/* Ask for WAL that will be decoded soon.  False if it must wait. */
static bool
start_wal(struct engine *engine, uint64_t decode_lsn)
{
	struct pool_run run;

	if (ablated(walahead))
		return true;
	walahead__fit(&engine->wal, (uint64_t) engine->control.window * engine->reader.layout.block_size);
	while (walahead__next(&engine->wal, decode_lsn, &run))
	{
		int			asked;

		if (reader__misses(&engine->reader, &run))
			return true;
		if (!has_room(engine, reader__weight(&run)))
			return false;
		asked = reader__ask(&engine->reader, &run);
		engine->blocked = asked < 0;
		if (asked <= 0)
			return asked == 0;
		walahead__take(&engine->wal, &run);
	}
	return true;
}

/* Ask again for what is gone of a pool although redo is near.  False if it must wait. */
static bool
start_again(struct engine *engine, struct recheck *recheck, struct pool *pool)
{
	uint64_t	until_lsn = pool__lsn_ahead(&engine->pool, engine->control.depth * RECHECK_DEPTHS);
	struct pool_run run;
	int			asked;

	if (ablated(recheck))
		return true;
	while (recheck__next(recheck, pool, &engine->reader, until_lsn, &run))
	{
		if (!has_room(engine, 1))
			return false;
		asked = reader__ask(&engine->reader, &run);
		engine->blocked = asked < 0;
		if (asked < 0)
			return false;
		recheck__take(recheck);
	}
	return true;
}

/* Ask for what redo wants next, wherever it is.  False if it must wait. */
static bool
start_express(struct engine *engine, struct pool *pool)
{
	unsigned	lane = engine->control.depth / EXPRESS_PART;
	struct pool_run run;

	if (ablated(express))
		return true;
	if (lane < EXPRESS_MIN)
		lane = EXPRESS_MIN;
	while (pool__express(pool, lane, &run))
		if (!has_room(engine, 1) || !ask_for(engine, pool, &run))
			return false;
	return true;
}

/*
 * Ask for blocks in sweeps, until so many are there before redo needs them; a
 * new sweep is begun when at least so many may be in it.  False if it must wait.
 */
static bool
start_sweeps(struct engine *engine, struct pool *pool, unsigned ahead, unsigned least)
{
	struct pool_run run;

	while (pool->waiting > 0 && pool->ahead < ahead)
	{
		if (!pool__next(pool, engine->reader.max_run, &run))
		{
			if (ahead - pool->ahead < least || pool__begin_sweep(pool, ahead - pool->ahead) == 0)
				return true;
			engine->reader.counters.sweeps++;
			continue;
		}
		if (!has_room(engine, run.blocks) || !ask_for(engine, pool, &run))
			return false;
	}
	return true;
}

/*
 * How much of the window is left for what will be asked for late, blocks: such a
 * part as it has had lately, but neither nearly nothing nor nearly all.
 */
static unsigned
window_for_late(const struct engine *engine)
{
	unsigned	window = engine->control.window;
	unsigned	part;

	if (engine->recent_late == 0)
		return 0;
	part = (unsigned) ((double) engine->recent_late / (double) engine->recent_refs * window);
	if (part < window / LATE_PART_MIN)
		return window / LATE_PART_MIN;
	return min(part, window - window / LATE_PART_MIN);
}

/* Ask for as much as may be in flight: WAL, what is gone, what redo wants next, the rest. */
static void
start_runs(struct engine *engine, uint64_t decode_lsn)
{
	unsigned	for_late = window_for_late(engine);
	unsigned	for_pool = engine->control.window - for_late;

	/* What the others do not use. */
	if (engine->pool.ahead < for_pool)
		for_late += for_pool - engine->pool.ahead;
	engine->blocked = engine->limited = false;
	if (start_wal(engine, decode_lsn) &&
		start_again(engine, &engine->late_recheck, &engine->late) &&
		start_again(engine, &engine->recheck, &engine->pool) &&
		start_express(engine, &engine->late) &&
		start_express(engine, &engine->pool) &&
		start_sweeps(engine, &engine->late, for_late, 0))
		start_sweeps(engine, &engine->pool, for_pool, for_pool / SWEEP_PART);
}

/* Give up what redo has come to before it was asked for. */
static void
retire(struct engine *engine, uint64_t replay_lsn, uint64_t *counter, const char *result)
{
	struct pool_run missed;

	while (pool__retire(&engine->pool, replay_lsn, &missed) ||
		   pool__retire(&engine->late, replay_lsn, &missed))
	{
		(*counter)++;
		reader__trace(&engine->reader, &missed, 0, 1, result, 0);
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
	struct pool_run run;

	if (!engine->full || !control__is_short(&engine->control) || ablated(release))
		return;
	while (clock__now_us() - engine->reader.now_us < RELEASE_US &&
		   (pool__used(&engine->pool, RELEASE_NEAREST, RELEASE_FARTHEST, &run) ||
			pool__used(&engine->late, RELEASE_NEAREST, RELEASE_FARTHEST, &run)))
		reader__release(&engine->reader, &run);
}

/*
 * One round: ask for what may be asked for, and collect what is there.  If that
 * is nothing it waits for completions, up to busy_wait_us while some of the
 * plan must wait for them, up to spare_wait_us when all of it has been asked
 * for.  Returns the number of completions or -errno if the sink is broken.
 */
int
engine__run(struct engine *engine, uint64_t replay_lsn, uint64_t decode_lsn,
			unsigned busy_wait_us, unsigned spare_wait_us)
{
	unsigned	in_flight_requests;
	unsigned	want;

	engine->reader.now_us = clock__now_us();
	if (replay_lsn != engine->replay_lsn)
	{
		engine->replay_lsn = replay_lsn;
		engine->moved_us = engine->reader.now_us;
	}
	retire(engine, replay_lsn, &engine->reader.counters.blocks_stale, "stale");
	release_used(engine);
	start_runs(engine, decode_lsn);
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
	return reader__reap(&engine->reader, want, engine__waiting(engine) == 0 ? spare_wait_us : busy_wait_us);
}

/*
 * The recovery is over: give up the plan, wait for what is in flight, close
 * all files.  Returns -ETIMEDOUT if reads do not come back; they can only be
 * ended with the sink then.
 */
int
engine__end(struct engine *engine)
{
	uint64_t	deadline_us = clock__now_us() + DRAIN_TIMEOUT_US;
	int			err = 0;

	retire(engine, UINT64_MAX, &engine->reader.counters.blocks_abandoned, "abandoned");
	engine->reader.counters.blocks_abandoned += engine__waiting(engine);	/* of no possible LSN */
	pool__clear(&engine->pool);
	pool__clear(&engine->late);
	while (engine->reader.in_flight > 0 && err >= 0)
		err = clock__now_us() < deadline_us ?
			reader__reap(&engine->reader, 1, DRAIN_WAIT_US) : -ETIMEDOUT;
	if (err >= 0)
		fdcache__clear(engine->reader.files);
	trace__flush(engine->options.trace);
	return err < 0 ? err : 0;
}

/* References that engine__offer takes now. */
unsigned
engine__room(const struct engine *engine)
{
	unsigned	room = pool__room(&engine->pool);
	unsigned	late = pool__room(&engine->late);

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
		engine->recent_late /= 2;
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
		else if (refs[i].lsn < engine->newest_lsn && !ablated(outoforder))
		{
			engine->reader.counters.refs_late++;
			engine->recent_late++;
			pool__add(&engine->late, &key, block, refs[i].lsn);
		}
		else
		{
			engine->newest_lsn = refs[i].lsn;
			pool__add(&engine->pool, &key, block, refs[i].lsn);
		}
	}
}

/* Close files that were unlinked; call it often. */
void
engine__sweep(struct engine *engine)
{
	fdcache__sweep(engine->reader.files, clock__now_us(), &engine->reader.counters);
}

/* Blocks asked for and not yet there. */
unsigned
engine__in_flight(const struct engine *engine)
{
	return engine->reader.in_flight;
}

/* Blocks that have not been asked for. */
unsigned
engine__waiting(const struct engine *engine)
{
	return engine->pool.waiting + engine->late.waiting;
}

/* Blocks that have been asked for and not used by redo. */
unsigned
engine__ahead(const struct engine *engine)
{
	return engine->pool.ahead + engine->late.ahead;
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
	return engine->reader.in_flight == 0 && engine__waiting(engine) == 0;
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
