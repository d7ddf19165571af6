/*
 * daemon.h
 *		Serves the recoveries of one cluster.
 */
#ifndef REDOAHEAD_DAEMON_DAEMON_H
#define REDOAHEAD_DAEMON_DAEMON_H

#include "prefetch/prefetch.h"

/* What the user chose. */
struct daemon_options
{
	struct prefetch_options prefetch;	/* as for every command that prefetches */
	const char *socket;			/* path of the socket */
};

int			daemon__run(const struct daemon_options *options);

#endif							/* REDOAHEAD_DAEMON_DAEMON_H */
