/*
 * output.c
 *		A file that appears in the archive complete, or not at all.
 *
 * It is written under another name beside it, which is always the same one: what a process
 * that was killed has left is replaced by the next, and does not gather.  Whoever writes holds
 * a lock on it, so that two processes do not write to the same file; a server may run the
 * command again while an earlier one, of an archiver that is gone, still runs.  A file that
 * exists is never replaced.
 *
 * Locks may not reach other hosts that have the archive mounted.  A process there may remove
 * the file, and write its own under the temporary name.  So it is the open file that gets the
 * final name, not whatever has the temporary one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lesslog/output.h"

/* How often a file that another process removes at the same time is made anew. */
#define MAX_TRIES	100

/* Open the directory of a path.  Returns 0 or -errno; output__close() is always called. */
int
output__open(struct output *output, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	char		directory[PATH_MAX];

	*output = (struct output) {.dirfd = -1,.fd = -1};
	if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -EISDIR;
	if (strlen(name) + strlen(OUTPUT_SUFFIX) > NAME_MAX ||
		(slash != NULL && slash - path >= PATH_MAX))
		return -ENAMETOOLONG;
	snprintf(output->name, sizeof(output->name), "%s", name);
	snprintf(output->temporary, sizeof(output->temporary), "%s" OUTPUT_SUFFIX, name);
	if (slash == NULL)
		strcpy(directory, ".");
	else
		snprintf(directory, sizeof(directory), "%.*s", slash > path ? (int) (slash - path) : 1,
				 path);
	output->dirfd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return output->dirfd < 0 ? -errno : 0;
}

/*
 * Open the file if it exists.  Returns a descriptor or -errno: -ENOENT if it does not, -EEXIST
 * if it is not a regular file.
 */
int
output__existing(const struct output *output)
{
	int			fd = openat(output->dirfd, output->name,
							O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	int			err = 0;

	if (fd < 0 && errno == ENOENT &&
		fstatat(output->dirfd, output->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
		return -EEXIST;
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EEXIST;
	if (err == 0)
		return fd;
	close(fd);
	return err;
}

/* Has an open file this name?  Returns 0, or -ESTALE if it has not, or another -errno. */
static int
has_name(const struct output *output, int fd, const char *name)
{
	struct stat opened;
	struct stat named;

	if (fstat(fd, &opened) < 0)
		return -errno;
	if (fstatat(output->dirfd, name, &named, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino ? 0 : -ESTALE;
}

/*
 * Lock a file, and find out whether it has the temporary name still.  Returns 0; or
 * -EWOULDBLOCK if another process writes it, -ESTALE if it was removed, or another -errno.
 */
static int
lock(const struct output *output, int fd)
{
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	return has_name(output, fd, output->temporary);
}

/*
 * Remove what a process that was killed has left.  It is not written to: it may have the
 * name of a complete file, too.  Returns 0 or -errno.
 */
int
output__remove_leftover(const struct output *output)
{
	int			fd = openat(output->dirfd, output->temporary,
							O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int			err;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	err = lock(output, fd);
	if (err == 0 && unlinkat(output->dirfd, output->temporary, 0) < 0)
		err = -errno;
	close(fd);
	return err == -ENOENT || err == -ESTALE ? 0 : err;
}

/*
 * Create the file under its temporary name, to be written to.  Returns 0 or -errno,
 * -EWOULDBLOCK if another process writes it.
 */
int
output__create(struct output *output, mode_t mode)
{
	int			err = -EAGAIN;

	for (unsigned tries = 0; tries < MAX_TRIES; tries++)
	{
		int			fd = openat(output->dirfd, output->temporary,
								O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

		if (fd >= 0)
		{
			err = lock(output, fd);
			if (err == 0)
			{
				output->fd = fd;
				return 0;
			}
			/* Unless another process has it, it is ours to remove. */
			if (err != -EWOULDBLOCK && err != -ESTALE)
				(void) unlinkat(output->dirfd, output->temporary, 0);
			close(fd);
		}
		else if (errno == EEXIST)
			err = output__remove_leftover(output);
		else
			err = -errno;
		if (err < 0 && err != -ESTALE)
			break;
	}
	return err;
}

/* Have a file on disk, and nothing of it in the page cache.  Returns 0 or -errno. */
int
output__sync(int fd)
{
	if (fsync(fd) < 0)
		return -errno;
	(void) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return 0;
}

/* Does this error mean that the file system has no such operation? */
static bool
is_unsupported(int err)
{
	return err == EINVAL || err == ENOSYS || err == EOPNOTSUPP || err == EPERM || err == EMLINK;
}

/* Remove the temporary name, if it is that of our file. */
static void
remove_temporary(const struct output *output)
{
	if (has_name(output, output->fd, output->temporary) == 0)
		(void) unlinkat(output->dirfd, output->temporary, 0);
}

/*
 * Give the file its name by means of the temporary one.  If that becomes another file's at
 * the same time, it is noticed, but not prevented.  Returns 0 or -errno, as output__publish().
 */
static int
rename_temporary(const struct output *output)
{
	int			dirfd = output->dirfd;
	int			err = has_name(output, output->fd, output->temporary);

	if (err < 0)
		return err;
	if (renameat2(dirfd, output->temporary, dirfd, output->name, RENAME_NOREPLACE) < 0)
	{
		if (!is_unsupported(errno))
			return -errno;
		if (linkat(dirfd, output->temporary, dirfd, output->name, 0) == 0)
			remove_temporary(output);
		else if (!is_unsupported(errno))
			return -errno;
		/* Of our own processes, none makes the file now: we hold the lock. */
		else if (faccessat(dirfd, output->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return -EEXIST;
		else if (errno != ENOENT)
			return -errno;
		else if (renameat(dirfd, output->temporary, dirfd, output->name) < 0)
			return -errno;
	}
	return has_name(output, output->fd, output->name);
}

/*
 * Give the complete file its name.  Returns 0 or -errno: -EEXIST if there is a file of that
 * name, -ESTALE if the open file has no name any more.
 */
int
output__publish(struct output *output)
{
	char		opened[32];
	int			err = 0;

	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", output->fd);
	if (linkat(AT_FDCWD, opened, output->dirfd, output->name, AT_SYMLINK_FOLLOW) == 0)
		remove_temporary(output);
	else if (errno == EEXIST || errno == ESTALE)
		err = -errno;
	/* A file without a name cannot get one; or there is no /proc. */
	else if (errno == ENOENT && faccessat(AT_FDCWD, opened, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		err = -ESTALE;
	else
		err = rename_temporary(output);
	if (err < 0)
		return err;
	close(output->fd);
	output->fd = -1;
	return 0;
}

/* Have the names of files on disk.  Returns 0 or -errno. */
int
output__sync_directory(const struct output *output)
{
	/* Some file systems do not synchronize directories, and have no need to. */
	return fsync(output->dirfd) < 0 && errno != EINVAL ? -errno : 0;
}

/* Remove the file if it has not got its name. */
void
output__close(struct output *output)
{
	if (output->fd >= 0)
	{
		remove_temporary(output);
		close(output->fd);
	}
	if (output->dirfd >= 0)
		close(output->dirfd);
	output->fd = output->dirfd = -1;
}
