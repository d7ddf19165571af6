/*
 * pool.c
 *		Holds the blocks that redo will need, until redo has come to them.
 *
 * Two orders matter.  Blocks come, and redo will want them, by LSN.  Disks want
 * them by place: a sweep is a part of the waiting blocks, sorted by file and
 * block, worked off to its end before the next one begins.  What arrives
 * meanwhile waits for the next sweep, so that no block waits for more than two
 * of them (Coffman, Klimko and Ryan, "Analysis of scanning policies for
 * reducing disk seek times", 1972: FSCAN).  A sweep over thousands of blocks
 * may be long; the express lane lets the few that redo wants next go first.
 *
 * A pure data structure: reads no file, no clock and no shared memory.
 */
#include <errno.h>
#include <stdlib.h>

#include "ablate.h"
#include "engine/pool.h"

/* Order of two numbers, as qsort wants it. */
#define ORDER(a, b)		(((a) > (b)) - ((a) < (b)))

enum entry_state
{
	ENTRY_WAITING,				/* to be asked for */
	ENTRY_ASKED,				/* asked for */
	ENTRY_ABSENT,				/* asked for, and was not there before */
	ENTRY_FOUND,				/* was there before */
	ENTRY_USED,					/* was absent, and redo has come to it */
	ENTRY_GONE					/* needless: replayed, or named twice */
};

struct pool_entry
{
	uint64_t	lsn;			/* of the record that needs it */
	struct relpath_key key;		/* the segment file */
	uint32_t	block;			/* block in the segment */
	enum entry_state state;		/* what became of it */
};

/* Make a pool of at least so many entries, POOL_MIN_ENTRIES to POOL_MAX_ENTRIES. */
int
pool__create(struct pool *pool, unsigned entries)
{
	uint32_t	size = POOL_MIN_ENTRIES;

	while (size < entries)
		size *= 2;
	*pool = (struct pool) {.mask = size - 1};
	pool->entries = calloc(size, sizeof(*pool->entries));
	pool->sweep = calloc(size, sizeof(*pool->sweep));
	if (pool->entries != NULL && pool->sweep != NULL)
		return 0;
	pool__destroy(pool);
	return -ENOMEM;
}

/* Free what pool__create made. */
void
pool__destroy(struct pool *pool)
{
	free(pool->entries);
	free(pool->sweep);
	pool->entries = NULL;
	pool->sweep = NULL;
}

/* Forget all blocks. */
void
pool__clear(struct pool *pool)
{
	pool->head = pool->tail = pool->express = pool->looked = pool->used = pool->swept = 0;
	pool->sweep_count = pool->sweep_next = 0;
	pool->waiting = pool->ahead = 0;
}

static struct pool_entry *
entry_at(const struct pool *pool, uint64_t position)
{
	return &pool->entries[position & pool->mask];
}

/* How many blocks may be added. */
unsigned
pool__room(const struct pool *pool)
{
	return pool->mask + 1 - (unsigned) (pool->head - pool->tail);
}

/* Add a block; there must be room. */
void
pool__add(struct pool *pool, const struct relpath_key *key, uint32_t block, uint64_t lsn)
{
	*entry_at(pool, pool->head++) = (struct pool_entry)
	{
		.lsn = lsn,.key = *key,.block = block,.state = ENTRY_WAITING
	};
	pool->waiting++;
}

/* The end of the next so many blocks for redo. */
static uint64_t
end_of_lane(const struct pool *pool, unsigned lane)
{
	return pool->head - pool->tail > lane ? pool->tail + lane : pool->head;
}

/* The run of one entry. */
static struct pool_run
run_of(const struct pool_entry *entry)
{
	return (struct pool_run)
	{
		.key = entry->key,.block = entry->block,.blocks = 1,.lsn = entry->lsn
	};
}

/*
 * Let go of the blocks of records before replay_lsn, up to the next one that
 * had not been asked for.  Returns true, and tells which, if there was one: then
 * call it again.  Should LSNs ever go back, some blocks stay for longer.
 */
bool
pool__retire(struct pool *pool, uint64_t replay_lsn, struct pool_run *missed)
{
	while (pool->tail != pool->head)
	{
		struct pool_entry *entry = entry_at(pool, pool->tail);
		enum entry_state state = entry->state;

		if (entry->lsn >= replay_lsn)
			return false;
		pool->tail++;
		if (pool->swept < pool->tail)
			pool->swept = pool->tail;
		entry->state = state == ENTRY_ABSENT ? ENTRY_USED : ENTRY_GONE;
		if (state == ENTRY_ASKED || state == ENTRY_ABSENT || state == ENTRY_FOUND)
			pool->ahead--;
		else if (state == ENTRY_WAITING)
		{
			pool->waiting--;
			*missed = run_of(entry);
			return true;
		}
	}
	return false;
}

/*
 * The next block that was absent before, and that redo has come to: at least "nearest"
 * blocks ago, and at most "farthest", if they have not been overwritten.  Tells each of
 * them once.
 */
bool
pool__used(struct pool *pool, unsigned nearest, unsigned farthest, struct pool_run *run)
{
	uint64_t	size = (uint64_t) pool->mask + 1;

	if (pool->used + farthest < pool->tail)
		pool->used = pool->tail - farthest;
	if (pool->used + size < pool->head)
		pool->used = pool->head - size;
	while (pool->used + nearest < pool->tail)
	{
		const struct pool_entry *entry = entry_at(pool, pool->used++);

		if (entry->state == ENTRY_USED)
		{
			*run = run_of(entry);
			return true;
		}
	}
	return false;
}

/* The oldest waiting block, if it is among the next "lane" ones for redo. */
bool
pool__express(struct pool *pool, unsigned lane, struct pool_run *run)
{
	uint64_t	end = end_of_lane(pool, lane);

	if (pool->express < pool->tail)
		pool->express = pool->tail;
	for (; pool->express < end; pool->express++)
	{
		const struct pool_entry *entry = entry_at(pool, pool->express);

		if (entry->state == ENTRY_WAITING)
		{
			*run = run_of(entry);
			return true;
		}
	}
	return false;
}

/* Up to which LSN the next so many blocks reach; UINT64_MAX if there are no more. */
uint64_t
pool__lsn_ahead(const struct pool *pool, unsigned blocks)
{
	uint64_t	end = end_of_lane(pool, blocks);

	return end < pool->head ? entry_at(pool, end)->lsn : UINT64_MAX;
}

/*
 * The next one in "each" blocks that have been asked for, or the next one that was
 * there before, if a record up to until_lsn needs it: is it still there?  Tells each of
 * them once.  What was there before may be about to leave.
 */
bool
pool__look(struct pool *pool, uint64_t until_lsn, unsigned each, struct pool_run *run)
{
	if (pool->looked < pool->tail)
		pool->looked = pool->tail;
	while (pool->looked < pool->head && entry_at(pool, pool->looked)->lsn <= until_lsn)
	{
		uint64_t	position = pool->looked++;
		const struct pool_entry *entry = entry_at(pool, position);

		if (entry->state == ENTRY_FOUND ||
			((entry->state == ENTRY_ASKED || entry->state == ENTRY_ABSENT) &&
			 position % each == 0))
		{
			*run = run_of(entry);
			run->again = true;
			run->found = entry->state == ENTRY_FOUND;
			return true;
		}
	}
	return false;
}

/* Look for blocks once more, from the next one for redo on. */
void
pool__look_again(struct pool *pool)
{
	pool->looked = pool->tail;
}

static int
compare_places(const void *left, const void *right, void *pool)
{
	const struct pool_entry *a = entry_at(pool, *(const uint32_t *) left);
	const struct pool_entry *b = entry_at(pool, *(const uint32_t *) right);
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
same_file(const struct pool_entry *a, const struct pool_entry *b)
{
	return a->key.rel == b->key.rel && a->key.segment == b->key.segment &&
		a->key.fork == b->key.fork && a->key.db == b->key.db &&
		a->key.spc == b->key.spc && a->key.kind == b->key.kind;
}

/*
 * Begin a sweep over the oldest waiting blocks that have not been in one, at
 * most limit of them, or POOL_MAX_SWEEP.  The one before must be done.  Returns
 * how many.
 */
unsigned
pool__begin_sweep(struct pool *pool, unsigned limit)
{
	if (limit > POOL_MAX_SWEEP)
		limit = POOL_MAX_SWEEP;
	pool->sweep_count = pool->sweep_next = 0;
	for (; pool->swept < pool->head && pool->sweep_count < limit; pool->swept++)
		if (entry_at(pool, pool->swept)->state == ENTRY_WAITING)
			pool->sweep[pool->sweep_count++] = (uint32_t) pool->swept & pool->mask;
	if (!ablated(sweep))
		qsort_r(pool->sweep, pool->sweep_count, sizeof(*pool->sweep), compare_places, pool);
	return pool->sweep_count;
}

/* The next run of the sweep, of at most max_run blocks; false when it is done. */
bool
pool__next(struct pool *pool, uint32_t max_run, struct pool_run *run)
{
	const struct pool_entry *first;
	uint32_t	i;

	/*
	 * An entry that redo came to meanwhile may stand for another block by now.
	 * If that waits it is asked for a little early, out of place.
	 */
	while (pool->sweep_next < pool->sweep_count &&
		   entry_at(pool, pool->sweep[pool->sweep_next])->state != ENTRY_WAITING)
		pool->sweep_next++;
	if (pool->sweep_next == pool->sweep_count)
		return false;

	first = entry_at(pool, pool->sweep[pool->sweep_next]);
	*run = run_of(first);
	for (i = pool->sweep_next + 1; i < pool->sweep_count; i++)
	{
		const struct pool_entry *entry = entry_at(pool, pool->sweep[i]);
		uint32_t	distance = entry->block - run->block;

		/* The last block once more, or the one after it. */
		if (entry->state != ENTRY_WAITING || !same_file(entry, first) ||
			distance + 1 < run->blocks || distance > run->blocks)
			break;
		if (distance == run->blocks)
		{
			if (run->blocks == max_run)
				break;
			run->blocks++;
		}
		if (entry->lsn > run->lsn)
			run->lsn = entry->lsn;
	}
	run->span = i - pool->sweep_next;
	return true;
}

/*
 * Done with the run that pool__next or pool__express told last, and what became of it.
 * Returns how many of its entries named a block that another one named, too.
 */
unsigned
pool__take(struct pool *pool, const struct pool_run *run, enum pool_outcome outcome)
{
	static const enum entry_state states[] = {
		[POOL_REFUSED] = ENTRY_GONE,[POOL_ASKED] = ENTRY_ASKED,
		[POOL_ABSENT] = ENTRY_ABSENT,[POOL_FOUND] = ENTRY_FOUND
	};
	enum entry_state state = states[outcome];

	if (outcome != POOL_REFUSED)
		pool->ahead += run->blocks;
	if (run->span == 0)
	{
		entry_at(pool, pool->express)->state = state;
		pool->waiting--;
		return 0;
	}
	for (uint32_t i = 0, blocks = 0; i < run->span; i++)
	{
		struct pool_entry *entry = entry_at(pool, pool->sweep[pool->sweep_next++]);
		bool		again = entry->block - run->block < blocks;

		entry->state = again ? ENTRY_GONE : state;
		blocks += !again;
	}
	pool->waiting -= run->span;
	return run->span - run->blocks;
}
