/*
 * recent_blocks.c
 *		The recent-block cache: allocating and freeing it.  What runs per block
 *		is inline in recent_blocks.h.
 */
#include "common/recent_blocks.h"

#include <sys/mman.h>

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

/*
 * Create a table.  Its memory is allocated when it is used.  Returns false if there isn't
 * enough.
 */
bool
recent_blocks__create(RecentBlocks *table, uint32_t blocks)
{
	size_t		size = recent_blocks__bytes(blocks);
	void	   *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
							  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(table, 0, sizeof(*table));
	if (memory == MAP_FAILED)
		return false;

	/* Access is random; with small pages each one costs a TLB miss, too. */
	(void) madvise(memory, size, MADV_HUGEPAGE);
	recent_blocks__init(table, memory, blocks);
	return true;
}

/* Free what recent_blocks__create() allocated; a zeroed table is fine, too. */
void
recent_blocks__destroy(RecentBlocks *table)
{
	if (table->blocks != NULL)
		(void) munmap(table->blocks,
					  (size_t) table->nsets * RECENT_BLOCKS_WAYS * sizeof(RecentBlock));
	memset(table, 0, sizeof(*table));
}
