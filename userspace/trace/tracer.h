/*
 * tracer.h
 *		Traces one recovery, from waiting for it to the report.
 */
#ifndef REDOAHEAD_TRACE_TRACER_H
#define REDOAHEAD_TRACE_TRACER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cluster/cluster.h"
#include "trace/findings.h"

/* Writes a report; returns 0 or -errno. */
typedef int (*tracer_report) (const struct findings *findings, FILE *file);

struct trace_config
{
	const struct cluster *cluster;	/* whose recovery to trace */
	const char *attach_method;	/* of the BPF programs; NULL: the one that works */
	uint32_t	buffer_bytes;	/* ring buffer, bytes: a power of two */
	uint64_t	interval_us;	/* time between reports, us; 0: one at the end */
	uint64_t	count;			/* reports until the trace stops, 0: no limit */
	bool		names;			/* look up names of relations */
	int			signal_fd;		/* readable: stop */
	tracer_report report;		/* writes the reports */
	FILE	   *output;			/* where to */
};

int			tracer__run(const struct trace_config *config);

#endif							/* REDOAHEAD_TRACE_TRACER_H */
