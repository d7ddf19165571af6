/*
 * implied.h
 *		Blocks that redo of a WAL record reads although the record does not
 *		name them.
 *
 * Both functions fill "out" and return how many references they put there.
 * They take no lock, allocate nothing and make no system call, and read only
 * the record: whether the file exists, or the page is in memory already, is
 * for the caller to find out.  The same page comes again and again (one page
 * of a free space map stands for 32 MB of heap), so the caller should keep a
 * recent-block cache.
 */
#ifndef REDOAHEAD_IMPLIED_H
#define REDOAHEAD_IMPLIED_H

#include "access/xlogreader.h"

#include "common/redoahead_abi.h"
#include "implied_slru.h"

/* Most references that one block reference implies: a VM and an FSM page. */
#define IMPLIED_MAX_PER_BLOCK	2

/* Most references that a record implies: pages of up to two SLRUs. */
#define IMPLIED_MAX_PER_RECORD	(2 * IMPLIED_MAX_PER_SLRU)

/*
 * Visibility map and free space map pages that redo reads because of the block
 * reference "block_id", which must be in use.  If the block is filtered, the
 * relation is created or truncated before, and so are these pages.
 */
extern int	implied__of_block(const DecodedXLogRecord *record, int block_id,
							  struct redoahead_ref *out);

/*
 * SLRU pages that redo of the record reads, and the map pages around the end
 * of a relation that it truncates.  To be called once for each decoded record,
 * in order: it also learns from the WAL which SLRU pages it creates, and
 * whether commit timestamps are kept.
 */
extern int	implied__of_record(ImpliedSlru *known, const DecodedXLogRecord *record,
							   struct redoahead_ref *out);

#endif							/* REDOAHEAD_IMPLIED_H */
