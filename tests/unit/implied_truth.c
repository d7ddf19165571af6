/*
 * implied_truth.c
 *		Where PostgreSQL's own code has map and SLRU entries are.
 *
 * The functions and macros that know are private to the server's source files,
 * so this file is compiled once with each of them included; see tests/unit/run-implied.
 * Their other functions are dropped by the linker (--gc-sections); nothing of
 * the server runs here.
 */
#ifdef TRUTH_VISIBILITYMAP
#include "access/heap/visibilitymap.c"
#include "implied_truth.h"

uint32_t
truth__vm(uint32_t heap_block)
{
	return HEAPBLK_TO_MAPBLOCK(heap_block);
}

#elif defined(TRUTH_FREESPACE)
#include "storage/freespace/freespace.c"
#include "implied_truth.h"

uint32_t
truth__fsm(uint32_t heap_block, int level)
{
	uint16		slot;
	FSMAddress	addr = fsm_get_location(heap_block, &slot);

	while (addr.level < level)
		addr = fsm_get_parent(addr, &slot);
	return fsm_logical_to_physical(addr);
}

#elif defined(TRUTH_CLOG)
#include "access/transam/clog.c"
#include "implied_truth.h"

uint32_t
truth__xact(uint32_t xid)
{
	return TransactionIdToPage(xid);
}

#elif defined(TRUTH_COMMIT_TS)
#include "access/transam/commit_ts.c"
#include "implied_truth.h"

uint32_t
truth__commit_ts(uint32_t xid)
{
	return TransactionIdToCTsPage(xid);
}

#elif defined(TRUTH_MULTIXACT)
#include "access/transam/multixact.c"
#include "implied_truth.h"

uint32_t
truth__multixact_offset(uint32_t multi)
{
	return MultiXactIdToOffsetPage(multi);
}

uint32_t
truth__multixact_member(uint64_t member)
{
	return MXOffsetToMemberPage(member);
}

#endif
