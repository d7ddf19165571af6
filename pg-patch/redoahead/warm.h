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

#include "ablate.h"
#include "lookahead.h"

/* How many references ahead each step is taken, at least. */
#define WARM_SLOT		40		/* the memory's slot, which may know the buffer */
#define WARM_BUFFER		24		/* the buffer's descriptor, the page's header and its middle */
#define WARM_POINTERS	12		/* the page's line pointers */
#define WARM_TUPLES		6		/* where it gets its next tuple, and changes or moves others */

/*
 * The first two steps are taken for so many references at once.  A prefetch that
 * misses the TLB holds up what follows until the page tables have been walked,
 * but several walk them at the same time.
 */
#define WARM_GROUP		8

/*
 * Cache lines to send for at most: line pointers, of a page full of short rows, and
 * tuples, where it isn't known which will move.
 */
#define WARM_POINTER_LINES	20
#define WARM_TUPLE_LINES	12

/*
 * The last two steps come to as many as 128 cache lines of a page.  A CPU can wait
 * for some ten or twenty at a time, and what sends for more waits as well.  So what
 * is to be sent for is put into a queue, and sent for in so many lines at a time,
 * whenever the startup process comes by: memory then works while redo does.
 */
#define WARM_LINES		8

#define CACHE_LINE		64

/* Parts of pages to send for: a circular queue, the oldest of which may get lost. */
typedef struct WarmPart
{
	const char *next;			/* the next cache line */
	const char *end;
	uint32		position;		/* of the reference that redo will need it for */
} WarmPart;

#define WARM_PARTS		64		/* a power of two */

typedef struct WarmQueue
{
	WarmPart	parts[WARM_PARTS];
	uint32		head;			/* where the next one goes; wraps around */
	uint32		tail;			/* the oldest one */
} WarmQueue;

extern WarmQueue warm_queue;

extern void warm__find_tuple(const DecodedXLogRecord *record, PendingRef *ref);

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

/* Note a part of a page that redo will write for the reference at "position". */
static pg_attribute_always_inline void
warm__part(const char *page, int from, int to, uint32 position)
{
	if (from >= to)
		return;
	if (ablated(warm_queue))
	{
		for (const char *line = page + from; line < page + to; line += CACHE_LINE)
			__builtin_prefetch(line, 1);
		return;
	}
	if (warm_queue.head - warm_queue.tail == WARM_PARTS)
		warm_queue.tail++;
	warm_queue.parts[warm_queue.head++ % WARM_PARTS] = (WarmPart)
	{
		.next = page + from,.end = page + to,.position = position
	};
}

/*
 * Send for the next few cache lines, of parts that redo has not come to.  Inlined
 * for the reason that seen.h gives.  The positions are those of now: after the
 * look-ahead has been forgotten, lines are sent for in vain, or not.
 */
static pg_attribute_always_inline void
warm__send(void)
{
	int			lines = WARM_LINES;

	while (warm_queue.tail != warm_queue.head)
	{
		WarmPart   *part = &warm_queue.parts[warm_queue.tail % WARM_PARTS];

		if ((int32) (part->position - lookahead.replaying) >= 0)
			for (; part->next < part->end; part->next += CACHE_LINE)
			{
				if (lines-- == 0)
					return;
				__builtin_prefetch(part->next, 1);
			}
		warm_queue.tail++;
	}
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
static inline void
warm__pointers(uint32 position)
{
	Buffer		buffer = warm__buffer(warm__reference(position));

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
		warm__part(page, CACHE_LINE, Min(lower, WARM_POINTER_LINES * CACHE_LINE), position);
	}
}

/* Tuples of a page whose line pointers are there. */
static inline void
warm__tuples(uint32 position)
{
	const PendingRef *ref = warm__reference(position);
	Buffer		buffer = warm__buffer(ref);

	if (buffer != InvalidBuffer)
	{
		const char *page = BufferGetBlock(buffer);
		int			upper = ((const PageHeaderData *) page)->pd_upper;
		int			end = upper + WARM_TUPLE_LINES * CACHE_LINE;

		if (ref->tuple != InvalidOffsetNumber && ref->tuple <= MaxHeapTuplesPerPage)
		{
			int			at = ItemIdGetOffset(PageGetItemId((Page) page, ref->tuple));

			/* All that moves; otherwise, the tuple's header and the beginning of its data. */
			if (ref->moves && at >= upper)
				end = at + CACHE_LINE;
			else if (!ref->moves)
				warm__part(page, at, Min(at + 2 * CACHE_LINE, BLCKSZ), position);
		}
		warm__part(page, Max(upper - CACHE_LINE, 0), Min(end, BLCKSZ), position);
	}
}

/* Redo is about to come to the reference at "position". */
static inline void
warm__ahead(uint32 position)
{
	uint32		lead = lookahead.head - position;

	if (position % WARM_GROUP == 0)
	{
		if (lead >= WARM_SLOT + WARM_GROUP && !ablated(warm_slots))
			warm__slots(position + WARM_SLOT);
		if (lead >= WARM_BUFFER + WARM_GROUP && !ablated(warm_buffers))
			warm__buffers(position + WARM_BUFFER);
	}
	if (lead > WARM_POINTERS && !ablated(warm_pointers))
		warm__pointers(position + WARM_POINTERS);
	if (lead > WARM_TUPLES && !ablated(warm_tuples))
		warm__tuples(position + WARM_TUPLES);
}

#endif							/* REDOAHEAD_WARM_H */
