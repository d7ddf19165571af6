/*
 * recent_blocks.c
 *		The recent-block cache: allocating and freeing it.  What runs per block
 *		is inline in recent_blocks.h.
 */
#include "common/recent_blocks.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Alignment of a large table: that of a huge page. */
#define HUGE_PAGE_BYTES		(2 * 1024 * 1024)

/* Bits of the number of sets for so many blocks. */
static int
set_bits(uint32_t blocks)
{
	int			bits = 4;

	while (bits < 26 && ((1 << bits) < RECENT_BLOCKS_NEIGHBORS ||
						 ((uint64_t) RECENT_BLOCKS_WAYS << bits) < (uint64_t) blocks * 2))
		bits++;
	return bits;
}

/*
 * Memory that a table takes which holds at least "blocks" blocks (at most 2^26) without
 * crowding, bytes: it has two to four times as many entries, RECENT_BLOCKS_EXCESS, but
 * not less than 128.
 */
size_t
recent_blocks__bytes(uint32_t blocks)
{
	return ((size_t) RECENT_BLOCKS_WAYS << set_bits(blocks)) * sizeof(RecentBlock);
}

/* Make an empty table of memory that is zero, and aligned to a cache line. */
void
recent_blocks__init(RecentBlocks *table, void *memory, uint32_t blocks)
{
	int			bits = set_bits(blocks);

	table->nsets = UINT32_C(1) << bits;
	table->shift = 64 - bits;
	table->blocks = memory;
}

/* Create a table.  Returns false if there isn't enough memory. */
bool
recent_blocks__create(RecentBlocks *table, uint32_t blocks)
{
	size_t		size = recent_blocks__bytes(blocks);
	void	   *memory = aligned_alloc(size < HUGE_PAGE_BYTES ? 64 : HUGE_PAGE_BYTES, size);

	if (memory == NULL)
	{
		memset(table, 0, sizeof(*table));
		return false;
	}

	/* Access is random; with small pages each one costs a TLB miss, too. */
	if (size >= HUGE_PAGE_BYTES)
		(void) madvise(memory, size, MADV_HUGEPAGE);
	memset(memory, 0, size);
	recent_blocks__init(table, memory, blocks);
	return true;
}

/* Free what recent_blocks__create() allocated; a zeroed table is fine, too. */
void
recent_blocks__destroy(RecentBlocks *table)
{
	free(table->blocks);
	memset(table, 0, sizeof(*table));
}
