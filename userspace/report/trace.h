/*
 * trace.h
 *		A line for each block that was asked for.
 */
#ifndef REDOAHEAD_REPORT_TRACE_H
#define REDOAHEAD_REPORT_TRACE_H

#include <stdint.h>

struct trace;

int			trace__open(struct trace **trace, const char *path);
void		trace__block(struct trace *trace, const char *kind, const char *path,
						 uint32_t block, uint64_t lsn, const char *result,
						 uint64_t latency_us);
void		trace__flush(struct trace *trace);
void		trace__close(struct trace *trace);

#endif							/* REDOAHEAD_REPORT_TRACE_H */
