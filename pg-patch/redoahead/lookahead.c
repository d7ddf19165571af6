/*
 * lookahead.c
 *		The references between decoding and replay: making and forgetting them,
 *		how far shared buffers reach.  What runs per reference is inline in
 *		lookahead.h.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "common/available.h"
#include "buffers.h"
#include "submit.h"
#include "lookahead.h"
#include "redoahead.h"

/*
 * Most blocks to remember beyond the window: as many as there are shared
 * buffers, but no more than this (64 to 128 bytes each).
 */
#define MAX_RECENT_BLOCKS	(4 * 1024 * 1024)

/*
 * Part of available memory that looking ahead may take, half of it for decoded
 * records: what it takes, the page cache has not.
 */
#define MEMORY_PART			16

/* What a reference of the window takes, and what is taken at least, bytes. */
#define BYTES_PER_REF		256
#define LEAST_SHARE			(512 * 1024)

/* Loads are estimated from so many references, the latest ones. */
#define RECENT_REFS			(1024 * 1024)

Lookahead	lookahead = {.safe_refs = PG_UINT32_MAX,.safe_bytes = PG_UINT64_MAX};

/* Counters when the latest references began. */
static uint64 recent_offered;
static uint64 recent_loads;

/*
 * Forget what was asked for, and all references under way.  The memory of
 * blocks stays, with the buffers that it knows: it is large, and daemons may
 * come and go.
 */
void
lookahead__forget(void)
{
	lookahead.forgotten_lsn = lookahead.decode_lsn;
	lookahead.head = lookahead.tail = lookahead.replaying = lookahead.revalidated = 0;
	lookahead.may_be_evicted = 0;
	lookahead.safe_refs = PG_UINT32_MAX;
	lookahead.safe_bytes = PG_UINT64_MAX;
}

/*
 * See how much memory looking ahead may take.  To be called when a daemon comes:
 * what is taken then is not given back.
 */
void
lookahead__limit_memory(void)
{
	uint64		share = available__bytes() / MEMORY_PART / 2;

	lookahead.share = Max(share, LEAST_SHARE);
}

/* How many block references to look ahead: as told, or what memory allows. */
int
lookahead__window(void)
{
	return Min(lookahead.share / BYTES_PER_REF, (uint64) redoahead_lookahead);
}

/* The same for the size of the decode buffer, bytes. */
size_t
lookahead__decode_buffer_size(void)
{
	return Min(lookahead.share, (uint64) redoahead_decode_buffer_size * 1024);
}

/*
 * Make the memory and the queues large enough for a window, in references.
 * False if there isn't the memory.
 */
bool
lookahead__fit(int window)
{
	static uint32 fitted;		/* what the present sizes are good for */
	uint32		size = 1024;

	if (fitted >= (uint32) window && lookahead.pending)
		return true;

	/* A record may have up to XLR_MAX_BLOCK_ID more references than the window. */
	while (size < (uint32) window + XLR_MAX_BLOCK_ID)
		size *= 2;

	recent_blocks__destroy(&lookahead.recent);
	if (lookahead.pending)
		pfree(lookahead.pending);
	lookahead.pending = MemoryContextAllocExtended(TopMemoryContext, size * sizeof(PendingRef),
												   MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	fitted = 0;
	if (!lookahead.pending ||
		!recent_blocks__create(&lookahead.recent, Max(2 * window, Min(NBuffers, MAX_RECENT_BLOCKS))))
	{
		ereport(LOG,
				(errmsg("redoahead: not enough memory for redoahead.lookahead = %d; using built-in prefetching",
						window)));
		if (lookahead.pending)
			pfree(lookahead.pending);
		lookahead.pending = NULL;
		recent_blocks__destroy(&lookahead.recent);
		lookahead__forget();
		return false;
	}

	lookahead.mask = size - 1;
	fitted = window;
	lookahead__forget();
	return true;
}

/* How many of so many references will make redo load a block. */
static uint64
loads_of(uint64 refs)
{
	uint64		offered = redoahead_counters.offered - recent_offered;
	uint64		loads = redoahead_counters.emitted + redoahead_counters.skip_fpw +
		redoahead_counters.skip_init + redoahead_counters.skip_new - recent_loads;

	if (offered > RECENT_REFS)
	{
		recent_offered += offered / 2;
		recent_loads += loads / 2;
	}
	return refs * loads / Max(offered, 1);
}

/* Estimate what becomes of shared buffers until redo is where decoding is. */
void
lookahead__estimate(void)
{
	uint64		refs = lookahead.head - lookahead.tail;

	lookahead.safe_refs = PG_UINT32_MAX;
	lookahead.safe_bytes = PG_UINT64_MAX;
	if (likely(refs <= lookahead__safe_loads(NBuffers)))
		return;
	/* The daemon writes to the cache line of its window often: look only if it matters. */
	lookahead__set_safe(refs, loads_of(refs), lookahead.decode_lsn - lookahead.replay_lsn,
					 lookahead__safe_loads(NBuffers), submit__readahead_limit());
}

/*
 * Is the slot's block in shared buffers, and not the next to leave?  A buffer
 * whose usage count is zero is taken when the clock comes by, any other one
 * a round later at the earliest.
 */
bool
lookahead__is_resident(RecentBlock *slot)
{
	BufferTag	tag = tag_of(&slot->key);

	if (slot->buffer == InvalidBuffer || !still_in(slot->buffer, &tag))
		slot->buffer = look_up(&tag);

	return slot->buffer != InvalidBuffer && usage_count(slot->buffer) > 0;
}
