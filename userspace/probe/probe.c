/*
 * probe.c
 *		The probes in the kernel: tells them what to follow, and fetches what
 *		they saw.
 *
 * Which way they are attached is decided in attach.c; what their events mean,
 * elsewhere.  Events wait in a ring buffer until they are fetched; the kernel
 * wakes nobody, because that would cost more than the event.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "probe/probe.h"
#include "bpf/trace.skel.h"
#include "trace/disks.h"
#include "trace/symbol.h"
#include "base/log.h"

struct probe
{
	struct attach *attach;		/* the programs, loaded */
	struct ring_buffer *ring;	/* their events */
	probe_handler handler;		/* who is told of them */
	void	   *context;		/* what it is told with them */
	bool		attached;		/* do the programs run? */
	bool		record_known;	/* the process tells what it redoes */
	uint64_t	lost_events;	/* before anybody was waited for or followed */
	dev_t		disks[TRACE_DISKS];	/* below the data directory */
};

static int
handle(void *context, void *event, size_t size)
{
	struct probe *probe = context;

	probe->handler(probe->context, event, size);
	return 0;
}

static struct trace_bpf *
programs_of(const struct probe *probe)
{
	return attach__programs(probe->attach);
}

/* Load the probes; nothing is attached yet, but it has been tried. */
int
probe__open(struct probe **result, const struct attach_choice *forced,
			const struct cluster *cluster, uint32_t block_size,
			uint32_t buffer_bytes, probe_handler handler, void *context)
{
	struct attach_settings settings = {
		.dirfd = cluster->dirfd,.block_size = block_size,.buffer_bytes = buffer_bytes
	};
	struct probe *probe;
	char		reason[ATTACH_REASON];
	int			err;

	probe = calloc(1, sizeof(*probe));
	if (probe == NULL)
		return -ENOMEM;
	probe->handler = handler;
	probe->context = context;
	settings.disks = probe->disks;
	settings.disk_count = disks__below(cluster->dirfd, probe->disks, TRACE_DISKS);
	err = attach__open(&probe->attach, forced, &settings, reason);
	if (err < 0)
	{
		log_error("recovery cannot be traced: %s", reason);
		free(probe);
		return err;
	}
	*result = probe;
	return 0;
}

/* Detach and unload all; NULL is fine. */
void
probe__close(struct probe *probe)
{
	if (probe == NULL)
		return;
	ring_buffer__free(probe->ring);
	attach__close(probe->attach);
	free(probe);
}

/* Let the programs run, which do not yet.  They follow nobody before they are told whom. */
int
probe__attach(struct probe *probe)
{
	char		reason[ATTACH_REASON];
	int			err;

	err = attach__attach(probe->attach, reason);
	if (err < 0)
	{
		log_error("recovery cannot be traced: %s", reason);
		return err;
	}
	ring_buffer__free(probe->ring);
	probe->ring = ring_buffer__new(bpf_map__fd(programs_of(probe)->maps.events),
								   handle, probe, NULL);
	if (probe->ring == NULL)
	{
		err = -errno;
		log_error("the ring buffer of the probes cannot be mapped: %s; make it smaller with --buffer",
				  strerror(-err));
		return err;
	}
	probe->attached = true;
	return 0;
}

/* Let the programs rest. */
void
probe__detach(struct probe *probe)
{
	if (probe->attached)
		attach__detach(probe->attach);
	probe->attached = false;
}

/* Do the programs run? */
bool
probe__is_attached(const struct probe *probe)
{
	return probe->attached;
}

/* Follow whatever children a postmaster has, until the startup process is known. */
void
probe__await(struct probe *probe, pid_t postmaster)
{
	struct trace_bpf *programs = programs_of(probe);

	programs->bss->startup_tgid = 0;
	programs->bss->error_context_address = 0;
	programs->bss->postmaster_tgid = (__u32) postmaster;
	probe->lost_events = programs->bss->lost_events;
}

/* Follow a startup process; 0: none any more. */
void
probe__follow(struct probe *probe, pid_t startup)
{
	struct trace_bpf *programs = programs_of(probe);
	uint64_t	address = 0;
	int			err;

	probe->record_known = false;
	if (startup != 0 &&
		strcmp(attach__way(probe->attach, ATTACH_RECORD), "memory") == 0)
	{
		err = symbol__find(startup, "error_context_stack", &address);
		if (err < 0)
			log_info("resource managers are not known: the memory of process %d cannot be read: %s",
					 (int) startup, strerror(-err));
		probe->record_known = err == 0;
	}
	programs->bss->error_context_address = address;
	programs->bss->startup_tgid = (__u32) startup;
	programs->bss->postmaster_tgid = 0;
}

/* Follow these daemons, no others. */
void
probe__follow_daemons(struct probe *probe, const pid_t *daemons, unsigned count)
{
	struct trace_bpf *programs = programs_of(probe);

	for (unsigned i = 0; i < TRACE_DAEMONS; i++)
		programs->bss->daemon_tgid[i] = i < count ? (__u32) daemons[i] : 0;
}

/* Tell the handler of all events that are there. */
void
probe__consume(struct probe *probe)
{
	struct trace_read *last = &programs_of(probe)->bss->last_read;

	if (probe->ring != NULL)
		(void) ring_buffer__consume(probe->ring);
	/* The last call is told when the next one begins; now there will be none. */
	if (!probe->attached && last->type != 0)
	{
		struct trace_read event = *last;

		last->type = 0;
		probe->handler(probe->context, &event, sizeof(event));
	}
}

/* What the devices have done so far. */
void
probe__devices(const struct probe *probe, struct probe_devices *devices)
{
	devices->reads = programs_of(probe)->bss->device_reads;
	devices->writes = programs_of(probe)->bss->device_writes;
}

/* Events of those who are followed that did not fit into the ring buffer. */
uint64_t
probe__lost_events(const struct probe *probe)
{
	return programs_of(probe)->bss->lost_events - probe->lost_events;
}

/* Files that could not be told apart any more. */
uint64_t
probe__lost_files(const struct probe *probe)
{
	return programs_of(probe)->bss->lost_files;
}

/* How a point is observed. */
const char *
probe__way(const struct probe *probe, enum attach_point point)
{
	if (point == ATTACH_RECORD && !probe->record_known)
		return "none";
	return attach__way(probe->attach, point);
}
