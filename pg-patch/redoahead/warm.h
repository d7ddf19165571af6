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

#include "access/htup_details.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"

#include "lookahead.h"

/* How many references ahead each step is taken, at least. */
#define WARM_SLOT		32		/* the memory's slot, which may know the buffer */
#define WARM_BUFFER		16		/* the buffer's descriptor, the page's header and its middle */
#define WARM_POINTERS	8		/* the page's line pointers */
#define WARM_TUPLES		4		/* where it gets its next tuple, and changes or moves others */

/*
 * The first two steps are taken for so many references at once.  A prefetch that
 * misses the TLB holds up what follows until the page tables have been walked,
 * but several walk them at the same time.
 */
#define WARM_GROUP		8

/* Cache lines to send for at most, of line pointers and of tuples: a full page of short rows. */
#define WARM_POINTER_LINES	20
#define WARM_TUPLE_LINES	12

#define CACHE_LINE		64

extern OffsetNumber warm__tuple(const DecodedXLogRecord *record, int block_id);

static inline const PendingRef *
warm__reference(uint32 position)
{
	return &lookahead.pending[position & lookahead.mask];
}

/* The buffer that a reference will lead redo to, if that is known yet. */
static inline Buffer
warm__buffer(const PendingRef *ref)
{
	/* What was not known when it was decoded, redo may have found since. */
	return ref->buffer != InvalidBuffer ? ref->buffer : lookahead.seen.slots[ref->slot].buffer;
}

/* Send for part of a page, which redo will write.  Inlined for the reason that seen.h gives. */
static pg_attribute_always_inline void
warm__lines(const char *page, int from, int to)
{
	for (int at = from; at < to; at += CACHE_LINE)
		__builtin_prefetch(page + at, 1);
}

/* The memory's slots of some references. */
static pg_attribute_always_inline void
warm__slots(uint32 position)
{
	for (uint32 end = position + WARM_GROUP; position != end; position++)
	{
		const PendingRef *ref = warm__reference(position);

		if (ref->buffer == InvalidBuffer)
			__builtin_prefetch(&lookahead.seen.slots[ref->slot]);
	}
}

/* Their buffers' descriptors and beginnings of pages. */
static pg_attribute_always_inline void
warm__buffers(uint32 position)
{
	for (uint32 end = position + WARM_GROUP; position != end; position++)
	{
		Buffer		buffer = warm__buffer(warm__reference(position));

		if (buffer != InvalidBuffer)
		{
			const char *page = BufferGetBlock(buffer);

			__builtin_prefetch(GetBufferDescriptor(buffer - 1), 1);
			__builtin_prefetch(page, 1);
			/* With pages of 4 kB this is another entry of the page table. */
			__builtin_prefetch(page + BLCKSZ / 2, 1);
		}
	}
}

/* The line pointers of a page whose header is there. */
static pg_attribute_always_inline void
warm__pointers(const PendingRef *ref)
{
	Buffer		buffer = warm__buffer(ref);

	if (buffer != InvalidBuffer)
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
}

/* Tuples of a page whose line pointers are there. */
static pg_attribute_always_inline void
warm__tuples(const PendingRef *ref)
{
	Buffer		buffer = warm__buffer(ref);

	if (buffer != InvalidBuffer)
	{
		const char *page = BufferGetBlock(buffer);
		int			upper = ((const PageHeaderData *) page)->pd_upper;

		warm__lines(page, Max(upper - CACHE_LINE, 0),
					Min(upper + WARM_TUPLE_LINES * CACHE_LINE, BLCKSZ));
		if (ref->tuple != InvalidOffsetNumber && ref->tuple <= MaxHeapTuplesPerPage)
		{
			int			at = ItemIdGetOffset(PageGetItemId((Page) page, ref->tuple));

			/* Its header and the beginning of its data. */
			warm__lines(page, at, Min(at + 2 * CACHE_LINE, BLCKSZ));
		}
	}
}

/* Redo is about to come to the reference at "position". */
static inline void
warm__ahead(uint32 position)
{
	uint32		lead = lookahead.head - position;

	if (position % WARM_GROUP == 0)
	{
		if (lead >= WARM_SLOT + WARM_GROUP)
			warm__slots(position + WARM_SLOT);
		if (lead >= WARM_BUFFER + WARM_GROUP)
			warm__buffers(position + WARM_BUFFER);
	}
	if (lead > WARM_POINTERS)
		warm__pointers(warm__reference(position + WARM_POINTERS));
	if (lead > WARM_TUPLES)
		warm__tuples(warm__reference(position + WARM_TUPLES));
}

#endif							/* REDOAHEAD_WARM_H */
