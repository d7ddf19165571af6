/*
 * residency.c
 *		How much of a file's range is in the page cache; removes it from there.
 *
 * Uses cachestat(2), new in Linux 6.5.  A read with RWF_NOWAIT would not do: it starts
 * reading what is absent, reports what is being read as absent, and marks what is
 * resident as used.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/residency.h"
#include "engine/backend.h"

/* The same on all machines; C libraries know it since glibc 2.39. */
#ifndef SYS_cachestat
#define SYS_cachestat	451
#endif

/* What the kernel calls struct cachestat_range, in bytes. */
struct range
{
	uint64_t	offset;			/* from the beginning of the file */
	uint64_t	length;			/* 0 would mean up to the end */
};

/* What the kernel calls struct cachestat, in pages. */
struct pages
{
	uint64_t	cached;			/* resident, or being read */
	uint64_t	dirty;			/* of those, to be written */
	uint64_t	writeback;		/* of those, being written */
	uint64_t	evicted;		/* evicted, as far as the kernel knows */
	uint64_t	recently_evicted;	/* of those, recently */
};

_Static_assert(sizeof(struct range) == 16, "as the kernel has it");
_Static_assert(sizeof(struct pages) == 40, "as the kernel has it");

/* Count the pages of a range of at least one byte; 0 or -errno. */
static int
stat_range(int fd, uint64_t offset, uint32_t bytes, struct pages *pages)
{
	struct range range = {offset, bytes};

	return syscall(SYS_cachestat, fd, &range, pages, 0) < 0 ? -errno : 0;
}

/*
 * An enum residency; -ENOSYS before Linux 6.5, -EPERM if the file belongs to another
 * user, -EOPNOTSUPP where pages cannot be counted.
 */
int
residency__of(int fd, uint64_t offset, uint32_t bytes)
{
	uint64_t	page = (uint64_t) sysconf(_SC_PAGESIZE);
	uint64_t	wanted = (offset + bytes - 1) / page - offset / page + 1;
	struct pages pages;
	int			err;

	if (bytes == 0)
		return RESIDENT_ALL;
	err = stat_range(fd, offset, bytes, &pages);
	if (err < 0)
		return err;
	return pages.cached >= wanted ? RESIDENT_ALL : pages.cached > 0 ? RESIDENT_PART : RESIDENT_NONE;
}

/* Does the kernel report that a byte which has just been read is resident? */
static bool
is_reported(int fd)
{
	char		byte;

	return pread(fd, &byte, 1, 0) == 1 && residency__of(fd, 0, 1) == RESIDENT_ALL;
}

/* Open a file that the server writes, unless it is something else. */
static int
open_file(int dir, const char *path, struct stat *st)
{
	int			fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd >= 0 && (fstat(fd, st) < 0 || !S_ISREG(st->st_mode)))
	{
		close(fd);
		return -1;
	}
	return fd;
}

/* Open PG_VERSION of any database in a tablespace's directory; -1 if it has none. */
static int
open_version(const char *directory, struct stat *st)
{
	DIR		   *databases = opendir(directory);
	struct dirent *entry;
	int			fd = -1;

	while (databases != NULL && fd < 0 && (entry = readdir(databases)) != NULL)
	{
		char		path[PATH_MAX];

		if (entry->d_name[0] != '.' &&
			snprintf(path, sizeof(path), "%s/PG_VERSION", entry->d_name) < (int) sizeof(path))
			fd = open_file(dirfd(databases), path, st);
	}
	if (databases != NULL)
		closedir(databases);
	return fd;
}

/*
 * Does the kernel report what is resident of a cluster's files?  Not before Linux 6.5,
 * and nothing where the pages belong to another file system's file, as on overlayfs.
 * Each tablespace may be on a file system of its own: where it has a database, that is
 * probed, too.  tablespace_dir is the name of the version's directory in it.
 */
bool
residency__works(int dir, const char *tablespace_dir)
{
	char		pattern[PATH_MAX];
	glob_t		found = {0};
	struct stat st;
	dev_t		probed;
	int			fd = open_file(dir, "global/pg_control", &st);
	bool		works = fd >= 0 && is_reported(fd);

	if (fd >= 0)
		close(fd);
	if (!works)
		return false;
	probed = st.st_dev;
	snprintf(pattern, sizeof(pattern), "/proc/self/fd/%d/pg_tblspc/*/%s", dir, tablespace_dir);
	glob(pattern, GLOB_NOSORT, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc && works; i++)
	{
		fd = open_version(found.gl_pathv[i], &st);
		if (fd < 0)
			continue;
		if (st.st_dev != probed)
			works = is_reported(fd);
		probed = st.st_dev;
		close(fd);
	}
	globfree(&found);
	return works;
}

/*
 * Remove the whole pages of a range from the page cache if all are clean.  False if they
 * are not: the kernel would begin to write, and the caller would wait for the device.
 * Pages in use stay.
 */
bool
residency__release(int fd, uint64_t offset, uint32_t bytes)
{
	struct pages pages;

	/* To the kernel, a length of 0 means all that follows. */
	return bytes > 0 && stat_range(fd, offset, bytes, &pages) == 0 &&
		pages.cached > 0 && pages.dirty == 0 && pages.writeback == 0 &&
		posix_fadvise(fd, (off_t) offset, (off_t) bytes, POSIX_FADV_DONTNEED) == 0;
}
