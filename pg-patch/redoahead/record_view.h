/*
 * record_view.h
 *		Decoded WAL records as common/implied.h takes them.
 */
#ifndef REDOAHEAD_RECORD_VIEW_H
#define REDOAHEAD_RECORD_VIEW_H

#include "access/xlogreader.h"

#include "common/implied.h"

/* Is this server's WAL as common/wal_format.c has it?  Must be called before the others. */
extern bool record_view__knows_wal(void);

/*
 * As implied__of_block(), for the block reference "block_id", which must be in
 * use.
 */
extern int	record_view__implied_by_block(const DecodedXLogRecord *record, int block_id,
										  struct redoahead_ref *out);

/* As implied__of_record(). */
extern int	record_view__implied_by_record(struct implied_slru *known,
										   const DecodedXLogRecord *record,
										   struct redoahead_ref *out);

#endif							/* REDOAHEAD_RECORD_VIEW_H */
