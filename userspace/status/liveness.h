/*
 * liveness.h
 *		Does a recovery advance?
 */
#ifndef REDOAHEAD_STATUS_LIVENESS_H
#define REDOAHEAD_STATUS_LIVENESS_H

#include "cluster/cluster.h"
#include "status/values.h"

/* Room for the reason of a result, bytes. */
#define LIVENESS_REASON_BYTES	512

enum liveness
{
	LIVENESS_ADVANCES,			/* or there is nothing that should */
	LIVENESS_STALLED,
	LIVENESS_UNKNOWN			/* from what was examined */
};

enum liveness liveness__of_document(const struct values *document, double seconds,
									char reason[LIVENESS_REASON_BYTES]);
enum liveness liveness__of_postmaster(const struct cluster *cluster,
									  char reason[LIVENESS_REASON_BYTES]);
bool		liveness__works(const struct cluster *cluster);
enum liveness liveness__of_processes(const struct cluster *cluster,
									 char reason[LIVENESS_REASON_BYTES]);

#endif							/* REDOAHEAD_STATUS_LIVENESS_H */
