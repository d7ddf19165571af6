/*
 * stats.h
 *		Counters in shared memory, for the views pg_stat_redoahead and
 *		pg_stat_redoahead_images.
 */
#ifndef REDOAHEAD_STATS_H
#define REDOAHEAD_STATS_H

#include "prefetcher.h"

extern Size stats__shmem_size(void);
extern void stats__shmem_init(void);
extern void stats__publish(const Prefetcher *p);

/* images.c */
extern Size images__shmem_size(void);
extern void images__shmem_init(void);

#endif							/* REDOAHEAD_STATS_H */
