/*
 * counters.h
 *		What the daemon counts, for one recovery or over its whole life.
 *
 * Plain numbers only.
 */
#ifndef REDOAHEAD_ENGINE_COUNTERS_H
#define REDOAHEAD_ENGINE_COUNTERS_H

#include <stdint.h>

#include "cluster/relpath.h"

/* Why a block that was wanted was not brought in. */
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
	uint64_t	refs_out_of_order;		/* references that came after those of later records */
	uint64_t	refs_duplicate; /* same block twice in one sweep */
	uint64_t	refs_invalid[INVALID_REASON_COUNT]; /* refused, by reason */
	uint64_t	sweeps;			/* times that waiting blocks were put in order */
	uint64_t	blocks_stale;	/* blocks already replayed when their turn came */
	uint64_t	requests;		/* read requests issued */
	uint64_t	requests_joined;	/* of those, for more than one block */
	uint64_t	blocks_requested;	/* blocks in all requests issued */
	uint64_t	blocks_read;	/* blocks brought into the page cache */
	uint64_t	blocks_failed[FAIL_REASON_COUNT];	/* not brought in, by reason */
	uint64_t	blocks_resident;	/* blocks that were there, and not asked for, where memory is short */
	uint64_t	blocks_rechecked;	/* blocks looked for once more when redo was near */
	uint64_t	blocks_reread;	/* of those, gone and read again; not in blocks_read */
	uint64_t	blocks_released;	/* let go of when redo had come to them, where memory is short */
	uint64_t	wal_blocks_read;	/* blocks of WAL read ahead, not counted elsewhere */
	uint64_t	blocks_abandoned;	/* planned, but the recovery ended first */
	uint64_t	latency_us;		/* from request to completion, summed, us */
	uint64_t	in_flight_max;	/* most blocks in flight at once */
	uint64_t	files_opened;	/* data files opened */
	uint64_t	files_evicted;	/* descriptors closed to make room */
	uint64_t	files_dropped;	/* descriptors closed: the file was unlinked */
	uint64_t	sleeps;			/* times the daemon waited to be woken */
	uint64_t	cpu_us;			/* user and system time, us */
	uint64_t	elapsed_us;		/* time attached, us */
};

const char *counters__fail_name(enum fail_reason reason);
enum fail_reason counters__fail_reason(int error);
uint64_t	counters__failed(const struct counters *counters);
uint64_t	counters__invalid(const struct counters *counters);
void		counters__add(struct counters *sum, const struct counters *part);

#endif							/* REDOAHEAD_ENGINE_COUNTERS_H */
