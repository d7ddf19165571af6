/*
 * implied_record.h
 *		Decoded WAL records made by hand, for the tests of implied*.c.
 *
 * There is one record at a time; begin() starts it anew.
 */
#ifndef IMPLIED_RECORD_H
#define IMPLIED_RECORD_H

#include "postgres.h"

#include <setjmp.h>
#include <stdarg.h>

#include "access/heapam_xlog.h"
#include "access/rmgr.h"

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

/* What was learned from the records before. */
static ImpliedSlru known;

/*
 * Start a record without blocks and main data.
 */
static inline void
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
static inline DecodedBkpBlock *
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
static inline void
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
static inline void
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
static inline void
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
static inline void
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

#endif							/* IMPLIED_RECORD_H */
