/*
 * monitor.h
 *		Watches a command that prefetches, for people: the status socket, the metrics
 *		file, and what is reported at the end of a recovery.
 */
#ifndef REDOAHEAD_MONITOR_MONITOR_H
#define REDOAHEAD_MONITOR_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/cluster.h"
#include "engine/engine.h"

/* Time between two calls of monitor__publish() at least, us. */
#define MONITOR_PUBLISH_US		50000

/* Room for the reason why a server is not served, bytes. */
#define MONITOR_REFUSED_BYTES	128

/* What the user chose. */
struct monitor_options
{
	const char *status_socket;	/* relative to the data directory; empty: none */
	const char *status_group;	/* group that may read it, too, or NULL */
	const char *metrics;		/* file for Prometheus, or NULL */
	const char *report;			/* directory for reports, or NULL */
};

/* What a command does, as the thread that does it knows. */
struct monitor_snapshot
{
	uint64_t	recoveries;		/* recoveries found so far, this one too */
	uint64_t	begin_us;		/* when this one was found, us */
	uint64_t	replay_lsn;		/* position of redo, 0: unknown */
	bool		exact;			/* it is that of the record being replayed */
	uint64_t	primary_lsn;	/* end of the primary's WAL, 0: unknown */
	uint64_t	decode_lsn;		/* up to which WAL has been decoded */
	const char *backend;		/* how blocks are read */
	struct engine_state engine; /* what it has to do */
	unsigned	io_depth;		/* most blocks in flight */
	unsigned	gap_bytes;		/* longest gap that requests read, too, bytes */
	unsigned	readahead_limit;	/* most blocks read ahead of redo */
	struct counters recovery;	/* of this recovery */
	struct counters total;		/* of all, this one too */
};

struct monitor;

int			monitor__create(struct monitor **monitor, const struct monitor_options *options,
							const char *command, const char *pgdata);
void		monitor__attach(struct monitor *monitor, const struct cluster *cluster);
void		monitor__publish(struct monitor *monitor, const struct monitor_snapshot *snapshot);
void		monitor__refuse(struct monitor *monitor, const char *reason);
void		monitor__end(struct monitor *monitor, const struct monitor_snapshot *snapshot,
						 const struct relations *relations, bool ended);
void		monitor__destroy(struct monitor *monitor);

#endif							/* REDOAHEAD_MONITOR_MONITOR_H */
