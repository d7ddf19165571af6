/*
 * feedback.h
 *		What the probes tell the daemon of its own work.
 */
#ifndef REDOAHEAD_PROBE_FEEDBACK_H
#define REDOAHEAD_PROBE_FEEDBACK_H

#include <stdbool.h>
#include <sys/types.h>

#include "cluster/cluster.h"
#include "probe/attach.h"
#include "report/counters.h"

struct feedback;

int			feedback__open(struct feedback **feedback, const struct cluster *cluster,
						   unsigned window, bool brief, char reason[ATTACH_REASON]);
void		feedback__close(struct feedback *feedback);
void		feedback__begin(struct feedback *feedback, pid_t startup);
void		feedback__take(struct feedback *feedback, struct counters *counters);
void		feedback__end(struct feedback *feedback);
bool		feedback__works(const struct feedback *feedback);

#endif							/* REDOAHEAD_PROBE_FEEDBACK_H */
