/*
 * submit.c
 *		Submits blocks in the right order: WAL that is decoded next, evicted blocks,
 *		those that redo needs next, more WAL, and the rest in sweeps.
 *
 * Each step ends when no more blocks may be in flight.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "engine/engine_internal.h"

/*
 * Of the blocks that may be in flight, one in DEADLINE_PART, but at least
 * DEADLINE_MIN, are those that redo needs next, wherever they are on disk.
 */
#define DEADLINE_PART	32
#define DEADLINE_MIN	4

/* WAL that is submitted before blocks, bytes ahead of decoding. */
#define WAL_FIRST		(8 * 1024 * 1024)

/* Longest time to submit blocks before completions are fetched, us. */
#define SUBMIT_US		5000

/*
 * A sweep begins when this part of the read-ahead limit is free, and so many blocks are
 * queued, or fewer than SWEEP_AHEAD are ahead of redo: otherwise blocks would be submitted
 * as they come, in no order.
 */
#define SWEEP_PART		16
#define SWEEP_AHEAD		4096

/* A sweep does not wait for more blocks if none has come for so long, us. */
#define SWEEP_WAIT_US	200000

/*
 * When redo waits, so many of the blocks that it needs next are checked, and so many
 * after each that was evicted; in all at most so many times the
 * I/O depth, but never fewer than at first.
 */
#define REVALIDATE_BLOCKS	32
#define REVALIDATE_DEPTHS	4

/*
 * How much of a run is resident, as reader__residency returns it.  Where the kernel
 * or the file system cannot report that, it is not tried again.
 */
static int
check_residency(struct engine *engine, const struct block_run *run)
{
	int			residency;

	if (engine->no_residency)
		return -EOPNOTSUPP;
	residency = reader__residency(&engine->reader, run);
	if (residency < 0 && residency != -ENOENT)
	{
		engine->no_residency = true;
		log_debug("cannot check whether blocks are in the page cache (%s); blocks evicted "
				  "before redo are not read again", strerror(-residency));
	}
	return residency;
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
	enum block_outcome outcome = BLOCK_SUBMITTED;
	int			residency = -1; /* unknown */
	int			submitted;

	if (control__memory_limited(&engine->control))
		residency = check_residency(engine, run);
	if (residency == RESIDENT_ALL)
	{
		engine->reader.counters.blocks_resident += run->blocks;
		reader__log(&engine->reader, run, 0, run->blocks, "resident", 0);
	}
	else
	{
		submitted = reader__submit(&engine->reader, run);
		if (submitted < 0)
			return false;
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
	if (engine->reader.in_flight > 0 &&
		engine->reader.in_flight + blocks > engine->control.io_depth)
	{
		engine->limited = true;
		return false;
	}
	/* Opening files is slow on a busy disk. */
	return engine_now_us(engine) - engine->reader.now_us < SUBMIT_US;
}

/* Submit WAL up to so many bytes ahead of decoding.  False if it must wait. */
static bool
submit_wal(struct engine *engine, uint64_t decode_lsn, uint64_t ahead)
{
	uint64_t	limit = (uint64_t) engine->control.readahead_limit *
		engine->reader.layout.block_size;
	struct block_run run;

	while (walahead__next(&engine->wal_next, &engine->reader.layout, limit, decode_lsn,
						  engine->reader.wal_lsn, &run) &&
		   (run.lsn < decode_lsn || run.lsn - decode_lsn < ahead))
	{
		if (!has_room(engine, reader__weight(&run)) || reader__submit(&engine->reader, &run) < 0)
			return false;
		/* A segment that is missing is the end of WAL. */
		engine->wal_next = run.lsn + (uint64_t) run.blocks * engine->reader.layout.block_size;
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
	unsigned	depths = engine->control.io_depth * REVALIDATE_DEPTHS;
	uint64_t	last = engine->queue.tail +
		(depths > REVALIDATE_BLOCKS ? depths : REVALIDATE_BLOCKS);
	struct reader *reader = &engine->reader;
	struct block_run run;

	for (; engine->revalidate < engine->revalidate_end; engine->revalidate++)
	{
		int			residency;

		if (!block_queue__submitted(&engine->queue, engine->revalidate, &run))
			continue;
		if (!has_room(engine, 1))
			return false;
		residency = check_residency(engine, &run);
		if (engine->no_residency)
		{
			engine->revalidate_end = engine->revalidate;
			break;
		}
		if (residency == -ENOENT)
			continue;
		reader->counters.blocks_revalidated++;
		if (residency == RESIDENT_ALL)
			continue;
		if (reader__submit(reader, &run) < 0)
			return false;
		engine->revalidate_end = engine->revalidate + 1 + REVALIDATE_BLOCKS;
		if (engine->revalidate_end > last)
			engine->revalidate_end = last;
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

/*
 * How many blocks a gap may have that a request reads, too: none where the device is not
 * busy.  Gaps take memory: they are bounded as if each block ahead of redo had one.  Where
 * there is no redo, all that was read before has to stay.
 */
static uint32_t
max_gap(const struct engine *engine)
{
	const struct control *control = &engine->control;
	uint64_t	gap = control->gap_bytes / engine->reader.layout.block_size;
	uint64_t	fits = control->memory_blocks / (engine->queue.ahead + 1);

	if (engine->options.no_redo || !engine->busy)
		return 0;
	return (uint32_t) (gap < fits ? gap : fits);
}

/* Submit blocks in sweeps until the read-ahead limit is reached. */
static void
submit_sweeps(struct engine *engine)
{
	struct block_queue *queue = &engine->queue;
	unsigned	limit = engine->control.readahead_limit;
	unsigned	least = limit / SWEEP_PART;
	struct block_run run;

	while (queue->queued > 0 && queue->ahead < limit)
	{
		if (!block_queue__next(queue, engine->reader.max_run, max_gap(engine), &run))
		{
			unsigned	room = limit - queue->ahead;

			engine->gathers = queue->queued < least && queue->ahead >= SWEEP_AHEAD &&
				engine->reader.now_us - engine->offered_us < SWEEP_WAIT_US &&
				!engine->options.no_redo;
			if (engine->gathers || room < least || block_queue__begin_sweep(queue, room) == 0)
				return;
			engine->reader.counters.sweeps++;
			continue;
		}
		if (!has_room(engine, run.blocks) || !submit_run(engine, &run))
			return;
	}
}

/*
 * Submit as much as may be in flight: WAL that is decoded next, evicted blocks, those that
 * redo needs next, more WAL, and the rest.
 */
void
submit__all(struct engine *engine, uint64_t decode_lsn)
{
	engine->busy = engine->limited;
	engine->limited = engine->gathers = false;
	if (submit_wal(engine, decode_lsn, WAL_FIRST) && submit_evicted(engine) &&
		submit_deadline(engine) && submit_wal(engine, decode_lsn, UINT64_MAX))
		submit_sweeps(engine);
}

/* Redo waits: the blocks that it needs next may have been evicted, and are checked. */
void
submit__revalidate(struct engine *engine)
{
	if (engine->no_residency)
		return;
	engine->revalidate = engine->queue.tail;
	engine->revalidate_end = engine->queue.tail + REVALIDATE_BLOCKS;
}
