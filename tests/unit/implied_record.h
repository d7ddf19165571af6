/*
 * implied_record.h
 *		Decoded WAL records made by hand, for the tests of common/implied*.c.
 *
 * There is one record at a time; begin() starts it anew.
 */
#ifndef IMPLIED_RECORD_H
#define IMPLIED_RECORD_H

#include "postgres.h"

#include "access/heapam_xlog.h"
#include "access/rmgr.h"

#include "pg_compat.h"
#include "record_view.h"
#include "implied_truth.h"
#include "unit.h"

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
static struct implied_slru known;

/*
 * Before all tests: is the server's WAL the one that wal_format.c has?
 */
static int
knows_wal(void **state)
{
	return record_view__knows_wal() ? 0 : -1;
}

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

/* Is refs[i] this one, of the record, and implied? */
static inline void
check_ref(int i, struct redoahead_ref expected)
{
	expected.lsn = record->lsn;
	expected.flags = REDOAHEAD_REF_IMPLIED;
	assert_memory_equal(&refs[i], &expected, sizeof(expected));
}

/*
 * Is refs[i] this block of the relation of name_block()?
 */
static inline void
check_block(int i, uint8 fork, uint32 block)
{
	check_ref(i, (struct redoahead_ref) {
		.spc = 1663,.db = 5,.rel = 16384,.fork = fork,.block = block,.kind = REDOAHEAD_KIND_RELATION
	});
}

/*
 * Is refs[i] this page of an SLRU?
 */
static inline void
check_page(int i, uint32 slru, uint32 page)
{
	check_ref(i, (struct redoahead_ref) {.rel = slru,.block = page,.kind = REDOAHEAD_KIND_SLRU});
}

/*
 * Main data of a heap record.  All have flags; a record of another kind than
 * those listed is a prune record.
 */
static inline void
heap_record(RmgrId rmid, uint8 info, uint8 flags)
{
	static const struct
	{
		RmgrId		rmid;
		uint8		info;
		size_t		flags;		/* where they are in the data */
		size_t		length;		/* of the data */
	}			kinds[] = {
		{RM_HEAP_ID, XLOG_HEAP_INSERT, offsetof(xl_heap_insert, flags), SizeOfHeapInsert},
		{RM_HEAP_ID, XLOG_HEAP_DELETE, offsetof(xl_heap_delete, flags), SizeOfHeapDelete},
		{RM_HEAP_ID, XLOG_HEAP_UPDATE, offsetof(xl_heap_update, flags), SizeOfHeapUpdate},
		{RM_HEAP_ID, XLOG_HEAP_HOT_UPDATE, offsetof(xl_heap_update, flags), SizeOfHeapUpdate},
		{RM_HEAP_ID, XLOG_HEAP_LOCK, offsetof(xl_heap_lock, flags), SizeOfHeapLock},
		{RM_HEAP2_ID, XLOG_HEAP2_MULTI_INSERT, offsetof(xl_heap_multi_insert, flags), SizeOfHeapMultiInsert},
#if HAVE_HEAP2_VISIBLE
		{RM_HEAP2_ID, XLOG_HEAP2_VISIBLE, offsetof(xl_heap_visible, flags), SizeOfHeapVisible},
#endif
		{RM_HEAP2_ID, XLOG_HEAP2_LOCK_UPDATED, offsetof(xl_heap_lock_updated, flags), SizeOfHeapLockUpdated},
		{0, 0, offsetof(xl_heap_prune, flags), SizeOfHeapPrune},
	};
	size_t		kind = 0;

	while (kind < lengthof(kinds) - 1 && (kinds[kind].rmid != rmid || kinds[kind].info != info))
		kind++;
	begin(rmid, info);
	memset(data, 0, 64);
	data[kinds[kind].flags] = (char) flags;
	record->main_data_len = kinds[kind].length;
}

#endif							/* IMPLIED_RECORD_H */
