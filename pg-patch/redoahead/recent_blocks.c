/*
 * recent_blocks.c
 *		Memory of the blocks that redo will have, or has, in shared buffers:
 *		making and clearing it.  What runs per block is inline in recent_blocks.h.
 */
#include "recent_blocks.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Alignment of the slots: that of a huge page. */
#define SLOTS_ALIGNMENT		(2 * 1024 * 1024)

/*
 * Make a table that remembers at least "blocks" blocks (at most 2^26) without
 * crowding.  Returns false if there isn't the memory.
 */
bool
recent_blocks__create(RecentBlocks *table, uint32_t blocks)
{
	size_t		size;
	int			bits = 4;

	while (bits < 26 && ((1 << bits) < RECENT_BLOCKS_NEIGHBORS ||
						 ((uint64_t) RECENT_BLOCKS_WAYS << bits) < (uint64_t) blocks * 2))
		bits++;

	table->nsets = UINT32_C(1) << bits;
	table->shift = 64 - bits;
	size = (size_t) table->nsets * RECENT_BLOCKS_WAYS * sizeof(RecentBlock);
	table->memory = aligned_alloc(size < SLOTS_ALIGNMENT ? 64 : SLOTS_ALIGNMENT, size);
	table->slots = table->memory;
	if (table->memory == NULL)
		return false;

	/* Slots are met at random; with small pages each costs a TLB miss, too. */
	if (size >= SLOTS_ALIGNMENT)
		(void) madvise(table->memory, size, MADV_HUGEPAGE);

	recent_blocks__clear(table);
	return true;
}

/* Free what recent_blocks__create() took; a zeroed table is fine, too. */
void
recent_blocks__destroy(RecentBlocks *table)
{
	free(table->memory);
	memset(table, 0, sizeof(*table));
}

/* Forget all blocks. */
void
recent_blocks__clear(RecentBlocks *table)
{
	memset(table->slots, 0,
		   (size_t) table->nsets * RECENT_BLOCKS_WAYS * sizeof(RecentBlock));
}
