/*
 * prefault_report.h
 *		What `redoahead prefault` prints.
 */
#ifndef REDOAHEAD_PREFAULT_PREFAULT_REPORT_H
#define REDOAHEAD_PREFAULT_PREFAULT_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/redoahead_abi.h"
#include "engine/counters.h"

/* What was done. */
struct prefault_summary
{
	uint64_t	begin_us;		/* time of the start, us */
	uint64_t	records;		/* WAL records */
	uint64_t	wal_bytes;		/* size of the WAL gone through, bytes */
	uint64_t	blocks;			/* blocks that redo reads */
	struct counters counters;	/* the engine's */
	bool		stopped;		/* by a signal */
};

void		prefault_report__block(const struct redoahead_ref *ref);
void		prefault_report__progress(const struct prefault_summary *summary, uint64_t done_bytes,
									  uint64_t all_bytes, uint64_t now_us);
void		prefault_report__summary(const struct prefault_summary *summary, bool json,
									 bool dry_run);

#endif							/* REDOAHEAD_PREFAULT_PREFAULT_REPORT_H */
