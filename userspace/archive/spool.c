/*
 * spool.c
 *		A directory for segments that were fetched from the archive before the server
 *		requests them.
 *
 * It is in the directory of WAL, so that a segment is handed over by renaming it, and
 * that base backups leave it out.  Of a segment NAME, NAME.PID.tmp is being written, and
 * NAME is complete: it was synced before it got this name.  Whoever fetches it holds a
 * lock on NAME.lock.
 *
 * Segments hold for one recovery, and for the command that has fetched them: before another
 * one, the archive may have been replaced, or the command corrected.  The file "recovery" has
 * both.  Whoever adds a segment has it locked and compares it, so that what was fetched for
 * another recovery does not come into the spool.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "archive/spool.h"
#include "base/clock.h"
#include "cluster/processes.h"
#include "wal/page.h"
#include "wal/segments.h"

/* File with the recovery that the segments are for. */
#define RECOVERY_NAME	"recovery"

/* File that each process that fetches ahead has locked, shared, until it ends. */
#define FETCHING_NAME	"fetching"

/* Time between two attempts to lock a file, us; and for which another process examines that one. */
#define LOCK_WAIT_US	1000
#define BEGIN_WAIT_US	1000000

/* If this is the data directory, remember it and its system identifier. */
static bool
read_control(struct spool *spool, const char *directory)
{
	char		path[PATH_MAX];
	bool		done;
	int			fd;

	if (snprintf(path, sizeof(path), "%s/global/pg_control", directory) >= (int) sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = read(fd, &spool->system_identifier, sizeof(uint64_t)) == sizeof(uint64_t);
	close(fd);
	if (done)
		snprintf(spool->pgdata, sizeof(spool->pgdata), "%s", directory);
	else
		spool->system_identifier = 0;
	return done;
}

/* Make the directory, if it does not exist.  Returns 0 or -errno. */
int
spool__open(struct spool *spool, const char *wal_directory)
{
	*spool = (struct spool) {0};
	if (snprintf(spool->path, sizeof(spool->path), "%s/" WAL_SPOOL_NAME, wal_directory) >=
		(int) sizeof(spool->path))
		return -ENAMETOOLONG;
	/* pg_wal may be a link; the server runs commands in its data directory. */
	if (!read_control(spool, "."))
	{
		char		parent[PATH_MAX];

		if (snprintf(parent, sizeof(parent), "%s/..", wal_directory) < (int) sizeof(parent))
			(void) read_control(spool, parent);
	}
	return mkdir(spool->path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

/* The startup process of the server, 0 if there is none, or if it is not known. */
pid_t
spool__startup(const struct spool *spool)
{
	char		ignored[CLUSTER_MESSAGE_BYTES];
	struct cluster cluster;
	pid_t		startup;

	if (spool->pgdata[0] == '\0' || cluster__try(&cluster, spool->pgdata, ignored) < 0)
		return 0;
	startup = processes__startup(&cluster, processes__postmaster(&cluster));
	cluster__close(&cluster);
	return startup;
}

/*
 * Lock the file of the recovery, and find out whether the spool is for ours.  Returns a
 * descriptor or -errno.
 */
static int
lock_recovery(const struct spool *spool, bool *is_ours)
{
	size_t		length = strlen(spool->recovery);
	char	   *text = malloc(length + 1);
	char		path[PATH_MAX];
	int			fd = -1;
	int			err = text == NULL ? -ENOMEM : spool__path(spool, RECOVERY_NAME, "", path);

	if (err == 0 && (fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) < 0)
		err = -errno;
	while (err == 0 && flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			err = -errno;
	if (err == 0)
		*is_ours = pread(fd, text, length + 1, 0) == (ssize_t) length &&
			memcmp(text, spool->recovery, length) == 0;
	else if (fd >= 0)
		close(fd);
	free(text);
	return err < 0 ? err : fd;
}

/*
 * Remove all segments, also those that are being written: they are not fetched then.  Returns how
 * many there were, or -errno.
 */
int
spool__clear(const struct spool *spool)
{
	DIR		   *directory = opendir(spool->path);
	struct dirent *entry;
	int			removed = directory == NULL ? -errno : 0;

	while (removed >= 0 && (entry = readdir(directory)) != NULL)
	{
		const char *suffix = entry->d_name + strspn(entry->d_name, "0123456789ABCDEF");

		if (suffix != entry->d_name + WAL_SEGMENT_NAME_LENGTH ||
			(suffix[0] != '\0' && strstr(suffix, ".tmp") == NULL))
			continue;
		if (unlinkat(dirfd(directory), entry->d_name, 0) == 0)
			removed++;
		else if (errno != ENOENT)
			removed = -errno;
	}
	if (directory != NULL)
		closedir(directory);
	return removed;
}

/*
 * Make the spool that of the present recovery and of this command: segments that were fetched
 * for another one are removed.  Returns 0 or -errno; then no segment of the spool may be used.
 */
int
spool__begin(struct spool *spool, const char *command)
{
	pid_t		startup = spool__startup(spool);
	bool		is_ours;
	int			fd;
	int			err = 0;

	if (asprintf(&spool->recovery, "%d %" PRIu64 " %s", (int) startup,
				 processes__start_ticks(startup), command) < 0)
	{
		spool->recovery = NULL;
		return -ENOMEM;
	}
	fd = lock_recovery(spool, &is_ours);
	if (fd < 0)
		return fd;
	if (!is_ours)
	{
		size_t		length = strlen(spool->recovery);

		err = spool__clear(spool);
		if (err >= 0)
			err = ftruncate(fd, 0) < 0 ? -errno : 0;
		if (err == 0 && pwrite(fd, spool->recovery, length, 0) != (ssize_t) length)
			err = -ENOSPC;
	}
	close(fd);
	return err;
}

/* Give a segment that was fetched its name, or remove it if the spool is for another recovery. */
void
spool__add(const struct spool *spool, const char *name, const char *fetched)
{
	char		path[PATH_MAX];
	bool		is_ours = false;
	int			fd = lock_recovery(spool, &is_ours);

	if (fd < 0 || !is_ours || spool__path(spool, name, "", path) < 0 || rename(fetched, path) < 0)
		(void) unlink(fetched);
	if (fd >= 0)
		close(fd);
}

/*
 * How many segments may be fetched ahead: half as many as there is space for, because the
 * server must never find the disk full.
 */
uint64_t
spool__room(const struct spool *spool, uint32_t segment_bytes)
{
	struct statvfs file_system;

	if (statvfs(spool->path, &file_system) < 0)
		return 0;
	return file_system.f_bavail * file_system.f_frsize / segment_bytes / 2;
}

/* The path of a segment's file, or of another one beside it.  Returns 0 or -errno. */
int
spool__path(const struct spool *spool, const char *name, const char *suffix,
			char path[PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s/%s%s", spool->path, name, suffix) < PATH_MAX ? 0 :
		-ENAMETOOLONG;
}

/*
 * Is a file the complete segment of that name, and of this cluster?  Only its first page
 * is examined: redo verifies the rest.
 */
bool
spool__is_segment(const struct spool *spool, const char *path, const char *name,
				  struct spool_segment *segment)
{
	struct wal_long_page_header header;
	const struct wal_format *format;
	struct stat st;
	bool		complete;
	int			fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return false;
	complete = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		pread(fd, &header, sizeof(header), 0) == (ssize_t) sizeof(header);
	close(fd);
	if (!complete || header.segment_bytes < WAL_SEGMENT_MIN_BYTES ||
		header.segment_bytes > WAL_SEGMENT_MAX_BYTES ||
		(header.segment_bytes & (header.segment_bytes - 1)) != 0 ||
		st.st_size != (off_t) header.segment_bytes ||
		!wal_segments__parse(name, header.segment_bytes, &segment->timeline, &segment->number))
		return false;
	segment->bytes = header.segment_bytes;
	format = wal_format__of_page(header.page.magic);
	return format != NULL &&
		wal_page__problem(&header, &(struct wal_page_expected)
						  {
							  .lsn = segment->number * segment->bytes,
								  .magic = format->page_magic,
								  .system_identifier = spool->system_identifier != 0 ?
								  spool->system_identifier : header.system_identifier,
								  .segment_bytes = segment->bytes,
								  .page_bytes = header.page_bytes,
						  }) == NULL;
}

/*
 * Lock a file, as flock(), within a time in us; UINT64_MAX: however long it takes.  Returns 0,
 * -EWOULDBLOCK after that time, or -errno.
 */
static int
lock_within(int fd, int operation, uint64_t wait_us)
{
	uint64_t	begin_us = clock__now_us();

	while (flock(fd, operation | (wait_us == UINT64_MAX ? 0 : LOCK_NB)) < 0)
	{
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (clock__now_us() - begin_us >= wait_us)
			return -EWOULDBLOCK;
		nanosleep(&(struct timespec) {.tv_nsec = LOCK_WAIT_US * 1000}, NULL);
	}
	return 0;
}

/*
 * Lock a segment, to fetch it.  Returns a descriptor, or -EWOULDBLOCK if somebody else
 * has it locked for so long, in us, or -errno.
 */
int
spool__lock(const struct spool *spool, const char *name, uint64_t wait_us)
{
	char		path[PATH_MAX];
	struct stat locked;
	struct stat present;
	int			lock;
	int			err;

	if (spool__path(spool, name, ".lock", path) < 0)
		return -ENAMETOOLONG;
	for (;;)
	{
		lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (lock < 0)
			return -errno;
		err = lock_within(lock, LOCK_EX, wait_us);
		if (err < 0)
		{
			close(lock);
			return err;
		}
		/* Whoever had it may have removed the file. */
		if (fstat(lock, &locked) == 0 && stat(path, &present) == 0 &&
			locked.st_ino == present.st_ino)
			return lock;
		close(lock);
	}
}

void
spool__unlock(const struct spool *spool, const char *name, int lock)
{
	char		path[PATH_MAX];

	if (spool__path(spool, name, ".lock", path) == 0)
		(void) unlink(path);
	close(lock);
}

/* Wait until nobody fetches a segment. */
void
spool__wait(const struct spool *spool, const char *name)
{
	char		path[PATH_MAX];
	int			lock;

	if (spool__path(spool, name, ".lock", path) < 0)
		return;
	lock = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (lock < 0)
		return;
	(void) lock_within(lock, LOCK_SH, UINT64_MAX);
	close(lock);
}

static int
lock_fetching(const struct spool *spool, int operation, uint64_t wait_us)
{
	char		path[PATH_MAX];
	int			fd;
	int			err = spool__path(spool, FETCHING_NAME, "", path);

	if (err < 0)
		return err;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	err = lock_within(fd, operation, wait_us);
	if (err == 0)
		return fd;
	close(fd);
	return err;
}

/*
 * Begin to fetch ahead.  Returns a descriptor, or -errno.  Each process that fetches keeps a copy
 * of it open.
 */
int
spool__begin_fetching(const struct spool *spool)
{
	return lock_fetching(spool, LOCK_SH, BEGIN_WAIT_US);
}

/* Does no process fetch ahead, now or within so long, us? */
bool
spool__is_idle(const struct spool *spool, uint64_t wait_us)
{
	int			fd = lock_fetching(spool, LOCK_EX, wait_us);

	if (fd >= 0)
		close(fd);
	return fd != -EWOULDBLOCK;
}

/*
 * Does somebody read segments of the spool who prefetches for this server?  He holds a
 * lock on the directory (follow/stream.c).
 */
bool
spool__is_followed(const struct spool *spool)
{
	int			fd = open(spool->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool		followed = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return followed;
}

/*
 * Remove segments that the server will not request any more: those up to the present
 * one, and those further ahead than "ahead", left by an earlier recovery.  What is being
 * fetched stays.
 */
void
spool__clean(const struct spool *spool, const struct spool_segment *present, unsigned ahead)
{
	DIR		   *directory = opendir(spool->path);
	struct dirent *entry;

	while (directory != NULL && (entry = readdir(directory)) != NULL)
	{
		char		name[WAL_SEGMENT_NAME_LENGTH + 1];
		char		path[PATH_MAX];
		uint32_t	timeline;
		uint64_t	number;
		int			lock;

		if (!wal_segments__parse(entry->d_name, present->bytes, &timeline, &number) ||
			(timeline == present->timeline && number > present->number &&
			 number <= present->number + ahead))
			continue;
		snprintf(name, sizeof(name), "%.*s", WAL_SEGMENT_NAME_LENGTH, entry->d_name);
		lock = spool__lock(spool, name, 0);
		if (lock < 0)
			continue;
		if (strcmp(entry->d_name + WAL_SEGMENT_NAME_LENGTH, ".lock") != 0 &&
			spool__path(spool, entry->d_name, "", path) == 0)
			(void) unlink(path);
		spool__unlock(spool, name, lock);
	}
	if (directory != NULL)
		closedir(directory);
}
