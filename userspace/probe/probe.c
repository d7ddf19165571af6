/*
 * probe.c
 *		Loads and attaches the BPF programs, and reads what they report.
 *
 * There are two attach methods with a program each for every event; what works
 * is found out by trying, never by the kernel's version.  Events wait in a ring
 * buffer until they are consumed; the kernel wakes nobody, because that would
 * cost more than the event.  What events mean is found out in trace/.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/log.h"
#include "probe/messages.h"
#include "probe/probe.h"
#include "probe/refusal.h"
#include "bpf/trace.skel.h"

struct probe
{
	struct trace_bpf *programs; /* loaded */
	struct ring_buffer *ring;	/* their events */
	const char *method;			/* how they are attached */
	probe_handler handler;		/* takes the events */
	void	   *context;		/* is passed to it */
	bool		attached;		/* are they still? */
	uint64_t	lost_events;	/* before a server was awaited */
};

static int
handle(void *context, void *event, size_t size)
{
	struct probe *probe = context;

	probe->handler(probe->context, event, size);
	return 0;
}

/* The kernel's number of a device; that of a file on btrfs is another, with major 0. */
static __u32
number_of(dev_t device)
{
	return major(device) == 0 ? 0 : (__u32) major(device) << 20 | (__u32) minor(device);
}

static void
set_rodata(struct trace_bpf *programs, const struct probe_settings *settings)
{
	programs->rodata->page_shift = (__u32) __builtin_ctzl((unsigned long) sysconf(_SC_PAGESIZE));
	programs->rodata->block_shift = (__u32) __builtin_ctz(settings->block_size);
	programs->rodata->pgdata_inode = settings->cluster->inode;
	programs->rodata->pgdata_device = number_of(settings->cluster->device);
	programs->rodata->nr_pread64 = SYS_pread64;
	programs->rodata->nr_preadv = SYS_preadv;
	programs->rodata->nr_preadv2 = SYS_preadv2;
	programs->rodata->nr_fadvise64 = SYS_fadvise64;
}

static void
set_disks(struct trace_bpf *programs, const struct probe_settings *settings)
{
	for (unsigned i = 0; i < settings->disk_count && i < TRACE_DISKS; i++)
		programs->bss->disks[i] = number_of(settings->disks[i]);
}

/*
 * Do the programs see a read of this process in the data directory?  By the preferred
 * method they do not where the file system has a page cache of its own.
 */
static bool
reads_are_seen(struct trace_bpf *programs, const struct cluster *cluster)
{
	char		byte;
	bool		seen;
	int			fd;

	fd = cluster__open_file(cluster, "PG_VERSION");
	if (fd < 0)
		return true;
	programs->bss->startup_tgid = (__u32) getpid();
	seen = pread(fd, &byte, 1, 0) != 1 || programs->bss->last_read.type != 0;
	programs->bss->startup_tgid = 0;
	programs->bss->last_read.type = 0;
	close(fd);
	return seen;
}

/* Load and attach the programs of one method. */
static int
attach(struct probe *probe, const struct probe_settings *settings, const char *method)
{
	struct trace_bpf *programs = trace_bpf__open();
	bool		preferred = strcmp(method, PROBE_PREFERRED) == 0;
	struct bpf_program *program;
	int			err;

	if (programs == NULL)
		return -errno;
	bpf_object__for_each_program(program, programs->obj)
		bpf_program__set_autoload(program, strncmp(bpf_program__section_name(program), method,
												   strlen(method)) == 0);
	set_rodata(programs, settings);
	err = bpf_map__set_max_entries(programs->maps.events, settings->buffer_bytes);
	/* Kernels before 6.1 warn of raw tracepoints whose maps allocate memory on demand. */
	if (err == 0 && !preferred)
		err = bpf_map__set_map_flags(programs->maps.files, 0);
	if (err == 0)
		err = trace_bpf__load(programs);
	if (err == 0)
	{
		set_disks(programs, settings);
		err = trace_bpf__attach(programs);
	}
	if (err == 0 && preferred && !reads_are_seen(programs, settings->cluster))
		err = -EOPNOTSUPP;
	if (err == 0)
	{
		probe->ring = ring_buffer__new(bpf_map__fd(programs->maps.events), handle, probe, NULL);
		err = probe->ring == NULL ? -errno : 0;
	}
	if (err < 0)
	{
		trace_bpf__destroy(programs);
		return err;
	}
	probe->programs = programs;
	probe->method = method;
	probe->attached = true;
	return 0;
}

/* Load and attach the programs, which follow nobody yet; logs why that is not possible. */
int
probe__open(struct probe **result, const struct probe_settings *settings)
{
	struct refusal_facts facts;
	struct probe *probe;
	char		reason[512];
	int			err = -EPERM;

	probe = calloc(1, sizeof(*probe));
	if (probe == NULL)
		return -ENOMEM;
	probe->handler = settings->handler;
	probe->context = settings->context;
	messages__to_log();
	refusal__collect(&facts, settings->cluster->dirfd);
	if (refusal__is_certain(&facts))
		refusal__explain(&facts, 0, reason, sizeof(reason));
	else
	{
		err = attach(probe, settings, settings->method ? settings->method : PROBE_PREFERRED);
		if (err < 0 && settings->method == NULL)
		{
			log_debug("programs cannot be attached by %s: %s; trying %s", PROBE_PREFERRED,
					  strerror(-err), PROBE_FALLBACK);
			err = attach(probe, settings, PROBE_FALLBACK);
		}
		refusal__explain(&facts, err, reason, sizeof(reason));
	}
	if (err < 0)
	{
		log_error("recovery cannot be traced: %s", reason);
		probe__close(probe);
		return err;
	}
	*result = probe;
	return 0;
}

/* Detach and unload the programs; NULL is fine. */
void
probe__close(struct probe *probe)
{
	if (probe == NULL)
		return;
	ring_buffer__free(probe->ring);
	trace_bpf__destroy(probe->programs);
	free(probe);
}

/* Detach the programs; what they reported can still be consumed. */
void
probe__detach(struct probe *probe)
{
	trace_bpf__detach(probe->programs);
	probe->attached = false;
}

/* Follow all children of a postmaster, until the startup process is known. */
void
probe__await(struct probe *probe, pid_t postmaster)
{
	struct trace_bpf *programs = probe->programs;

	programs->bss->startup_tgid = 0;
	programs->bss->error_context_address = 0;
	programs->bss->postmaster_tgid = (__u32) postmaster;
	probe->lost_events = programs->bss->lost_events;
}

/*
 * Follow a startup process, 0: none.  The address is that of its error_context_stack,
 * 0: not known.
 */
void
probe__follow(struct probe *probe, pid_t startup, uint64_t error_context_address)
{
	struct trace_bpf *programs = probe->programs;

	programs->bss->error_context_address = error_context_address;

	/*
	 * The parent is used while no startup process is known.  It stays, for a program that
	 * has found none may be about to read it: else it would miss a read.
	 */
	if (startup == 0)
		programs->bss->postmaster_tgid = 0;
	programs->bss->startup_tgid = (__u32) startup;
}

/* Follow these daemons, and no others but those that `redoahead restore` starts. */
void
probe__follow_daemons(struct probe *probe, const pid_t *daemons, unsigned count)
{
	for (unsigned i = 0; i < TRACE_DAEMONS; i++)
		probe->programs->bss->daemon_tgid[i] = i < count ? (__u32) daemons[i] : 0;
}

/* Pass all events that are there to the handler. */
void
probe__consume(struct probe *probe)
{
	struct trace_read *last = &probe->programs->bss->last_read;

	(void) ring_buffer__consume(probe->ring);
	/* A read is reported when the next one begins; once detached, there is no next one. */
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
	devices->reads = probe->programs->bss->device_reads;
	devices->writes = probe->programs->bss->device_writes;
}

/* Events that did not fit into the ring buffer. */
uint64_t
probe__lost_events(const struct probe *probe)
{
	return probe->programs->bss->lost_events - probe->lost_events;
}

/* Events of files for which there was no number left. */
uint64_t
probe__lost_files(const struct probe *probe)
{
	return probe->programs->bss->lost_files;
}

/* How the programs are attached. */
const char *
probe__method(const struct probe *probe)
{
	return probe->method;
}
