/*
 * serverstate.h
 *		What state is the server of a cluster in?
 */
#ifndef REDOAHEAD_CLUSTER_SERVERSTATE_H
#define REDOAHEAD_CLUSTER_SERVERSTATE_H

#include <stdbool.h>

#include "cluster/cluster.h"

enum serverstate
{
	SERVERSTATE_NONE,			/* there is no postmaster.pid */
	SERVERSTATE_STARTING,
	SERVERSTATE_READY,			/* it takes connections */
	SERVERSTATE_STANDBY,		/* a standby that takes none, by its settings */
	SERVERSTATE_STOPPING,
	SERVERSTATE_OTHER			/* a word that is not known */
};

enum serverstate serverstate__read(const struct cluster *cluster);
bool		serverstate__in_crash_recovery(const struct cluster *cluster);
bool		serverstate__is_ready(const struct cluster *cluster);

#endif							/* REDOAHEAD_CLUSTER_SERVERSTATE_H */
