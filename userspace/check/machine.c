/*
 * machine.c
 *		Needs of the machine and of this process's limits: io_uring, memory, open files.
 *
 * What works is found out by trying it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check/check_internal.h"
#include "common/available.h"
#include "engine/backend.h"
#include "engine/engine.h"
#include "engine/setup.h"

/* How long a read by io_uring may take, us. */
#define READ_US			5000000

/* Memory below which redoahead does less, bytes. */
#define LEAST_MEMORY	(512 * 1024 * 1024ULL)

/* Read a number from a file; -1: there is none. */
static int
number_in(const char *path)
{
	FILE	   *file = fopen(path, "re");
	int			number = -1;

	if (file != NULL)
	{
		if (fscanf(file, "%d", &number) != 1)
			number = -1;
		fclose(file);
	}
	return number;
}

/* Read a byte of a file by io_uring, as the engine does.  0 or -errno. */
static int
read_by_uring(int fd)
{
	struct backend_completion done[SETUP_IO_DEPTH_NUMBER];
	struct backend *backend;
	int			err = backend_uring.open(&backend, SETUP_IO_DEPTH_NUMBER);

	if (err < 0)
		return err;
	/* See fdcache.c. */
	err = fcntl(fd, F_SETFL, 0) < 0 ? -errno : backend_uring.queue(backend, fd, 0, 1, 0);
	if (err == 0)
	{
		int			n = backend_uring.flush(backend, 1, READ_US, done);

		err = n < 0 ? n : n == 0 ? -ETIMEDOUT : done[0].result < 0 ? done[0].result : 0;
	}
	backend_uring.close(backend);
	return err;
}

/* Add why io_uring is refused, and the remedy. */
static void
explain_uring(struct needs *needs, int err)
{
	int			disabled = number_in("/proc/sys/kernel/io_uring_disabled");

	if (err == -EPERM && disabled > 0)
	{
		needs__add(needs, "io_uring", NEED_WARNING, "not allowed, kernel.io_uring_disabled is %d: "
				   "the daemon uses posix_fadvise, which is slower", disabled);
		if (disabled == 1)
			needs__remedy(needs, "sysctl -w kernel.io_uring_group=%u", (unsigned) getegid());
		else
			needs__remedy(needs, "sysctl -w kernel.io_uring_disabled=0");
		return;
	}
	needs__add(needs, "io_uring", NEED_WARNING, "cannot be used: %s: "
			   "the daemon uses posix_fadvise, which is slower", strerror(-err));
	switch (-err)
	{
		case EPERM:
		case EACCES:
			needs__remedy(needs, "allow io_uring_setup, io_uring_enter and io_uring_register in the "
						  "seccomp filter of the container or unit");
			break;
		case ENOSYS:
			needs__remedy(needs, "use a kernel with CONFIG_IO_URING, or allow io_uring_setup, "
						  "io_uring_enter and io_uring_register in the seccomp filter");
			break;
		case ENOMEM:
			needs__remedy(needs, "ulimit -l unlimited # as root; in a unit: LimitMEMLOCK=infinity");
			break;
		default:
			needs__remedy(needs, "start redoahead with --backend=fadvise, which does without it");
	}
}

/* Is io_uring allowed, do reads complete, and without threads of the kernel? */
void
check__uring(struct check *check)
{
	struct needs *needs = &check->needs;
	char		byte;
	struct iovec vector = {&byte, 1};
	int			fd = cluster__open_file(&check->cluster, "global/pg_control");
	int			err = fd < 0 ? fd : read_by_uring(fd);

	if (fd < 0)
	{
		needs__add(needs, "io_uring", NEED_PROBLEM, "no file of the data directory can be read: %s",
				   strerror(-fd));
		needs__remedy(needs, "run this as the owner of the data directory");
	}
	else if (err < 0)
		explain_uring(needs, err);
	else if (preadv2(fd, &vector, 1, 0, RWF_NOWAIT) < 0 && errno == EOPNOTSUPP)
	{
		needs__add(needs, "io_uring", NEED_WARNING, "works, but on this file system each read is "
				   "done by a thread of the kernel, which takes CPU time");
		needs__remedy(needs, "put the data on ext4, xfs or btrfs; in a container, on a volume");
	}
	else
	{
		needs__add(needs, "io_uring", NEED_OK, "reads, %s in flight", SETUP_IO_DEPTH);
		needs__number(needs, "io_depth", SETUP_IO_DEPTH_NUMBER);
	}
	if (fd >= 0)
		close(fd);
}

/* Memory of the machine that is available, bytes; UINT64_MAX if unknown. */
static uint64_t
machine_bytes(void)
{
	FILE	   *file = fopen("/proc/meminfo", "re");
	uint64_t	kilobytes;
	uint64_t	bytes = UINT64_MAX;
	char		line[256];

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "MemAvailable: %" SCNu64, &kilobytes) == 1)
			bytes = kilobytes * 1024;
	if (file != NULL)
		fclose(file);
	return bytes;
}

/* Memory that is available here, and how far that allows to read ahead. */
void
check__memory(struct check *check)
{
	struct needs *needs = &check->needs;
	uint64_t	machine = machine_bytes();
	uint64_t	available = available__bytes();
	uint64_t	ahead = available / ENGINE_MEMORY_PART;
	uint64_t	most = SETUP_READAHEAD_LIMIT_NUMBER *
		(uint64_t) (check->has_control ? check->control.block_size : 8192);
	char		size[CHECK_SIZE_BYTES];
	char		ahead_size[CHECK_SIZE_BYTES];
	/* What the machine has changes between the two readings. */
	bool		limited = available != UINT64_MAX && available < machine / 100 * 98;

	if (available == UINT64_MAX)
	{
		needs__add(needs, "memory", NEED_WARNING, "how much is available cannot be found out");
		needs__remedy(needs, "mount /proc");
		return;
	}
	if (ahead > most)
		ahead = most;
	check__size(size, available);
	check__size(ahead_size, ahead);
	needs__add(needs, "memory", available < LEAST_MEMORY ? NEED_WARNING : NEED_OK,
			   "%s available%s, %s of blocks can be read ahead", size,
			   limited ? " within the limit of a memory cgroup" : "", ahead_size);
	if (available < LEAST_MEMORY)
		needs__remedy(needs, limited ? "raise memory.max of the cgroup; in a unit: MemoryMax=1G" :
					  "lower shared_buffers, or add memory");
	needs__number(needs, "available_bytes", available);
	needs__number(needs, "readahead_bytes", ahead);
}

/* How many files may be open? */
void
check__open_files(struct check *check)
{
	const unsigned wanted = SETUP_FILES_NUMBER + SETUP_OTHER_DESCRIPTORS;
	struct needs *needs = &check->needs;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max >= wanted)
	{
		needs__add(needs, "open_files", NEED_OK, "%u may be open, of which %s are data files",
				   wanted, SETUP_FILES);
		return;
	}
	needs__add(needs, "open_files", NEED_WARNING, "at most %llu may be open, %u are best: "
			   "files are opened again and again", (unsigned long long) limit.rlim_max, wanted);
	needs__remedy(needs, "ulimit -Hn 4096 # as root; in a unit: LimitNOFILE=4096");
	needs__number(needs, "limit", limit.rlim_max);
}
