/*
 * tracer_internal.h
 *		What the parts of a trace share: tracer.c, tracer_wait.c, tracer_report.c.
 */
#ifndef REDOAHEAD_TRACE_TRACER_INTERNAL_H
#define REDOAHEAD_TRACE_TRACER_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cluster/controlfile.h"
#include "trace/tracer.h"
#include "trace/classify.h"
#include "probe/probe.h"
#include "trace/references.h"
#include "report/findings.h"

struct tracer
{
	const struct trace_config *config;	/* as given */
	struct controlfile control; /* of the cluster, when it was looked at last */
	struct relpath_layout layout;	/* of its files */
	struct probe *probe;		/* what sees */
	struct files *files;		/* what was met */
	struct classify classify;	/* what it means */
	struct references references;	/* what the daemon is asked for */
	struct tally now;			/* counts of the present interval */
	struct tally total;			/* of all intervals before */
	struct probe_devices devices;	/* counters at the begin of the interval */
	int			signal_fd;		/* SIGTERM and SIGINT */
	int			startup_fd;		/* the startup process */
	pid_t		startup;		/* the same, 0: none yet */
	pid_t		daemons[TRACE_DAEMONS]; /* that run now */
	unsigned	daemon_count;	/* how many */
	pid_t		seen[FINDINGS_DAEMONS]; /* that have run in the course */
	unsigned	seen_count;		/* how many */
	bool		daemon_refused; /* we may not know about another one, said so */
	bool		references_seen;	/* what the daemon is asked for could be read along */
	uint64_t	daemon_us;		/* when they were looked for last, us */
	bool		waiting;		/* nothing is followed yet: what is seen is of others */
	uint64_t	attached_us;	/* when the probes were attached, us */
	bool		from_start;		/* before the startup process began */
	uint64_t	begin_us;		/* when following began, us */
	uint64_t	interval_begin_us;	/* when the present interval began, us */
	uint64_t	reports;		/* of intervals so far */
	bool		stop;			/* a signal said so */
};

bool		tracer__wait_ms(struct tracer *tracer, int ms);
void		tracer__look_for_daemons(struct tracer *tracer, uint64_t now_us);
int			tracer__wait_for_recovery(struct tracer *tracer);
int			tracer__report(struct tracer *tracer, const struct tally *tally, bool interval,
						   enum findings_outcome outcome, uint64_t elapsed_us);
int			tracer__end_interval(struct tracer *tracer, bool tell);

#endif							/* REDOAHEAD_TRACE_TRACER_INTERNAL_H */
