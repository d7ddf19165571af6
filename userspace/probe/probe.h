/*
 * probe.h
 *		The BPF programs: whom they follow, and what they report.
 */
#ifndef REDOAHEAD_PROBE_PROBE_H
#define REDOAHEAD_PROBE_PROBE_H

#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/trace.h"
#include "cluster/cluster.h"

/* The attach methods; see bpf/README.md. */
#define PROBE_PREFERRED		"tp_btf"
#define PROBE_FALLBACK		"raw_tp"

struct probe;

/* Takes an event: one of trace.h's structs, by its first byte. */
typedef void (*probe_handler) (void *context, const void *event, size_t size);

struct probe_settings
{
	const struct cluster *cluster;	/* the data directory; stays the caller's */
	uint32_t	block_size;		/* PostgreSQL's, bytes */
	uint32_t	buffer_bytes;	/* ring buffer, bytes: a power of two */
	const char *method;			/* attach method; NULL: the preferred one if it works */
	const dev_t *disks;			/* whole disks to follow */
	unsigned	disk_count;		/* how many */
	probe_handler handler;		/* takes the events */
	void	   *context;		/* is passed to it */
};

/* What the devices did since the programs were attached. */
struct probe_devices
{
	struct trace_device reads;	/* requests that read */
	struct trace_device writes; /* requests that write */
};

int			probe__open(struct probe **probe, const struct probe_settings *settings);
void		probe__close(struct probe *probe);
void		probe__detach(struct probe *probe);
void		probe__await(struct probe *probe, pid_t postmaster);
void		probe__follow(struct probe *probe, pid_t startup, uint64_t error_context_address);
void		probe__follow_daemons(struct probe *probe, const pid_t *daemons, unsigned count);
void		probe__consume(struct probe *probe);
void		probe__devices(const struct probe *probe, struct probe_devices *devices);
uint64_t	probe__lost_events(const struct probe *probe);
uint64_t	probe__lost_files(const struct probe *probe);
const char *probe__method(const struct probe *probe);

#endif							/* REDOAHEAD_PROBE_PROBE_H */
