/*
 * engine.c
 *		Keeps the right number of reads in flight, in the right order.
 *
 * References wait in a pool (pool.h), which puts them in order; the engine
 * makes one request of each run of blocks, unless redo has come to it already.
 * How many blocks may be in flight, and how many may be there before redo needs
 * them, is decided by the controller (control.h) from how fast blocks come.
 * Knows neither where references come from nor how a sink reads.  Every block
 * ends in exactly one counter: duplicate, read, failed, stale or abandoned.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/absent.h"
#include "engine/engine.h"
#include "engine/fdcache.h"
#include "engine/memory.h"
#include "engine/pool.h"
#include "engine/walahead.h"
#include "report/clock.h"
#include "report/log.h"

/*
 * How long the end of a recovery waits for one completion at a time, and for
 * all of them, us.
 */
#define DRAIN_WAIT_US	100000
#define DRAIN_TIMEOUT_US	30000000

/* Blocks in flight at first. */
#define FIRST_DEPTH		256

/*
 * Of the blocks that may be in flight, one in so many, but at least so many,
 * are those that redo will want next, wherever they are.
 */
#define EXPRESS_PART	32
#define EXPRESS_MIN		4

/*
 * Part of available memory that may hold blocks read ahead.  Redo writes most
 * of the pages that it reads, the list of inactive pages that new ones go
 * through holds half of the page cache, and others use the machine, too.
 */
#define MEMORY_PART		8

/* Time between two looks at memory, us. */
#define MEMORY_US		1000000

/* Redo that has not moved for so long stands still, us. */
#define STANDS_STILL_US	500

/* A run that is in flight. */
struct request
{
	struct pool_run run;		/* what was asked for */
	struct fdcache_file *file;	/* pinned */
	uint64_t	start_us;		/* when it was handed to the sink, us */
};

struct engine
{
	struct engine_options options;	/* as given */
	struct relpath_layout layout;	/* of the present recovery */
	uint32_t	max_run;		/* longest run, blocks */
	struct sink *sink;			/* what reads */
	struct fdcache *files;		/* open segment files */
	struct absent absent;		/* files and blocks known to be missing */
	struct pool pool;			/* blocks to ask for */
	struct walahead wal;		/* WAL to ask for */
	struct control control;		/* how many blocks, and how far ahead */
	struct request *requests;	/* by token: options.depth of them */
	uint32_t   *free_tokens;	/* stack of unused tokens */
	unsigned	free_count;		/* tokens on the stack */
	struct sink_completion *done;	/* room for options.depth of them */
	unsigned	in_flight;		/* blocks asked for and not yet there */
	bool		blocked;		/* no descriptor until a request completes */
	uint64_t	memory_us;		/* when memory was looked at last, us */
	uint64_t	replay_lsn;		/* where redo is */
	uint64_t	moved_us;		/* when it was seen to move last, us */
	uint64_t	now_us;			/* the time, read once per round, us */
	struct counters counters;	/* of the present recovery */
};

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
	engine->requests = calloc(options->depth, sizeof(*engine->requests));
	engine->free_tokens = calloc(options->depth, sizeof(*engine->free_tokens));
	engine->done = calloc(options->depth, sizeof(*engine->done));
	err = pool__create(&engine->pool, options->window);
	if (engine->requests == NULL || engine->free_tokens == NULL || engine->done == NULL)
		err = -ENOMEM;
	if (err < 0)
		goto fail;
	for (unsigned i = 0; i < options->depth; i++)
		engine->free_tokens[engine->free_count++] = options->depth - 1 - i;
	control__init(&engine->control, FIRST_DEPTH, options->depth, options->window,
				  options->sink->set_depth != NULL);

	err = fdcache__create(&engine->files, options->dirfd, options->files);
	if (err == 0)
		err = options->sink->open(&engine->sink, options->depth);
	if (err == 0)
	{
		*result = engine;
		return 0;
	}

fail:
	engine__destroy(engine);
	return err;
}

/* Free an engine; requests in flight are waited for by the sink. */
void
engine__destroy(struct engine *engine)
{
	if (engine == NULL)
		return;
	if (engine->sink != NULL)
		engine->options.sink->close(engine->sink);
	fdcache__destroy(engine->files);
	pool__destroy(&engine->pool);
	free(engine->requests);
	free(engine->free_tokens);
	free(engine->done);
	free(engine);
}

/* A recovery begins: counters start at zero. */
void
engine__begin(struct engine *engine, const struct relpath_layout *layout)
{
	engine->layout = *layout;
	engine->max_run = SINK_MAX_BYTES / layout->block_size;
	if (engine->max_run > engine->options.depth)
		engine->max_run = engine->options.depth;
	engine->blocked = false;
	engine->now_us = engine->moved_us = clock__now_us();
	engine->memory_us = engine->replay_lsn = 0;
	pool__clear(&engine->pool);
	walahead__begin(&engine->wal, layout);
	control__begin(&engine->control, engine->now_us);
	memset(&engine->counters, 0, sizeof(engine->counters));
	absent__clear(&engine->absent);
}

static bool
is_wal(const struct pool_run *run)
{
	return run->key.kind == RELPATH_KIND_WAL;
}

/* The kind of a run's blocks, for the trace. */
static const char *
kind_name(const struct pool_run *run)
{
	if (is_wal(run))
		return "wal";
	return run->key.kind == REDOAHEAD_KIND_SLRU ? "slru" : "relation";
}

/* Tell the trace what became of a part of a run. */
static void
trace_blocks(struct engine *engine, const struct pool_run *run, uint32_t first,
			 uint32_t blocks, const char *result, uint64_t latency_us)
{
	char		path[RELPATH_BYTES];

	if (engine->options.trace == NULL || blocks == 0)
		return;
	relpath__format(&run->key, &engine->layout, path);
	for (uint32_t i = 0; i < blocks; i++)
		trace__block(engine->options.trace, kind_name(run), path,
					 run->block + first + i, run->lsn, result, latency_us);
}

/* Count blocks of a run, from first to its end, as failed. */
static void
fail_blocks(struct engine *engine, const struct pool_run *run, uint32_t first,
			enum fail_reason reason, uint64_t latency_us)
{
	uint32_t	blocks = run->blocks - first;

	/* That there is no WAL ahead says nothing but that it ends there. */
	if (!is_wal(run))
		engine->counters.blocks_failed[reason] += blocks;
	trace_blocks(engine, run, first, blocks, counters__fail_name(reason), latency_us);
}

/* A request is done: count its blocks and give back what it held. */
static void
complete(struct engine *engine, uint32_t token, int32_t result)
{
	struct request *request = &engine->requests[token];
	const struct pool_run *run = &request->run;
	uint64_t	latency_us = engine->now_us - request->start_us;
	uint32_t	present = 0;

	engine->in_flight -= run->blocks;
	engine->free_tokens[engine->free_count++] = token;
	engine->blocked = false;
	fdcache__unpin(request->file);

	if (result > 0)
		present = (uint32_t) result / engine->layout.block_size;
	if (is_wal(run))
		engine->counters.wal_blocks_read += present;
	else
	{
		engine->counters.blocks_read += present;
		engine->counters.latency_us += present * latency_us;
	}
	trace_blocks(engine, run, 0, present, "read", latency_us);

	if (result < 0)
		fail_blocks(engine, run, 0, counters__fail_reason(result), latency_us);
	else if (present < run->blocks)
	{
		fail_blocks(engine, run, present, FAIL_BEYOND_EOF, latency_us);
		absent__note(&engine->absent, &run->key, run->block + present,
					 FAIL_BEYOND_EOF, engine->now_us);
		fdcache__check(engine->files, request->file, &engine->counters);
	}
}

/* Do we know that a run cannot be read?  Then it is counted as failed. */
static bool
is_absent(struct engine *engine, const struct pool_run *run)
{
	enum fail_reason reason;

	if (!absent__has(&engine->absent, &run->key, run->block, engine->now_us, &reason))
		return false;
	engine->counters.known_missing += run->blocks;
	fail_blocks(engine, run, 0, reason, 0);
	return true;
}

/*
 * Hand one run to the sink.  Returns 1 if it has been asked for, 0 if that
 * failed, and -EAGAIN if it must wait for a completion.
 */
static int
start_run(struct engine *engine, const struct pool_run *run)
{
	uint32_t	block_size = engine->layout.block_size;
	struct request *request;
	struct fdcache_file *file;
	uint32_t	token;
	int			err;

	err = fdcache__pin(engine->files, &run->key, &engine->layout, &file, &engine->counters);
	if (err == -EBUSY)
		return -EAGAIN;
	if (err < 0)
	{
		enum fail_reason reason = counters__fail_reason(err);

		fail_blocks(engine, run, 0, reason, 0);
		if (reason == FAIL_MISSING_FILE)
			absent__note(&engine->absent, &run->key, 0, reason, engine->now_us);
		return 0;
	}

	token = engine->free_tokens[engine->free_count - 1];
	err = engine->options.sink->queue(engine->sink, file->fd,
									  (uint64_t) run->block * block_size,
									  run->blocks * block_size, token);
	if (err < 0)
	{
		fdcache__unpin(file);
		return -EAGAIN;
	}
	engine->free_count--;
	request = &engine->requests[token];
	request->run = *run;
	request->file = file;
	request->start_us = engine->now_us;

	engine->in_flight += run->blocks;
	if (engine->in_flight > engine->counters.in_flight_max)
		engine->counters.in_flight_max = engine->in_flight;
	if (!is_wal(run))
	{
		engine->counters.requests++;
		engine->counters.requests_joined += run->blocks > 1;
		engine->counters.blocks_requested += run->blocks;
	}
	return 1;
}

/* Ask for a run that the pool told last; false if it must wait. */
static bool
ask_for(struct engine *engine, const struct pool_run *run)
{
	int			asked = is_absent(engine, run) ? 0 : start_run(engine, run);

	if (asked < 0)
	{
		engine->blocked = true;
		return false;
	}
	engine->counters.refs_duplicate += pool__take(&engine->pool, run, asked > 0);
	return true;
}

/* May so many more blocks be in flight? */
static bool
has_room(const struct engine *engine, unsigned blocks)
{
	return engine->in_flight + blocks <= engine->control.depth ||
		engine->in_flight == 0;
}

/* Ask for WAL that will be decoded soon.  False if it must wait. */
static bool
start_wal(struct engine *engine, uint64_t decode_lsn)
{
	struct pool_run run;
	enum fail_reason reason;

	while (walahead__next(&engine->wal, decode_lsn, &run))
	{
		int			asked;

		if (absent__has(&engine->absent, &run.key, run.block, engine->now_us, &reason))
			return true;
		if (!has_room(engine, run.blocks))
			return false;
		asked = start_run(engine, &run);
		if (asked <= 0)
			return asked == 0;
		walahead__take(&engine->wal, &run);
	}
	return true;
}

/* Ask for as much as may be in flight: WAL, what redo wants next, the rest. */
static void
start_runs(struct engine *engine, uint64_t decode_lsn)
{
	struct pool *pool = &engine->pool;
	unsigned	lane = engine->control.depth / EXPRESS_PART;
	struct pool_run run;

	engine->blocked = false;
	if (lane < EXPRESS_MIN)
		lane = EXPRESS_MIN;
	if (!start_wal(engine, decode_lsn))
		return;
	while (pool__express(pool, lane, &run))
		if (!has_room(engine, 1) || !ask_for(engine, &run))
			return;
	while (pool->waiting > 0)
	{
		unsigned	ahead = pool->ahead;

		if (!pool__next(pool, engine->max_run, &run))
		{
			if (ahead >= engine->control.window)
				return;
			if (pool__begin_sweep(pool, engine->control.window - ahead) == 0)
				return;
			engine->counters.sweeps++;
			continue;
		}
		if (!has_room(engine, run.blocks) || !ask_for(engine, &run))
			return;
	}
}

/* Give up what redo has come to before it was asked for. */
static void
retire(struct engine *engine, uint64_t replay_lsn, uint64_t *counter, const char *result)
{
	struct pool_run missed;

	while (pool__retire(&engine->pool, replay_lsn, &missed))
	{
		(*counter)++;
		trace_blocks(engine, &missed, 0, 1, result, 0);
	}
}

/* Let the controller see how it goes, and follow it. */
static void
steer(struct engine *engine)
{
	struct control *control = &engine->control;
	unsigned	depth = control->depth;
	bool		limited = engine->pool.waiting > 0 &&
		engine->in_flight + engine->max_run > depth;

	if (engine->now_us - engine->memory_us >= MEMORY_US)
	{
		engine->memory_us = engine->now_us;
		control__fit(control, engine->now_us,
					 memory__available() / MEMORY_PART / engine->layout.block_size);
	}
	control__note(control, engine->now_us, engine->counters.blocks_read, limited,
				  engine->now_us - engine->moved_us >= STANDS_STILL_US);
	if (control->depth != depth)
		engine->options.sink->set_depth(engine->sink, control->depth);
}

/* Fetch completions, waiting for some of them. */
static int
reap(struct engine *engine, unsigned want, unsigned wait_us)
{
	int			n;

	n = engine->options.sink->flush(engine->sink, want, wait_us, engine->done);
	if (n < 0)
		return n;
	engine->now_us = clock__now_us();
	for (int i = 0; i < n; i++)
		complete(engine, engine->done[i].token, engine->done[i].result);
	return n;
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

	engine->now_us = clock__now_us();
	if (replay_lsn != engine->replay_lsn)
	{
		engine->replay_lsn = replay_lsn;
		engine->moved_us = engine->now_us;
	}
	retire(engine, replay_lsn, &engine->counters.blocks_stale, "stale");
	start_runs(engine, decode_lsn);
	steer(engine);

	in_flight_requests = engine->options.depth - engine->free_count;
	if (in_flight_requests == 0)
		return 0;

	/*
	 * Wake up for a quarter of what is in flight rather than for each block:
	 * a wake-up costs more than a read, and the rest keeps the disk busy.
	 */
	want = in_flight_requests / 4;
	if (want == 0 || engine->blocked)
		want = 1;
	return reap(engine, want, engine->pool.waiting == 0 ? spare_wait_us : busy_wait_us);
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

	retire(engine, UINT64_MAX, &engine->counters.blocks_abandoned, "abandoned");
	while (engine->in_flight > 0 && err >= 0)
		err = clock__now_us() < deadline_us ?
			reap(engine, 1, DRAIN_WAIT_US) : -ETIMEDOUT;
	if (err >= 0)
		fdcache__clear(engine->files);
	trace__flush(engine->options.trace);
	return err < 0 ? err : 0;
}

/* References that engine__offer takes now. */
unsigned
engine__room(const struct engine *engine)
{
	return pool__room(&engine->pool);
}

/* Take references, no more than engine__room allows. */
void
engine__offer(struct engine *engine, const struct redoahead_ref *refs, unsigned count)
{
	engine->counters.refs_taken += count;
	for (unsigned i = 0; i < count; i++)
	{
		struct relpath_key key;
		uint32_t	block;
		enum invalid_reason reason;

		if (refs[i].flags & REDOAHEAD_REF_IMPLIED)
			engine->counters.refs_implied++;
		if (relpath__resolve(&refs[i], &engine->layout, &key, &block, &reason) < 0)
			engine->counters.refs_invalid[reason]++;
		else
			pool__add(&engine->pool, &key, block, refs[i].lsn);
	}
}

/* Close files that were unlinked; call it often. */
void
engine__sweep(struct engine *engine)
{
	fdcache__sweep(engine->files, clock__now_us(), &engine->counters);
}

/* Blocks asked for and not yet there. */
unsigned
engine__in_flight(const struct engine *engine)
{
	return engine->in_flight;
}

/* Blocks that have not been asked for. */
unsigned
engine__waiting(const struct engine *engine)
{
	return engine->pool.waiting;
}

/* Blocks that have been asked for and not used by redo. */
unsigned
engine__ahead(const struct engine *engine)
{
	return engine->pool.ahead;
}

/* Data files open now. */
unsigned
engine__open_files(const struct engine *engine)
{
	return fdcache__open_files(engine->files);
}

/* Is there nothing to ask for and nothing in flight? */
bool
engine__idle(const struct engine *engine)
{
	return engine->in_flight == 0 && engine->pool.waiting == 0;
}

/* Counters of the present recovery, to read and to add to. */
struct counters *
engine__counters(struct engine *engine)
{
	return &engine->counters;
}

/* The limits now, and why they changed. */
const struct control *
engine__control(const struct engine *engine)
{
	return &engine->control;
}
