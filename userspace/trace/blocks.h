/*
 * blocks.h
 *		What is known of single blocks that redo has not read yet.
 */
#ifndef REDOAHEAD_TRACE_BLOCKS_H
#define REDOAHEAD_TRACE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* block_state.flags */
#define BLOCK_AHEAD		0x01	/* in the page cache, put there ahead of redo */
#define BLOCK_EVICTED	0x02	/* was so, and left unused */
#define BLOCK_NAMED		0x04	/* the server has asked the daemon for it */

/* One block; 16 bytes, because there are many. */
struct block_state
{
	uint64_t	key;			/* file and block, plus 1; 0: empty */
	uint8_t		flags;			/* BLOCK_* */
	uint8_t		source;			/* enum tally_source: who put it there */
	uint16_t	reserved;		/* 0 */
	uint32_t	reserved2;		/* 0 */
};

struct blocks
{
	struct block_state *slots;	/* hash table */
	uint64_t	slot_count;		/* a power of two */
	uint64_t	count;			/* used slots, deleted ones too */
	uint64_t	max_slots;		/* it does not grow beyond that */
	uint64_t	forgotten;		/* blocks that there was no room for */
	uint64_t	refuse;			/* so many more get none before room is looked for again */
};

int			blocks__create(struct blocks *blocks, uint64_t max_slots);
void		blocks__destroy(struct blocks *blocks);
struct block_state *blocks__find(const struct blocks *blocks, uint32_t file, uint32_t block);
struct block_state *blocks__add(struct blocks *blocks, uint32_t file, uint32_t block);
uint32_t	blocks__file_of(const struct block_state *state);

#endif							/* REDOAHEAD_TRACE_BLOCKS_H */
