/*
 * prefetcher.c
 *		The state of the prefetch routine: how far to look ahead, and the memory
 *		for it.
 */
#include "postgres.h"

#include "access/xlogrecord.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "common/available.h"
#include "prefetcher.h"
#include "settings.h"

/*
 * Part of available memory that each of these may take: decoded records, the
 * references between decoding and replay, and the blocks that were used before.
 * It is not available to the page cache.
 */
#define MEMORY_PART			32

/* Memory that a reference takes, and a block in the recent-block cache, bytes. */
#define BYTES_PER_REF		256
#define BYTES_PER_BLOCK		128

/* Memory that each may take at least, bytes. */
#define MIN_MEMORY_LIMIT	(512 * 1024)

/* Most blocks in the recent-block cache beyond the distance. */
#define MAX_RECENT_BLOCKS	(4 * 1024 * 1024)

/*
 * Determine how much memory looking ahead may take.  To be called before a daemon
 * is connected: what is taken then is not given back.
 */
void
prefetcher__limit_memory(Prefetcher *p)
{
	uint64		limit = available__bytes() / MEMORY_PART;

	p->memory_limit = Max(limit, MIN_MEMORY_LIMIT);
}

/* Block references to look ahead: as set, or as many as memory allows. */
int
prefetcher__distance(const Prefetcher *p)
{
	return Min(p->memory_limit / BYTES_PER_REF, (uint64) redoahead_lookahead);
}

/* The same for the size of the decode buffer, bytes. */
size_t
prefetcher__decode_buffer_size(const Prefetcher *p)
{
	return Min(p->memory_limit, (uint64) redoahead_decode_buffer_size * 1024);
}

/* Blocks that the recent-block cache should hold: as many as shared buffers do. */
uint32
prefetcher__max_recent_blocks(int distance)
{
	return Max(2 * distance, Min(MAX_RECENT_BLOCKS, NBuffers));
}

/* The same, as far as memory allows. */
uint32
prefetcher__recent_blocks(const Prefetcher *p, int distance)
{
	uint64		limit = p->memory_limit / BYTES_PER_BLOCK;

	return Max(2 * (uint64) distance, Min(limit, prefetcher__max_recent_blocks(distance)));
}

/* Add what another Prefetcher has counted. */
void
prefetcher__add_counters(PrefetchCounters *to, const PrefetchCounters *from)
{
	for (size_t i = 0; i < sizeof(*to) / sizeof(uint64); i++)
		((uint64 *) to)[i] += ((const uint64 *) from)[i];
}

/*
 * Make the recent-block cache and the queue large enough for a distance, in
 * references.  Returns false if there isn't enough memory.
 */
bool
prefetcher__allocate(Prefetcher *p, int distance)
{
	Lookahead  *l = &p->lookahead;
	/* The last record decoded may have more references than the distance. */
	uint32		size = pg_nextpower2_32(distance + XLR_MAX_BLOCK_ID);

	if (p->allocated >= distance)
		return true;

	recent_blocks__destroy(&p->recent);
	if (l->refs)
		pfree(l->refs);
	prefetcher__clear(p);
	l->mask = size - 1;
	l->refs = MemoryContextAllocExtended(TopMemoryContext, size * sizeof(PendingRef),
										 MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	if (l->refs && recent_blocks__create(&p->recent, prefetcher__recent_blocks(p, distance)))
	{
		p->allocated = distance;
		return true;
	}

	ereport(LOG,
			(errmsg("redoahead: not enough memory for redoahead.lookahead = %d; using built-in prefetching",
					distance)));
	if (l->refs)
		pfree(l->refs);
	l->refs = NULL;
	recent_blocks__destroy(&p->recent);
	p->allocated = 0;
	return false;
}

/*
 * Forget what was submitted.  The recent-block cache stays, with the buffers that
 * it knows.
 */
void
prefetcher__forget(Prefetcher *p)
{
	p->forgotten_lsn = Max(p->forgotten_lsn, p->lookahead.decode_lsn);
}

/* Forget all references between decoding and replay, too: reading may go on elsewhere. */
void
prefetcher__clear(Prefetcher *p)
{
	prefetcher__forget(p);
	lookahead__clear(&p->lookahead);
	p->kernel_next = 0;
}
