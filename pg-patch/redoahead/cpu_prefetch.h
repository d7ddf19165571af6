/*
 * cpu_prefetch.h
 *		Bringing what redo will touch soon into the CPU's cache.
 *
 * Redo meets blocks at random in gigabytes of memory, and would wait for each
 * cache line and for each entry of the page tables.  The queue of references
 * leads ahead of it, in steps: each needs what the one before has sent for.
 * A record takes redo 1 to 3 us, memory answers within 0.1 us or so; what is
 * sent for too early is gone again.
 */
#ifndef REDOAHEAD_CPU_PREFETCH_H
#define REDOAHEAD_CPU_PREFETCH_H

#include "postgres.h"

#include "access/htup_details.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"

#include "lookahead.h"

/* How many references ahead each step is taken, at least. */
#define CPU_PREFETCH_SLOT		40		/* the memory's slot, which may know the buffer */
#define CPU_PREFETCH_BUFFER		24		/* the buffer's descriptor, the page's header and its middle */
#define CPU_PREFETCH_POINTERS	12		/* the page's line pointers */
#define CPU_PREFETCH_TUPLES		6		/* where it gets its next tuple, and changes or moves others */

/*
 * The first two steps are taken for so many references at once.  A prefetch that
 * misses the TLB holds up what follows until the page tables have been walked,
 * but several walk them at the same time.
 */
#define CPU_PREFETCH_GROUP		8

/*
 * Cache lines to send for at most: line pointers, of a page full of short rows, and
 * tuples, where it isn't known which will move.
 */
#define CPU_PREFETCH_POINTER_LINES	20
#define CPU_PREFETCH_TUPLE_LINES	12

/*
 * The last two steps come to as many as 128 cache lines of a page.  A CPU can wait
 * for some ten or twenty at a time, and what sends for more waits as well.  So what
 * is to be sent for is put into a queue, and sent for in so many lines at a time,
 * whenever the startup process comes by: memory then works while redo does.
 */
#define CPU_PREFETCH_LINES		8

#define CACHE_LINE		64

/* Parts of pages to send for: a circular queue, the oldest of which may get lost. */
typedef struct CpuPrefetchPart
{
	const char *next;			/* the next cache line */
	const char *end;
	uint32		position;		/* of the reference that redo will need it for */
} CpuPrefetchPart;

#define CPU_PREFETCH_PARTS		64		/* a power of two */

typedef struct CpuPrefetchQueue
{
	CpuPrefetchPart	parts[CPU_PREFETCH_PARTS];
	uint32		head;			/* where the next one goes; wraps around */
	uint32		tail;			/* the oldest one */
} CpuPrefetchQueue;

extern CpuPrefetchQueue cpu_prefetch_queue;

extern void cpu_prefetch__find_tuple(const DecodedXLogRecord *record, PendingRef *ref);

static inline const PendingRef *
cpu_prefetch__reference(uint32 position)
{
	return &lookahead.pending[position & lookahead.mask];
}

/* The buffer that a reference will lead redo to, if that is known yet. */
static inline Buffer
cpu_prefetch__buffer(const PendingRef *ref)
{
	/* What was not known when it was decoded, redo may have found since. */
	return ref->buffer != InvalidBuffer ? ref->buffer : lookahead.recent.slots[ref->slot].buffer;
}

/* Note a part of a page that redo will write for the reference at "position". */
static inline void
cpu_prefetch__part(const char *page, int from, int to, uint32 position)
{
	if (from >= to)
		return;
	if (cpu_prefetch_queue.head - cpu_prefetch_queue.tail == CPU_PREFETCH_PARTS)
		cpu_prefetch_queue.tail++;
	cpu_prefetch_queue.parts[cpu_prefetch_queue.head++ % CPU_PREFETCH_PARTS] = (CpuPrefetchPart)
	{
		.next = page + from,.end = page + to,.position = position
	};
}

/*
 * Send for the next few cache lines, of parts that redo has not come to.  Inlined
 * for the reason that recent_blocks.h gives.  The positions are those of now: after the
 * look-ahead has been forgotten, lines are sent for in vain, or not.
 */
static pg_attribute_always_inline void
cpu_prefetch__some(void)
{
	int			lines = CPU_PREFETCH_LINES;

	while (cpu_prefetch_queue.tail != cpu_prefetch_queue.head)
	{
		CpuPrefetchPart   *part = &cpu_prefetch_queue.parts[cpu_prefetch_queue.tail % CPU_PREFETCH_PARTS];

		if ((int32) (part->position - lookahead.replaying) >= 0)
			for (; part->next < part->end; part->next += CACHE_LINE)
			{
				if (lines-- == 0)
					return;
				__builtin_prefetch(part->next, 1);
			}
		cpu_prefetch_queue.tail++;
	}
}

/* The memory's slots of some references. */
static pg_attribute_always_inline void
cpu_prefetch__slots(uint32 position)
{
	for (uint32 end = position + CPU_PREFETCH_GROUP; position != end; position++)
	{
		const PendingRef *ref = cpu_prefetch__reference(position);

		if (ref->buffer == InvalidBuffer)
			__builtin_prefetch(&lookahead.recent.slots[ref->slot]);
	}
}

/* Their buffers' descriptors and beginnings of pages. */
static pg_attribute_always_inline void
cpu_prefetch__buffers(uint32 position)
{
	for (uint32 end = position + CPU_PREFETCH_GROUP; position != end; position++)
	{
		Buffer		buffer = cpu_prefetch__buffer(cpu_prefetch__reference(position));

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
cpu_prefetch__pointers(uint32 position)
{
	Buffer		buffer = cpu_prefetch__buffer(cpu_prefetch__reference(position));

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
		cpu_prefetch__part(page, CACHE_LINE, Min(lower, CPU_PREFETCH_POINTER_LINES * CACHE_LINE), position);
	}
}

/* Tuples of a page whose line pointers are there. */
static inline void
cpu_prefetch__tuples(uint32 position)
{
	const PendingRef *ref = cpu_prefetch__reference(position);
	Buffer		buffer = cpu_prefetch__buffer(ref);

	if (buffer != InvalidBuffer)
	{
		const char *page = BufferGetBlock(buffer);
		int			upper = ((const PageHeaderData *) page)->pd_upper;
		int			end = upper + CPU_PREFETCH_TUPLE_LINES * CACHE_LINE;

		if (ref->tuple != InvalidOffsetNumber && ref->tuple <= MaxHeapTuplesPerPage)
		{
			int			at = ItemIdGetOffset(PageGetItemId((Page) page, ref->tuple));

			/* All that moves; otherwise, the tuple's header and the beginning of its data. */
			if (ref->moves && at >= upper)
				end = at + CACHE_LINE;
			else if (!ref->moves)
				cpu_prefetch__part(page, at, Min(at + 2 * CACHE_LINE, BLCKSZ), position);
		}
		cpu_prefetch__part(page, Max(upper - CACHE_LINE, 0), Min(end, BLCKSZ), position);
	}
}

/* Redo is about to come to the reference at "position". */
static inline void
cpu_prefetch__ahead(uint32 position)
{
	uint32		lead = lookahead.head - position;

	if (position % CPU_PREFETCH_GROUP == 0)
	{
		if (lead >= CPU_PREFETCH_SLOT + CPU_PREFETCH_GROUP)
			cpu_prefetch__slots(position + CPU_PREFETCH_SLOT);
		if (lead >= CPU_PREFETCH_BUFFER + CPU_PREFETCH_GROUP)
			cpu_prefetch__buffers(position + CPU_PREFETCH_BUFFER);
	}
	if (lead > CPU_PREFETCH_POINTERS)
		cpu_prefetch__pointers(position + CPU_PREFETCH_POINTERS);
	if (lead > CPU_PREFETCH_TUPLES)
		cpu_prefetch__tuples(position + CPU_PREFETCH_TUPLES);
}

#endif							/* REDOAHEAD_CPU_PREFETCH_H */
