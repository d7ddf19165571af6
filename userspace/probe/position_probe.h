/*
 * position_probe.h
 *		The BPF program that shows how far a startup process has replayed WAL.
 */
#ifndef REDOAHEAD_PROBE_POSITION_PROBE_H
#define REDOAHEAD_PROBE_POSITION_PROBE_H

#include <stdint.h>
#include <sys/types.h>

#include "cluster/cluster.h"

struct position_probe;

int			position_probe__open(struct position_probe **probe, const struct cluster *cluster,
								 const char *method);
void		position_probe__close(struct position_probe *probe);
int			position_probe__begin(struct position_probe *probe, pid_t startup,
								  uint64_t error_context_address, uint64_t system_identifier);
void		position_probe__end(struct position_probe *probe);
uint64_t	position_probe__lsn(const struct position_probe *probe);

#endif							/* REDOAHEAD_PROBE_POSITION_PROBE_H */
