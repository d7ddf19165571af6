/*
 * probe.h
 *		The probes in the kernel: what to follow, and what they saw.
 */
#ifndef REDOAHEAD_PROBE_PROBE_H
#define REDOAHEAD_PROBE_PROBE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/trace.h"
#include "cluster/cluster.h"
#include "probe/attach.h"

struct probe;

/* What is told of an event: one of trace.h's structs, by its first byte. */
typedef void (*probe_handler) (void *context, const void *event, size_t size);

/* What the devices did since the probes were attached. */
struct probe_devices
{
	struct trace_device reads;	/* requests that read */
	struct trace_device writes; /* requests that write */
};

int			probe__open(struct probe **probe, const struct attach_choice *forced,
						const struct cluster *cluster, uint32_t block_size,
						uint32_t buffer_bytes, probe_handler handler, void *context);
void		probe__close(struct probe *probe);
int			probe__attach(struct probe *probe);
void		probe__detach(struct probe *probe);
bool		probe__is_attached(const struct probe *probe);
void		probe__await(struct probe *probe, pid_t postmaster);
void		probe__follow(struct probe *probe, pid_t startup);
void		probe__follow_daemons(struct probe *probe, const pid_t *daemons, unsigned count);
void		probe__consume(struct probe *probe);
void		probe__devices(const struct probe *probe, struct probe_devices *devices);
uint64_t	probe__lost_events(const struct probe *probe);
uint64_t	probe__lost_files(const struct probe *probe);
const char *probe__way(const struct probe *probe, enum attach_point point);

#endif							/* REDOAHEAD_PROBE_PROBE_H */
