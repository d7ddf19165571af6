/*
 * warm.c
 *		Which tuple redo of a record will change.
 *
 * Found out when the record is decoded, and used when redo has come near (warm.h).
 * Tuples of tables only: most of redo changes those.
 */
#include "postgres.h"

#include "access/heapam_xlog.h"
#include "access/rmgr.h"

#include "warm.h"

/* Redo of these finds the tuple's number behind an xid. */
StaticAssertDecl(offsetof(xl_heap_delete, offnum) == sizeof(TransactionId) &&
				 offsetof(xl_heap_update, old_offnum) == sizeof(TransactionId) &&
				 offsetof(xl_heap_lock, offnum) == sizeof(TransactionId) &&
				 offsetof(xl_heap_lock_updated, offnum) == sizeof(TransactionId),
				 "the tuple's number is behind an xid");

static OffsetNumber
behind_xid(const DecodedXLogRecord *record)
{
	OffsetNumber tuple = InvalidOffsetNumber;

	if (record->main_data_len >= sizeof(TransactionId) + sizeof(tuple))
		memcpy(&tuple, record->main_data + sizeof(TransactionId), sizeof(tuple));
	return tuple;
}

/*
 * The number of the tuple that redo of the record will change on the page of that
 * block reference; InvalidOffsetNumber if there is none, or it isn't known.
 */
OffsetNumber
warm__tuple(const DecodedXLogRecord *record, int block_id)
{
	uint8		operation = record->header.xl_info & XLOG_HEAP_OPMASK;

	if (record->header.xl_rmid == RM_HEAP_ID)
	{
		switch (operation)
		{
			case XLOG_HEAP_UPDATE:
			case XLOG_HEAP_HOT_UPDATE:
				/* The last reference is to the old version's page; so may the first be. */
				if (block_id == record->max_block_id)
					return behind_xid(record);
				break;
			case XLOG_HEAP_DELETE:
			case XLOG_HEAP_LOCK:
				return behind_xid(record);
		}
	}
	else if (record->header.xl_rmid == RM_HEAP2_ID && operation == XLOG_HEAP2_LOCK_UPDATED)
		return behind_xid(record);
	return InvalidOffsetNumber;
}
