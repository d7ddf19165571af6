/*
 * ahead.h
 *		Fetches segments, and reads what redo of them will need, before the server
 *		requests them.
 */
#ifndef REDOAHEAD_ARCHIVE_AHEAD_H
#define REDOAHEAD_ARCHIVE_AHEAD_H

#include "archive/restore.h"
#include "archive/spool.h"

void		ahead__start(const struct restore_options *options, const struct spool *spool,
						 const struct spool_segment *present, int fetching);

#endif							/* REDOAHEAD_ARCHIVE_AHEAD_H */
