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

/*
 * Create a table that holds at least "blocks" blocks (at most 2^26) without
 * crowding: it has two to four times as many entries, RECENT_BLOCKS_EXCESS, but
 * not less than 128.  Returns false if there isn't enough memory.
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
	table->blocks = aligned_alloc(size < HUGE_PAGE_BYTES ? 64 : HUGE_PAGE_BYTES, size);
	if (table->blocks == NULL)
		return false;

	/* Access is random; with small pages each one costs a TLB miss, too. */
	if (size >= HUGE_PAGE_BYTES)
		(void) madvise(table->blocks, size, MADV_HUGEPAGE);

	memset(table->blocks, 0, size);
	return true;
}

/* Free what recent_blocks__create() allocated; a zeroed table is fine, too. */
void
recent_blocks__destroy(RecentBlocks *table)
{
	free(table->blocks);
	memset(table, 0, sizeof(*table));
}
