/*
 * implied_truth.c
 *		Where map entries are according to PostgreSQL's own code.
 *
 * The functions and macros that know are private to the server's source files,
 * so this file is compiled once with each of them included, as TRUTH_FILE says.
 * Their other functions are dropped by the linker (--gc-sections); nothing of
 * the server runs here.
 */
#define TRUTH_VISIBILITYMAP	1
#define TRUTH_FREESPACE		2

#if TRUTH_FILE == TRUTH_VISIBILITYMAP
#include "access/heap/visibilitymap.c"
#elif TRUTH_FILE == TRUTH_FREESPACE
#include "storage/freespace/freespace.c"
#else
#error TRUTH_FILE is not set, see tests/unit/run-implied
#endif

#include "implied_truth.h"

#if TRUTH_FILE == TRUTH_VISIBILITYMAP

uint32_t
truth__vm(uint32_t heap_block)
{
	return HEAPBLK_TO_MAPBLOCK(heap_block);
}

#elif TRUTH_FILE == TRUTH_FREESPACE

uint32_t
truth__fsm(uint32_t heap_block, int level)
{
	uint16		slot;
	FSMAddress	addr = fsm_get_location(heap_block, &slot);

	while (addr.level < level)
		addr = fsm_get_parent(addr, &slot);
	return fsm_logical_to_physical(addr);
}

#endif
