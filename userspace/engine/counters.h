/*
 * counters.h
 *		What is counted in one recovery, or in all of them.
 *
 * Plain numbers only.
 */
#ifndef REDOAHEAD_ENGINE_COUNTERS_H
#define REDOAHEAD_ENGINE_COUNTERS_H

#include <stdint.h>

#include "cluster/relpath.h"

/* Why a block was not read. */
enum fail_reason
{
	FAIL_MISSING_FILE,			/* no such file or directory */
	FAIL_BEYOND_EOF,			/* the file is shorter */
	FAIL_NO_DESCRIPTOR,			/* EMFILE or ENFILE, also after evicting */
	FAIL_NO_MEMORY,				/* ENOMEM */
	FAIL_PERMISSION,			/* EACCES, EPERM or ELOOP */
	FAIL_IO,					/* any other error of open or read */
	FAIL_REASON_COUNT
};

/* Field order is the order of the statistics file. */
struct counters
{
	uint64_t	refs_taken;		/* references taken from the ring */
	uint64_t	refs_implied;	/* of those, implied but not named by the WAL */
	uint64_t	refs_dropped;	/* references dropped by the server, because the ring was full */
	uint64_t	refs_out_of_order;	/* references with an LSN below an earlier one's */
	uint64_t	refs_duplicate; /* same block twice in one sweep */
	uint64_t	refs_invalid[INVALID_REASON_COUNT]; /* refused, by reason */
	uint64_t	sweeps;			/* times that queued blocks were sorted */
	uint64_t	blocks_stale;	/* blocks already replayed when they were to be submitted */
	uint64_t	requests;		/* read requests issued */
	uint64_t	requests_joined;	/* of those, for more than one block */
	uint64_t	blocks_requested;	/* blocks in all requests issued, without gaps */
	uint64_t	blocks_read;	/* blocks read into the page cache */
	uint64_t	gap_blocks_read;	/* blocks in gaps between those, read by the same requests */
	uint64_t	blocks_failed[FAIL_REASON_COUNT];	/* not read, by reason */
	uint64_t	blocks_resident;	/* blocks resident before, and not submitted, under memory pressure */
	uint64_t	blocks_revalidated;	/* blocks whose residency was checked once more before redo */
	uint64_t	blocks_reread;	/* of those, evicted and read again; not in blocks_read */
	uint64_t	blocks_released;	/* blocks removed from the page cache after redo, under memory pressure */
	uint64_t	wal_blocks_read;	/* blocks of WAL read ahead, not counted elsewhere */
	uint64_t	blocks_abandoned;	/* queued, or in flight and given up, when the recovery ended */
	uint64_t	latency_us;		/* from request to completion, summed, us */
	uint64_t	in_flight_max;	/* most blocks in flight at once */
	uint64_t	files_opened;	/* data files opened */
	uint64_t	files_evicted;	/* descriptors closed to make room, or not used for minutes */
	uint64_t	files_dropped;	/* descriptors closed: the file was unlinked */
	uint64_t	sleeps;			/* times that the daemon slept until the server woke it */
	uint64_t	cpu_us;			/* user and system time of the process, us */
	uint64_t	elapsed_us;		/* time connected, us */
};

const char *counters__fail_name(enum fail_reason reason);
enum fail_reason counters__fail_reason(int error);
uint64_t	counters__failed(const struct counters *counters);
uint64_t	counters__invalid(const struct counters *counters);
void		counters__add(struct counters *sum, const struct counters *part);

#endif							/* REDOAHEAD_ENGINE_COUNTERS_H */
