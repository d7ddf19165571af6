/*
 * activity.h
 *		What the processes of a server do.
 */
#ifndef REDOAHEAD_CLUSTER_ACTIVITY_H
#define REDOAHEAD_CLUSTER_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cluster/cluster.h"

/* What a process is at, and what it has used since it began. */
struct activity_work
{
	char		state;			/* as in /proc: R runs, D waits for a device, S for anything else */
	uint64_t	run_us;			/* time on a CPU, us */
	uint64_t	queued_us;		/* time in a run queue, waiting for a CPU, us */
};

/* What a server is at, from the titles of its processes. */
struct activity_server
{
	pid_t		startup;		/* startup process, 0: none */
	bool		checkpoint;		/* the end-of-recovery checkpoint runs */
	bool		waiting;		/* the startup process waits for a query's lock or pin */
	bool		fetching;		/* the startup process runs a command, as restore_command */
	bool		streaming;		/* a WAL receiver streams */
	uint64_t	received_lsn;	/* up to which it has received, 0: unknown */
	uint32_t	timeline;		/* of the segment that is replayed, 0: unknown */
};

int			activity__read_work(pid_t pid, struct activity_work *work);
void		activity__parse_title(struct activity_server *server, const char *title);
bool		activity__read_server(const struct cluster *cluster, struct activity_server *server);

#endif							/* REDOAHEAD_CLUSTER_ACTIVITY_H */
