/*
 * pool.h
 *		The blocks that redo will need, and the order in which to ask for them.
 */
#ifndef REDOAHEAD_ENGINE_POOL_H
#define REDOAHEAD_ENGINE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/relpath.h"

/* Blocks that a pool may hold. */
#define POOL_MIN_ENTRIES	64
#define POOL_MAX_ENTRIES	(1024 * 1024)

/* Most blocks of a sweep; sorting them takes some 50 ms. */
#define POOL_MAX_SWEEP		(128 * 1024)

/* A run of adjacent blocks in one segment file. */
struct pool_run
{
	struct relpath_key key;		/* the segment file */
	uint32_t	block;			/* first block in the segment */
	uint32_t	blocks;			/* length, blocks */
	uint64_t	lsn;			/* the last record that needs one of them */
	uint32_t	span;			/* entries of the sweep; 0: from the express lane */
	bool		again;			/* was read before, and is gone */
	bool		found;			/* was there before */
};

/* What became of a run. */
enum pool_outcome
{
	POOL_REFUSED,				/* it cannot be read */
	POOL_ASKED,					/* it has been asked for; maybe it was there */
	POOL_ABSENT,				/* it has been asked for, as it was not there */
	POOL_FOUND					/* it was there, and not asked for */
};

struct pool_entry;

struct pool
{
	struct pool_entry *entries; /* circular, as they came: by LSN */
	uint32_t	mask;			/* number of them, less 1 */
	uint64_t	head;			/* entries added so far */
	uint64_t	tail;			/* the oldest one that redo has not come to */
	uint64_t	express;		/* none before this one waits */
	uint64_t	looked;			/* none before this one is to be looked for */
	uint64_t	used;			/* all before this one were told as used */
	uint64_t	swept;			/* all before this one were put into a sweep */
	uint32_t   *sweep;			/* indexes of entries, as the disk has them */
	uint32_t	sweep_count;	/* entries in the sweep */
	uint32_t	sweep_next;		/* its next one */
	unsigned	waiting;		/* entries that have not been asked for */
	unsigned	ahead;			/* entries asked for that redo has not come to */
};

int			pool__create(struct pool *pool, unsigned entries);
void		pool__destroy(struct pool *pool);
void		pool__clear(struct pool *pool);
unsigned	pool__room(const struct pool *pool);
void		pool__add(struct pool *pool, const struct relpath_key *key,
					  uint32_t block, uint64_t lsn);
bool		pool__retire(struct pool *pool, uint64_t replay_lsn, struct pool_run *missed);
bool		pool__used(struct pool *pool, unsigned nearest, unsigned farthest,
					   struct pool_run *run);
bool		pool__express(struct pool *pool, unsigned lane, struct pool_run *run);
uint64_t	pool__lsn_ahead(const struct pool *pool, unsigned blocks);
bool		pool__look(struct pool *pool, uint64_t until_lsn, unsigned each, struct pool_run *run);
void		pool__look_again(struct pool *pool);
unsigned	pool__begin_sweep(struct pool *pool, unsigned limit);
bool		pool__next(struct pool *pool, uint32_t max_run, struct pool_run *run);
unsigned	pool__take(struct pool *pool, const struct pool_run *run,
					   enum pool_outcome outcome);

#endif							/* REDOAHEAD_ENGINE_POOL_H */
