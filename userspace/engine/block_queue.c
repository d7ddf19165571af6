/*
 * block_queue.c
 *		Holds the blocks that redo will need, until redo has reached them.
 *
 * Blocks arrive, and redo needs them, in LSN order.  Disks are fastest in the order of
 * places: a sweep is a part of the queued blocks, sorted by file and block, submitted
 * to its end before the next one begins.  Blocks that arrive meanwhile are queued for
 * the next sweep, so that none is delayed by more than two sweeps (Coffman, Klimko and
 * Ryan, "Analysis of scanning policies for reducing disk seek times", 1972: FSCAN).  A
 * sweep over thousands of blocks may be long: the deadline queue is the next few for redo,
 * which are submitted first.
 *
 * A pure data structure: uses no file, no clock and no shared memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/block_queue.h"

/* Order of two numbers, for qsort. */
#define ORDER(a, b)		(((a) > (b)) - ((a) < (b)))

enum entry_state
{
	ENTRY_QUEUED,				/* to be submitted */
	ENTRY_SUBMITTED,			/* submitted, or found resident */
	ENTRY_ABSENT,				/* submitted, and was not resident before */
	ENTRY_USED,					/* was absent, and redo has reached it */
	ENTRY_DROPPED				/* replayed, refused, or a duplicate */
};

struct block_queue_entry
{
	uint64_t	lsn;			/* of the record that needs it */
	struct relpath_key key;		/* the segment file */
	uint32_t	block;			/* block in the segment */
	enum entry_state state;		/* its state */
};

/* Make a queue of at least so many entries. */
int
block_queue__create(struct block_queue *queue, unsigned entries)
{
	uint32_t	size = BLOCK_QUEUE_MIN_ENTRIES;

	while (size < entries)
		size *= 2;
	*queue = (struct block_queue) {.mask = size - 1};
	queue->entries = calloc(size, sizeof(*queue->entries));
	queue->sweep = calloc(size, sizeof(*queue->sweep));
	if (queue->entries != NULL && queue->sweep != NULL)
		return 0;
	block_queue__destroy(queue);
	return -ENOMEM;
}

/* Free a queue. */
void
block_queue__destroy(struct block_queue *queue)
{
	free(queue->entries);
	free(queue->sweep);
	*queue = (struct block_queue) {0};
}

/* Remove all blocks. */
void
block_queue__clear(struct block_queue *queue)
{
	queue->head = queue->tail = queue->deadline = queue->used = queue->swept = 0;
	queue->sweep_count = queue->sweep_next = 0;
	queue->queued = queue->ahead = 0;
}

static struct block_queue_entry *
entry_at(const struct block_queue *queue, uint64_t position)
{
	return &queue->entries[position & queue->mask];
}

/* How many blocks may be added. */
unsigned
block_queue__room(const struct block_queue *queue)
{
	return queue->mask + 1 - (unsigned) (queue->head - queue->tail);
}

/* Add a block; there must be room. */
void
block_queue__add(struct block_queue *queue, const struct relpath_key *key, uint32_t block,
				 uint64_t lsn)
{
	*entry_at(queue, queue->head++) = (struct block_queue_entry)
	{
		.lsn = lsn,.key = *key,.block = block,.state = ENTRY_QUEUED
	};
	queue->queued++;
}

/* The run of one entry. */
static struct block_run
run_of(const struct block_queue_entry *entry)
{
	return (struct block_run)
	{
		.key = entry->key,.block = entry->block,.blocks = 1,.needed = 1,.lsn = entry->lsn
	};
}

/*
 * Remove the blocks of records before replay_lsn, up to the next one that was not
 * submitted.  Returns true and that block if there is one: then call it again.  A block
 * out of LSN order may stay longer.
 */
bool
block_queue__retire(struct block_queue *queue, uint64_t replay_lsn, struct block_run *missed)
{
	while (queue->tail != queue->head)
	{
		struct block_queue_entry *entry = entry_at(queue, queue->tail);
		enum entry_state state = entry->state;

		if (entry->lsn >= replay_lsn)
			return false;
		queue->tail++;
		if (queue->swept < queue->tail)
			queue->swept = queue->tail;
		entry->state = state == ENTRY_ABSENT ? ENTRY_USED : ENTRY_DROPPED;
		if (state == ENTRY_SUBMITTED || state == ENTRY_ABSENT)
			queue->ahead--;
		else if (state == ENTRY_QUEUED)
		{
			queue->queued--;
			*missed = run_of(entry);
			return true;
		}
	}
	return false;
}

/*
 * The next block that was absent before and that redo has reached, at least "delay"
 * blocks ago.  Returns each of them once.
 */
bool
block_queue__used(struct block_queue *queue, unsigned delay, struct block_run *run)
{
	/* Entries may have been overwritten. */
	if (queue->used + queue->mask + 1 < queue->head)
		queue->used = queue->head - queue->mask - 1;
	while (queue->used + delay < queue->tail)
	{
		const struct block_queue_entry *entry = entry_at(queue, queue->used++);

		if (entry->state == ENTRY_USED)
		{
			*run = run_of(entry);
			return true;
		}
	}
	return false;
}

/* The oldest queued block, if it is among the next "count" ones for redo. */
bool
block_queue__next_deadline(struct block_queue *queue, unsigned count, struct block_run *run)
{
	if (queue->deadline < queue->tail)
		queue->deadline = queue->tail;
	while (queue->deadline < queue->head &&
		   entry_at(queue, queue->deadline)->state != ENTRY_QUEUED)
		queue->deadline++;
	if (queue->deadline == queue->head || queue->deadline - queue->tail >= count)
		return false;
	*run = run_of(entry_at(queue, queue->deadline));
	return true;
}

/*
 * The block at a position that has been submitted, or was resident, and that redo has
 * not reached; false if there is none.  Positions are those of the entries.
 */
bool
block_queue__submitted(const struct block_queue *queue, uint64_t position, struct block_run *run)
{
	const struct block_queue_entry *entry = entry_at(queue, position);

	if (position < queue->tail || position >= queue->head ||
		(entry->state != ENTRY_SUBMITTED && entry->state != ENTRY_ABSENT))
		return false;
	*run = run_of(entry);
	run->evicted = true;
	return true;
}

static int
compare_places(const void *left, const void *right, void *queue)
{
	const struct block_queue_entry *a = entry_at(queue, *(const uint32_t *) left);
	const struct block_queue_entry *b = entry_at(queue, *(const uint32_t *) right);
	int			order;

	order = ORDER(a->key.rel, b->key.rel);
	if (order == 0)
		order = ORDER(a->key.segment, b->key.segment);
	if (order == 0)
		order = ORDER(a->key.fork, b->key.fork);
	if (order == 0)
		order = ORDER(a->key.db, b->key.db);
	if (order == 0)
		order = ORDER(a->key.spc, b->key.spc);
	if (order == 0)
		order = ORDER(a->key.kind, b->key.kind);
	if (order == 0)
		order = ORDER(a->block, b->block);
	return order;
}

static bool
same_file(const struct block_queue_entry *a, const struct block_queue_entry *b)
{
	return memcmp(&a->key, &b->key, sizeof(a->key)) == 0;
}

/*
 * Begin a sweep over the oldest queued blocks that have not been in one, at most
 * "limit" and BLOCK_QUEUE_MAX_SWEEP.  The one before must be done.  Returns their
 * number.
 */
unsigned
block_queue__begin_sweep(struct block_queue *queue, unsigned limit)
{
	if (limit > BLOCK_QUEUE_MAX_SWEEP)
		limit = BLOCK_QUEUE_MAX_SWEEP;
	queue->sweep_count = queue->sweep_next = 0;
	for (; queue->swept < queue->head && queue->sweep_count < limit; queue->swept++)
		if (entry_at(queue, queue->swept)->state == ENTRY_QUEUED)
			queue->sweep[queue->sweep_count++] = (uint32_t) queue->swept & queue->mask;
	qsort_r(queue->sweep, queue->sweep_count, sizeof(*queue->sweep), compare_places, queue);
	return queue->sweep_count;
}

/*
 * The next run of the sweep, of at most max_run blocks, up to BLOCK_RUN_MAX, with gaps of at
 * most max_gap; false when it is done.
 */
bool
block_queue__next(struct block_queue *queue, uint32_t max_run, uint32_t max_gap,
				  struct block_run *run)
{
	const struct block_queue_entry *first;
	uint32_t	i;

	/*
	 * Redo may have reached an entry, which may be used for another block now.  If
	 * that is queued, it is submitted early, out of order.
	 */
	while (queue->sweep_next < queue->sweep_count &&
		   entry_at(queue, queue->sweep[queue->sweep_next])->state != ENTRY_QUEUED)
		queue->sweep_next++;
	if (queue->sweep_next == queue->sweep_count)
		return false;

	first = entry_at(queue, queue->sweep[queue->sweep_next]);
	*run = run_of(first);
	for (i = queue->sweep_next + 1; i < queue->sweep_count; i++)
	{
		const struct block_queue_entry *entry = entry_at(queue, queue->sweep[i]);
		uint32_t	at = entry->block - run->block;

		/* The last block of the run once more, or one that is near. */
		if (entry->state != ENTRY_QUEUED || !same_file(entry, first) ||
			at + 1 < run->blocks || at >= max_run || at > run->blocks + max_gap)
			break;
		run->blocks = at + 1;
		run->needed |= UINT64_C(1) << at;
		if (entry->lsn > run->lsn)
			run->lsn = entry->lsn;
	}
	run->span = i - queue->sweep_next;
	return true;
}

static void
finish_entry(struct block_queue *queue, struct block_queue_entry *entry, enum entry_state state)
{
	entry->state = state;
	queue->queued--;
	queue->ahead += state != ENTRY_DROPPED;
}

/*
 * Finish the run that block_queue__next or block_queue__next_deadline returned last.
 * Returns how many of its entries were duplicates.
 */
unsigned
block_queue__finish(struct block_queue *queue, const struct block_run *run,
					enum block_outcome outcome)
{
	static const enum entry_state states[] = {
		[BLOCK_REFUSED] = ENTRY_DROPPED,[BLOCK_SUBMITTED] = ENTRY_SUBMITTED,
		[BLOCK_READ_ABSENT] = ENTRY_ABSENT
	};

	if (run->span == 0)
	{
		finish_entry(queue, entry_at(queue, queue->deadline), states[outcome]);
		return 0;
	}
	for (uint32_t i = 0, blocks = 0; i < run->span; i++)
	{
		struct block_queue_entry *entry = entry_at(queue, queue->sweep[queue->sweep_next++]);
		uint32_t	at = entry->block - run->block;

		finish_entry(queue, entry, at < blocks ? ENTRY_DROPPED : states[outcome]);
		blocks = at + 1;
	}
	return run->span - block_run__needed(run, run->blocks);
}
