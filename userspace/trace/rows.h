/*
 * rows.h
 *		The table of relations and SLRUs.
 */
#ifndef REDOAHEAD_TRACE_ROWS_H
#define REDOAHEAD_TRACE_ROWS_H

#include "trace/files.h"
#include "report/findings.h"

struct findings_row *rows__make(const struct files *files, const struct tally *tally,
								int dirfd, uint32_t *count);

#endif							/* REDOAHEAD_TRACE_ROWS_H */
