/*
 * tracer.h
 *		The life of a trace, from waiting for a recovery to the report.
 */
#ifndef REDOAHEAD_TRACE_TRACER_H
#define REDOAHEAD_TRACE_TRACER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cluster/cluster.h"
#include "probe/attach.h"

struct trace_config
{
	const struct cluster *cluster;	/* whose recovery to trace */
	const struct attach_choice *attach; /* how to attach */
	uint32_t	buffer_bytes;	/* ring buffer, bytes: a power of two */
	uint64_t	interval_us;	/* time between reports, us; 0: one at the end */
	uint64_t	count;			/* reports until we stop, 0: no limit */
	bool		json;			/* JSON, not text */
	bool		names;			/* look up names of relations */
	int			signal_fd;		/* receives SIGTERM and SIGINT */
	FILE	   *output;			/* where reports go */
};

int			tracer__run(const struct trace_config *config);

#endif							/* REDOAHEAD_TRACE_TRACER_H */
