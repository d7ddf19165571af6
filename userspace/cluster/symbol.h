/*
 * symbol.h
 *		Where a variable is in a running program.
 */
#ifndef REDOAHEAD_CLUSTER_SYMBOL_H
#define REDOAHEAD_CLUSTER_SYMBOL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/confined.h"

/* What is known from a program's file. */
struct symbol_offsets
{
	uint64_t	value;			/* address of the variable */
	uint64_t	base;			/* address that the file is linked for */
};

int			symbol__start(struct confined *reader, const char *name);
int			symbol__read(int fd, const void *name, void *offsets);
int			symbol__find(struct confined *reader, pid_t pid, uint64_t *address);

#endif							/* REDOAHEAD_CLUSTER_SYMBOL_H */
