/*
 * plan.h
 *		From a batch of references to an ordered list of reads.
 */
#ifndef REDOAHEAD_ENGINE_PLAN_H
#define REDOAHEAD_ENGINE_PLAN_H

#include <stdint.h>

#include "cluster/relpath.h"
#include "report/counters.h"

/* A run of adjacent blocks in one segment file. */
struct plan_run
{
	struct relpath_key key;		/* the segment file */
	uint32_t	block;			/* first block in the segment */
	uint32_t	blocks;			/* length, blocks */
	uint64_t	lsn;			/* the last record that needs one of them */
};

unsigned	plan__build(const struct redoahead_ref *refs, unsigned count,
						const struct relpath_layout *layout,
						uint64_t replay_lsn, uint32_t max_run,
						struct plan_run *runs, struct counters *counters);

#endif							/* REDOAHEAD_ENGINE_PLAN_H */
