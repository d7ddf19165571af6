/*
 * needed_blocks.h
 *		Which blocks redo of a record reads from files.
 */
#ifndef REDOAHEAD_WAL_NEEDED_BLOCKS_H
#define REDOAHEAD_WAL_NEEDED_BLOCKS_H

#include "common/implied.h"
#include "common/recent_blocks.h"
#include "wal/filters.h"
#include "wal/record.h"

/* Most blocks that redo of a record reads. */
#define NEEDED_BLOCKS_MAX \
	(WAL_RECORD_MAX_BLOCKS * (1 + IMPLIED_MAX_PER_BLOCK) + IMPLIED_MAX_PER_RECORD)

struct needed_blocks
{
	struct implied_layout layout;	/* what follows from the block size */
	struct implied_slru slru;	/* what the WAL has shown about SLRUs */
	bool		commit_ts;		/* commit timestamps are kept, unless the WAL shows else */
	RecentBlocks recent;		/* blocks that redo has by then */
	struct filters filters;		/* blocks that are not in files until redo creates them */
};

uint32_t	needed_blocks__recent(uint64_t memory_bytes, uint32_t block_size);
int			needed_blocks__create(struct needed_blocks *needed, uint32_t block_size,
								  bool commit_ts, uint32_t recent_blocks);
void		needed_blocks__destroy(struct needed_blocks *needed);
unsigned	needed_blocks__of_record(struct needed_blocks *needed, const struct wal_record *record,
									 uint64_t replay_lsn,
									 struct redoahead_ref out[NEEDED_BLOCKS_MAX]);

#endif							/* REDOAHEAD_WAL_NEEDED_BLOCKS_H */
