/*
 * tracer_internal.h
 *		The state of a trace, for tracer.c, tracer_wait.c and tracer_report.c.
 */
#ifndef REDOAHEAD_TRACE_TRACER_INTERNAL_H
#define REDOAHEAD_TRACE_TRACER_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/confined.h"
#include "cluster/controlfile.h"
#include "probe/probe.h"
#include "trace/classify.h"
#include "trace/findings.h"
#include "trace/references.h"
#include "trace/tracer.h"

struct tracer
{
	const struct trace_config *config;	/* as given */
	struct controlfile control; /* of the cluster, when it was read last */
	struct relpath_layout layout;	/* of its files */
	struct confined reader;		/* reads the server's program */
	struct probe *probe;		/* the BPF programs */
	struct files *files;		/* files that they reported */
	struct classify classify;	/* what their events mean */
	struct references references;	/* the server's to the daemon */
	struct tally now;			/* counts of the current interval */
	struct tally total;			/* of all intervals before */
	struct probe_devices devices;	/* counters at the start of the interval */
	int			startup_fd;		/* the startup process, -1: none yet */
	pid_t		startup;		/* the same, 0: none yet */
	pid_t		daemons[TRACE_DAEMONS]; /* that run now */
	unsigned	daemon_count;	/* how many */
	uint64_t	daemons_us;		/* when they were searched last, us */
	bool		daemon_refused; /* a process may be a daemon, but its files cannot be read */
	bool		daemon_follows; /* one of them gets no references, which cannot be read then */
	pid_t		reported[FINDINGS_DAEMONS]; /* daemons that ran at any time */
	unsigned	reported_count; /* how many */
	bool		references_followed;	/* references were read at any time */
	bool		records_followed;	/* the record being redone is known */
	bool		discarding;		/* nobody is followed: events are of the past */
	uint64_t	awaited_us;		/* when the server's children were followed first, us; 0: not */
	bool		from_start;		/* that was before the startup process began */
	uint64_t	begin_us;		/* when the startup process was followed first, us */
	uint64_t	interval_begin_us;	/* when the current interval began, us */
	uint64_t	intervals;		/* reported so far */
	bool		stop;			/* a signal requested it */
};

bool		tracer__wait_ms(struct tracer *tracer, int ms);
void		tracer__find_daemons(struct tracer *tracer, uint64_t now_us);
void		tracer__wait_for_recovery(struct tracer *tracer);
int			tracer__report(struct tracer *tracer, const struct tally *tally, bool interval,
						   enum findings_outcome outcome, uint64_t elapsed_us);
int			tracer__end_interval(struct tracer *tracer, bool report);

#endif							/* REDOAHEAD_TRACE_TRACER_INTERNAL_H */
