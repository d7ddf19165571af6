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
 * Nothing is assumed about the bytes of a record: lengths are checked against
 * data_len.
 */
#include <string.h>

#include "implied.h"

/* Bytes at the start of a page that its header takes, and those of the FSM's own. */
#define PAGE_HEADER_BYTES	24
#define FSM_HEADER_BYTES	4

/* Heap blocks that a byte of the visibility map stands for. */
#define VM_HEAP_BLOCKS_PER_BYTE	4

/* Fewest slots in a page with which a map of three levels covers 2^32 - 1 blocks. */
#define FSM_SLOTS_OF_THREE_LEVELS	1626

/* The page size's consequences; block_size as in pg_control, bytes. */
void
implied__layout(struct implied_layout *layout, uint32_t block_size)
{
	/* The leaf nodes of a binary tree that fills the page. */
	uint32_t	nodes = block_size - PAGE_HEADER_BYTES - FSM_HEADER_BYTES;
	uint32_t	slots = nodes - (block_size / 2 - 1);

	*layout = (struct implied_layout)
	{
		.block_size = block_size,
			.vm_heap_blocks = (block_size - PAGE_HEADER_BYTES) * VM_HEAP_BLOCKS_PER_BYTE,
			.fsm_slots = slots,
			.fsm_levels = slots >= FSM_SLOTS_OF_THREE_LEVELS ? 3 : 4,
	};
}

/* Append a reference to a block of the relation of "block". */
static inline int
add_block(struct redoahead_ref *out, int n, const struct implied_record *record,
		  const struct implied_block *block, uint8_t fork, uint32_t number)
{
	out[n] = (struct redoahead_ref)
	{
		.lsn = record->lsn,
			.spc = block->spc,
			.db = block->db,
			.rel = block->rel,
			.block = number,
			.fork = fork,
			.kind = REDOAHEAD_KIND_RELATION,
			.flags = REDOAHEAD_REF_IMPLIED,
	};
	return n + 1;
}

/*
 * Block of a leaf page of the free space map, counting leaf pages from 0.
 *
 * The tree lies in the file depth first, parents before children.  So a leaf
 * is preceded by all leaves left of it, and on each upper level by its own
 * ancestor and all pages left of that.
 */
static inline uint32_t
fsm_leaf_block(const struct implied_layout *layout, uint32_t leaf)
{
	uint32_t	block = leaf;

	for (uint32_t level = 1; level < layout->fsm_levels; level++)
	{
		leaf /= layout->fsm_slots;
		block += leaf + 1;
	}
	return block;
}

/* The byte of flags at "at" in the main data, 0 if the record ends before. */
static inline uint8_t
flags_at(const struct implied_record *record, uint32_t at)
{
	return record->data_len > at ? ((const uint8_t *) record->data)[at] : 0;
}

/* The same for flags of 16 bits. */
static inline uint16_t
wide_flags_at(const struct implied_record *record, uint32_t at)
{
	uint16_t	flags = 0;

	if (record->data_len >= at + sizeof(flags))
		memcpy(&flags, (const char *) record->data + at, sizeof(flags));
	return flags;
}

/*
 * What a heap record does to the maps of a heap block that it names: does it clear
 * visibility map bits, does it record free space?
 */
static inline void
heap_maps(const struct implied_record *record, const struct implied_block *block,
		  bool *vm, bool *fsm)
{
	uint8_t		op = record->info & WAL_HEAP_OPERATION;
	uint8_t		flags;

	switch (op)
	{
		case WAL_HEAP_INSERT:
			*vm = flags_at(record, WAL_INSERT_FLAGS_AT) & WAL_INSERT_CLEARS;
			*fsm = !block->restored;
			break;

		case WAL_HEAP_DELETE:
			*vm = flags_at(record, WAL_DELETE_FLAGS_AT) & WAL_DELETE_CLEARS;
			break;

		case WAL_HEAP_UPDATE:
		case WAL_HEAP_HOT_UPDATE:
			flags = flags_at(record, WAL_UPDATE_FLAGS_AT);

			/* Block 0 gets the new tuple, and has the old, unless 1 does. */
			if (block->id == 0)
			{
				*vm = flags & WAL_UPDATE_CLEARS_NEW;
				*fsm = op == WAL_HEAP_UPDATE && !block->restored;
			}
			if (block->id == 1 || !record->names_block_1)
				*vm |= (flags & WAL_UPDATE_CLEARS_OLD) != 0;
			break;

		case WAL_HEAP_LOCK:
			*vm = flags_at(record, WAL_LOCK_FLAGS_AT) & WAL_LOCK_CLEARS;
			break;
	}
}

/* Does redo of a record with one of the three operations of pruning record free space? */
static inline bool
records_space(const struct implied_record *record, uint8_t op)
{
	switch (record->format->prune)
	{
		case WAL_PRUNE_FIRST:
			return op == WAL_HEAP2_PRUNE_1;
		case WAL_PRUNE_FIRST_TWO:
			return op != WAL_HEAP2_PRUNE_3;
		case WAL_PRUNE_BY_FLAGS:
			return flags_at(record, WAL_PRUNE_FLAGS_AT) & WAL_PRUNE_MADE_ROOM;
		case WAL_PRUNE_BY_WIDE_FLAGS:
			return wide_flags_at(record, WAL_WIDE_PRUNE_FLAGS_AT) &
				(WAL_PRUNE_MADE_ROOM | WAL_PRUNE_SETS_VISIBLE);
	}
	return false;
}

/* The same for the records of heapam's second resource manager. */
static inline void
heap2_maps(const struct implied_record *record, const struct implied_block *block,
		   bool *vm, bool *fsm)
{
	uint8_t		op = record->info & WAL_HEAP_OPERATION;

	switch (op)
	{
		case WAL_HEAP2_PRUNE_1:
		case WAL_HEAP2_PRUNE_2:
		case WAL_HEAP2_PRUNE_3:
			*fsm = records_space(record, op);
			break;

		case WAL_HEAP2_VISIBLE:
			/* The visibility map page is named, it's block 0. */
			*fsm = flags_at(record, WAL_VISIBLE_FLAGS_AT) & WAL_VISIBLE_BITS;
			break;

		case WAL_HEAP2_MULTI_INSERT:
			*vm = flags_at(record, WAL_MULTI_INSERT_FLAGS_AT) & WAL_INSERT_CLEARS;
			*fsm = !block->restored;
			break;

		case WAL_HEAP2_LOCK_UPDATED:
			*vm = flags_at(record, WAL_LOCK_UPDATED_FLAGS_AT) & WAL_LOCK_CLEARS;
			break;
	}
}

int
implied__of_block(const struct implied_record *record, const struct implied_block *block,
				  struct redoahead_ref *out)
{
	const struct implied_layout *layout = record->layout;
	bool		vm = false;
	bool		fsm = false;
	int			n = 0;

	if (block->fork != REDOAHEAD_FORK_MAIN)
		return 0;

	if (record->rmid == WAL_RMGR_HEAP)
		heap_maps(record, block, &vm, &fsm);
	else if (record->rmid == WAL_RMGR_HEAP2)
		heap2_maps(record, block, &vm, &fsm);
	else
		return 0;

	/* If it names a map block, redo clears bits in those that are named only. */
	if (vm && !record->names_vm)
		n = add_block(out, n, record, block, REDOAHEAD_FORK_VM,
					  block->block / layout->vm_heap_blocks);
	if (fsm)
		n = add_block(out, n, record, block, REDOAHEAD_FORK_FSM,
					  fsm_leaf_block(layout, block->block / layout->fsm_slots));
	return n;
}

/* Truncation of a relation. */
static int
of_truncation(const struct implied_record *record, struct redoahead_ref *out)
{
	const struct implied_layout *layout = record->layout;
	const char *data = record->data;
	struct implied_block relation = {0};
	uint32_t	end;			/* first block cut off */
	uint32_t	flags;
	int			n = 0;

	if (record->data_len < WAL_TRUNCATE_BYTES)
		return 0;
	memcpy(&end, data, sizeof(end));
	memcpy(&relation, data + WAL_TRUNCATE_RELATION_AT, 3 * sizeof(uint32_t));
	memcpy(&flags, data + WAL_TRUNCATE_FLAGS_AT, sizeof(flags));

	/* A map page of which nothing remains is cut off unread. */
	if ((flags & WAL_TRUNCATE_VM) && end % layout->vm_heap_blocks != 0)
		n = add_block(out, n, record, &relation, REDOAHEAD_FORK_VM,
					  end / layout->vm_heap_blocks);

	if (flags & WAL_TRUNCATE_FSM)
	{
		uint32_t	leaf = end / layout->fsm_slots;
		uint32_t	leaves = 1;

		if (end % layout->fsm_slots != 0)
			n = add_block(out, n, record, &relation, REDOAHEAD_FORK_FSM,
						  fsm_leaf_block(layout, leaf));

		/* Its ancestors; each lies just before its first child. */
		for (uint32_t level = 1; level < layout->fsm_levels; level++)
		{
			leaves *= layout->fsm_slots;
			n = add_block(out, n, record, &relation, REDOAHEAD_FORK_FSM,
						  fsm_leaf_block(layout, leaf - leaf % leaves) - level);
		}
	}
	return n;
}

int
implied__of_record(struct implied_slru *known, const struct implied_record *record,
				   bool commit_ts, struct redoahead_ref *out)
{
	if (record->rmid == WAL_RMGR_SMGR)
	{
		if ((record->info & ~WAL_INFO_COMMON) == WAL_SMGR_TRUNCATE)
			return of_truncation(record, out);
		return 0;
	}
	return implied_slru__of_record(known, record, commit_ts, out);
}
