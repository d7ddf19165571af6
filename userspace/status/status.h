/*
 * status.h
 *		Shows what a daemon and the recovery do: the command `redoahead status`.
 */
#ifndef REDOAHEAD_STATUS_STATUS_H
#define REDOAHEAD_STATUS_STATUS_H

#include <stdbool.h>
#include <stdint.h>

struct status_options
{
	const char *pgdata;			/* data directory, NULL: not given */
	const char *socket;			/* of the daemon, NULL: the default one of the data directory */
	double		watch;			/* show it again each so many seconds; 0: once */
	uint64_t	probe;			/* a recovery is stalled after so many seconds; 0: no probe */
	bool		json;			/* the document as it is */
	bool		prometheus;		/* as metrics */
};

int			status__run(const struct status_options *options);

#endif							/* REDOAHEAD_STATUS_STATUS_H */
