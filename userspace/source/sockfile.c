/*
 * sockfile.c
 *		Makes a unix socket in the file system, for one daemon only.
 *
 * A lock on a file beside the socket excludes other daemons: the socket of a killed
 * daemon is replaced, that of a live daemon is not.  The socket is bound
 * through /proc/self/fd, because a socket address holds 107 bytes only and
 * data directories may have longer names.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/redoahead_abi.h"
#include "base/log.h"
#include "source/sockfile.h"

#define BACKLOG		64

/* An attempt that is repeated is not logged again. */
#define complain(options, ...) \
	log__write((options)->again ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR, __VA_ARGS__)

/* The name of a socket's directory. */
static void
name_directory(char directory[PATH_MAX], const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(directory, PATH_MAX, "%.*s/", slash != NULL ? (int) (slash - path) : 1,
			 slash != NULL ? path : ".");
}

/*
 * Can this process make a socket?  Returns 0 or -errno: -EROFS if the directory is there and only
 * its mount does not allow that.
 */
int
sockfile__check(const struct cluster *cluster, const char *path)
{
	char		directory[PATH_MAX];

	name_directory(directory, path);
	return faccessat(cluster->dirfd, directory, W_OK, 0) < 0 ? -errno : 0;
}

/* Open the socket's directory and note the names in it. */
static int
open_directory(struct sockfile *file, const struct cluster *cluster,
			   const struct sockfile_options *options)
{
	const char *path = options->path;
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	int			err;

	if (name[0] == '\0' || strlen(name) >= sizeof(file->name) ||
		strlen(path) >= sizeof(file->directory))
	{
		complain(options, "socket \"%s\": not a usable file name; give another one with %s", path,
				  options->option);
		return -ENAMETOOLONG;
	}
	snprintf(file->name, sizeof(file->name), "%s", name);
	snprintf(file->lock_name, sizeof(file->lock_name), "%s.lock", name);
	name_directory(file->directory, path);
	file->cluster = cluster;
	file->dirfd = openat(cluster->dirfd, file->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (file->dirfd < 0)
	{
		err = -errno;
		complain(options, "directory of socket \"%s\" cannot be opened: %s; create it or give "
				 "another socket with %s", path, strerror(-err), options->option);
		return err;
	}
	return 0;
}

/* Is the lock file still there, and the locked one? */
static bool
holds_lock(const struct sockfile *file)
{
	struct stat ours;
	struct stat theirs;

	return fstat(file->lock_fd, &ours) == 0 &&
		fstatat(file->dirfd, file->lock_name, &theirs, AT_SYMLINK_NOFOLLOW) == 0 &&
		ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

/*
 * Lock the lock file.  Its last owner may remove it between open and flock; then
 * the locked file is not the one that others see.
 */
static int
take_lock(struct sockfile *file, const struct sockfile_options *options)
{
	const char *path = options->path;

	for (;;)
	{
		char		owner[16] = "";
		ssize_t		n;
		int			err;

		file->lock_fd = openat(file->dirfd, file->lock_name,
							   O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
		if (file->lock_fd < 0)
		{
			err = -errno;
			complain(options, "lock file of socket \"%s\" cannot be opened: %s; %s", path,
					 strerror(-err), err == -EROFS ?
					 "add its directory to ReadWritePaths= of the unit; if it was replaced, restart this program" :
					 "check the permissions of its directory");
			return err;
		}
		if (flock(file->lock_fd, LOCK_EX | LOCK_NB) < 0)
		{
			err = -errno;
			n = pread(file->lock_fd, owner, sizeof(owner) - 1, 0);
			owner[n > 0 ? strspn(owner, "0123456789") : 0] = '\0';
			close(file->lock_fd);
			complain(options, "socket \"%s\" belongs to another redoahead (process %s); stop that one first",
					 path, owner[0] != '\0' ? owner : "unknown");
			return err;
		}
		if (holds_lock(file))
			return 0;
		close(file->lock_fd);
	}
}

/* Write our process id into the lock file, for the message of another daemon. */
static void
sign_lock(const struct sockfile *file)
{
	char		text[16];
	int			n = snprintf(text, sizeof(text), "%d\n", (int) getpid());

	if (ftruncate(file->lock_fd, 0) < 0 || pwrite(file->lock_fd, text, (size_t) n, 0) != n)
		log_debug("cannot write the lock file: %s", strerror(errno));
}

/* Remove a socket that nobody listens on. */
static int
remove_stale(const struct sockfile *file, const struct sockaddr_un *address,
			 const struct sockfile_options *options)
{
	const char *path = options->path;
	struct stat st;
	int			probe;
	int			alive;

	if (fstatat(file->dirfd, file->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
	{
		complain(options, "\"%s\" exists and is not a socket; remove it or give another one with %s",
				  path, options->option);
		return -EEXIST;
	}
	probe = socket(AF_UNIX, options->type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (probe < 0)
		return -errno;
	alive = connect(probe, (const struct sockaddr *) address, sizeof(*address)) == 0 ||
		errno != ECONNREFUSED;
	close(probe);
	if (alive)
	{
		complain(options, "another process listens on socket \"%s\"; stop it first", path);
		return -EADDRINUSE;
	}
	log_info("replacing socket \"%s\", which no process listens on", path);
	return unlinkat(file->dirfd, file->name, 0) < 0 ? -errno : 0;
}

/* Bind and listen. */
static int
make_socket(const struct sockfile *file, const struct sockfile_options *options)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int			fd = -1;
	int			err;

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s",
			 file->dirfd, file->name);
	err = remove_stale(file, &address, options);
	if (err < 0)
		return err;

	fd = socket(AF_UNIX, options->type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (const struct sockaddr *) &address, sizeof(address)) < 0 ||
		fchownat(file->dirfd, file->name, (uid_t) -1, options->gid, 0) < 0 ||
		fchmodat(file->dirfd, file->name, options->mode, 0) < 0 || listen(fd, BACKLOG) < 0)
	{
		err = -errno;
		complain(options, "cannot listen on socket \"%s\": %s; check its directory or give "
				 "another one with %s", options->path, strerror(-err), options->option);
		if (fd >= 0)
			close(fd);
		return err;
	}
	return fd;
}

/*
 * Listen on a socket; a path that is not absolute is relative to the data
 * directory, as it is for the server.  Returns the descriptor.
 */
int
sockfile__listen(struct sockfile *file, const struct cluster *cluster,
				 const struct sockfile_options *options)
{
	struct stat st;
	int			fd;

	fd = open_directory(file, cluster, options);
	if (fd < 0)
		return fd;
	fd = take_lock(file, options);
	if (fd < 0)
	{
		close(file->dirfd);
		return fd;
	}
	sign_lock(file);
	fd = make_socket(file, options);
	if (fd >= 0 && fstatat(file->dirfd, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		file->inode = st.st_ino;
	if (fd < 0)
	{
		unlinkat(file->dirfd, file->lock_name, 0);
		close(file->lock_fd);
		close(file->dirfd);
	}
	return fd;
}

/* Does the path lead to the lock file and the socket that were made? */
bool
sockfile__is_ours(const struct sockfile *file)
{
	struct stat ours;
	struct stat st;

	/* Another directory may be in the place of the socket's, or mounted over it. */
	return fstat(file->dirfd, &ours) == 0 &&
		fstatat(file->cluster->dirfd, file->directory, &st, 0) == 0 &&
		st.st_dev == ours.st_dev && st.st_ino == ours.st_ino && holds_lock(file) &&
		fstatat(file->dirfd, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		st.st_ino == file->inode;
}

/* Remove the socket and release the lock. */
void
sockfile__remove(struct sockfile *file)
{
	if (holds_lock(file))
	{
		unlinkat(file->dirfd, file->name, 0);
		unlinkat(file->dirfd, file->lock_name, 0);
	}
	close(file->lock_fd);
	close(file->dirfd);
}
