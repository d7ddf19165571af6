/*
 * lookahead.c
 *		The references between decoding and replay: making and forgetting them,
 *		how far shared buffers reach.  What runs per reference is inline in
 *		lookahead.h.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "ablate.h"
#include "available.h"
#include "buffers.h"
#include "emission.h"
#include "lookahead.h"
#include "redoahead.h"

/*
 * Most blocks to remember beyond the window: as many as there are shared
 * buffers, but no more than this (64 to 128 bytes each).
 */
#define MAX_SEEN_BUFFERS	(4 * 1024 * 1024)

/*
 * Part of available memory that looking ahead may take, half of it for decoded
 * records: what it takes, the page cache has not.
 */
#define MEMORY_PART			16

/* What a reference of the window takes, and what is taken at least, bytes. */
#define BYTES_PER_REF		256
#define LEAST_SHARE			(512 * 1024)

/*
 * References to look ahead while no block has to be read, and after how many
 * windows without one that is believed.  What has been decoded is then still in the
 * CPU's cache when redo comes to it; so is what is noted of it, in a queue that is
 * no longer than that.
 */
#define SHORT_WINDOW		2048
#define SHORT_QUEUE			4096
#define QUIET_WINDOWS		8

StaticAssertDecl(SHORT_QUEUE >= 2 * SHORT_WINDOW,
				 "a short window may begin on top of what fits into the short queue");

/* Loads are estimated from so many references, the latest ones. */
#define RECENT_REFS			(1024 * 1024)

Lookahead	lookahead = {.near = PG_UINT32_MAX,.reach = PG_UINT64_MAX};

/* The short queue, and behind it the long one, which has a mask of its own. */
static PendingRef *queues;
static uint32 long_mask;

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
	lookahead.head = lookahead.tail = lookahead.replaying = lookahead.settled = 0;
	lookahead.doubtful = 0;
	lookahead.near = PG_UINT32_MAX;
	lookahead.reach = PG_UINT64_MAX;
}

/*
 * See how much memory looking ahead may take.  To be called when a daemon comes:
 * what is taken then is not given back.
 */
void
lookahead__look_at_memory(void)
{
	uint64		share = available__bytes() / MEMORY_PART / 2;

	lookahead.share = Max(share, LEAST_SHARE);
}

/* How many block references to look ahead: as told, or what memory allows. */
int
lookahead__window(void)
{
	return Min(lookahead.share / BYTES_PER_REF, (uint64) redoahead_window);
}

/*
 * The same for now: when no block had to be read for long, little; from the next
 * one to read on, all that is allowed.
 */
int
lookahead__window_now(void)
{
	int			window = lookahead__window();
	uint64		quiet = redoahead_counters.offered - lookahead.quiet_since;

	return quiet > (uint64) window * QUIET_WINDOWS && !ablated(short) ? Min(window, SHORT_WINDOW) : window;
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

	/*
	 * A record has up to XLR_MAX_BLOCK_ID more references than the window, and a
	 * short one may begin on top of a long one.
	 */
	while (size < (uint32) window + SHORT_WINDOW + 2 * XLR_MAX_BLOCK_ID)
		size *= 2;

	seen__destroy(&lookahead.seen);
	if (queues)
		pfree(queues);
	queues = MemoryContextAllocExtended(TopMemoryContext,
										(SHORT_QUEUE + size) * sizeof(PendingRef),
										MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	fitted = 0;
	if (!queues ||
		!seen__create(&lookahead.seen, Max(2 * window, Min(NBuffers, MAX_SEEN_BUFFERS))))
	{
		ereport(LOG,
				(errmsg("redoahead: not enough memory for redoahead.window = %d; using built-in prefetching",
						window)));
		if (queues)
			pfree(queues);
		queues = lookahead.pending = NULL;
		seen__destroy(&lookahead.seen);
		lookahead__forget();
		return false;
	}

	lookahead.pending = queues + SHORT_QUEUE;
	lookahead.mask = long_mask = size - 1;
	lookahead.brief = false;
	fitted = window;
	lookahead__forget();
	return true;
}

/*
 * Take the queue that suits the window: the short one as soon as all references
 * fit, the long one at once.
 */
void
lookahead__choose_queue(void)
{
	bool		brief = lookahead.window <= SHORT_WINDOW && !ablated(short);

	if (brief == lookahead.brief ||
		(brief && lookahead.head - lookahead.tail > SHORT_WINDOW))
		return;
	if (brief)
		lookahead__move_to(queues, SHORT_QUEUE - 1);
	else
		lookahead__move_to(queues + SHORT_QUEUE, long_mask);
	lookahead.brief = brief;
}

/* How many of so many references will make redo load a block. */
static uint64
loads_of(uint64 refs)
{
	uint64		offered = redoahead_counters.offered - recent_offered;
	uint64		loads = redoahead_counters.emitted + redoahead_counters.not_read - recent_loads;

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

	lookahead.near = PG_UINT32_MAX;
	lookahead.reach = PG_UINT64_MAX;
	if (likely(refs <= lookahead__loads_kept(NBuffers)) || ablated(doubtful))
		return;
	/* The daemon writes to the cache line of its window often: look only if it matters. */
	lookahead__judge(refs, loads_of(refs), lookahead.decode_lsn - lookahead.replay_lsn,
					 lookahead__loads_kept(NBuffers), emission__daemon_window());
}

/*
 * Is the slot's block in shared buffers, and not the next to leave?  A buffer
 * whose usage count is zero is taken when the clock comes by, any other one
 * a round later at the earliest.
 */
bool
lookahead__stays(SeenSlot *slot)
{
	BufferTag	tag = tag_of(&slot->key);

	if (slot->buffer == InvalidBuffer || !still_in(slot->buffer, &tag))
		slot->buffer = look_up(&tag);

	return slot->buffer != InvalidBuffer && usage_count(slot->buffer) > 0;
}
