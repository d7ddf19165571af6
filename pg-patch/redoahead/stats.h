/*
 * stats.h
 *		Counters in shared memory, for the view pg_stat_redoahead.
 */
#ifndef REDOAHEAD_STATS_H
#define REDOAHEAD_STATS_H

#include "prefetcher.h"

extern Size stats__shmem_size(void);
extern void stats__shmem_init(void);
extern void stats__publish(Prefetcher *p);

#endif							/* REDOAHEAD_STATS_H */
