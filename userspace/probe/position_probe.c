/*
 * position_probe.c
 *		Loads the BPF program that shows how far a startup process has replayed WAL, and
 *		attaches it for the time of a recovery.
 *
 * What works is found out by trying, when the program is loaded: that needs rights which
 * this process may give up afterwards, because kernels other than old ones require none to
 * attach.  Between recoveries nothing is attached.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "probe/messages.h"
#include "probe/position_probe.h"
#include "probe/probe.h"
#include "bpf/position.skel.h"

struct position_probe
{
	struct position_bpf *programs;	/* of which one is loaded */
	const char *method;			/* how it is attached */
};

static int
set_rodata(struct position_bpf *programs, const struct cluster *cluster)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) < 0)
		return -errno;
	programs->rodata->pidns_device = st.st_dev;
	programs->rodata->pidns_inode = st.st_ino;
	programs->rodata->owner_uid = cluster->uid;
	programs->rodata->nr_pread64 = SYS_pread64;
	programs->rodata->nr_preadv = SYS_preadv;
	return 0;
}

/*
 * Does the attached program see a read of this process in the data directory?  By the
 * preferred method it does not where the file system has a page cache of its own.
 */
static bool
reads_are_seen(struct position_bpf *programs, const struct cluster *cluster)
{
	int			fd = cluster__open_file(cluster, "PG_VERSION");
	char		byte;
	bool		seen;

	if (fd < 0)
		return true;
	programs->bss->startup_tgid = (__u32) getpid();
	seen = pread(fd, &byte, 1, 0) != 1 || programs->bss->reads != 0;
	programs->bss->startup_tgid = 0;
	close(fd);
	return seen;
}

/* Load the program of one method, and find out whether it can be attached and works. */
static int
load(struct position_probe *probe, const struct cluster *cluster, const char *method)
{
	struct position_bpf *programs = position_bpf__open();
	struct bpf_program *program;
	int			err;

	if (programs == NULL)
		return -errno;
	bpf_object__for_each_program(program, programs->obj)
		bpf_program__set_autoload(program, strncmp(bpf_program__section_name(program), method,
												   strlen(method)) == 0);
	err = set_rodata(programs, cluster);
	if (err == 0)
		err = position_bpf__load(programs);
	/* Children must not decide whose memory is read. */
	if (err == 0 && madvise(programs->bss, (size_t) sysconf(_SC_PAGESIZE), MADV_DONTFORK) < 0)
		err = -errno;
	if (err == 0)
		err = position_bpf__attach(programs);
	if (err == 0 && !reads_are_seen(programs, cluster))
		err = -EOPNOTSUPP;
	if (err < 0)
	{
		log_debug("the position of redo cannot be seen by %s: %s", method, strerror(-err));
		position_bpf__destroy(programs);
		return err;
	}
	position_bpf__detach(programs);
	probe->programs = programs;
	probe->method = method;
	return 0;
}

/*
 * Load the program, by this attach method or, if NULL, by the preferred one if it works.
 * Attaches nothing.  Returns 0 or -errno.
 */
int
position_probe__open(struct position_probe **result, const struct cluster *cluster,
					 const char *method)
{
	struct position_probe *probe = calloc(1, sizeof(*probe));
	int			err;

	if (probe == NULL)
		return -ENOMEM;
	messages__to_log();
	err = load(probe, cluster, method != NULL ? method : PROBE_PREFERRED);
	if (err < 0 && method == NULL)
		err = load(probe, cluster, PROBE_FALLBACK);
	if (err < 0)
	{
		free(probe);
		return err;
	}
	*result = probe;
	return 0;
}

/* Detach and unload the program; NULL is fine. */
void
position_probe__close(struct position_probe *probe)
{
	if (probe == NULL)
		return;
	position_bpf__destroy(probe->programs);
	free(probe);
}

/* Attach the program, for this startup process.  Returns 0 or -errno. */
int
position_probe__begin(struct position_probe *probe, pid_t startup,
					  uint64_t error_context_address, uint64_t system_identifier)
{
	int			err;

	probe->programs->bss->known_reader = 0;
	probe->programs->bss->lsn = 0;
	probe->programs->bss->error_context_address = error_context_address;
	probe->programs->bss->system_identifier = system_identifier;
	probe->programs->bss->startup_tgid = (__u32) startup;
	err = position_bpf__attach(probe->programs);
	if (err == 0)
		log_debug("the position of redo is seen by %s", probe->method);
	else
		position_probe__end(probe);
	return err;
}

/* Detach the program; NULL is fine. */
void
position_probe__end(struct position_probe *probe)
{
	if (probe == NULL)
		return;
	position_bpf__detach(probe->programs);
	probe->programs->bss->startup_tgid = 0;
}

/* Start of the last record that the startup process has read; 0: not known. */
uint64_t
position_probe__lsn(const struct position_probe *probe)
{
	return __atomic_load_n(&probe->programs->bss->lsn, __ATOMIC_RELAXED);
}
