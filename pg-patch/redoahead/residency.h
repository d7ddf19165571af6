/*
 * residency.h
 *		Will a block be in shared buffers when redo comes to it?
 *
 * What is known of a block when a reference to it is decoded must still hold at
 * replay.  If redo loads more than a part of shared_buffers in between, it may
 * evict the block.  Such a reference is checked again shortly before replay.
 */
#ifndef REDOAHEAD_RESIDENCY_H
#define REDOAHEAD_RESIDENCY_H

#include "prefetcher.h"

extern void residency__estimate(Prefetcher *p);
extern bool residency__check(RecentBlock *recent);

/*
 * How many blocks may be loaded into so many shared buffers before one that has
 * been used is evicted.  The clock sweep must have gone round.  Each of its steps
 * takes a buffer or lowers a usage count, and each buffer that is taken has been
 * lowered before: so at most half of the buffers are taken in a round, and fewer
 * where some are used often.
 */
static inline uint64
residency__safe_loads(int buffers)
{
	return buffers / 4;
}

/*
 * Estimate how far ahead blocks are safe, if redo loads so many of them for so
 * many references in so many bytes of WAL.  A block that is to be submitted again
 * must be so in time, among those that the daemon reads now.
 */
static inline void
residency__set_safe(Residency *r, uint64 refs, uint64 loads, uint64 bytes,
					uint64 safe_loads, uint32 readahead_limit)
{
	uint64		near_loads = readahead_limit > 0 ? Min(readahead_limit, safe_loads) : safe_loads;

	if (loads <= safe_loads)
		return;
	r->safe_refs = refs * near_loads / loads;
	r->safe_bytes = bytes / loads * safe_loads;
}

/* May a block that is in shared buffers now be evicted before redo comes to it? */
static inline bool
residency__is_at_risk(const Prefetcher *p)
{
	return p->residency.safe_refs < lookahead__length(&p->lookahead);
}

/* Does a record that has not been replayed yet bring the block in? */
static inline bool
residency__will_be_loaded(const Prefetcher *p, const RecentBlock *recent)
{
	return recent->lsn >= p->lookahead.replay_lsn && recent->lsn > p->forgotten_lsn;
}

/* And will it still be there for the record at lsn? */
static inline bool
residency__will_be_resident(const Prefetcher *p, const RecentBlock *recent, XLogRecPtr lsn)
{
	return residency__will_be_loaded(p, recent) &&
		lsn - recent->lsn <= p->residency.safe_bytes;
}

#endif							/* REDOAHEAD_RESIDENCY_H */
