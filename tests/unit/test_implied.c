/*
 * test_implied.c
 *		Do implied*.c know where PostgreSQL keeps its maps and SLRUs, and
 *		which records make redo read them?
 *
 * The addresses are compared with PostgreSQL's own code (implied_truth.c); the
 * records are made by hand.  That redo really reads these blocks, and no others,
 * is shown on a live server by scripts/uncovered-reads.
 *
 * Run by tests/unit/run-implied.  With the argument "bench" it prints the time
 * per call instead.
 */
#include "postgres.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include "access/clog.h"
#include "access/commit_ts.h"
#include "access/heapam_xlog.h"
#include "access/multixact.h"
#include "access/rmgr.h"
#include "access/visibilitymapdefs.h"
#include "access/xact.h"
#include "access/xlog_internal.h"
#include "catalog/pg_control.h"
#include "catalog/storage_xlog.h"
#include "port/atomics.h"

#include "implied.h"
#include "implied_truth.h"

#include <cmocka.h>

/* The server's replacement isn't linked. */
#undef printf

#define MAX_BLOCKS	4
#define MAX_DATA	(1024 * 1024)

/* The record under test, room for its blocks, and for its main data. */
static union
{
	DecodedXLogRecord record;
	char		space[sizeof(DecodedXLogRecord) + MAX_BLOCKS * sizeof(DecodedBkpBlock)];
}			holder;
static DecodedXLogRecord *const record = &holder.record;
static char data[MAX_DATA] pg_attribute_aligned(8);
static struct redoahead_ref refs[IMPLIED_MAX_PER_RECORD];

/*
 * Start a record without blocks and main data.
 */
static void
begin(RmgrId rmid, uint8 info)
{
	memset(&holder, 0, sizeof(holder));
	record->lsn = UINT64CONST(0x123456789);
	record->header.xl_rmid = rmid;
	record->header.xl_info = info;
	record->max_block_id = -1;
	record->main_data = data;
	memset(refs, 0xee, sizeof(refs));
}

/*
 * Add a block reference to it.
 */
static DecodedBkpBlock *
name_block(int block_id, ForkNumber fork, BlockNumber blkno)
{
	DecodedBkpBlock *block = &record->blocks[block_id];

	block->in_use = true;
	block->rlocator = (RelFileLocator)
	{
		1663, 5, 16384
	};
	block->forknum = fork;
	block->blkno = blkno;
	record->max_block_id = Max(record->max_block_id, block_id);
	return block;
}

/*
 * Append to its main data.
 */
static void
add_data(const void *bytes, size_t size)
{
	assert_true(record->main_data_len + size <= MAX_DATA);
	memcpy(data + record->main_data_len, bytes, size);
	record->main_data_len += size;
}

#define add_value(type, value) \
	do { type value_ = (value); add_data(&value_, sizeof(value_)); } while (0)

/*
 * Is refs[i] this block of the relation of name_block()?
 */
static void
check_block(int i, uint8 fork, uint32 block)
{
	assert_int_equal(refs[i].lsn, record->lsn);
	assert_int_equal(refs[i].spc, 1663);
	assert_int_equal(refs[i].db, 5);
	assert_int_equal(refs[i].rel, 16384);
	assert_int_equal(refs[i].fork, fork);
	assert_int_equal(refs[i].block, block);
	assert_int_equal(refs[i].kind, REDOAHEAD_KIND_RELATION);
	assert_int_equal(refs[i].flags, REDOAHEAD_REF_IMPLIED);
	assert_int_equal(refs[i].reserved, 0);
}

/*
 * Is refs[i] this page of an SLRU?
 */
static void
check_page(int i, uint32 slru, uint32 page)
{
	assert_int_equal(refs[i].lsn, record->lsn);
	assert_int_equal(refs[i].spc, 0);
	assert_int_equal(refs[i].db, 0);
	assert_int_equal(refs[i].rel, slru);
	assert_int_equal(refs[i].fork, 0);
	assert_int_equal(refs[i].block, page);
	assert_int_equal(refs[i].kind, REDOAHEAD_KIND_SLRU);
	assert_int_equal(refs[i].flags, REDOAHEAD_REF_IMPLIED);
	assert_int_equal(refs[i].reserved, 0);
}

/*
 * Main data of a heap record: all flags are its last byte, but a multi-insert's
 * and an update's.
 */
static void
heap_record(RmgrId rmid, uint8 info, uint8 flags)
{
	begin(rmid, info);
	memset(data, 0, 64);
	if (rmid == RM_HEAP_ID && info == XLOG_HEAP_INSERT)
	{
		((xl_heap_insert *) data)->flags = flags;
		record->main_data_len = SizeOfHeapInsert;
	}
	else if (rmid == RM_HEAP_ID && info == XLOG_HEAP_DELETE)
	{
		((xl_heap_delete *) data)->flags = flags;
		record->main_data_len = SizeOfHeapDelete;
	}
	else if (rmid == RM_HEAP_ID && (info == XLOG_HEAP_UPDATE || info == XLOG_HEAP_HOT_UPDATE))
	{
		((xl_heap_update *) data)->flags = flags;
		record->main_data_len = SizeOfHeapUpdate;
	}
	else if (rmid == RM_HEAP_ID && info == XLOG_HEAP_LOCK)
	{
		((xl_heap_lock *) data)->flags = flags;
		record->main_data_len = SizeOfHeapLock;
	}
	else if (rmid == RM_HEAP2_ID && info == XLOG_HEAP2_MULTI_INSERT)
	{
		((xl_heap_multi_insert *) data)->flags = flags;
		record->main_data_len = SizeOfHeapMultiInsert;
	}
	else if (rmid == RM_HEAP2_ID && info == XLOG_HEAP2_VISIBLE)
	{
		((xl_heap_visible *) data)->flags = flags;
		record->main_data_len = SizeOfHeapVisible;
	}
	else if (rmid == RM_HEAP2_ID && info == XLOG_HEAP2_LOCK_UPDATED)
	{
		((xl_heap_lock_updated *) data)->flags = flags;
		record->main_data_len = SizeOfHeapLockUpdated;
	}
	else
	{
		((xl_heap_prune *) data)->flags = flags;
		record->main_data_len = SizeOfHeapPrune;
	}
}

/* Every boundary between map pages, and many blocks between. */
static void
test_map_addresses(void **state)
{
	uint64		step = 1;

	for (uint64 blkno = 0; blkno < MaxBlockNumber; blkno += step)
	{
		heap_record(RM_HEAP_ID, XLOG_HEAP_INSERT, XLH_INSERT_ALL_VISIBLE_CLEARED);
		name_block(0, MAIN_FORKNUM, blkno);
		assert_int_equal(implied__of_block(record, 0, refs), 2);
		check_block(0, REDOAHEAD_FORK_VM, truth__vm(blkno));
		check_block(1, REDOAHEAD_FORK_FSM, truth__fsm(blkno, 0));
		if (blkno > 200000)
			step = 997;
	}
}

static void
test_heap_insert(void **state)
{
	DecodedBkpBlock *block;

	heap_record(RM_HEAP_ID, XLOG_HEAP_INSERT, 0);
	block = name_block(0, MAIN_FORKNUM, 4069);
	assert_int_equal(implied__of_block(record, 0, refs), 1);
	check_block(0, REDOAHEAD_FORK_FSM, 3);

	/* A new page may be full of one tuple. */
	record->header.xl_info |= XLOG_HEAP_INIT_PAGE;
	assert_int_equal(implied__of_block(record, 0, refs), 1);

	/* A full-page image is not looked at, unless it's only for checking. */
	block->has_image = true;
	assert_int_equal(implied__of_block(record, 0, refs), 1);
	block->apply_image = true;
	assert_int_equal(implied__of_block(record, 0, refs), 0);

	/* The visibility map is cleared all the same, unless named. */
	((xl_heap_insert *) data)->flags = XLH_INSERT_ALL_VISIBLE_CLEARED;
	assert_int_equal(implied__of_block(record, 0, refs), 1);
	check_block(0, REDOAHEAD_FORK_VM, 0);
	name_block(1, VISIBILITYMAP_FORKNUM, 0);
	assert_int_equal(implied__of_block(record, 0, refs), 0);
	assert_int_equal(implied__of_block(record, 1, refs), 0);

	/* A record that ends before its flags has none. */
	record->max_block_id = 0;
	record->main_data_len = offsetof(xl_heap_insert, flags);
	assert_int_equal(implied__of_block(record, 0, refs), 0);
}

static void
test_heap_multi_insert(void **state)
{
	heap_record(RM_HEAP2_ID, XLOG_HEAP2_MULTI_INSERT, XLH_INSERT_ALL_VISIBLE_CLEARED);
	name_block(0, MAIN_FORKNUM, 1);
	assert_int_equal(implied__of_block(record, 0, refs), 2);
	check_block(0, REDOAHEAD_FORK_VM, 0);
	check_block(1, REDOAHEAD_FORK_FSM, 2);

	/* COPY FREEZE names the visibility map page that it sets. */
	((xl_heap_multi_insert *) data)->flags = XLH_INSERT_ALL_FROZEN_SET;
	assert_int_equal(implied__of_block(record, 0, refs), 1);
	check_block(0, REDOAHEAD_FORK_FSM, 2);
}

static void
test_heap_delete_and_lock(void **state)
{
	heap_record(RM_HEAP_ID, XLOG_HEAP_DELETE, 0);
	name_block(0, MAIN_FORKNUM, 40000);
	assert_int_equal(implied__of_block(record, 0, refs), 0);
	heap_record(RM_HEAP_ID, XLOG_HEAP_DELETE, XLH_DELETE_ALL_VISIBLE_CLEARED);
	name_block(0, MAIN_FORKNUM, 40000);
	assert_int_equal(implied__of_block(record, 0, refs), 1);
	check_block(0, REDOAHEAD_FORK_VM, 1);

	heap_record(RM_HEAP_ID, XLOG_HEAP_LOCK, 0);
	name_block(0, MAIN_FORKNUM, 40000);
	assert_int_equal(implied__of_block(record, 0, refs), 0);
	heap_record(RM_HEAP_ID, XLOG_HEAP_LOCK, XLH_LOCK_ALL_FROZEN_CLEARED);
	name_block(0, MAIN_FORKNUM, 40000);
	assert_int_equal(implied__of_block(record, 0, refs), 1);
	check_block(0, REDOAHEAD_FORK_VM, 1);

	heap_record(RM_HEAP2_ID, XLOG_HEAP2_LOCK_UPDATED, XLH_LOCK_ALL_FROZEN_CLEARED);
	name_block(0, MAIN_FORKNUM, 40000);
	assert_int_equal(implied__of_block(record, 0, refs), 1);
	check_block(0, REDOAHEAD_FORK_VM, 1);
}

static void
test_heap_update(void **state)
{
	/* Within a page: block 0 stands for the old and the new tuple. */
	heap_record(RM_HEAP_ID, XLOG_HEAP_UPDATE, 0);
	name_block(0, MAIN_FORKNUM, 40000);
	assert_int_equal(implied__of_block(record, 0, refs), 1);
	check_block(0, REDOAHEAD_FORK_FSM, truth__fsm(40000, 0));
	((xl_heap_update *) data)->flags = XLH_UPDATE_OLD_ALL_VISIBLE_CLEARED;
	assert_int_equal(implied__of_block(record, 0, refs), 2);
	check_block(0, REDOAHEAD_FORK_VM, 1);

	/* HOT: nothing for the free space map. */
	record->header.xl_info = XLOG_HEAP_HOT_UPDATE;
	assert_int_equal(implied__of_block(record, 0, refs), 1);
	check_block(0, REDOAHEAD_FORK_VM, 1);

	/* Across pages: to each its own. */
	heap_record(RM_HEAP_ID, XLOG_HEAP_UPDATE, XLH_UPDATE_OLD_ALL_VISIBLE_CLEARED);
	name_block(0, MAIN_FORKNUM, 40000);
	name_block(1, MAIN_FORKNUM, 3);
	assert_int_equal(implied__of_block(record, 0, refs), 1);
	check_block(0, REDOAHEAD_FORK_FSM, truth__fsm(40000, 0));
	assert_int_equal(implied__of_block(record, 1, refs), 1);
	check_block(0, REDOAHEAD_FORK_VM, 0);
	((xl_heap_update *) data)->flags = XLH_UPDATE_NEW_ALL_VISIBLE_CLEARED;
	assert_int_equal(implied__of_block(record, 0, refs), 2);
	check_block(0, REDOAHEAD_FORK_VM, 1);
	assert_int_equal(implied__of_block(record, 1, refs), 0);

	/* If a map page is named, redo leaves the other one alone. */
	((xl_heap_update *) data)->flags = XLH_UPDATE_NEW_ALL_VISIBLE_CLEARED |
		XLH_UPDATE_OLD_ALL_VISIBLE_CLEARED;
	name_block(2, VISIBILITYMAP_FORKNUM, 1);
	assert_int_equal(implied__of_block(record, 0, refs), 1);
	assert_int_equal(implied__of_block(record, 1, refs), 0);
}

static void
test_heap_prune_and_visible(void **state)
{
	DecodedBkpBlock *block;

	/* Freed space is recorded even if the page is restored. */
	heap_record(RM_HEAP2_ID, XLOG_HEAP2_PRUNE_ON_ACCESS, XLHP_HAS_NOW_UNUSED_ITEMS);
	block = name_block(0, MAIN_FORKNUM, 3);
	block->has_image = block->apply_image = true;
	assert_int_equal(implied__of_block(record, 0, refs), 1);
	check_block(0, REDOAHEAD_FORK_FSM, 2);
	((xl_heap_prune *) data)->flags = XLHP_HAS_FREEZE_PLANS | XLHP_CLEANUP_LOCK;
	assert_int_equal(implied__of_block(record, 0, refs), 0);

	heap_record(RM_HEAP2_ID, XLOG_HEAP2_VISIBLE, VISIBILITYMAP_ALL_VISIBLE);
	name_block(0, VISIBILITYMAP_FORKNUM, 0);
	name_block(1, MAIN_FORKNUM, 5000);
	assert_int_equal(implied__of_block(record, 0, refs), 0);
	assert_int_equal(implied__of_block(record, 1, refs), 1);
	check_block(0, REDOAHEAD_FORK_FSM, truth__fsm(5000, 0));
}

static void
test_others_imply_nothing(void **state)
{
	for (int rmid = 0; rmid <= UINT8_MAX; rmid++)
	{
		if (rmid == RM_HEAP_ID || rmid == RM_HEAP2_ID)
			continue;
		for (int info = 0; info <= UINT8_MAX; info += 16)
		{
			begin(rmid, info);
			name_block(0, MAIN_FORKNUM, 7);
			assert_int_equal(implied__of_block(record, 0, refs), 0);
			if (rmid != RM_XACT_ID && rmid != RM_MULTIXACT_ID && rmid != RM_SMGR_ID)
				assert_int_equal(implied__of_record(record, refs), 0);
		}
	}
}

static void
test_truncate(void **state)
{
	static const BlockNumber sizes[] = {
		0, 1, 4068, 4069, 4070, 32672, 32673, 4069 * 4069 - 1, 4069 * 4069,
		4069 * 4069 + 1, 5 * 4069 * 4069, MaxBlockNumber
	};

	for (size_t i = 0; i < lengthof(sizes); i++)
	{
		int			n = 0;

		begin(RM_SMGR_ID, XLOG_SMGR_TRUNCATE);
		add_value(xl_smgr_truncate, ((xl_smgr_truncate)
		{
			sizes[i],
			{
				1663, 5, 16384
			}, SMGR_TRUNCATE_ALL
		}));
		assert_in_range(implied__of_record(record, refs), 2, 4);
		if (sizes[i] % 32672 != 0)
			check_block(n++, REDOAHEAD_FORK_VM, truth__vm(sizes[i]));
		if (sizes[i] % 4069 != 0)
			check_block(n++, REDOAHEAD_FORK_FSM, truth__fsm(sizes[i], 0));
		check_block(n++, REDOAHEAD_FORK_FSM, truth__fsm(sizes[i], 1));
		check_block(n++, REDOAHEAD_FORK_FSM, truth__fsm(sizes[i], 2));
		assert_int_equal(implied__of_record(record, refs), n);

		((xl_smgr_truncate *) data)->flags = SMGR_TRUNCATE_HEAP;
		assert_int_equal(implied__of_record(record, refs), 0);
	}
}

static void
test_commit_and_abort(void **state)
{
	for (uint64 xid = FirstNormalTransactionId; xid <= MaxTransactionId; xid += 12347)
	{
		begin(RM_XACT_ID, XLOG_XACT_COMMIT);
		record->header.xl_xid = xid;
		add_value(TimestampTz, 0);
		assert_int_equal(implied__of_record(record, refs), 1);
		check_page(0, REDOAHEAD_SLRU_XACT, truth__xact(xid));

		track_commit_timestamp = true;
		assert_int_equal(implied__of_record(record, refs), 2);
		check_page(0, REDOAHEAD_SLRU_XACT, truth__xact(xid));
		check_page(1, REDOAHEAD_SLRU_COMMIT_TS, truth__commit_ts(xid));

		record->header.xl_info = XLOG_XACT_ABORT;
		assert_int_equal(implied__of_record(record, refs), 1);
		check_page(0, REDOAHEAD_SLRU_XACT, truth__xact(xid));
		track_commit_timestamp = false;
	}

	/* Preparation leaves pg_xact alone. */
	begin(RM_XACT_ID, XLOG_XACT_PREPARE);
	record->header.xl_xid = 1000;
	add_value(TimestampTz, 0);
	assert_int_equal(implied__of_record(record, refs), 0);
}

static void
test_subtransactions(void **state)
{
	begin(RM_XACT_ID, XLOG_XACT_COMMIT | XLOG_XACT_HAS_INFO);
	record->header.xl_xid = 32767;
	add_value(TimestampTz, 0);
	add_value(uint32, XACT_XINFO_HAS_SUBXACTS | XACT_XINFO_HAS_DBINFO);
	add_value(Oid, 5);
	add_value(Oid, 1663);
	add_value(int, 70000);
	for (int i = 0; i < 70000; i++)
		add_value(TransactionId, 32768 + i);
	assert_int_equal(implied__of_record(record, refs), 4);
	for (int i = 0; i < 4; i++)
		check_page(i, REDOAHEAD_SLRU_XACT, i);

	/* So many pages that they don't fit. */
	track_commit_timestamp = true;
	assert_int_equal(implied__of_record(record, refs), 4 + IMPLIED_MAX_PER_SLRU);
	check_page(4, REDOAHEAD_SLRU_COMMIT_TS, truth__commit_ts(32767));
	check_page(5, REDOAHEAD_SLRU_COMMIT_TS, truth__commit_ts(32767) + 1);
	track_commit_timestamp = false;

	/* An array that goes beyond the record's end. */
	record->main_data_len -= 1;
	assert_int_equal(implied__of_record(record, refs), 0);
	*(int *) (data + 20) = -1;
	assert_int_equal(implied__of_record(record, refs), 0);
	*(int *) (data + 20) = PG_INT32_MAX;
	assert_int_equal(implied__of_record(record, refs), 0);
}

static void
test_prepared(void **state)
{
	/* The transaction ID comes after everything else. */
	begin(RM_XACT_ID, XLOG_XACT_COMMIT_PREPARED | XLOG_XACT_HAS_INFO);
	record->header.xl_xid = 5000000;
	add_value(TimestampTz, 0);
	add_value(uint32, XACT_XINFO_HAS_SUBXACTS | XACT_XINFO_HAS_RELFILELOCATORS |
			  XACT_XINFO_HAS_DROPPED_STATS | XACT_XINFO_HAS_INVALS |
			  XACT_XINFO_HAS_TWOPHASE);
	add_value(int, 1);
	add_value(TransactionId, 100001);
	add_value(int, 1);
	add_value(RelFileLocator, ((RelFileLocator) {1663, 5, 1}));
	add_value(int, 1);
	add_value(xl_xact_stats_item, ((xl_xact_stats_item) {0}));
	add_value(int, 2);
	add_value(SharedInvalidationMessage, ((SharedInvalidationMessage) {0}));
	add_value(SharedInvalidationMessage, ((SharedInvalidationMessage) {0}));
	add_value(TransactionId, 65535);
	assert_int_equal(implied__of_record(record, refs), 2);
	check_page(0, REDOAHEAD_SLRU_XACT, 1);
	check_page(1, REDOAHEAD_SLRU_XACT, 3);

	record->main_data_len--;
	assert_int_equal(implied__of_record(record, refs), 0);

	begin(RM_XACT_ID, XLOG_XACT_ABORT_PREPARED | XLOG_XACT_HAS_INFO);
	add_value(TimestampTz, 0);
	add_value(uint32, XACT_XINFO_HAS_TWOPHASE);
	add_value(TransactionId, 65535);
	assert_int_equal(implied__of_record(record, refs), 1);
	check_page(0, REDOAHEAD_SLRU_XACT, 1);
}

static void
test_learns_setting(void **state)
{
	xl_parameter_change change = {.track_commit_timestamp = true};

	for (int i = 0; i < 2; i++)
	{
		begin(RM_XLOG_ID, XLOG_PARAMETER_CHANGE);
		add_value(xl_parameter_change, change);
		assert_int_equal(implied__of_record(record, refs), 0);

		track_commit_timestamp = !change.track_commit_timestamp;
		begin(RM_XACT_ID, XLOG_XACT_COMMIT);
		record->header.xl_xid = 50 * 32768;
		add_value(TimestampTz, 0);
		assert_int_equal(implied__of_record(record, refs),
						 change.track_commit_timestamp ? 2 : 1);
		change.track_commit_timestamp = false;
	}
}

/*
 * Creation of a multixact: compare with what its redo would do, member by
 * member.
 */
static void
check_multixact(MultiXactId multi, MultiXactOffset offset, int nmembers)
{
	int			n = 0;
	int			got;
	uint32		page;

	begin(RM_MULTIXACT_ID, XLOG_MULTIXACT_CREATE_ID);
	add_value(MultiXactId, multi);
	add_value(MultiXactOffset, offset);
	add_value(int32, nmembers);
	for (int i = 0; i < nmembers; i++)
		add_value(MultiXactMember, ((MultiXactMember) {3, MultiXactStatusUpdate}));
	got = implied__of_record(record, refs);

	page = truth__multixact_offset(multi);
	check_page(n++, REDOAHEAD_SLRU_MULTIXACT_OFFSET, page);
	multi = multi == MaxMultiXactId ? FirstMultiXactId : multi + 1;
	if (truth__multixact_offset(multi) != page)
		check_page(n++, REDOAHEAD_SLRU_MULTIXACT_OFFSET, truth__multixact_offset(multi));

	for (int i = 0; i < nmembers && n < got; i++, offset++)
	{
		if (i == 0 || truth__multixact_member(offset) != page)
		{
			page = truth__multixact_member(offset);
			check_page(n++, REDOAHEAD_SLRU_MULTIXACT_MEMBER, page);
		}
	}
	assert_int_equal(got, n);
	assert_true(got <= IMPLIED_MAX_PER_SLRU);
}

static void
test_multixact(void **state)
{
	check_multixact(1, 1, 2);
	check_multixact(2046, 1635, 2);
	check_multixact(2047, 1636, 2);
	check_multixact(2048, 1635, 1);
	check_multixact(5, 100, 5000);
	check_multixact(5, 100, 100000);
	check_multixact(MaxMultiXactId - 1, 0xFFFFFFFF, 2);
	check_multixact(MaxMultiXactId, 0xFFFFFF00, 3000);
	for (uint32 i = 0; i < 100000; i++)
		check_multixact(i * 42949, i * 42943, i % 7);

	/* Members that aren't there. */
	check_multixact(5, 100, 100);
	record->main_data_len--;
	assert_int_equal(implied__of_record(record, refs), 1);
	((xl_multixact_create *) data)->nmembers = -1;
	assert_int_equal(implied__of_record(record, refs), 1);
	record->main_data_len = SizeOfMultiXactCreate - 1;
	assert_int_equal(implied__of_record(record, refs), 0);
}

/* Pages that the WAL has created needn't be read. */
static void
test_created_pages(void **state)
{
	static const struct
	{
		RmgrId		rmid;
		uint8		info;
		int64		page;
	}			created[] = {
		{RM_CLOG_ID, CLOG_ZEROPAGE, 7},
		{RM_CLOG_ID, CLOG_ZEROPAGE, 8},
		{RM_COMMIT_TS_ID, COMMIT_TS_ZEROPAGE, 640},
		{RM_MULTIXACT_ID, XLOG_MULTIXACT_ZERO_OFF_PAGE, 5},
		{RM_MULTIXACT_ID, XLOG_MULTIXACT_ZERO_MEM_PAGE, 12},
		/* Not pages: too large, negative, another record. */
		{RM_CLOG_ID, CLOG_ZEROPAGE, INT64CONST(1) << 40},
		{RM_CLOG_ID, CLOG_ZEROPAGE, -1},
		{RM_CLOG_ID, CLOG_TRUNCATE, 9},
	};

	for (size_t i = 0; i < lengthof(created); i++)
	{
		begin(created[i].rmid, created[i].info);
		add_value(int64, created[i].page);
		assert_int_equal(implied__of_record(record, refs), 0);
	}

	/* Before, within and after. */
	for (uint32 page = 6; page <= 9; page++)
	{
		begin(RM_XACT_ID, XLOG_XACT_COMMIT);
		record->header.xl_xid = page * 32768 + 17;
		add_value(TimestampTz, 0);
		assert_int_equal(implied__of_record(record, refs), page == 7 || page == 8 ? 0 : 1);
	}
	begin(RM_XACT_ID, XLOG_XACT_COMMIT);
	record->header.xl_xid = 640 * 819;
	add_value(TimestampTz, 0);
	track_commit_timestamp = true;
	assert_int_equal(implied__of_record(record, refs), 1);
	check_page(0, REDOAHEAD_SLRU_XACT, 640 * 819 / 32768);
	track_commit_timestamp = false;

	begin(RM_MULTIXACT_ID, XLOG_MULTIXACT_CREATE_ID);
	add_value(MultiXactId, 5 * 2048);
	add_value(MultiXactOffset, 12 * 1636);
	add_value(int32, 1);
	add_value(MultiXactMember, ((MultiXactMember) {3, MultiXactStatusUpdate}));
	assert_int_equal(implied__of_record(record, refs), 0);

	/* IDs wrap around. */
	begin(RM_CLOG_ID, CLOG_ZEROPAGE);
	add_value(int64, 0);
	assert_int_equal(implied__of_record(record, refs), 0);
	begin(RM_XACT_ID, XLOG_XACT_ABORT);
	record->header.xl_xid = 7 * 32768;
	add_value(TimestampTz, 0);
	assert_int_equal(implied__of_record(record, refs), 1);
	record->header.xl_xid = 32767;
	assert_int_equal(implied__of_record(record, refs), 0);
}

/* Any bytes: stay within the record and the array; run under a sanitizer. */
static void
test_any_bytes(void **state)
{
	uint64		seed = 88172645463325252;

	for (int i = 0; i < 3000000; i++)
	{
		static const RmgrId rmids[] = {RM_XACT_ID, RM_MULTIXACT_ID, RM_SMGR_ID,
		RM_XLOG_ID, RM_HEAP_ID, RM_HEAP2_ID, RM_CLOG_ID};
		size_t		len;
		char	   *exact;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		begin(rmids[seed % lengthof(rmids)], seed >> 8);
		name_block(0, MAIN_FORKNUM, seed >> 16);
		name_block((seed >> 24) % MAX_BLOCKS, (seed >> 28) % 4, seed >> 20);
		record->header.xl_xid = seed >> 32;

		/* Small numbers, so that counts are often plausible. */
		len = (seed >> 40) % 64;
		exact = malloc(len);
		for (size_t j = 0; j < len; j++)
			exact[j] = (j % 4 == 0 || (seed >> 50) % 4 == 0) ?
				(seed >> (j % 48)) & 0x1f : 0;
		record->main_data = exact;
		record->main_data_len = len;
		for (int block_id = 0; block_id <= record->max_block_id; block_id++)
			assert_in_range(implied__of_block(record, block_id, refs), 0, 2);
		assert_in_range(implied__of_record(record, refs), 0, IMPLIED_MAX_PER_RECORD);
		free(exact);
	}
}

/*
 * Nanoseconds per call for the record at hand.
 */
static void
bench(const char *what)
{
	const int	rounds = 20000000;
	struct timespec begun;
	struct timespec ended;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (int i = 0; i < rounds; i++)
	{
		implied__of_record(record, refs);
		if (record->max_block_id >= 0)
			implied__of_block(record, 0, refs);
		pg_compiler_barrier();
	}
	clock_gettime(CLOCK_MONOTONIC, &ended);
	printf("%-28s %5.1f ns\n", what,
		   ((ended.tv_sec - begun.tv_sec) * 1e9 +
			(ended.tv_nsec - begun.tv_nsec)) / rounds);
}

static void
bench_all(void)
{
	begin(RM_BTREE_ID, 0);
	name_block(0, MAIN_FORKNUM, 100000);
	bench("btree (nothing implied)");
	heap_record(RM_HEAP_ID, XLOG_HEAP_HOT_UPDATE, 0);
	name_block(0, MAIN_FORKNUM, 100000);
	bench("HOT update (nothing implied)");
	heap_record(RM_HEAP_ID, XLOG_HEAP_INSERT, 0);
	name_block(0, MAIN_FORKNUM, 100000);
	bench("insert (FSM)");
	heap_record(RM_HEAP_ID, XLOG_HEAP_INSERT, XLH_INSERT_ALL_VISIBLE_CLEARED);
	name_block(0, MAIN_FORKNUM, 100000);
	bench("insert (FSM, VM)");
	begin(RM_XACT_ID, XLOG_XACT_COMMIT);
	record->header.xl_xid = 1000000;
	add_value(TimestampTz, 0);
	bench("commit (pg_xact)");
}

int
main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map_addresses),
		cmocka_unit_test(test_heap_insert),
		cmocka_unit_test(test_heap_multi_insert),
		cmocka_unit_test(test_heap_delete_and_lock),
		cmocka_unit_test(test_heap_update),
		cmocka_unit_test(test_heap_prune_and_visible),
		cmocka_unit_test(test_others_imply_nothing),
		cmocka_unit_test(test_truncate),
		cmocka_unit_test(test_commit_and_abort),
		cmocka_unit_test(test_subtransactions),
		cmocka_unit_test(test_prepared),
		cmocka_unit_test(test_multixact),
		cmocka_unit_test(test_created_pages),
		cmocka_unit_test(test_learns_setting),
		cmocka_unit_test(test_any_bytes),
	};

	if (argc == 2 && strcmp(argv[1], "bench") == 0)
	{
		bench_all();
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
