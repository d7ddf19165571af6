/*
 * implied.h
 *		Blocks of visibility and free space maps that redo of a WAL record reads
 *		although the record does not name them.
 *
 * Both functions fill "out" and return how many references they put there.
 * They take no lock, allocate nothing, make no system call, and depend only on
 * the record: whether the file exists, or the page is in memory already, is for
 * the caller to find out.  The same page is implied again and again (one page of
 * a free space map covers 32 MB of heap), so the caller should remember it.
 */
#ifndef REDOAHEAD_IMPLIED_H
#define REDOAHEAD_IMPLIED_H

#include "access/xlogreader.h"

#include "common/redoahead_abi.h"

/* Most references that one block reference implies: a VM and an FSM page. */
#define IMPLIED_MAX_PER_BLOCK	2

/* Most references that a record implies: a VM page, and one of each FSM level. */
#define IMPLIED_MAX_PER_RECORD	5

/*
 * Map pages that redo reads because of the block reference "block_id", which
 * must be in use.  If the block is filtered, the relation is created or truncated
 * before, and so are these pages.
 */
extern int	implied__of_block(const DecodedXLogRecord *record, int block_id,
							  struct redoahead_ref *out);

/* Map pages around the end of a relation that the record truncates. */
extern int	implied__of_record(const DecodedXLogRecord *record,
							   struct redoahead_ref *out);

#endif							/* REDOAHEAD_IMPLIED_H */
