/*
 * engine.c
 *		Keeps the right number of reads in flight, round by round.
 *
 * References are queued (block_queue.h), and submit.c submits them.  The controller
 * (control.h) chooses how many blocks may be in flight and how many may be read ahead.
 * Does not know where references come from nor how a backend reads.  Every block ends
 * in exactly one counter: duplicate, read, resident, failed, stale or abandoned.
 */
#include <errno.h>
#include <stdlib.h>

#include "engine/engine_internal.h"

/* How long the end of a recovery waits at a time, without any completion, and at most, us. */
#define DRAIN_WAIT_US	100000
#define DRAIN_STALL_US	1000000
#define DRAIN_TIMEOUT_US	5000000

/*
 * Blocks are released so many blocks after redo has reached them: the kernel defers
 * the moves of pages between its lists, and would have to complete them on all CPUs
 * first.
 */
#define RELEASE_DELAY	64

/* Time between two readings of available memory, us. */
#define MEMORY_US		1000000

/* Redo waits if it has not proceeded for so long, us. */
#define STALLED_US		500

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

/* Free an engine; requests in flight are not waited for. */
void
engine__destroy(struct engine *engine)
{
	if (engine == NULL)
		return;
	reader__destroy(&engine->reader);
	block_queue__destroy(&engine->queue);
	free(engine);
}

/* A recovery begins: counters start at zero.  residency_works: can residency be checked? */
void
engine__begin(struct engine *engine, const struct relpath_layout *layout, bool residency_works)
{
	reader__begin(&engine->reader, layout);
	engine->moved_us = engine->checked_us = engine->reader.now_us;
	engine->memory_us = engine->replay_lsn = engine->newest_lsn = engine->offered_us = 0;
	engine->wal_next = 0;
	block_queue__clear(&engine->queue);
	engine->revalidate = engine->revalidate_end = 0;
	engine->limited = engine->gathers = false;
	engine->no_residency = !residency_works;
	engine->queries = false;
	control__begin(&engine->control, engine->reader.now_us);
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
 * Not where queries or a base backup may run beside redo: they may use them since.
 */
static void
release_used(struct engine *engine)
{
	struct block_run run;

	while (block_queue__used(&engine->queue, RELEASE_DELAY, &run))
		if (engine->options.release_used && engine->memory_full && !engine->queries &&
			control__memory_limited(&engine->control))
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

	if (stalled && engine->checked_us != engine->moved_us)
	{
		engine->checked_us = engine->moved_us;
		submit__revalidate(engine);
	}
	if (reader->now_us - engine->memory_us >= MEMORY_US)
	{
		uint64_t	part = environment->available_bytes() / ENGINE_MEMORY_PART;

		engine->memory_us = reader->now_us;
		engine->memory_full = environment->free_bytes() <= part;
		control__fit(control, reader->now_us, part / reader->layout.block_size);
	}
	control__note(control, reader->now_us, &(struct control_reads)
				  {
					  .blocks = reader->counters.blocks_read + reader->counters.blocks_reread,
						  .gap_blocks = reader->counters.gap_blocks_read,
						  .waits = reader->waits,.waits_us = reader->waits_us
				  }, engine->limited, stalled);
}

/* May queries run beside redo?  Their reads wait for the engine's. */
void
engine__share(struct engine *engine, bool queries)
{
	engine->queries = queries;
}

/*
 * One round: submit what may be submitted, and fetch completions.  If there are none,
 * wait for them, up to busy_wait_us while queued blocks wait for them, up to
 * spare_wait_us when all have been submitted that may be.  Returns the number of completions, or
 * -errno if the backend is broken.
 */
int
engine__run(struct engine *engine, uint64_t replay_lsn, uint64_t decode_lsn,
			unsigned busy_wait_us, unsigned spare_wait_us)
{
	unsigned	requests;
	unsigned	want;

	engine->reader.now_us = engine_now_us(engine);
	if (replay_lsn != engine->replay_lsn)
	{
		engine->replay_lsn = replay_lsn;
		engine->moved_us = engine->reader.now_us;
	}
	retire(engine, replay_lsn, &engine->reader.counters.blocks_stale, "stale");
	release_used(engine);
	control__pace(&engine->control, engine->reader.now_us, engine->queries,
				  engine->options.no_redo ? engine->options.readahead_limit : engine->queue.tail);
	submit__all(engine, decode_lsn);
	steer(engine);

	requests = engine->reader.io_depth - engine->reader.free_count;
	if (requests == 0)
		return 0;

	/*
	 * Wake up for a quarter of what is in flight rather than for each block: a
	 * wake-up costs more than a read, and the rest keeps the disk busy.
	 */
	want = requests / 4;
	if (want == 0)
		want = 1;
	return reader__reap(&engine->reader, want,
						engine->queue.queued == 0 || engine->gathers ? spare_wait_us : busy_wait_us);
}

/*
 * The recovery has ended: drop what is queued, wait for what is in flight, close all
 * files.  Returns -ETIMEDOUT if reads do not complete; only closing the backend ends
 * them then.
 */
int
engine__end(struct engine *engine)
{
	uint64_t	begin_us = engine_now_us(engine);
	uint64_t	done_us = begin_us; /* time of the last completion */
	int			err = 0;

	retire(engine, UINT64_MAX, &engine->reader.counters.blocks_abandoned, "abandoned");
	/* Blocks with the greatest LSN are not retired. */
	engine->reader.counters.blocks_abandoned += engine->queue.queued;
	block_queue__clear(&engine->queue);
	while (engine->reader.in_flight > 0 && err >= 0)
	{
		uint64_t	now_us = engine_now_us(engine);

		if (err > 0)
			done_us = now_us;
		err = now_us - done_us < DRAIN_STALL_US && now_us - begin_us < DRAIN_TIMEOUT_US ?
			reader__reap(&engine->reader, 1, DRAIN_WAIT_US) : -ETIMEDOUT;
	}
	if (err >= 0)
		fdcache__clear(engine->reader.files);
	else
		reader__abandon(&engine->reader);
	if (engine->options.block_log != NULL)
		fflush(engine->options.block_log);
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
	if (count > 0)
		engine->offered_us = engine->reader.now_us;
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
	fdcache__sweep(engine->reader.files, engine_now_us(engine), &engine->reader.counters);
}

/* The state between two rounds. */
struct engine_state
engine__state(const struct engine *engine)
{
	return (struct engine_state)
	{
		.queued = engine->queue.queued,.in_flight = engine->reader.in_flight,
			.ahead = engine->queue.ahead,.open_files = fdcache__open_files(engine->reader.files),
			.gathers = engine->gathers,.limited = engine->limited
	};
}

/* Counters of the present recovery, to read and to add to. */
struct counters *
engine__counters(struct engine *engine)
{
	return &engine->reader.counters;
}

/* Whose blocks were requested in the present recovery, or, until the next one, the last. */
const struct relations *
engine__relations(const struct engine *engine)
{
	return &engine->reader.relations;
}

/* The limits now, and why they changed. */
const struct control *
engine__control(const struct engine *engine)
{
	return &engine->control;
}
