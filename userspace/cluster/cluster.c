/*
 * cluster.c
 *		A PostgreSQL data directory: its owner, major version and system
 *		identifier.
 *
 * Logs what is wrong with the directory.  relpath.c has the paths of relations,
 * processes.c the running processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/cluster.h"
#include "base/log.h"

/*
 * Open a file of the cluster for reading, with the rights of its owner, who may have
 * put a link there.
 */
int
cluster__open_file(const struct cluster *cluster, const char *name)
{
	bool		drop = geteuid() == 0 && cluster->uid != 0;
	int			fd = -1;

	errno = EPERM;
	if (drop)
	{
		setfsgid(cluster->gid);
		setfsuid(cluster->uid);
	}
	/* They report no error; whether it worked is what the next call reports. */
	if (!drop || (setfsuid((uid_t) -1) == (int) cluster->uid &&
				  setfsgid((gid_t) -1) == (int) cluster->gid))
		fd = openat(cluster->dirfd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		fd = -errno;
	if (drop)
	{
		setfsuid(geteuid());
		setfsgid(getegid());
	}
	return fd;
}

/* Read up to size bytes of a small file of the cluster; returns how many. */
int
cluster__read_file(const struct cluster *cluster, const char *name, void *data, size_t size)
{
	ssize_t		n;
	int			fd;

	fd = cluster__open_file(cluster, name);
	if (fd < 0)
		return fd;
	do
		n = pread(fd, data, size, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		n = -errno;
	close(fd);
	return (int) n;
}

/*
 * The major version of the cluster.  Read each time, because pg_upgrade may have
 * put another cluster under the same path.
 */
int
cluster__major(const struct cluster *cluster)
{
	char		text[16];
	char	   *end;
	long		major;
	int			n;

	n = cluster__read_file(cluster, "PG_VERSION", text, sizeof(text) - 1);
	if (n < 0)
		return n;
	text[n] = '\0';
	errno = 0;
	major = strtol(text, &end, 10);
	if (end == text || errno != 0 || major <= 0 || major > 1000 ||
		(*end != '\n' && *end != '\0' && *end != '.'))
		return -EINVAL;
	return (int) major;
}

/* The system identifier, from the first bytes of global/pg_control. */
int
cluster__system_identifier(const struct cluster *cluster, uint64_t *identifier)
{
	int			n;

	n = cluster__read_file(cluster, "global/pg_control", identifier, sizeof(*identifier));
	if (n < 0)
		return n;
	return n == (int) sizeof(*identifier) ? 0 : -ENODATA;
}

/* Open a directory and check that it is a data directory.  Returns 0, or -errno with a message. */
int
cluster__try(struct cluster *cluster, const char *path, char message[CLUSTER_MESSAGE_BYTES])
{
	uint64_t	identifier;
	struct stat st;
	int			err;

	cluster->dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cluster->dirfd < 0)
	{
		err = -errno;
		snprintf(message, CLUSTER_MESSAGE_BYTES,
				 "data directory \"%s\" cannot be opened: %s; give an existing one with -D",
				 path, strerror(-err));
		return err;
	}
	if (fstat(cluster->dirfd, &st) < 0 || realpath(path, cluster->path) == NULL)
	{
		err = -errno;
		snprintf(message, CLUSTER_MESSAGE_BYTES,
				 "data directory \"%s\" cannot be examined: %s; check its permissions",
				 path, strerror(-err));
		goto fail;
	}
	cluster->device = st.st_dev;
	cluster->inode = st.st_ino;
	cluster->uid = st.st_uid;
	cluster->gid = st.st_gid;
	cluster->mode = st.st_mode;

	err = cluster->major = cluster__major(cluster);
	if (err < 0)
	{
		snprintf(message, CLUSTER_MESSAGE_BYTES,
				 "\"%s\" is not a PostgreSQL data directory: its PG_VERSION: %s; "
				 "give the directory that initdb made with -D",
				 path, err == -EINVAL ? "not a version number" : strerror(-err));
		goto fail;
	}
	if (cluster->major < CLUSTER_MIN_MAJOR || cluster->major > CLUSTER_MAX_MAJOR)
	{
		snprintf(message, CLUSTER_MESSAGE_BYTES,
				 "data directory \"%s\" is of PostgreSQL %d, this program knows %d to %d; "
				 "install a redoahead that knows it",
				 path, cluster->major, CLUSTER_MIN_MAJOR, CLUSTER_MAX_MAJOR);
		err = -EPROTONOSUPPORT;
		goto fail;
	}
	err = cluster__system_identifier(cluster, &identifier);
	if (err < 0)
	{
		snprintf(message, CLUSTER_MESSAGE_BYTES,
				 "\"%s\" is not a PostgreSQL data directory: its global/pg_control: %s; "
				 "give the directory that initdb made with -D",
				 path, err == -ENODATA ? "too short" : strerror(-err));
		goto fail;
	}
	return 0;

fail:
	cluster__close(cluster);
	return err;
}

/* The same; the message is logged. */
int
cluster__open(struct cluster *cluster, const char *path)
{
	char		message[CLUSTER_MESSAGE_BYTES];
	int			err = cluster__try(cluster, path, message);

	if (err < 0)
		log_error("%s", message);
	return err;
}

/* Does the path still lead to the directory that was opened? */
bool
cluster__is_at(const struct cluster *cluster, const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_dev == cluster->device && st.st_ino == cluster->inode;
}

/* Close the directory. */
void
cluster__close(struct cluster *cluster)
{
	if (cluster->dirfd >= 0)
		close(cluster->dirfd);
	cluster->dirfd = -1;
}

/*
 * Refuse a directory of root's that others can write to, such as /tmp: the path may be another
 * user's, and lead to files that this user has made; and for root's directory no rights are
 * dropped.
 */
int
cluster__check_owner(const struct cluster *cluster)
{
	if (cluster->uid != 0 || (cluster->mode & (S_IWGRP | S_IWOTH)) == 0)
		return 0;
	log_error("data directory \"%s\" belongs to root, and others can write to it; give the "
			  "directory of a server with -D", cluster->path);
	return -EPERM;
}

/* Become the owner of the cluster, if this process runs as root. */
int
cluster__become_owner(const struct cluster *cluster)
{
	int			err = cluster__check_owner(cluster);

	if (err < 0)
		return err;
	if (geteuid() == cluster->uid && getuid() == cluster->uid)
		return 0;
	if (geteuid() != 0)
	{
		log_error("data directory \"%s\" belongs to user %u, this process runs as user %u; "
				  "start it as the owner or as root",
				  cluster->path, (unsigned) cluster->uid, (unsigned) geteuid());
		return -EPERM;
	}
	if (setgroups(0, NULL) < 0 ||
		setresgid(cluster->gid, cluster->gid, cluster->gid) < 0 ||
		setresuid(cluster->uid, cluster->uid, cluster->uid) < 0)
	{
		err = -errno;
		log_error("cannot become user %u, the owner of \"%s\": %s; start as that user",
				  (unsigned) cluster->uid, cluster->path, strerror(-err));
		return err;
	}
	return 0;
}
