/*
 * outputs.h
 *		The files that a command which prefetches keeps: block log, timeline, statistics.
 */
#ifndef REDOAHEAD_REPORT_OUTPUTS_H
#define REDOAHEAD_REPORT_OUTPUTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/statistics.h"

/* Time between two writes of the statistics file, us. */
#define OUTPUTS_STATISTICS_US	1000000

struct outputs
{
	const char *block_log_path; /* as given, or NULL */
	const char *timeline_path;	/* likewise */
	const char *statistics_path;	/* likewise */
	FILE	   *block_log;		/* a line for each block, or NULL */
	FILE	   *timeline;		/* a line for each tenth of a second, or NULL */
	uint64_t	sample_us;		/* time of the last line of the timeline, us */
	uint64_t	statistics_us;	/* time of the last write of the statistics file, us */
	bool		statistics_failed;	/* the last write failed, and that was logged */
};

int			outputs__open(struct outputs *outputs, const char *block_log, const char *timeline,
						  const char *statistics);
void		outputs__close(struct outputs *outputs);
void		outputs__reopen(struct outputs *outputs);
void		outputs__report(const struct outputs *outputs);
void		outputs__write_statistics(struct outputs *outputs, const struct statistics *statistics,
									  uint64_t now_us);
void		outputs__add_sample(struct outputs *outputs, struct engine *engine, uint64_t replay_lsn,
								uint64_t begin_us, uint64_t now_us);

#endif							/* REDOAHEAD_REPORT_OUTPUTS_H */
