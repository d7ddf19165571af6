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
 * - Ends of transactions and multixacts read SLRU pages: see implied_slru.c.
 *
 * Redo also reads files as a whole when CREATE DATABASE copies them, and when
 * unlogged relations are reset; it does so sequentially, and nothing is done
 * about it here.
 *
 * Nothing is assumed about the bytes of a record except that the WAL reader
 * has decoded it: lengths are checked against main_data_len.
 */
#include "postgres.h"

#include "access/heapam_xlog.h"
#include "access/htup_details.h"
#include "access/rmgr.h"
#include "access/visibilitymapdefs.h"
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


/* Append a reference to a block of a relation. */
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

/* Visibility map block that has the bits of a heap block. */
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

/* The flags in a record's main data, none if it ends before. */
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

/* The same for the records of heapam's second resource manager. */
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

/* Truncation of a relation. */
static int
of_truncation(const DecodedXLogRecord *record, struct redoahead_ref *out)
{
	const xl_smgr_truncate *xlrec = (const xl_smgr_truncate *) record->main_data;
	int			n = 0;

	if (record->main_data_len < sizeof(xl_smgr_truncate))
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

int
implied__of_record(ImpliedSlru *known, const DecodedXLogRecord *record,
				   struct redoahead_ref *out)
{
	if (record->header.xl_rmid == RM_SMGR_ID)
	{
		if ((record->header.xl_info & ~XLR_INFO_MASK) == XLOG_SMGR_TRUNCATE)
			return of_truncation(record, out);
		return 0;
	}
	return implied_slru__of_record(known, record, out);
}
