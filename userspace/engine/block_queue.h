/*
 * block_queue.h
 *		The blocks that redo will need, and the order in which they are submitted.
 */
#ifndef REDOAHEAD_ENGINE_BLOCK_QUEUE_H
#define REDOAHEAD_ENGINE_BLOCK_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/relpath.h"

/* Least size of a queue, blocks. */
#define BLOCK_QUEUE_MIN_ENTRIES	256

/* Most blocks of a sweep; sorting them takes about 50 ms. */
#define BLOCK_QUEUE_MAX_SWEEP		(128 * 1024)

/* Longest run, blocks. */
#define BLOCK_RUN_MAX			64

/* Blocks of one segment file that are read by one request, with the gaps between them. */
struct block_run
{
	struct relpath_key key;		/* the segment file */
	uint32_t	block;			/* first block in the segment */
	uint32_t	blocks;			/* length, blocks, up to BLOCK_RUN_MAX */
	uint64_t	needed;			/* bit i: is block + i needed? */
	uint64_t	lsn;			/* the last record that needs one of them */
	uint32_t	span;			/* its entries in the sweep; 0: from the deadline queue */
	bool		evicted;		/* was read before and evicted */
};

/* What became of a run. */
enum block_outcome
{
	BLOCK_REFUSED,				/* it cannot be read */
	BLOCK_SUBMITTED,			/* it was submitted, or it was resident */
	BLOCK_READ_ABSENT			/* it was submitted, because it was not resident */
};

/* How many of the first so many blocks of a run are needed. */
static inline uint32_t
block_run__needed(const struct block_run *run, uint32_t blocks)
{
	uint64_t	first = blocks < 64 ? (UINT64_C(1) << blocks) - 1 : UINT64_MAX;

	return (uint32_t) __builtin_popcountll(run->needed & first);
}

struct block_queue_entry;

struct block_queue
{
	struct block_queue_entry *entries; /* circular, in order of arrival, which is LSN order */
	uint32_t	mask;			/* number of them, less 1 */
	uint64_t	head;			/* entries added so far */
	uint64_t	tail;			/* the oldest one that redo has not reached */
	uint64_t	deadline;		/* none before this one is queued */
	uint64_t	used;			/* all before this one were returned as used */
	uint64_t	swept;			/* all before this one were put into a sweep */
	uint32_t   *sweep;			/* indexes of entries, by file and block */
	uint32_t	sweep_count;	/* entries in the sweep */
	uint32_t	sweep_next;		/* its next one */
	unsigned	queued;			/* entries not submitted yet */
	unsigned	ahead;			/* entries submitted that redo has not reached */
};

int			block_queue__create(struct block_queue *queue, unsigned entries);
void		block_queue__destroy(struct block_queue *queue);
void		block_queue__clear(struct block_queue *queue);
unsigned	block_queue__room(const struct block_queue *queue);
void		block_queue__add(struct block_queue *queue, const struct relpath_key *key,
							 uint32_t block, uint64_t lsn);
bool		block_queue__retire(struct block_queue *queue, uint64_t replay_lsn,
								struct block_run *missed);
bool		block_queue__used(struct block_queue *queue, unsigned delay, struct block_run *run);
bool		block_queue__next_deadline(struct block_queue *queue, unsigned count,
									   struct block_run *run);
bool		block_queue__submitted(const struct block_queue *queue, uint64_t position,
								   struct block_run *run);
unsigned	block_queue__begin_sweep(struct block_queue *queue, unsigned limit);
bool		block_queue__next(struct block_queue *queue, uint32_t max_run, uint32_t max_gap,
							 struct block_run *run);
unsigned	block_queue__finish(struct block_queue *queue, const struct block_run *run,
								enum block_outcome outcome);

#endif							/* REDOAHEAD_ENGINE_BLOCK_QUEUE_H */
