/*
 * tally.h
 *		What became of the blocks that redo read, in numbers.
 */
#ifndef REDOAHEAD_TRACE_TALLY_H
#define REDOAHEAD_TRACE_TALLY_H

#include <stdbool.h>
#include <stdint.h>

/* What a block was to redo. */
enum tally_class
{
	TALLY_TIMELY,				/* it was there */
	TALLY_LATE,					/* it was on its way: redo waited */
	TALLY_MISSED,				/* redo had to read it itself */
	TALLY_CLASSES
};

/* Who brought a block into the page cache. */
enum tally_source
{
	TALLY_DAEMON,				/* redoahead's daemon */
	TALLY_SERVER,				/* the server's own prefetching */
	TALLY_READAHEAD,			/* the kernel, reading on where redo had read */
	TALLY_CACHED,				/* nobody that we saw: it was there */
	TALLY_SOURCES
};

/* Those that read ahead. */
#define TALLY_PREFETCHERS	TALLY_CACHED

/* Why a block was missed. */
enum tally_cause
{
	TALLY_EVICTED,				/* it was read ahead, and evicted before use */
	TALLY_BEYOND_WINDOW,		/* named, but the daemon had not come to it */
	TALLY_FAILED,				/* named, but the daemon could not read it */
	TALLY_NOT_REFERENCED,		/* none of these: the server has not named it */
	TALLY_FILTERED,				/* redo has read it before, it was not named again */
	TALLY_ENGINE_DOWN,			/* no daemon was attached */
	TALLY_UNKNOWN,				/* cannot be told */
	TALLY_CAUSES
};

/* What became of blocks that were prefetched and not read. */
enum tally_waste
{
	TALLY_WASTE_EVICTED,		/* evicted before use */
	TALLY_WASTE_DROPPED,		/* redo removed or truncated the file */
	TALLY_WASTE_UNREAD,			/* recovery ended without */
	TALLY_WASTES
};

/* Slots of a histogram: slot n counts 2^n to 2^(n+1) - 1 ns, the last one more. */
#define TALLY_SLOTS		40

/* Resource managers. */
#define TALLY_RMGRS		256

/* The same counts for everything that has a row in a table. */
struct tally_row
{
	uint64_t	read[TALLY_CLASSES];	/* blocks that redo read */
	uint64_t	wait_ns;		/* time in the calls, ns */
	uint64_t	prefetched;		/* blocks put into the page cache */
	uint64_t	used;			/* of those, read by redo */
	uint64_t	wasted;			/* of those, lost unread */
};

/* What one prefetcher did. */
struct tally_prefetcher
{
	uint64_t	prefetched;		/* blocks put into the page cache */
	uint64_t	used;			/* of those, read by redo */
	uint64_t	wasted[TALLY_WASTES];	/* of those, lost unread */
};

/* What the devices did, all processes. */
struct tally_device
{
	uint64_t	requests;		/* completed */
	uint64_t	bytes;			/* transferred */
	uint64_t	busy_ns;		/* latency, summed, ns */
	uint64_t	slots[TALLY_SLOTS]; /* requests by latency */
};

/* A moment of the time line. */
struct tally_moment
{
	uint64_t	read[TALLY_CLASSES];	/* blocks that redo read */
	uint64_t	wait_ns;		/* time in the calls, ns */
	uint64_t	prefetched;		/* blocks put into the page cache */
	uint64_t	lsn;			/* where redo was, 0: not known */
};

/* Moments of a time line; their width doubles when they are used up. */
#define TALLY_MOMENTS		128
#define TALLY_FIRST_WIDTH	UINT64_C(100000000)	/* ns */

struct tally
{
	uint64_t	blocks[TALLY_CLASSES][TALLY_SOURCES];	/* read, by who brought them; missed
														 * ones are "cached" */
	uint64_t	missed[TALLY_CAUSES];	/* blocks by cause */
	uint64_t	calls[TALLY_CLASSES];	/* read calls, by the worst of their blocks */
	uint64_t	bytes;			/* that they returned */
	uint64_t	wait_ns[TALLY_CLASSES]; /* time in them, ns */
	uint64_t	wait_slots[TALLY_CLASSES][TALLY_SLOTS]; /* calls by time */
	uint64_t	wal_calls[TALLY_CLASSES];	/* calls that read WAL */
	uint64_t	wal_bytes;		/* that they returned */
	uint64_t	wal_wait_ns;	/* time in them, ns */
	struct tally_prefetcher prefetchers[TALLY_PREFETCHERS]; /* by source */
	struct tally_device reads;	/* requests of the devices */
	struct tally_device writes;
	struct tally_row rmgrs[TALLY_RMGRS];	/* by resource manager */
	struct tally_row no_rmgr;	/* where that is not known */
	struct tally_row *rows;		/* by relation, fork or SLRU */
	uint32_t	row_count;		/* how many */
	uint64_t	replay_lsn;		/* where redo was last, 0: not known */

	struct tally_moment moments[TALLY_MOMENTS];	/* the time line */
	uint32_t	moment_count;	/* how many of them are used */
	uint64_t	moment_ns;		/* how long each is, ns */
	uint64_t	begin_ns;		/* when the first one begins, 0: not yet */
};

void		tally__begin(struct tally *tally, uint64_t begin_ns);
void		tally__destroy(struct tally *tally);
struct tally_row *tally__row(struct tally *tally, uint32_t row);
struct tally_moment *tally__moment(struct tally *tally, uint64_t at_ns);
unsigned	tally__slot(uint64_t ns);
int			tally__merge(struct tally *sum, const struct tally *part);
uint64_t	tally__read(const struct tally *tally, enum tally_class class);
uint64_t	tally__row_read(const struct tally_row *row);
uint64_t	tally__row_work(const struct tally_row *row);
void		tally__add_row(struct tally_row *sum, const struct tally_row *part);
uint64_t	tally__wasted(const struct tally_prefetcher *prefetcher);
struct tally_prefetcher tally__prefetched(const struct tally *tally);
const char *tally__class_name(enum tally_class class);
const char *tally__source_name(enum tally_source source);
const char *tally__cause_name(enum tally_cause cause);
const char *tally__waste_name(enum tally_waste waste);

#endif							/* REDOAHEAD_TRACE_TALLY_H */
