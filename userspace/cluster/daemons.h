/*
 * daemons.h
 *		The programs of ours that prefetch for a cluster.
 */
#ifndef REDOAHEAD_CLUSTER_DAEMONS_H
#define REDOAHEAD_CLUSTER_DAEMONS_H

#include <stdbool.h>
#include <sys/types.h>

#include "cluster/cluster.h"

unsigned	daemons__find(const struct cluster *cluster, pid_t *pids, unsigned max, bool *refused,
						  bool *follows);

#endif							/* REDOAHEAD_CLUSTER_DAEMONS_H */
