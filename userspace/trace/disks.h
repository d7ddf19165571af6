/*
 * disks.h
 *		The disks below the directories of a cluster.
 */
#ifndef REDOAHEAD_TRACE_DISKS_H
#define REDOAHEAD_TRACE_DISKS_H

#include <sys/types.h>

unsigned	disks__of_cluster(int pgdata, dev_t *found, unsigned max);

#endif							/* REDOAHEAD_TRACE_DISKS_H */
