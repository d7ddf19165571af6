/*
 * implied.c
 *		Blocks that redo of a WAL record reads although the record does not
 *		name them.
 *
 * Redo of index records reads what they name and nothing else.  These do more:
 *
 * - Heap records that clear bits of the visibility map read the map page.
 *   Newer minor releases name it, unless the bits happened to be clear.
 *
 * - Heap records that change a page's free space read the free space map's
 *   leaf page, to record it: prune and "visible" records always, inserts and
 *   updates when less than a fifth of the page remains.  How full the page is
 *   can't be known here, so it is assumed that it is nearly full; that is true
 *   for most pages at some time, and wrong at the cost of one map page in 4069
 *   heap blocks.  HOT updates, and pages restored from a full-page image by an
 *   insert or update, leave the free space map alone.
 *
 * - Truncation clears the rest of the last map pages, and then propagates the
 *   free space upwards from there.
 *
 * - Commit and abort set bits in pg_xact, for the transaction and all its
 *   subtransactions, and commit sets timestamps in pg_commit_ts if these are
 *   kept.  Creation of a multixact writes its members, its offset and the
 *   offset of the next one.
 *
 * Redo also reads pages that no record stands for: the last pages of pg_xact
 * and pg_multixact when recovery ends, the pages of running transactions when
 * a hot standby gets its first snapshot, pg_subtrans pages that a hot standby
 * evicted, and whole files when CREATE DATABASE copies them or unlogged
 * relations are reset.  They aren't known here; all but the evicted pages are
 * read once per recovery, or sequentially.
 *
 * Nothing is assumed about the bytes of a record except that the WAL reader
 * has decoded it: counts and lengths are checked against main_data_len.
 */
#include "postgres.h"

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
#include "storage/bufpage.h"
#include "storage/fsm_internals.h"

#include "implied.h"

/* Heap blocks that one visibility map page stands for. */
#define VM_HEAP_BLOCKS	((BLCKSZ - MAXALIGN(SizeOfPageHeaderData)) * \
						 (BITS_PER_BYTE / BITS_PER_HEAPBLOCK))

/* Heap blocks of a free space map leaf page, or children of an inner one. */
#define FSM_SLOTS		((uint32) SlotsPerFSMPage)

/* Levels of the free space map, enough for 2^32 - 1 heap blocks. */
#define FSM_LEVELS		(FSM_SLOTS >= 1626 ? 3 : 4)

/* Entries in an SLRU page. */
#define XACT_PER_PAGE				(BLCKSZ * 4)
#define MULTIXACT_OFFSET_PER_PAGE	(BLCKSZ / sizeof(MultiXactOffset))

/* Members come in groups of four: a byte of flags for each, then their IDs. */
#define MULTIXACT_MEMBER_PER_PAGE \
	(BLCKSZ / (4 + 4 * sizeof(TransactionId)) * 4)

/* A commit timestamp is followed by the replication origin, unaligned. */
#define COMMIT_TS_PER_PAGE \
	(BLCKSZ / (sizeof(TimestampTz) + sizeof(RepOriginId)))

/* A position in a record's main data. */
typedef struct Cursor
{
	const char *next;			/* first byte not looked at */
	size_t		left;			/* bytes from there to the end */
} Cursor;

/*
 * Whether commit timestamps are kept, as far as the WAL has said: 1 yes, 0 no,
 * -1 unknown.  Until then our own setting tells; a primary's may differ.
 */
static int	commit_ts_kept = -1;


/*
 * Append a reference to a block of a relation.
 */
static inline int
add_block(struct redoahead_ref *out, int n, const DecodedXLogRecord *record,
		  const RelFileLocator *rlocator, ForkNumber fork, BlockNumber block)
{
	out[n] = (struct redoahead_ref)
	{
		.lsn = record->lsn,
			.spc = rlocator->spcOid,
			.db = rlocator->dbOid,
			.rel = rlocator->relNumber,
			.block = block,
			.fork = (uint8) fork,
			.kind = REDOAHEAD_KIND_RELATION,
			.flags = REDOAHEAD_REF_IMPLIED,
	};
	return n + 1;
}

/*
 * Append a reference to a page of an SLRU.
 */
static inline int
add_page(struct redoahead_ref *out, int n, const DecodedXLogRecord *record,
		 uint32 slru, uint32 page)
{
	out[n] = (struct redoahead_ref)
	{
		.lsn = record->lsn,
			.rel = slru,
			.block = page,
			.kind = REDOAHEAD_KIND_SLRU,
			.flags = REDOAHEAD_REF_IMPLIED,
	};
	return n + 1;
}

/*
 * Visibility map block that has the bits of a heap block.
 */
static inline BlockNumber
vm_block(BlockNumber heap_block)
{
	return heap_block / VM_HEAP_BLOCKS;
}

/*
 * Block of a leaf page of the free space map, counting leaf pages from 0.
 *
 * The tree lies in the file depth first, parents before children.  So a leaf
 * is preceded by all leaves left of it, and on each upper level by its own
 * ancestor and all pages left of that.
 */
static inline BlockNumber
fsm_leaf_block(uint32 leaf)
{
	BlockNumber block = leaf;

	for (int level = 1; level < FSM_LEVELS; level++)
	{
		leaf /= FSM_SLOTS;
		block += leaf + 1;
	}
	return block;
}

/*
 * Does the record name a visibility map block?  Then redo clears bits in the
 * blocks that are named, and in no other.
 */
static bool
names_vm_block(const DecodedXLogRecord *record)
{
	for (int i = 0; i <= record->max_block_id; i++)
	{
		if (record->blocks[i].in_use &&
			record->blocks[i].forknum == VISIBILITYMAP_FORKNUM)
			return true;
	}
	return false;
}

/*
 * The flags in a record's main data, none if it ends before.
 */
#define record_flags(record, type) \
	((record)->main_data_len > offsetof(type, flags) ? \
	 ((const type *) (record)->main_data)->flags : 0)

/*
 * What a heap record does to the maps of the heap block "block_id": does it
 * clear visibility map bits, does it record free space?
 */
static inline void
heap_maps(const DecodedXLogRecord *record, int block_id, bool *vm, bool *fsm)
{
	const DecodedBkpBlock *block = &record->blocks[block_id];
	uint8		op = record->header.xl_info & XLOG_HEAP_OPMASK;
	bool		restored = block->has_image && block->apply_image;
	uint8		flags;

	switch (op)
	{
		case XLOG_HEAP_INSERT:
			flags = record_flags(record, xl_heap_insert);
			*vm = flags & XLH_INSERT_ALL_VISIBLE_CLEARED;
			*fsm = !restored;
			break;

		case XLOG_HEAP_DELETE:
			flags = record_flags(record, xl_heap_delete);
			*vm = flags & XLH_DELETE_ALL_VISIBLE_CLEARED;
			break;

		case XLOG_HEAP_UPDATE:
		case XLOG_HEAP_HOT_UPDATE:
			flags = record_flags(record, xl_heap_update);

			/* Block 0 gets the new tuple, and has the old, unless 1 does. */
			if (block_id == 0)
			{
				*vm = flags & XLH_UPDATE_NEW_ALL_VISIBLE_CLEARED;
				*fsm = op == XLOG_HEAP_UPDATE && !restored;
			}
			if (block_id == 1 || record->max_block_id < 1 ||
				!record->blocks[1].in_use)
				*vm |= (flags & XLH_UPDATE_OLD_ALL_VISIBLE_CLEARED) != 0;
			break;

		case XLOG_HEAP_LOCK:
			flags = record_flags(record, xl_heap_lock);
			*vm = flags & XLH_LOCK_ALL_FROZEN_CLEARED;
			break;
	}
}

/*
 * The same for the records of heapam's second resource manager.
 */
static inline void
heap2_maps(const DecodedXLogRecord *record, int block_id, bool *vm, bool *fsm)
{
	const DecodedBkpBlock *block = &record->blocks[block_id];
	uint8		flags;

	switch (record->header.xl_info & XLOG_HEAP_OPMASK)
	{
		case XLOG_HEAP2_PRUNE_ON_ACCESS:
		case XLOG_HEAP2_PRUNE_VACUUM_SCAN:
		case XLOG_HEAP2_PRUNE_VACUUM_CLEANUP:
			/* Freezing alone makes no room. */
			flags = record_flags(record, xl_heap_prune);
			*fsm = flags & (XLHP_HAS_REDIRECTIONS | XLHP_HAS_DEAD_ITEMS |
							XLHP_HAS_NOW_UNUSED_ITEMS);
			break;

		case XLOG_HEAP2_VISIBLE:
			/* The visibility map page is named, it's block 0. */
			flags = record_flags(record, xl_heap_visible);
			*fsm = flags & VISIBILITYMAP_VALID_BITS;
			break;

		case XLOG_HEAP2_MULTI_INSERT:
			flags = record_flags(record, xl_heap_multi_insert);
			*vm = flags & XLH_INSERT_ALL_VISIBLE_CLEARED;
			*fsm = !(block->has_image && block->apply_image);
			break;

		case XLOG_HEAP2_LOCK_UPDATED:
			flags = record_flags(record, xl_heap_lock_updated);
			*vm = flags & XLH_LOCK_ALL_FROZEN_CLEARED;
			break;
	}
}

int
implied__of_block(const DecodedXLogRecord *record, int block_id,
				  struct redoahead_ref *out)
{
	const DecodedBkpBlock *block = &record->blocks[block_id];
	bool		vm = false;
	bool		fsm = false;
	int			n = 0;

	if (block->forknum != MAIN_FORKNUM)
		return 0;

	if (record->header.xl_rmid == RM_HEAP_ID)
		heap_maps(record, block_id, &vm, &fsm);
	else if (record->header.xl_rmid == RM_HEAP2_ID)
		heap2_maps(record, block_id, &vm, &fsm);
	else
		return 0;

	if (vm && !names_vm_block(record))
		n = add_block(out, n, record, &block->rlocator, VISIBILITYMAP_FORKNUM,
					  vm_block(block->blkno));
	if (fsm)
		n = add_block(out, n, record, &block->rlocator, FSM_FORKNUM,
					  fsm_leaf_block(block->blkno / FSM_SLOTS));
	return n;
}

/*
 * The record's main data as "type", or NULL if it is shorter than "size".
 */
#define main_data(record, type, size) \
	((record)->main_data_len >= (size) ? \
	 (const type *) (record)->main_data : NULL)

/*
 * Take "size" bytes of a record, or NULL if there are not so many.
 */
static const void *
take(Cursor *cursor, size_t size)
{
	const char *taken = cursor->next;

	if (cursor->left < size)
		return NULL;
	cursor->next += size;
	cursor->left -= size;
	return taken;
}

/*
 * Take an int, and an array of so many elements that follows it.  NULL if the
 * record ends before.
 */
static const void *
take_array(Cursor *cursor, size_t element_size, int *nelements)
{
	const int  *count = take(cursor, sizeof(int));

	if (!count || *count < 0 || (size_t) *count > cursor->left / element_size)
		return NULL;
	*nelements = *count;
	return take(cursor, *count * element_size);
}

/*
 * Append the pages that a transaction and its subtransactions have in an SLRU
 * with a number of entries for each transaction ID.
 */
static inline int
add_xact_pages(struct redoahead_ref *out, int n, const DecodedXLogRecord *record,
			   uint32 slru, uint32 xacts_per_page, TransactionId xid,
			   const TransactionId *subxids, int nsubxids)
{
	int			limit = n + IMPLIED_MAX_PER_SLRU;
	uint32		page = xid / xacts_per_page;

	n = add_page(out, n, record, slru, page);

	/* They ascend from their parent's, so usually the last one tells all. */
	if (nsubxids == 0 || subxids[nsubxids - 1] / xacts_per_page == page)
		return n;

	for (int i = 0; i < nsubxids && n < limit; i++)
	{
		if (subxids[i] / xacts_per_page != page)
		{
			page = subxids[i] / xacts_per_page;
			n = add_page(out, n, record, slru, page);
		}
	}
	return n;
}

/*
 * Commit or abort, of a prepared transaction or another.
 */
static int
of_xact(const DecodedXLogRecord *record, struct redoahead_ref *out)
{
	uint8		op = record->header.xl_info & XLOG_XACT_OPMASK;
	bool		commit = op == XLOG_XACT_COMMIT || op == XLOG_XACT_COMMIT_PREPARED;
	bool		abort = op == XLOG_XACT_ABORT || op == XLOG_XACT_ABORT_PREPARED;
	Cursor		cursor = {record->main_data, record->main_data_len};
	TransactionId xid = record->header.xl_xid;
	const TransactionId *subxids = NULL;
	int			nsubxids = 0;
	uint32		xinfo = 0;
	int			n = 0;

	if (!commit && !abort)
		return 0;

	/* Both kinds of record begin with the time. */
	StaticAssertStmt(MinSizeOfXactCommit == MinSizeOfXactAbort,
					 "commit and abort records begin alike");
	if (!take(&cursor, MinSizeOfXactCommit))
		return 0;

	if (record->header.xl_info & XLOG_XACT_HAS_INFO)
	{
		const xl_xact_xinfo *info = take(&cursor, sizeof(xl_xact_xinfo));

		if (!info)
			return 0;
		xinfo = info->xinfo;
	}

	if ((xinfo & XACT_XINFO_HAS_DBINFO) && !take(&cursor, sizeof(xl_xact_dbinfo)))
		return 0;

	if (xinfo & XACT_XINFO_HAS_SUBXACTS)
	{
		subxids = take_array(&cursor, sizeof(TransactionId), &nsubxids);
		if (!subxids)
			return 0;
	}

	if (op == XLOG_XACT_COMMIT_PREPARED || op == XLOG_XACT_ABORT_PREPARED)
	{
		const xl_xact_twophase *twophase;
		int			ignored;

		if ((xinfo & XACT_XINFO_HAS_RELFILELOCATORS) &&
			!take_array(&cursor, sizeof(RelFileLocator), &ignored))
			return 0;
		if ((xinfo & XACT_XINFO_HAS_DROPPED_STATS) &&
			!take_array(&cursor, sizeof(xl_xact_stats_item), &ignored))
			return 0;
		if (commit && (xinfo & XACT_XINFO_HAS_INVALS) &&
			!take_array(&cursor, sizeof(SharedInvalidationMessage), &ignored))
			return 0;
		if (!(xinfo & XACT_XINFO_HAS_TWOPHASE))
			return 0;
		twophase = take(&cursor, sizeof(xl_xact_twophase));
		if (!twophase)
			return 0;
		xid = twophase->xid;
	}

	if (!TransactionIdIsNormal(xid))
		return 0;

	n = add_xact_pages(out, n, record, REDOAHEAD_SLRU_XACT, XACT_PER_PAGE,
					   xid, subxids, nsubxids);
	if (commit &&
		(commit_ts_kept >= 0 ? commit_ts_kept != 0 : track_commit_timestamp))
		n = add_xact_pages(out, n, record, REDOAHEAD_SLRU_COMMIT_TS,
						   COMMIT_TS_PER_PAGE, xid, subxids, nsubxids);
	return n;
}

/*
 * Creation of a multixact.
 */
static int
of_multixact(const DecodedXLogRecord *record, struct redoahead_ref *out)
{
	const xl_multixact_create *xlrec =
		main_data(record, xl_multixact_create, SizeOfMultiXactCreate);
	uint32		members_left;
	MultiXactOffset member;
	uint32		page;
	int			n = 0;

	if ((record->header.xl_info & ~XLR_INFO_MASK) != XLOG_MULTIXACT_CREATE_ID ||
		!xlrec)
		return 0;

	/*
	 * Its own offset, and where the next one begins.  Older minor releases
	 * don't touch the latter; there, one page in 2048 multixacts comes early.
	 */
	page = xlrec->mid / MULTIXACT_OFFSET_PER_PAGE;
	n = add_page(out, n, record, REDOAHEAD_SLRU_MULTIXACT_OFFSET, page);
	if (xlrec->mid == MaxMultiXactId)
		n = add_page(out, n, record, REDOAHEAD_SLRU_MULTIXACT_OFFSET,
					 FirstMultiXactId / MULTIXACT_OFFSET_PER_PAGE);
	else if ((xlrec->mid + 1) / MULTIXACT_OFFSET_PER_PAGE != page)
		n = add_page(out, n, record, REDOAHEAD_SLRU_MULTIXACT_OFFSET, page + 1);

	if (xlrec->nmembers <= 0 ||
		(record->main_data_len - SizeOfMultiXactCreate) / sizeof(MultiXactMember) <
		(size_t) xlrec->nmembers)
		return n;

	/* The members, in pages; their numbers wrap around at 2^32. */
	member = xlrec->moff;
	members_left = xlrec->nmembers;
	while (members_left > 0 && n < IMPLIED_MAX_PER_SLRU)
	{
		uint32		in_page = MULTIXACT_MEMBER_PER_PAGE -
			member % MULTIXACT_MEMBER_PER_PAGE;

		/* The last page ends early, because 2^32 isn't a multiple of a page. */
		if (member > PG_UINT32_MAX - in_page)
			in_page = PG_UINT32_MAX - member + 1;

		n = add_page(out, n, record, REDOAHEAD_SLRU_MULTIXACT_MEMBER,
					 member / MULTIXACT_MEMBER_PER_PAGE);
		member += in_page;
		members_left -= Min(members_left, in_page);
	}
	return n;
}

/*
 * Truncation of a relation.
 */
static int
of_smgr(const DecodedXLogRecord *record, struct redoahead_ref *out)
{
	const xl_smgr_truncate *xlrec =
		main_data(record, xl_smgr_truncate, sizeof(xl_smgr_truncate));
	int			n = 0;

	if ((record->header.xl_info & ~XLR_INFO_MASK) != XLOG_SMGR_TRUNCATE || !xlrec)
		return 0;

	/* A map page of which nothing remains is cut off unread. */
	if ((xlrec->flags & SMGR_TRUNCATE_VM) && xlrec->blkno % VM_HEAP_BLOCKS != 0)
		n = add_block(out, n, record, &xlrec->rlocator, VISIBILITYMAP_FORKNUM,
					  vm_block(xlrec->blkno));

	if (xlrec->flags & SMGR_TRUNCATE_FSM)
	{
		uint32		leaf = xlrec->blkno / FSM_SLOTS;
		uint32		leaves = 1;

		if (xlrec->blkno % FSM_SLOTS != 0)
			n = add_block(out, n, record, &xlrec->rlocator, FSM_FORKNUM,
						  fsm_leaf_block(leaf));

		/* Its ancestors; each lies just before its first child. */
		for (int level = 1; level < FSM_LEVELS; level++)
		{
			leaves *= FSM_SLOTS;
			n = add_block(out, n, record, &xlrec->rlocator, FSM_FORKNUM,
						  fsm_leaf_block(leaf - leaf % leaves) - level);
		}
	}
	return n;
}

/*
 * A change of settings on the primary.
 */
static void
learn_settings(const DecodedXLogRecord *record)
{
	const xl_parameter_change *xlrec =
		main_data(record, xl_parameter_change, sizeof(xl_parameter_change));

	/* Not read as a bool, which must not be anything but 0 or 1. */
	if ((record->header.xl_info & ~XLR_INFO_MASK) == XLOG_PARAMETER_CHANGE && xlrec)
		commit_ts_kept = *(const uint8 *) &xlrec->track_commit_timestamp != 0;
}

int
implied__of_record(const DecodedXLogRecord *record, struct redoahead_ref *out)
{
	switch (record->header.xl_rmid)
	{
		case RM_XACT_ID:
			return of_xact(record, out);
		case RM_MULTIXACT_ID:
			return of_multixact(record, out);
		case RM_SMGR_ID:
			return of_smgr(record, out);
		case RM_XLOG_ID:
			learn_settings(record);
			return 0;
	}
	return 0;
}
