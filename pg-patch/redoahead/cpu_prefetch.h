/*
 * cpu_prefetch.h
 *		Prefetches what redo will touch soon into the CPU's cache.
 *
 * Redo meets blocks at random in gigabytes of memory, and would wait for each
 * cache line and for each entry of the page tables.  The queue of references
 * leads ahead of it, in four steps, each of which needs what the one before has
 * prefetched.  A record takes redo 1 to 3 us, memory answers within 0.1 us or so;
 * what is prefetched too early is evicted from the cache again.
 */
#ifndef REDOAHEAD_CPU_PREFETCH_H
#define REDOAHEAD_CPU_PREFETCH_H

#include "postgres.h"

#include "access/htup_details.h"
#include "access/xlogreader.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"

#include "prefetcher.h"

/* How many references ahead of redo each step is taken. */
#define CPU_PREFETCH_ENTRY		40	/* the recent-block cache's entry, for the buffer */
#define CPU_PREFETCH_PAGE		24	/* the buffer's descriptor and the page's header */
#define CPU_PREFETCH_POINTERS	12	/* the page's line pointers */
#define CPU_PREFETCH_TUPLES		6	/* tuples that redo adds, changes or moves */

/*
 * The first two steps are taken for so many references at once, a power of two.  A
 * prefetch that misses the TLB holds up what follows until the page tables have
 * been walked, but several walk them at the same time.
 */
#define CPU_PREFETCH_GROUP		8

/*
 * Most cache lines to prefetch: of line pointers, on a page full of short rows, and
 * of tuples, if it isn't known which will move.
 */
#define POINTER_LINES			20
#define TUPLE_LINES				12

/*
 * Tuples that will move can take 128 cache lines.  A CPU waits for 10 or 20 of them
 * at a time, and then for the prefetches themselves; so they are prefetched in
 * several calls, this many in each, and memory works while redo does.
 */
#define MOVED_LINES				8

#define CACHE_LINE				64

extern void cpu_prefetch__find_tuple(const DecodedXLogRecord *record, PendingRef *ref);

/* The buffer that a reference will lead redo to, if it is known yet. */
static inline Buffer
cpu_prefetch__buffer(const Prefetcher *p, uint32 position)
{
	const PendingRef *ref = lookahead__ref(&p->lookahead, position);

	/* What was not known when it was decoded, redo may have found since. */
	return ref->buffer != InvalidBuffer ? ref->buffer : p->recent.blocks[ref->recent].buffer;
}

/*
 * Prefetch a part of a page.  Always inlined, as the functions below, for the
 * reason that recent_blocks.h gives.
 */
static pg_attribute_always_inline void
cpu_prefetch__part(const char *page, int from, int to)
{
	for (; from < to; from += CACHE_LINE)
		__builtin_prefetch(page + from, 1);
}

/* Prefetch the recent-block cache's entries of a group of references. */
static pg_attribute_always_inline void
cpu_prefetch__entries(const Prefetcher *p, uint32 position)
{
	for (uint32 end = position + CPU_PREFETCH_GROUP; position != end; position++)
	{
		const PendingRef *ref = lookahead__ref(&p->lookahead, position);

		if (ref->buffer == InvalidBuffer)
			__builtin_prefetch(&p->recent.blocks[ref->recent]);
	}
}

/* Prefetch their buffers' descriptors and the first lines of the pages. */
static pg_attribute_always_inline void
cpu_prefetch__pages(const Prefetcher *p, uint32 position)
{
	for (uint32 end = position + CPU_PREFETCH_GROUP; position != end; position++)
	{
		Buffer		buffer = cpu_prefetch__buffer(p, position);
		const char *page;

		if (buffer == InvalidBuffer)
			continue;
		page = BufferGetBlock(buffer);
		__builtin_prefetch(GetBufferDescriptor(buffer - 1), 1);
		__builtin_prefetch(page, 1);
		/* With pages of 4 kB this is another entry of the page table. */
		__builtin_prefetch(page + BLCKSZ / 2, 1);
	}
}

/* Prefetch some more of the tuples that will move. */
static pg_attribute_always_inline void
cpu_prefetch__moved(Prefetcher *p)
{
	const char *end = p->moved_end;

	if (likely(p->moved == end))
		return;
	end = Min(end, p->moved + MOVED_LINES * CACHE_LINE);
	for (; p->moved < end; p->moved += CACHE_LINE)
		__builtin_prefetch(p->moved, 1);
	p->moved = end;
}

/*
 * Prefetch tuples of a page whose line pointers are in the cache.  Those that will
 * move, cpu_prefetch__moved() prefetches; the rest of an earlier page is dropped.
 */
static pg_attribute_always_inline void
cpu_prefetch__tuples(Prefetcher *p, const PendingRef *ref, const char *page)
{
	int			upper = ((const PageHeaderData *) page)->pd_upper;
	int			end = upper + TUPLE_LINES * CACHE_LINE;

	if (ref->tuple != InvalidOffsetNumber && ref->tuple <= MaxHeapTuplesPerPage)
	{
		int			start = ItemIdGetOffset(PageGetItemId((Page) page, ref->tuple));

		/* All that moves; otherwise, the tuple's header and the start of its data. */
		if (ref->moves && start >= upper)
		{
			p->moved = page + Max(upper - CACHE_LINE, 0);
			p->moved_end = page + Min(start + CACHE_LINE, BLCKSZ);
			return;
		}
		if (!ref->moves)
			cpu_prefetch__part(page, start, Min(start + 2 * CACHE_LINE, BLCKSZ));
	}
	cpu_prefetch__part(page, Max(upper - CACHE_LINE, 0), Min(end, BLCKSZ));
}

/* Redo is about to come to the reference at "position". */
static pg_attribute_always_inline void
cpu_prefetch__ahead(Prefetcher *p, uint32 position)
{
	const Lookahead *l = &p->lookahead;
	uint32		length = lookahead__end(l) - position;
	Buffer		buffer;

	if (position % CPU_PREFETCH_GROUP == 0)
	{
		if (length >= CPU_PREFETCH_ENTRY + CPU_PREFETCH_GROUP)
			cpu_prefetch__entries(p, position + CPU_PREFETCH_ENTRY);
		if (length >= CPU_PREFETCH_PAGE + CPU_PREFETCH_GROUP)
			cpu_prefetch__pages(p, position + CPU_PREFETCH_PAGE);
	}

	if (length > CPU_PREFETCH_POINTERS &&
		(buffer = cpu_prefetch__buffer(p, position + CPU_PREFETCH_POINTERS)) != InvalidBuffer)
	{
		const char *page = BufferGetBlock(buffer);
		int			end = Min(((const PageHeaderData *) page)->pd_lower,
							  POINTER_LINES * CACHE_LINE);

		/*
		 * A prefetch may be dropped where it misses the TLB, a load is not; so
		 * these catch up on what the step before may not have done.
		 */
		(void) *(volatile uint32 *) &GetBufferDescriptor(buffer - 1)->state;
		(void) *(const volatile char *) (page + BLCKSZ / 2);
		cpu_prefetch__part(page, CACHE_LINE, end);
	}

	if (length > CPU_PREFETCH_TUPLES &&
		(buffer = cpu_prefetch__buffer(p, position + CPU_PREFETCH_TUPLES)) != InvalidBuffer)
		cpu_prefetch__tuples(p, lookahead__ref(l, position + CPU_PREFETCH_TUPLES),
							 BufferGetBlock(buffer));
}

#endif							/* REDOAHEAD_CPU_PREFETCH_H */
