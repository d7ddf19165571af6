/*
 * tally.h
 *		What became of the blocks that redo read, in numbers.
 */
#ifndef REDOAHEAD_TRACE_TALLY_H
#define REDOAHEAD_TRACE_TALLY_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/trace.h"

/* What a block was to redo. */
enum tally_class
{
	TALLY_TIMELY,				/* it was in the page cache */
	TALLY_LATE,					/* it was in flight: redo waited */
	TALLY_MISSED,				/* redo had to read it itself */
	TALLY_CLASSES
};

/* Who brought a block into the page cache. */
enum tally_source
{
	TALLY_DAEMON,				/* redoahead's daemon */
	TALLY_SERVER,				/* the server's own prefetching */
	TALLY_READAHEAD,			/* the kernel, beyond what redo reads */
	TALLY_CACHED,				/* resident before the trace saw it */
	TALLY_SOURCES
};

/* Those that read ahead. */
#define TALLY_PREFETCHERS	TALLY_CACHED

/* Why a block was missed. */
enum tally_cause
{
	TALLY_EVICTED,				/* it was prefetched, and evicted before use */
	TALLY_NOT_READ,				/* it was referenced, but the daemon had not read it */
	TALLY_NOT_REFERENCED,		/* the server gave the daemon no reference to it */
	TALLY_NO_DAEMON,			/* no daemon was connected */
	TALLY_UNKNOWN,				/* not certain */
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

/* A sample of the timeline. */
struct tally_sample
{
	uint64_t	read[TALLY_CLASSES];	/* blocks that redo read */
	uint64_t	wait_ns;		/* time in the calls, ns */
	uint64_t	prefetched;		/* blocks put into the page cache */
	uint64_t	lsn;			/* of the record being redone, 0: not known */
};

/* Samples of a timeline; they get twice as long when all are used. */
#define TALLY_SAMPLES		128
#define TALLY_FIRST_SAMPLE	UINT64_C(100000000)	/* ns */

struct tally
{
	uint64_t	blocks[TALLY_CLASSES][TALLY_SOURCES];	/* read, by who brought them; missed
														 * ones are "cached" */
	uint64_t	missed[TALLY_CAUSES];	/* blocks by cause */
	uint64_t	calls[TALLY_CLASSES];	/* read calls, by the worst of their blocks */
	uint64_t	bytes;			/* that they returned */
	uint64_t	wait_ns[TALLY_CLASSES]; /* time in them, ns */
	__u64		wait_slots[TALLY_CLASSES][TRACE_SLOTS]; /* calls by time */
	uint64_t	wal_calls[TALLY_CLASSES];	/* calls that read WAL */
	uint64_t	wal_bytes;		/* that they returned */
	uint64_t	wal_wait_ns;	/* time in them, ns */
	struct tally_prefetcher prefetchers[TALLY_PREFETCHERS]; /* by source */
	struct trace_device reads;	/* requests of the devices */
	struct trace_device writes;
	struct tally_row rmgrs[TALLY_RMGRS];	/* by resource manager */
	struct tally_row no_rmgr;	/* where that is not known */
	struct tally_row *rows;		/* by relation, fork or SLRU */
	uint32_t	row_count;		/* how many */
	uint64_t	replay_lsn;		/* of the last record known, 0: none */

	struct tally_sample samples[TALLY_SAMPLES];	/* the timeline */
	uint32_t	sample_count;	/* how many of them are used */
	uint64_t	sample_ns;		/* how long each is, ns */
	uint64_t	begin_ns;		/* when the first one begins, 0: not yet */
};

/* Names, as in the reports. */
extern const char *const tally__class_names[TALLY_CLASSES];
extern const char *const tally__source_names[TALLY_SOURCES];
extern const char *const tally__cause_names[TALLY_CAUSES];
extern const char *const tally__waste_names[TALLY_WASTES];

void		tally__begin(struct tally *tally, uint64_t begin_ns);
void		tally__destroy(struct tally *tally);
struct tally_row *tally__row(struct tally *tally, uint32_t row);
struct tally_sample *tally__sample(struct tally *tally, uint64_t at_ns);
unsigned	tally__slot(uint64_t ns);
int			tally__merge(struct tally *sum, const struct tally *part);
uint64_t	tally__read(const struct tally *tally, enum tally_class class);
uint64_t	tally__read_all(const struct tally *tally);
uint64_t	tally__row_read(const struct tally_row *row);
bool		tally__row_is_empty(const struct tally_row *row);
uint64_t	tally__wasted(const struct tally_prefetcher *prefetcher);
struct tally_prefetcher tally__prefetched(const struct tally *tally);

#endif							/* REDOAHEAD_TRACE_TALLY_H */
