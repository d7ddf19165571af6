/*
 * record_view.c
 *		Passes records that the server has decoded to the rules in
 *		common/implied.c, and compares with PostgreSQL's headers what these rules
 *		take for granted.
 */
#include "postgres.h"

#include "access/clog.h"
#include "access/commit_ts.h"
#include "access/heapam_xlog.h"
#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/rmgr.h"
#include "access/transam.h"
#include "access/visibilitymapdefs.h"
#include "access/xact.h"
#include "access/xlog_internal.h"
#include "catalog/pg_control.h"
#include "catalog/storage_xlog.h"
#include "commands/dbcommands_xlog.h"
#include "storage/bufpage.h"
#include "storage/fsm_internals.h"

#include "pg_compat.h"
#include "record_view.h"

#define PG_MAJOR		(PG_VERSION_NUM / 10000)

#define ASSERT_EQUAL(ours, theirs) \
	StaticAssertDecl((ours) == (theirs), #ours " is not " #theirs)

ASSERT_EQUAL(WAL_RMGR_XLOG, RM_XLOG_ID);
ASSERT_EQUAL(WAL_RMGR_XACT, RM_XACT_ID);
ASSERT_EQUAL(WAL_RMGR_SMGR, RM_SMGR_ID);
ASSERT_EQUAL(WAL_RMGR_CLOG, RM_CLOG_ID);
ASSERT_EQUAL(WAL_RMGR_DBASE, RM_DBASE_ID);
ASSERT_EQUAL(WAL_RMGR_MULTIXACT, RM_MULTIXACT_ID);
ASSERT_EQUAL(WAL_RMGR_HEAP2, RM_HEAP2_ID);
ASSERT_EQUAL(WAL_RMGR_HEAP, RM_HEAP_ID);
ASSERT_EQUAL(WAL_RMGR_COMMIT_TS, RM_COMMIT_TS_ID);
ASSERT_EQUAL(WAL_INFO_COMMON, XLR_INFO_MASK);

ASSERT_EQUAL(WAL_INFO_CHECK_CONSISTENCY, XLR_CHECK_CONSISTENCY);
ASSERT_EQUAL(WAL_INFO_IMAGES_OPTIONAL, XLR_IMAGES_OPTIONAL);
ASSERT_EQUAL(WAL_XLOG_SWITCH, XLOG_SWITCH);
ASSERT_EQUAL(WAL_XLOG_PARAMETER_CHANGE, XLOG_PARAMETER_CHANGE);
ASSERT_EQUAL(WAL_XLOG_FPI_FOR_HINT, XLOG_FPI_FOR_HINT);
ASSERT_EQUAL(WAL_SMGR_CREATE, XLOG_SMGR_CREATE);
ASSERT_EQUAL(WAL_SMGR_TRUNCATE, XLOG_SMGR_TRUNCATE);
ASSERT_EQUAL(WAL_DBASE_CREATE_FILE_COPY, XLOG_DBASE_CREATE_FILE_COPY);
ASSERT_EQUAL(WAL_CLOG_ZERO_PAGE, CLOG_ZEROPAGE);
ASSERT_EQUAL(WAL_COMMIT_TS_ZERO_PAGE, COMMIT_TS_ZEROPAGE);
ASSERT_EQUAL(WAL_MULTIXACT_ZERO_OFFSETS, XLOG_MULTIXACT_ZERO_OFF_PAGE);
ASSERT_EQUAL(WAL_MULTIXACT_ZERO_MEMBERS, XLOG_MULTIXACT_ZERO_MEM_PAGE);
ASSERT_EQUAL(WAL_MULTIXACT_CREATE, XLOG_MULTIXACT_CREATE_ID);

ASSERT_EQUAL(WAL_XACT_OPERATION, XLOG_XACT_OPMASK);
ASSERT_EQUAL(WAL_XACT_HAS_INFO, XLOG_XACT_HAS_INFO);
ASSERT_EQUAL(WAL_XACT_COMMIT, XLOG_XACT_COMMIT);
ASSERT_EQUAL(WAL_XACT_ABORT, XLOG_XACT_ABORT);
ASSERT_EQUAL(WAL_XACT_COMMIT_PREPARED, XLOG_XACT_COMMIT_PREPARED);
ASSERT_EQUAL(WAL_XACT_ABORT_PREPARED, XLOG_XACT_ABORT_PREPARED);
ASSERT_EQUAL(WAL_XACT_TIME_BYTES, MinSizeOfXactCommit);
ASSERT_EQUAL(WAL_XACT_TIME_BYTES, MinSizeOfXactAbort);
ASSERT_EQUAL(WAL_XINFO_DATABASE, XACT_XINFO_HAS_DBINFO);
ASSERT_EQUAL(WAL_XINFO_SUBXACTS, XACT_XINFO_HAS_SUBXACTS);
ASSERT_EQUAL(WAL_XINFO_RELATIONS, XACT_XINFO_HAS_RELFILELOCATORS);
ASSERT_EQUAL(WAL_XINFO_INVALIDATIONS, XACT_XINFO_HAS_INVALS);
ASSERT_EQUAL(WAL_XINFO_TWOPHASE, XACT_XINFO_HAS_TWOPHASE);
ASSERT_EQUAL(WAL_XINFO_DROPPED_STATS, XACT_XINFO_HAS_DROPPED_STATS);
ASSERT_EQUAL(WAL_XACT_DATABASE_BYTES, sizeof(xl_xact_dbinfo));
ASSERT_EQUAL(WAL_XACT_RELATION_BYTES, sizeof(RelFileLocator));
ASSERT_EQUAL(WAL_XACT_INVALIDATION_BYTES, sizeof(SharedInvalidationMessage));

ASSERT_EQUAL(WAL_HEAP_OPERATION, XLOG_HEAP_OPMASK);
ASSERT_EQUAL(WAL_HEAP_INSERT, XLOG_HEAP_INSERT);
ASSERT_EQUAL(WAL_HEAP_DELETE, XLOG_HEAP_DELETE);
ASSERT_EQUAL(WAL_HEAP_UPDATE, XLOG_HEAP_UPDATE);
ASSERT_EQUAL(WAL_HEAP_HOT_UPDATE, XLOG_HEAP_HOT_UPDATE);
ASSERT_EQUAL(WAL_HEAP_LOCK, XLOG_HEAP_LOCK);
ASSERT_EQUAL(WAL_HEAP2_PRUNE_1, XLOG_HEAP2_PRUNE_ON_ACCESS);
ASSERT_EQUAL(WAL_HEAP2_PRUNE_2, XLOG_HEAP2_PRUNE_VACUUM_SCAN);
ASSERT_EQUAL(WAL_HEAP2_PRUNE_3, XLOG_HEAP2_PRUNE_VACUUM_CLEANUP);
ASSERT_EQUAL(WAL_HEAP2_MULTI_INSERT, XLOG_HEAP2_MULTI_INSERT);
ASSERT_EQUAL(WAL_HEAP2_LOCK_UPDATED, XLOG_HEAP2_LOCK_UPDATED);

ASSERT_EQUAL(WAL_INSERT_FLAGS_AT, offsetof(xl_heap_insert, flags));
ASSERT_EQUAL(WAL_DELETE_FLAGS_AT, offsetof(xl_heap_delete, flags));
ASSERT_EQUAL(WAL_UPDATE_FLAGS_AT, offsetof(xl_heap_update, flags));
ASSERT_EQUAL(WAL_LOCK_FLAGS_AT, offsetof(xl_heap_lock, flags));
ASSERT_EQUAL(WAL_LOCK_UPDATED_FLAGS_AT, offsetof(xl_heap_lock_updated, flags));
ASSERT_EQUAL(WAL_MULTI_INSERT_FLAGS_AT, offsetof(xl_heap_multi_insert, flags));
#if HAVE_HEAP2_VISIBLE
ASSERT_EQUAL(WAL_HEAP2_VISIBLE, XLOG_HEAP2_VISIBLE);
ASSERT_EQUAL(WAL_VISIBLE_FLAGS_AT, offsetof(xl_heap_visible, flags));
ASSERT_EQUAL(WAL_PRUNE_FLAGS_AT, offsetof(xl_heap_prune, flags));
ASSERT_EQUAL(sizeof(uint8), sizeof(((xl_heap_prune *) 0)->flags));
#else
ASSERT_EQUAL(WAL_WIDE_PRUNE_FLAGS_AT, offsetof(xl_heap_prune, flags));
ASSERT_EQUAL(sizeof(uint16), sizeof(((xl_heap_prune *) 0)->flags));
ASSERT_EQUAL(WAL_PRUNE_SETS_VISIBLE, XLHP_VM_ALL_VISIBLE);
#endif
ASSERT_EQUAL(WAL_INSERT_CLEARS, XLH_INSERT_ALL_VISIBLE_CLEARED);
ASSERT_EQUAL(WAL_DELETE_CLEARS, XLH_DELETE_ALL_VISIBLE_CLEARED);
ASSERT_EQUAL(WAL_UPDATE_CLEARS_OLD, XLH_UPDATE_OLD_ALL_VISIBLE_CLEARED);
ASSERT_EQUAL(WAL_UPDATE_CLEARS_NEW, XLH_UPDATE_NEW_ALL_VISIBLE_CLEARED);
ASSERT_EQUAL(WAL_LOCK_CLEARS, XLH_LOCK_ALL_FROZEN_CLEARED);
ASSERT_EQUAL(WAL_VISIBLE_BITS, VISIBILITYMAP_VALID_BITS);
ASSERT_EQUAL(WAL_PRUNE_MADE_ROOM, XLHP_HAS_REDIRECTIONS | XLHP_HAS_DEAD_ITEMS |
			 XLHP_HAS_NOW_UNUSED_ITEMS);

ASSERT_EQUAL(WAL_SMGR_CREATE_BYTES, sizeof(xl_smgr_create));
ASSERT_EQUAL(WAL_SMGR_CREATE_RELATION_AT, offsetof(xl_smgr_create, rlocator));
ASSERT_EQUAL(WAL_SMGR_CREATE_FORK_AT, offsetof(xl_smgr_create, forkNum));
ASSERT_EQUAL(WAL_TRUNCATE_BYTES, sizeof(xl_smgr_truncate));
ASSERT_EQUAL(WAL_TRUNCATE_BLOCK_AT, offsetof(xl_smgr_truncate, blkno));
ASSERT_EQUAL(WAL_TRUNCATE_RELATION_AT, offsetof(xl_smgr_truncate, rlocator));
ASSERT_EQUAL(WAL_TRUNCATE_FLAGS_AT, offsetof(xl_smgr_truncate, flags));
ASSERT_EQUAL(WAL_TRUNCATE_VM, SMGR_TRUNCATE_VM);
ASSERT_EQUAL(WAL_TRUNCATE_FSM, SMGR_TRUNCATE_FSM);
ASSERT_EQUAL(WAL_DBASE_BYTES, MinSizeOfDbaseDropRec);
ASSERT_EQUAL(WAL_DBASE_DATABASE_AT, offsetof(xl_dbase_create_file_copy_rec, db_id));
ASSERT_EQUAL(WAL_DBASE_DATABASE_AT, offsetof(xl_dbase_drop_rec, db_id));
ASSERT_EQUAL(WAL_MULTIXACT_FIRST_AT(sizeof(MultiXactOffset)), offsetof(xl_multixact_create, moff));
ASSERT_EQUAL(WAL_MULTIXACT_COUNT_AT(sizeof(MultiXactOffset)), offsetof(xl_multixact_create, nmembers));
ASSERT_EQUAL(WAL_MULTIXACT_BYTES(sizeof(MultiXactOffset)), SizeOfMultiXactCreate);
ASSERT_EQUAL(WAL_MULTIXACT_MEMBER_BYTES, sizeof(MultiXactMember));
ASSERT_EQUAL(WAL_PARAMETERS_BYTES, sizeof(xl_parameter_change));
ASSERT_EQUAL(WAL_PARAMETERS_COMMIT_TS_AT, offsetof(xl_parameter_change, track_commit_timestamp));


/* The layout of this server's cluster. */
static const struct implied_layout *
own_layout(void)
{
	static struct implied_layout layout;

	if (layout.block_size == 0)
		implied__layout(&layout, BLCKSZ);
	return &layout;
}

/* The format of this server's WAL, once it is known. */
static const struct wal_format *own_format;

/*
 * Is this server's WAL as wal_format.c has it?  That of a beta may not be.  The others
 * must not be called unless it is.
 */
bool
record_view__knows_wal(void)
{
	own_format = wal_format__of_major(PG_MAJOR);
	return own_format != NULL && own_format->page_magic == XLOG_PAGE_MAGIC &&
		own_format->dbase_drop == XLOG_DBASE_DROP &&
		own_format->dropped_stats_bytes == sizeof(xl_xact_stats_item) &&
		own_format->multixact_bytes == sizeof(MultiXactOffset) &&
		own_format->page_flags == XLP_ALL_FLAGS &&
		own_format->page_overwrites == XLP_FIRST_IS_OVERWRITE_CONTRECORD &&
		(own_format->prune == WAL_PRUNE_BY_WIDE_FLAGS) == !HAVE_HEAP2_VISIBLE;
}

/* The parts of a record that do not depend on its block references. */
static inline struct implied_record
view(const DecodedXLogRecord *record)
{
	return (struct implied_record)
	{
		.format = own_format,
			.layout = own_layout(),
			.lsn = record->lsn,
			.xid = record->header.xl_xid,
			.rmid = record->header.xl_rmid,
			.info = record->header.xl_info,
			.data = record->main_data,
			.data_len = record->main_data_len,
	};
}

int
record_view__implied_by_block(const DecodedXLogRecord *record, int block_id,
							  struct redoahead_ref *out)
{
	const DecodedBkpBlock *block = &record->blocks[block_id];
	struct implied_record viewed;

	if (!implied__has_maps(record->header.xl_rmid))
		return 0;

	viewed = view(record);
	viewed.names_block_1 = record->max_block_id >= 1 && record->blocks[1].in_use;
	for (int i = 0; i <= record->max_block_id; i++)
		if (record->blocks[i].in_use && record->blocks[i].forknum == VISIBILITYMAP_FORKNUM)
			viewed.names_vm = true;

	return implied__of_block(&viewed, &(struct implied_block)
							 {
								 .spc = block->rlocator.spcOid,
									 .db = block->rlocator.dbOid,
									 .rel = block->rlocator.relNumber,
									 .block = block->blkno,
									 .fork = (uint8) block->forknum,
									 .id = (uint8) block_id,
									 .restored = block->has_image && block->apply_image,
							 }, out);
}

int
record_view__implied_by_record(struct implied_slru *known, const DecodedXLogRecord *record,
							   struct redoahead_ref *out)
{
	struct implied_record viewed = view(record);

	return implied__of_record(known, &viewed, track_commit_timestamp, out);
}
