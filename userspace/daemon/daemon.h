/*
 * daemon.h
 *		Serves the recoveries of one cluster.
 */
#ifndef REDOAHEAD_DAEMON_DAEMON_H
#define REDOAHEAD_DAEMON_DAEMON_H

#include <stdint.h>

#include "monitor/monitor.h"

/* What the user chose. */
struct daemon_options
{
	const char *pgdata;			/* data directory */
	const char *socket;			/* path of the socket */
	const char *backend;		/* "auto", "io_uring" or "fadvise" */
	const char *block_log;		/* block log, or NULL */
	const char *statistics;		/* statistics file, or NULL */
	const char *timeline;		/* timeline file, or NULL */
	struct monitor_options monitor; /* what shows people the state */
	uint64_t	io_depth;		/* most blocks in flight */
	uint64_t	readahead_limit;	/* most blocks read ahead of redo */
	uint64_t	files;			/* most descriptors of data files */
};

int			daemon__run(const struct daemon_options *options);

#endif							/* REDOAHEAD_DAEMON_DAEMON_H */
