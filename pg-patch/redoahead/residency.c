/*
 * residency.c
 *		Will a block be in shared buffers when redo comes to it?  The estimates,
 *		and the check shortly before replay.  What runs per reference is inline in
 *		residency.h.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "buffers.h"
#include "residency.h"

/* Loads are estimated from so many references, the latest ones. */
#define RECENT_REFS			(1024 * 1024)

/* How many of so many references will make redo load a block. */
static uint64
estimate_loads(Prefetcher *p, uint64 refs)
{
	const PrefetchCounters *c = &p->counters;
	Residency  *r = &p->residency;
	uint64		offered = c->offered - r->recent_offered;
	uint64		loads = c->emitted + c->skip_fpw + c->skip_init + c->skip_new - r->recent_loads;

	if (offered > RECENT_REFS)
	{
		r->recent_offered += offered / 2;
		r->recent_loads += loads / 2;
	}
	return refs * loads / Max(offered, 1);
}

/* Estimate what becomes of shared buffers until redo is where decoding is. */
void
residency__estimate(Prefetcher *p)
{
	const Lookahead *l = &p->lookahead;
	uint64		refs = lookahead__length(l);
	uint64		safe_loads = residency__safe_loads(NBuffers);
	uint32		readahead_limit = 0;

	p->residency.safe_refs = PG_UINT32_MAX;
	p->residency.safe_bytes = PG_UINT64_MAX;
	if (likely(refs <= safe_loads))
		return;

	/* The daemon often writes to this cache line: read it only if it matters. */
	if (emit__is_open(&p->connection.emitter))
		readahead_limit = __atomic_load_n(&p->connection.emitter.ring->readahead_limit,
										  __ATOMIC_RELAXED);
	residency__set_safe(&p->residency, refs, estimate_loads(p, refs),
						l->decode_lsn - l->replay_lsn, safe_loads, readahead_limit);
}

/*
 * Is the block in shared buffers, and not the next to be evicted?  A buffer
 * whose usage count is zero is taken when the clock sweep comes to it, any other
 * one a round later at the earliest.
 */
bool
residency__check(RecentBlock *recent)
{
	BufferTag	tag = buffer_tag(&recent->key);

	if (recent->buffer == InvalidBuffer || !buffer_holds(recent->buffer, &tag))
		recent->buffer = find_buffer(&tag);

	return recent->buffer != InvalidBuffer && buffer_usage(recent->buffer) > 0;
}
