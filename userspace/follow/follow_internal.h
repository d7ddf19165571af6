/*
 * follow_internal.h
 *		The state that the parts of the command share: follow.c finds recoveries and
 *		prefetches for them, state.c reports.
 */
#ifndef REDOAHEAD_FOLLOW_FOLLOW_INTERNAL_H
#define REDOAHEAD_FOLLOW_FOLLOW_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/readers.h"
#include "follow/follow.h"
#include "follow/position.h"
#include "follow/stream.h"
#include "monitor/monitor.h"
#include "report/outputs.h"

struct follow
{
	const struct follow_options *options;
	struct cluster cluster;
	struct controlfile control;
	struct engine *engine;
	const struct backend_ops *backend;	/* how it reads */
	bool		no_uring;		/* io_uring worked at first, but failed later */
	struct outputs outputs;		/* block log, timeline, statistics */
	struct monitor *monitor;	/* shows people the state */
	ino_t		attached;		/* inode of the data directory that it watches, 0: none */
	uint64_t	monitor_us;		/* time of the last snapshot for it, us */
	struct readers readers;		/* do sessions read beside redo? */
	struct position position;	/* of redo */
	struct stream stream;		/* of references */
	int			signal_fd;		/* SIGTERM, SIGINT and SIGHUP */
	bool		stop;			/* one of the first two has arrived */
	uint64_t	begin_us;		/* time at which the recovery was found, us */
	uint64_t	begin_cpu_us;	/* CPU time of the process at that time, us */
	uint64_t	state_us;		/* time of the last check of the state of the server, us */
	uint64_t	recoveries;		/* recoveries found so far */
	struct counters ended;		/* of all recoveries that ended */
	struct redoahead_ref refs[NEEDED_BLOCKS_MAX];
};

/* state.c */
void		state__write_statistics(struct follow *follow, bool connected);
void		state__publish(struct follow *follow, uint64_t now_us);
void		state__report(struct follow *follow);
void		state__attach(struct follow *follow, bool runs);

#endif							/* REDOAHEAD_FOLLOW_FOLLOW_INTERNAL_H */
