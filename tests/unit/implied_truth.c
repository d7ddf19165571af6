/*
 * implied_truth.c
 *		Where PostgreSQL's own code has map and SLRU entries are.
 *
 * The functions and macros that know are private to the server's source files,
 * so this file is compiled once with each of them included, as TRUTH_FILE names it.
 * Their other functions are dropped by the linker (--gc-sections); nothing of
 * the server runs here.
 */
#define TRUTH_VISIBILITYMAP	1
#define TRUTH_FREESPACE		2
#define TRUTH_CLOG			3
#define TRUTH_COMMIT_TS		4
#define TRUTH_MULTIXACT		5

#if TRUTH_FILE == TRUTH_VISIBILITYMAP
#include "access/heap/visibilitymap.c"
#elif TRUTH_FILE == TRUTH_FREESPACE
#include "storage/freespace/freespace.c"
#elif TRUTH_FILE == TRUTH_CLOG
#include "access/transam/clog.c"
#elif TRUTH_FILE == TRUTH_COMMIT_TS
#include "access/transam/commit_ts.c"
#elif TRUTH_FILE == TRUTH_MULTIXACT
#include "access/transam/multixact.c"
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

#elif TRUTH_FILE == TRUTH_CLOG

uint32_t
truth__xact(uint32_t xid)
{
	return TransactionIdToPage(xid);
}

#elif TRUTH_FILE == TRUTH_COMMIT_TS

uint32_t
truth__commit_ts(uint32_t xid)
{
	return TransactionIdToCTsPage(xid);
}

#elif TRUTH_FILE == TRUTH_MULTIXACT

uint32_t
truth__multixact_offset(uint32_t multi)
{
	return MultiXactIdToOffsetPage(multi);
}

uint32_t
truth__multixact_member(uint32_t member)
{
	return MXOffsetToMemberPage(member);
}

#endif
