/*
 * prefetcher.h
 *		The state of the prefetch routine: one struct, passed down.
 *
 * The startup process has one, whose memory is allocated when the first daemon is
 * connected, and stays: daemons may come and go.  The decoder shares another one with
 * the startup process (decoder.h), without a connection.
 */
#ifndef REDOAHEAD_PREFETCHER_H
#define REDOAHEAD_PREFETCHER_H

#include "postgres.h"

#include "connection.h"
#include "common/implied.h"
#include "common/recent_blocks.h"
#include "lookahead.h"
#include "prefault.h"

/* Counters; the names are those of pg_stat_redoahead's columns. */
typedef struct PrefetchCounters
{
	uint64		offered;		/* block references offered by the server */
	uint64		emitted;		/* references put into the ring, implied ones included */
	uint64		implied;		/* of those, references that no record names */
	uint64		hit;			/* found in shared buffers */
	uint64		skip_rep;		/* covered by an earlier reference */
	uint64		skip_fpw;		/* restored from a full-page image */
	uint64		skip_init;		/* initialized by redo */
	uint64		skip_new;		/* created or truncated by WAL before, or not read */
	uint64		dropped;		/* not submitted: the ring was full, or closed */
	uint64		buffers_found;	/* references that redo got a buffer for, at replay */
	uint64		evicted;		/* references whose block was evicted before redo came to it */
} PrefetchCounters;

/* The daemon's counters in the ring, as last read; they start at 0 with it. */
typedef struct RingCounters
{
	uint64		taken;			/* references taken from the ring */
	uint64		blocks_read;	/* blocks brought into the page cache */
	uint64		blocks_failed;	/* missing files, short reads, errors */
	uint64		blocks_stale;	/* replayed before they were submitted */
	uint64		busy_ns;		/* CPU time, ns */
} RingCounters;

typedef struct Prefetcher
{
	Connection	connection;
	struct Outbox *outbox;		/* takes references instead of it, in the decoder; or NULL */
	Lookahead	lookahead;
	RecentBlocks recent;		/* empty until allocated */
	struct implied_slru slru;		/* SLRU pages that the WAL has created */
	Prefault	prefault;		/* buffers that are mapped */
	PrefetchCounters counters;
	bool		evicting;		/* no buffer was free once: blocks may be evicted */
	XLogRecPtr	forgotten_lsn;	/* what was decoded until here is forgotten */

	/* Written where records are replayed, or used by the startup process only. */
	pg_attribute_aligned(PG_CACHE_LINE_SIZE)
	const char *moved;			/* tuples that redo will move, not prefetched into the */
	const char *moved_end;		/* CPU's cache yet (cpu_prefetch.h) */

	int			distance;		/* references to look ahead; 0 while not in use */
	int			allocated;		/* distance that there is memory for */
	uint64		memory_limit;	/* of each of the parts that prefetcher.c names, bytes */
	bool		kernel_failed;	/* a read by the kernel raised an error: request no
								 * more until a daemon is connected */
	XLogRecPtr	kernel_lsns[1024];	/* records of the last blocks that the kernel was
									 * requested to read, circular; a power of two
									 * above MAX_IO_CONCURRENCY */
	uint32		kernel_requests;	/* how many there were, wraps around */
	uint32		kernel_next;	/* position in the queue of the next block for it */
	RingCounters last;			/* for stats.c */
	uint64		records;		/* records that redo has come to */
	uint64		next_check;		/* when to check the connection again, ms */
	uint64		next_memory;	/* when to check available memory again, ms */
} Prefetcher;

/* May references be submitted? */
static inline bool
prefetcher__may_submit(const Prefetcher *p)
{
	return p->outbox != NULL || connection__is_ready(&p->connection);
}

/*
 * Will the block be in shared buffers, because a record that has not been
 * replayed yet brings it in?
 */
static inline bool
prefetcher__will_be_resident(const Prefetcher *p, const RecentBlock *recent)
{
	return recent->lsn >= p->lookahead.replay_lsn && recent->lsn > p->forgotten_lsn;
}

extern void prefetcher__limit_memory(Prefetcher *p);
extern int	prefetcher__distance(const Prefetcher *p);
extern size_t prefetcher__decode_buffer_size(const Prefetcher *p);
extern uint32 prefetcher__recent_blocks(const Prefetcher *p, int distance);
extern uint32 prefetcher__max_recent_blocks(int distance);
extern void prefetcher__add_counters(PrefetchCounters *to, const PrefetchCounters *from);
extern bool prefetcher__allocate(Prefetcher *p, int distance);
extern void prefetcher__forget(Prefetcher *p);
extern void prefetcher__clear(Prefetcher *p);

#endif							/* REDOAHEAD_PREFETCHER_H */
