/*
 * lesslog_report.h
 *		What `redoahead lesslog` prints.
 */
#ifndef REDOAHEAD_LESSLOG_LESSLOG_REPORT_H
#define REDOAHEAD_LESSLOG_LESSLOG_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "lesslog/segment.h"

/* What was done. */
struct lesslog_summary
{
	uint64_t	begin_us;		/* time of the start, us */
	const char *file;			/* what was archived, as the user named it */
	bool		is_segment;		/* "segment" is known */
	struct segment segment;		/* which segment it is, and what was found */
	uint64_t	bytes_in;		/* size of the file, bytes */
	uint64_t	bytes_out;		/* size of what it became, bytes */
	bool		already_archived;	/* that was there before */
	char		unchanged[WAL_MESSAGE_BYTES];	/* why nothing was examined, or empty */
};

void		lesslog_report__summary(const struct lesslog_summary *summary, bool json);

#endif							/* REDOAHEAD_LESSLOG_LESSLOG_REPORT_H */
