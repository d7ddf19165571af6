/*
 * test_implied.c
 *		Does common/implied.c know where PostgreSQL keeps its maps, and which records
 *		make redo read them?
 *
 * The addresses are compared with PostgreSQL's own code (implied_truth.c); the
 * records are made by hand.  That redo really reads these blocks, and no others,
 * is shown on a live server by tests/bats/coverage.bats.
 *
 * Run by tests/unit/run-implied.
 */
#include "postgres.h"

#include "access/visibilitymapdefs.h"
#include "access/xact.h"
#include "catalog/storage_xlog.h"

#include "implied_record.h"

/* Every boundary between map pages, and many blocks between. */
TEST(test_map_addresses)
{
	uint64		step = 1;

	for (uint64 blkno = 0; blkno < MaxBlockNumber; blkno += step)
	{
		heap_record(RM_HEAP_ID, XLOG_HEAP_INSERT, XLH_INSERT_ALL_VISIBLE_CLEARED);
		name_block(0, MAIN_FORKNUM, blkno);
		assert_int_equal(record_view__implied_by_block(record, 0, refs), 2);
		check_block(0, REDOAHEAD_FORK_VM, truth__vm(blkno));
		check_block(1, REDOAHEAD_FORK_FSM, truth__fsm(blkno, 0));
		if (blkno > 200000)
			step = 997;
	}
}

TEST(test_heap_insert)
{
	DecodedBkpBlock *block;

	heap_record(RM_HEAP_ID, XLOG_HEAP_INSERT, 0);
	block = name_block(0, MAIN_FORKNUM, 4069);
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 1);
	check_block(0, REDOAHEAD_FORK_FSM, 3);

	/* A new page may be full of one tuple. */
	record->header.xl_info |= XLOG_HEAP_INIT_PAGE;
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 1);

	/* A full-page image is not read, unless it's only for checking. */
	block->has_image = true;
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 1);
	block->apply_image = true;
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 0);

	/* The visibility map is cleared all the same, unless named. */
	((xl_heap_insert *) data)->flags = XLH_INSERT_ALL_VISIBLE_CLEARED;
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 1);
	check_block(0, REDOAHEAD_FORK_VM, 0);
	name_block(1, VISIBILITYMAP_FORKNUM, 0);
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 0);
	assert_int_equal(record_view__implied_by_block(record, 1, refs), 0);

	/* A record that ends before its flags has none. */
	record->max_block_id = 0;
	record->main_data_len = offsetof(xl_heap_insert, flags);
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 0);
}

TEST(test_heap_multi_insert)
{
	heap_record(RM_HEAP2_ID, XLOG_HEAP2_MULTI_INSERT, XLH_INSERT_ALL_VISIBLE_CLEARED);
	name_block(0, MAIN_FORKNUM, 1);
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 2);
	check_block(0, REDOAHEAD_FORK_VM, 0);
	check_block(1, REDOAHEAD_FORK_FSM, 2);

	/* COPY FREEZE names the visibility map page that it sets. */
	((xl_heap_multi_insert *) data)->flags = XLH_INSERT_ALL_FROZEN_SET;
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 1);
	check_block(0, REDOAHEAD_FORK_FSM, 2);
}

TEST(test_heap_delete_and_lock)
{
	static const struct
	{
		RmgrId		rmid;
		uint8		info;
		uint8		flag;		/* the visibility map is cleared */
	}			kinds[] = {
		{RM_HEAP_ID, XLOG_HEAP_DELETE, XLH_DELETE_ALL_VISIBLE_CLEARED},
		{RM_HEAP_ID, XLOG_HEAP_LOCK, XLH_LOCK_ALL_FROZEN_CLEARED},
		{RM_HEAP2_ID, XLOG_HEAP2_LOCK_UPDATED, XLH_LOCK_ALL_FROZEN_CLEARED},
	};

	for (size_t i = 0; i < lengthof(kinds); i++)
	{
		heap_record(kinds[i].rmid, kinds[i].info, 0);
		name_block(0, MAIN_FORKNUM, 40000);
		assert_int_equal(record_view__implied_by_block(record, 0, refs), 0);
		heap_record(kinds[i].rmid, kinds[i].info, kinds[i].flag);
		name_block(0, MAIN_FORKNUM, 40000);
		assert_int_equal(record_view__implied_by_block(record, 0, refs), 1);
		check_block(0, REDOAHEAD_FORK_VM, 1);
	}
}

TEST(test_heap_update)
{
	/* Within a page: block 0 stands for the old and the new tuple. */
	heap_record(RM_HEAP_ID, XLOG_HEAP_UPDATE, 0);
	name_block(0, MAIN_FORKNUM, 40000);
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 1);
	check_block(0, REDOAHEAD_FORK_FSM, truth__fsm(40000, 0));
	((xl_heap_update *) data)->flags = XLH_UPDATE_OLD_ALL_VISIBLE_CLEARED;
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 2);
	check_block(0, REDOAHEAD_FORK_VM, 1);

	/* HOT: nothing for the free space map. */
	record->header.xl_info = XLOG_HEAP_HOT_UPDATE;
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 1);
	check_block(0, REDOAHEAD_FORK_VM, 1);

	/* Across pages: to each its own. */
	heap_record(RM_HEAP_ID, XLOG_HEAP_UPDATE, XLH_UPDATE_OLD_ALL_VISIBLE_CLEARED);
	name_block(0, MAIN_FORKNUM, 40000);
	name_block(1, MAIN_FORKNUM, 3);
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 1);
	check_block(0, REDOAHEAD_FORK_FSM, truth__fsm(40000, 0));
	assert_int_equal(record_view__implied_by_block(record, 1, refs), 1);
	check_block(0, REDOAHEAD_FORK_VM, 0);
	((xl_heap_update *) data)->flags = XLH_UPDATE_NEW_ALL_VISIBLE_CLEARED;
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 2);
	check_block(0, REDOAHEAD_FORK_VM, 1);
	assert_int_equal(record_view__implied_by_block(record, 1, refs), 0);

	/* If a map page is named, redo does not read the other one. */
	((xl_heap_update *) data)->flags = XLH_UPDATE_NEW_ALL_VISIBLE_CLEARED |
		XLH_UPDATE_OLD_ALL_VISIBLE_CLEARED;
	name_block(2, VISIBILITYMAP_FORKNUM, 1);
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 1);
	assert_int_equal(record_view__implied_by_block(record, 1, refs), 0);
}

TEST(test_heap_prune_and_visible)
{
	DecodedBkpBlock *block;

	/* Freed space is recorded even if the page is restored. */
	heap_record(RM_HEAP2_ID, XLOG_HEAP2_PRUNE_ON_ACCESS, XLHP_HAS_NOW_UNUSED_ITEMS);
	block = name_block(0, MAIN_FORKNUM, 3);
	block->has_image = block->apply_image = true;
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 1);
	check_block(0, REDOAHEAD_FORK_FSM, 2);
	((xl_heap_prune *) data)->flags = XLHP_HAS_FREEZE_PLANS | XLHP_CLEANUP_LOCK;
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 0);

	/* Free space is also recorded if the record sets bits of the map, which it names. */
#if HAVE_HEAP2_VISIBLE
	heap_record(RM_HEAP2_ID, XLOG_HEAP2_VISIBLE, VISIBILITYMAP_ALL_VISIBLE);
	name_block(0, VISIBILITYMAP_FORKNUM, 0);
	name_block(1, MAIN_FORKNUM, 5000);
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 0);
	assert_int_equal(record_view__implied_by_block(record, 1, refs), 1);
#else
	heap_record(RM_HEAP2_ID, XLOG_HEAP2_PRUNE_VACUUM_SCAN, 0);
	((xl_heap_prune *) data)->flags = XLHP_VM_ALL_VISIBLE | XLHP_VM_ALL_FROZEN;
	name_block(0, MAIN_FORKNUM, 5000);
	name_block(1, VISIBILITYMAP_FORKNUM, 0);
	assert_int_equal(record_view__implied_by_block(record, 1, refs), 0);
	assert_int_equal(record_view__implied_by_block(record, 0, refs), 1);
#endif
	check_block(0, REDOAHEAD_FORK_FSM, truth__fsm(5000, 0));
}

TEST(test_others_imply_nothing)
{
	for (int rmid = 0; rmid <= UINT8_MAX; rmid++)
	{
		if (rmid == RM_HEAP_ID || rmid == RM_HEAP2_ID)
			continue;
		for (int info = 0; info <= UINT8_MAX; info += 16)
		{
			begin(rmid, info);
			name_block(0, MAIN_FORKNUM, 7);
			assert_int_equal(record_view__implied_by_block(record, 0, refs), 0);
			if (rmid != RM_XACT_ID && rmid != RM_MULTIXACT_ID && rmid != RM_SMGR_ID)
				assert_int_equal(record_view__implied_by_record(&known, record, refs), 0);
		}
	}
}

TEST(test_truncate)
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
		assert_in_range(record_view__implied_by_record(&known, record, refs), 2, 4);
		if (sizes[i] % 32672 != 0)
			check_block(n++, REDOAHEAD_FORK_VM, truth__vm(sizes[i]));
		if (sizes[i] % 4069 != 0)
			check_block(n++, REDOAHEAD_FORK_FSM, truth__fsm(sizes[i], 0));
		check_block(n++, REDOAHEAD_FORK_FSM, truth__fsm(sizes[i], 1));
		check_block(n++, REDOAHEAD_FORK_FSM, truth__fsm(sizes[i], 2));
		assert_int_equal(record_view__implied_by_record(&known, record, refs), n);

		((xl_smgr_truncate *) data)->flags = SMGR_TRUNCATE_HEAP;
		assert_int_equal(record_view__implied_by_record(&known, record, refs), 0);
	}
}

/* Any bytes: stay within the record and the array; run under a sanitizer. */
TEST(test_any_bytes)
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
			assert_in_range(record_view__implied_by_block(record, block_id, refs), 0, 2);
		assert_in_range(record_view__implied_by_record(&known, record, refs), 0, IMPLIED_MAX_PER_RECORD);
		free(exact);
	}
}

UNIT_MAIN(knows_wal, NULL, NULL, NULL)
