/*
 * statistics.h
 *		The daemon's counters as a JSON file.
 */
#ifndef REDOAHEAD_REPORT_STATISTICS_H
#define REDOAHEAD_REPORT_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

#include <json-c/json.h>

#include "engine/engine.h"

/* The contents of the file. */
struct statistics
{
	const char *backend;		/* name of the backend */
	const struct control *control;	/* the limits, and why they changed */
	uint64_t	begin_us;		/* when the present or last recovery began, us */
	bool		connected;		/* is a recovery connected? */
	uint64_t	recoveries;		/* recoveries connected so far */
	struct engine_state engine; /* all zero without a recovery */
	uint64_t	replay_lsn;		/* all records before it have been replayed */
	const struct counters *recovery;	/* the present or the last recovery */
	const struct counters *total;	/* all recoveries, the present one too */
};

void		statistics__add_counters(struct json_object *object, const struct counters *counters);
int			statistics__write(const char *path, const struct statistics *statistics);

#endif							/* REDOAHEAD_REPORT_STATISTICS_H */
