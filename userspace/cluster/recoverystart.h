/*
 * recoverystart.h
 *		Where the next recovery of a cluster begins.
 */
#ifndef REDOAHEAD_CLUSTER_RECOVERYSTART_H
#define REDOAHEAD_CLUSTER_RECOVERYSTART_H

#include "cluster/cluster.h"
#include "cluster/controlfile.h"

struct recoverystart
{
	uint64_t	lsn;			/* position of the first record */
	uint32_t	timeline;		/* whose WAL it is in */
};

void		recoverystart__parse(struct recoverystart *start, const char *backup_label);
void		recoverystart__read(struct recoverystart *start, const struct cluster *cluster,
								const struct controlfile *control);

#endif							/* REDOAHEAD_CLUSTER_RECOVERYSTART_H */
