/*
 * warm.h
 *		Bringing what redo will touch soon into the CPU's cache.
 *
 * Redo meets blocks at random in gigabytes of memory, and would wait for each
 * cache line and for each entry of the page tables.  The queue of references
 * leads ahead of it, in steps: each needs what the one before has sent for.
 * A record takes redo 1 to 3 us, memory answers within 0.1 us or so; what is
 * sent for too early is gone again.
 */
#ifndef REDOAHEAD_WARM_H
#define REDOAHEAD_WARM_H

#include "postgres.h"

#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"

#include "lookahead.h"

/* How many references ahead each step is taken. */
#define WARM_SLOT		32		/* the memory's slot, which may know the buffer */
#define WARM_BUFFER		16		/* the buffer's descriptor, the page's header and its middle */
#define WARM_POINTERS	8		/* the page's line pointers */
#define WARM_TUPLES		4		/* where it gets its next tuple, and moves others */

/* Cache lines to send for at most, of line pointers and of tuples: a full page of short rows. */
#define WARM_POINTER_LINES	20
#define WARM_TUPLE_LINES	12

#define CACHE_LINE		64

/* The buffer that a reference will lead redo to, if that is known yet. */
static inline Buffer
warm__buffer(uint32 position)
{
	const PendingRef *ref = &lookahead.pending[position & lookahead.mask];

	/* What was not known when it was decoded, redo may have found since. */
	return ref->buffer != InvalidBuffer ? ref->buffer : lookahead.seen.slots[ref->slot].buffer;
}

/* Send for part of a page, which redo will write. */
static inline void
warm__lines(const char *page, int from, int to)
{
	for (int at = from; at < to; at += CACHE_LINE)
		__builtin_prefetch(page + at, 1);
}

/* Redo is about to come to the reference at "position". */
static inline void
warm__ahead(uint32 position)
{
	const PendingRef *far = &lookahead.pending[(position + WARM_SLOT) & lookahead.mask];
	uint32		lead = lookahead.head - position;
	Buffer		buffer;

	if (lead > WARM_SLOT && far->buffer == InvalidBuffer)
		__builtin_prefetch(&lookahead.seen.slots[far->slot]);

	if (lead > WARM_BUFFER && (buffer = warm__buffer(position + WARM_BUFFER)) != InvalidBuffer)
	{
		const char *page = BufferGetBlock(buffer);

		__builtin_prefetch(GetBufferDescriptor(buffer - 1), 1);
		__builtin_prefetch(page, 1);
		/* With pages of 4 kB this is another entry of the page table. */
		__builtin_prefetch(page + BLCKSZ / 2, 1);
	}

	if (lead > WARM_POINTERS && (buffer = warm__buffer(position + WARM_POINTERS)) != InvalidBuffer)
	{
		const char *page = BufferGetBlock(buffer);
		int			lower = ((const PageHeaderData *) page)->pd_lower;

		/*
		 * A prefetch may be dropped where it misses the TLB, a load is not; so
		 * these make good what the step before may not have done.
		 */
		(void) *(volatile uint32 *) &GetBufferDescriptor(buffer - 1)->state;
		(void) *(const volatile char *) (page + BLCKSZ / 2);
		warm__lines(page, CACHE_LINE, Min(lower, WARM_POINTER_LINES * CACHE_LINE));
	}

	if (lead > WARM_TUPLES && (buffer = warm__buffer(position + WARM_TUPLES)) != InvalidBuffer)
	{
		const char *page = BufferGetBlock(buffer);
		int			upper = ((const PageHeaderData *) page)->pd_upper;

		warm__lines(page, Max(upper - CACHE_LINE, 0),
					Min(upper + WARM_TUPLE_LINES * CACHE_LINE, BLCKSZ));
	}
}

#endif							/* REDOAHEAD_WARM_H */
