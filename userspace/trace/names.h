/*
 * names.h
 *		Names of relations, from the catalogs of a server that answers.
 */
#ifndef REDOAHEAD_TRACE_NAMES_H
#define REDOAHEAD_TRACE_NAMES_H

#include <stdbool.h>

#include "cluster/cluster.h"
#include "trace/findings.h"

void		names__find(const struct cluster *cluster, struct findings_row *rows, uint32_t count,
						bool wait, int stop_fd);

#endif							/* REDOAHEAD_TRACE_NAMES_H */
