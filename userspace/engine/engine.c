/*
 * engine.c
 *		Keeps the right number of reads in flight, in the right order.
 *
 * References come in batches; plan.c makes an ordered list of runs of each,
 * and the engine works it off: one request per run, at most depth blocks in
 * flight, none for what has been replayed meanwhile.  Knows neither where
 * references come from nor how a sink reads.  Every block that was planned
 * ends in exactly one counter: read, failed, stale or abandoned.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/absent.h"
#include "engine/engine.h"
#include "engine/fdcache.h"
#include "engine/plan.h"
#include "report/clock.h"
#include "report/log.h"

/*
 * How long the end of a recovery waits for one completion at a time, and for
 * all of them, us.
 */
#define DRAIN_WAIT_US	100000
#define DRAIN_TIMEOUT_US	30000000

/* A run that is in flight. */
struct request
{
	struct plan_run run;		/* what was asked for */
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
	struct plan_run *runs;		/* the plan: options.batch of them */
	unsigned	run_count;		/* runs in the plan */
	unsigned	run_next;		/* next run to ask for */
	struct request *requests;	/* by token: options.depth of them */
	uint32_t   *free_tokens;	/* stack of unused tokens */
	unsigned	free_count;		/* tokens on the stack */
	struct sink_completion *done;	/* room for options.depth of them */
	unsigned	in_flight;		/* blocks asked for and not yet there */
	bool		blocked;		/* no descriptor until a request completes */
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
	engine->runs = calloc(options->batch, sizeof(*engine->runs));
	engine->requests = calloc(options->depth, sizeof(*engine->requests));
	engine->free_tokens = calloc(options->depth, sizeof(*engine->free_tokens));
	engine->done = calloc(options->depth, sizeof(*engine->done));
	err = -ENOMEM;
	if (engine->runs == NULL || engine->requests == NULL ||
		engine->free_tokens == NULL || engine->done == NULL)
		goto fail;
	for (unsigned i = 0; i < options->depth; i++)
		engine->free_tokens[engine->free_count++] = options->depth - 1 - i;

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
	free(engine->runs);
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
	engine->run_count = engine->run_next = 0;
	engine->blocked = false;
	memset(&engine->counters, 0, sizeof(engine->counters));
	absent__clear(&engine->absent);
}

/* Tell the trace what became of a part of a run. */
static void
trace_blocks(struct engine *engine, const struct plan_run *run, uint32_t first,
			 uint32_t blocks, const char *result, uint64_t latency_us)
{
	char		path[RELPATH_BYTES];

	if (engine->options.trace == NULL || blocks == 0)
		return;
	relpath__format(&run->key, &engine->layout, path);
	for (uint32_t i = 0; i < blocks; i++)
		trace__block(engine->options.trace,
					 run->key.kind == REDOAHEAD_KIND_SLRU ? "slru" : "relation",
					 path, run->block + first + i, run->lsn, result, latency_us);
}

/* Count blocks of a run, from first to its end, as failed. */
static void
fail_blocks(struct engine *engine, const struct plan_run *run, uint32_t first,
			enum fail_reason reason, uint64_t latency_us)
{
	uint32_t	blocks = run->blocks - first;

	engine->counters.blocks_failed[reason] += blocks;
	trace_blocks(engine, run, first, blocks, counters__fail_name(reason), latency_us);
}

/* A request is done: count its blocks and give back what it held. */
static void
complete(struct engine *engine, uint32_t token, int32_t result)
{
	struct request *request = &engine->requests[token];
	const struct plan_run *run = &request->run;
	uint64_t	latency_us = engine->now_us - request->start_us;
	uint32_t	present = 0;

	engine->in_flight -= run->blocks;
	engine->free_tokens[engine->free_count++] = token;
	engine->blocked = false;
	fdcache__unpin(request->file);

	if (result > 0)
		present = (uint32_t) result / engine->layout.block_size;
	engine->counters.blocks_read += present;
	engine->counters.latency_us += present * latency_us;
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

/* Is the next run needless or hopeless?  Then it is counted and done with. */
static bool
skip_run(struct engine *engine, const struct plan_run *run, uint64_t replay_lsn)
{
	enum fail_reason reason;

	if (run->lsn < replay_lsn)
	{
		engine->counters.blocks_stale += run->blocks;
		trace_blocks(engine, run, 0, run->blocks, "stale", 0);
		return true;
	}
	if (absent__has(&engine->absent, &run->key, run->block, engine->now_us, &reason))
	{
		engine->counters.known_missing += run->blocks;
		fail_blocks(engine, run, 0, reason, 0);
		return true;
	}
	return false;
}

/*
 * Hand one run to the sink.  Returns 0 when the run is done with, be it asked
 * for or failed, and -EAGAIN when it must wait for a completion.
 */
static int
start_run(struct engine *engine, const struct plan_run *run)
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
	engine->counters.requests++;
	engine->counters.requests_joined += run->blocks > 1;
	engine->counters.blocks_requested += run->blocks;
	return 0;
}

/* Ask for as much of the plan as may be in flight. */
static void
start_runs(struct engine *engine, uint64_t replay_lsn)
{
	engine->blocked = false;
	while (engine->run_next < engine->run_count)
	{
		const struct plan_run *run = &engine->runs[engine->run_next];

		if (!skip_run(engine, run, replay_lsn))
		{
			if (engine->in_flight + run->blocks > engine->options.depth)
				break;
			if (start_run(engine, run) < 0)
			{
				engine->blocked = true;
				break;
			}
		}
		engine->run_next++;
	}
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
engine__run(struct engine *engine, uint64_t replay_lsn,
			unsigned busy_wait_us, unsigned spare_wait_us)
{
	unsigned	in_flight_requests;
	unsigned	want;
	bool		spare;

	engine->now_us = clock__now_us();
	start_runs(engine, replay_lsn);

	spare = engine->run_next == engine->run_count;

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
	return reap(engine, want, spare ? spare_wait_us : busy_wait_us);
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

	for (; engine->run_next < engine->run_count; engine->run_next++)
	{
		const struct plan_run *run = &engine->runs[engine->run_next];

		engine->counters.blocks_abandoned += run->blocks;
		trace_blocks(engine, run, 0, run->blocks, "abandoned", 0);
	}
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
	return engine->run_next == engine->run_count ? engine->options.batch : 0;
}

/* Plan for a batch of references; only when engine__room allows it. */
void
engine__offer(struct engine *engine, const struct redoahead_ref *refs,
			  unsigned count, uint64_t replay_lsn)
{
	engine->counters.batches++;
	engine->counters.refs_taken += count;
	engine->run_count = plan__build(refs, count, &engine->layout, replay_lsn,
									engine->max_run, engine->runs, &engine->counters);
	engine->run_next = 0;
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

/* Data files open now. */
unsigned
engine__open_files(const struct engine *engine)
{
	return fdcache__open_files(engine->files);
}

/* Is there nothing planned and nothing in flight? */
bool
engine__idle(const struct engine *engine)
{
	return engine->in_flight == 0 && engine->run_next == engine->run_count;
}

/* Counters of the present recovery, to read and to add to. */
struct counters *
engine__counters(struct engine *engine)
{
	return &engine->counters;
}
