/*
 * recent_blocks.h
 *		The recent-block cache: blocks that are, or will be, resident in shared
 *		buffers.
 *
 * A set-associative table, a pure function of its own memory: it takes no
 * lock, makes no system call and allocates only in recent_blocks__create().  It
 * knows nothing of PostgreSQL; callers give block identities as the numbers of
 * redoahead_ref, LSNs as uint64 and buffers as int32 (0: unknown).
 */
#ifndef REDOAHEAD_RECENT_BLOCKS_H
#define REDOAHEAD_RECENT_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Entries in a set: a power of two, two cache lines' worth. */
#define RECENT_BLOCKS_WAYS	4

/* A table has less than so many times the entries that it is created for. */
#define RECENT_BLOCKS_EXCESS	4

/* Adjacent blocks whose sets share a page of memory: a power of two, for pages of 4 kB. */
#define RECENT_BLOCKS_NEIGHBORS	32

/* Identity of a block; all bytes count, so clear reserved ones. */
typedef struct BlockKey
{
	uint32_t	spc;			/* tablespace OID */
	uint32_t	db;				/* database OID */
	uint32_t	rel;			/* relfilenumber, or SLRU */
	uint32_t	block;			/* block number */
	uint32_t	fork_kind;		/* fork, and kind << 8 */
} BlockKey;

/* What is known of one block. */
typedef struct RecentBlock
{
	BlockKey	key;			/* which block; never matches while lsn is 0 */
	int32_t		buffer;			/* where redo found it, 0 if not known */
	uint64_t	lsn;			/* last record that brings it in; 0: free entry */
} RecentBlock;

_Static_assert(sizeof(RecentBlock) == 32, "RecentBlock is 32 bytes");

typedef struct RecentBlocks
{
	RecentBlock *blocks;		/* nsets * RECENT_BLOCKS_WAYS, cache-line aligned */
	uint32_t	nsets;			/* a power of two */
	int			shift;			/* hash bits to drop */
} RecentBlocks;

extern size_t recent_blocks__bytes(uint32_t blocks);
extern void recent_blocks__init(RecentBlocks *table, void *memory, uint32_t blocks);
extern bool recent_blocks__create(RecentBlocks *table, uint32_t blocks);
extern void recent_blocks__destroy(RecentBlocks *table);

static inline BlockKey
block_key(uint32_t spc, uint32_t db, uint32_t rel, uint32_t block,
		  uint8_t fork, uint8_t kind)
{
	return (BlockKey) {spc, db, rel, block, fork | (uint32_t) kind << 8};
}

static inline bool
block_key_equal(const BlockKey *a, const BlockKey *b)
{
	/* In order of how likely each is to differ. */
	return a->block == b->block && a->rel == b->rel &&
		a->fork_kind == b->fork_kind && a->db == b->db && a->spc == b->spc;
}

/*
 * First entry of the set that the key belongs to.  The sets of adjacent blocks
 * are adjacent, too, so that they share a page of memory and a TLB entry.
 */
static inline RecentBlock *
recent_blocks__set(const RecentBlocks *table, const BlockKey *key)
{
	uint64_t	h;

	h = ((uint64_t) key->rel << 32 | key->block / RECENT_BLOCKS_NEIGHBORS) *
		UINT64_C(0x9E3779B97F4A7C15);
	h ^= h >> 32;
	h += ((uint64_t) key->db << 32) + key->spc + ((uint64_t) key->fork_kind << 24);
	h *= UINT64_C(0xD6E8FEB86659FD93);

	return table->blocks +
		((h >> table->shift) ^ key->block % RECENT_BLOCKS_NEIGHBORS) * RECENT_BLOCKS_WAYS;
}

/*
 * Prefetch the set of a block into the CPU's cache.  Always inlined, since GCC
 * considers a function that only prefetches to have no effect, and drops calls.
 */
static inline __attribute__((always_inline)) void
recent_blocks__prefetch(const RecentBlocks *table, const BlockKey *key)
{
	const char *set = (const char *) recent_blocks__set(table, key);

	for (size_t line = 0; line < RECENT_BLOCKS_WAYS * sizeof(RecentBlock); line += 64)
		__builtin_prefetch(set + line, 1);
}

/*
 * The entry of a block.  If there was none, *found is false, and the entry with
 * the oldest record in the set has been replaced by one whose lsn is 0.
 */
static inline RecentBlock *
recent_blocks__enter(const RecentBlocks *table, const BlockKey *key, bool *found)
{
	RecentBlock *set = recent_blocks__set(table, key);
	RecentBlock *oldest = set;

	for (int i = 0; i < RECENT_BLOCKS_WAYS; i++)
	{
		if (block_key_equal(&set[i].key, key) && set[i].lsn != 0)
		{
			*found = true;
			return &set[i];
		}
		if (set[i].lsn < oldest->lsn)
			oldest = &set[i];
	}

	oldest->key = *key;
	oldest->buffer = 0;
	oldest->lsn = 0;
	*found = false;
	return oldest;
}

#endif							/* REDOAHEAD_RECENT_BLOCKS_H */
