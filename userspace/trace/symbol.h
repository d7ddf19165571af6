/*
 * symbol.h
 *		Where a variable is in a running program.
 */
#ifndef REDOAHEAD_TRACE_SYMBOL_H
#define REDOAHEAD_TRACE_SYMBOL_H

#include <stdint.h>
#include <sys/types.h>

int			symbol__find(pid_t pid, const char *name, uint64_t *address);

#endif							/* REDOAHEAD_TRACE_SYMBOL_H */
