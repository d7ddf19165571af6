/*
 * cpu_prefetch.c
 *		Which tuple redo of a record changes or removes.
 *
 * Determined when the record is decoded, for the last step of cpu_prefetch.h.
 * Heap tuples only: most of redo changes those.
 */
#include "postgres.h"

#include "access/heapam_xlog.h"
#include "access/rmgr.h"

#include "cpu_prefetch.h"

/* In these records the tuple's offset number follows an xid. */
StaticAssertDecl(offsetof(xl_heap_delete, offnum) == sizeof(TransactionId) &&
				 offsetof(xl_heap_update, old_offnum) == sizeof(TransactionId) &&
				 offsetof(xl_heap_lock, offnum) == sizeof(TransactionId) &&
				 offsetof(xl_heap_lock_updated, offnum) == sizeof(TransactionId),
				 "the offset number follows an xid");

static OffsetNumber
offset_after_xid(const DecodedXLogRecord *record)
{
	OffsetNumber tuple = InvalidOffsetNumber;

	if (record->main_data_len >= sizeof(TransactionId) + sizeof(tuple))
		memcpy(&tuple, record->main_data + sizeof(TransactionId), sizeof(tuple));
	return tuple;
}

/*
 * Skip one of the arrays of a prune record: a count, and from "items" on so many
 * items of "size" bytes.  Returns the offset number that the first item begins
 * with.  If the array isn't all there, skips everything.
 */
static OffsetNumber
first_of_array(const char **cursor, const char *end, Size items, Size size)
{
	OffsetNumber first = InvalidOffsetNumber;
	uint16		count;

	if (end - *cursor >= (ptrdiff_t) items)
	{
		memcpy(&count, *cursor, sizeof(count));
		if (count > 0 && end - *cursor >= (ptrdiff_t) (items + count * size))
		{
			memcpy(&first, *cursor + items, sizeof(first));
			*cursor += items + count * size;
			return first;
		}
	}
	*cursor = end;
	return first;
}

/* A tuple that a prune record removes, if that moves the other tuples on the page. */
static OffsetNumber
pruned_tuple(const DecodedXLogRecord *record, const DecodedBkpBlock *block)
{
	const Size	items = offsetof(xlhp_prune_items, data);
	const char *cursor = block->data;
	const char *end = cursor + block->data_len;
	OffsetNumber redirected = InvalidOffsetNumber;
	OffsetNumber dead = InvalidOffsetNumber;
	OffsetNumber unused = InvalidOffsetNumber;
	uint8		flags;

	if (record->main_data_len < SizeOfHeapPrune || !block->has_data)
		return InvalidOffsetNumber;
	flags = ((const xl_heap_prune *) record->main_data)->flags;
	if (!(flags & XLHP_CLEANUP_LOCK))
		return InvalidOffsetNumber;

	if (flags & XLHP_HAS_FREEZE_PLANS)
		(void) first_of_array(&cursor, end, offsetof(xlhp_freeze_plans, plans),
							  sizeof(xlhp_freeze_plan));
	if (flags & XLHP_HAS_REDIRECTIONS)
		redirected = first_of_array(&cursor, end, items, 2 * sizeof(OffsetNumber));
	if (flags & XLHP_HAS_DEAD_ITEMS)
		dead = first_of_array(&cursor, end, items, sizeof(OffsetNumber));
	if (flags & XLHP_HAS_NOW_UNUSED_ITEMS)
		unused = first_of_array(&cursor, end, items, sizeof(OffsetNumber));

	/* With a redirection, the tuple that was redirected to before is unused now. */
	return unused != InvalidOffsetNumber ? unused :
		redirected != InvalidOffsetNumber ? redirected : dead;
}

/*
 * Set the reference's "tuple": the one that redo of the record changes, or removes
 * so that others move, on the page of the reference.  None if it isn't known.
 */
void
cpu_prefetch__find_tuple(const DecodedXLogRecord *record, PendingRef *ref)
{
	uint8		operation = record->header.xl_info & XLOG_HEAP_OPMASK;

	ref->tuple = InvalidOffsetNumber;
	ref->moves = false;
	if (record->header.xl_rmid == RM_HEAP_ID)
	{
		switch (operation)
		{
			case XLOG_HEAP_UPDATE:
			case XLOG_HEAP_HOT_UPDATE:
				/* Block 1 has the old version, unless both are on the same page. */
				if (ref->block_id == (record->max_block_id >= 1 && record->blocks[1].in_use))
					ref->tuple = offset_after_xid(record);
				break;
			case XLOG_HEAP_DELETE:
			case XLOG_HEAP_LOCK:
				if (ref->block_id == 0)
					ref->tuple = offset_after_xid(record);
				break;
		}
	}
	else if (record->header.xl_rmid == RM_HEAP2_ID && ref->block_id == 0)
	{
		switch (operation)
		{
			case XLOG_HEAP2_LOCK_UPDATED:
				ref->tuple = offset_after_xid(record);
				break;
			case XLOG_HEAP2_PRUNE_ON_ACCESS:
			case XLOG_HEAP2_PRUNE_VACUUM_SCAN:
			case XLOG_HEAP2_PRUNE_VACUUM_CLEANUP:
				ref->tuple = pruned_tuple(record, &record->blocks[0]);
				ref->moves = ref->tuple != InvalidOffsetNumber;
				break;
		}
	}
}
