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
	bool		from_archive;	/* WAL may come from an archive or a primary */
};

void		recoverystart__parse(struct recoverystart *start, const char *backup_label);
int			recoverystart__read(struct recoverystart *start, struct controlfile *control,
								const struct cluster *cluster);

#endif							/* REDOAHEAD_CLUSTER_RECOVERYSTART_H */
