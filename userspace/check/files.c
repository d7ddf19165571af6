/*
 * files.c
 *		Needs of the data directory: owner and mode, control file, page cache.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check/check_internal.h"
#include "cluster/tablespaces.h"
#include "engine/backend.h"
#include "engine/residency.h"

/* Room for the name of a type of file system, bytes. */
#define TYPE_BYTES		64

/* Rights on the data directory with which the server refuses to start. */
#define FORBIDDEN_MODE	(S_IWGRP | S_IRWXO)

/* Name of a user, or the number. */
static void
find_user(uid_t uid, char name[CHECK_USER_BYTES])
{
	struct passwd *user = getpwuid(uid);

	if (user != NULL)
		snprintf(name, CHECK_USER_BYTES, "%s", user->pw_name);
	else
		snprintf(name, CHECK_USER_BYTES, "%u", (unsigned) uid);
}

/* What a command that does something as a user begins with. */
void
check__sudo(char sudo[CHECK_SUDO_BYTES], uid_t uid)
{
	char		user[CHECK_USER_BYTES];

	find_user(uid, user);
	snprintf(sudo, CHECK_SUDO_BYTES, isdigit((unsigned char) user[0]) ? "sudo -u '#%s' " :
			 "sudo -u %s ", user);
}

/*
 * What a command that changes a file begins with.  Where nobody but root could put a link in
 * the place of the file, or of a directory that it is in, root need not become the owner, who
 * may have no right to change it.
 */
const char *
check__as_owner(const struct check *check, const char *path)
{
	char		part[PATH_MAX];
	struct stat st;

	snprintf(part, sizeof(part), "%s", path);
	while (lstat(part, &st) == 0 && st.st_uid == 0 && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
	{
		if (strcmp(part, "/") == 0)
			return "";
		dirname(part);
	}
	return check->as_owner;
}

/* Owner and mode: those with which the server starts, and with which the daemon may work. */
void
check__data_directory(struct check *check)
{
	const char *path = check->cluster.path;
	const char *word = check->pgdata;
	struct needs *needs = &check->needs;
	char		owner[CHECK_USER_BYTES];
	char		user[CHECK_USER_BYTES];
	char		sudo[CHECK_SUDO_BYTES];
	struct stat st;
	struct stat socket;

	find_user(check->cluster.uid, owner);
	find_user(geteuid(), user);
	if (fstat(check->cluster.dirfd, &st) < 0)
		st.st_mode = 0;
	if (check->cluster.uid == 0)
	{
		needs__add(needs, "data_directory", NEED_PROBLEM,
				   "%s belongs to root, as whom no server runs", path);
		needs__remedy(needs, "chown -R postgres: %s", word);
	}
	else if ((st.st_mode & FORBIDDEN_MODE) != 0)
	{
		needs__add(needs, "data_directory", NEED_PROBLEM,
				   "%s has mode %04o, with which the server refuses to start", path,
				   (unsigned) st.st_mode & 07777);
		needs__remedy(needs, "%schmod 0700 %s", check->as_owner, word);
	}
	else if (!check->owner)
	{
		needs__add(needs, "data_directory", NEED_PROBLEM,
				   "%s belongs to %s, but this is %s, whom the daemon cannot work as", path, owner,
				   user);
		check__sudo(sudo, check->cluster.uid);
		needs__remedy(needs, "%sredoahead check -D %s", sudo, word);
	}
	else if (faccessat(check->cluster.dirfd, "pg_wal", R_OK | X_OK, AT_EACCESS) < 0)
	{
		needs__add(needs, "data_directory", NEED_PROBLEM,
				   "%s/pg_wal cannot be read: %s; the server does not start", path, strerror(errno));
		needs__remedy(needs, "see where the link leads, and who may read that: namei -l %s/pg_wal",
					  word);
	}
	else if (fstatat(check->cluster.dirfd, "pg_stat_tmp", &socket, 0) < 0 ||
			 !S_ISDIR(socket.st_mode) ||
			 faccessat(check->cluster.dirfd, "pg_stat_tmp", W_OK | X_OK, AT_EACCESS) < 0)
	{
		needs__add(needs, "data_directory", NEED_PROBLEM,
				   "%s/pg_stat_tmp, the place of the sockets, cannot be written to", path);
		needs__remedy(needs, "%sinstall -d -m 700 %s/pg_stat_tmp", check->as_owner, word);
	}
	else
		needs__add(needs, "data_directory", NEED_OK, "%s belongs to %s, mode %04o", path, owner,
				   (unsigned) st.st_mode & 07777);
}

/* The control file: readable, and what the next start of a server does. */
void
check__control_file(struct check *check)
{
	struct needs *needs = &check->needs;
	int			err = controlfile__read(&check->control, &check->cluster);
	bool		standby = faccessat(check->cluster.dirfd, "standby.signal", F_OK, 0) == 0;

	check->has_control = err == 0;
	if (err < 0)
	{
		needs__add(needs, "control_file", NEED_PROBLEM, "%s/global/pg_control: %s",
				   check->cluster.path, err == -EINVAL ? "cut off, or not of a PostgreSQL server" :
				   strerror(-err));
		needs__remedy(needs, "restore the data directory from a backup, or give another one with -D");
		return;
	}
	needs__add(needs, "control_file", NEED_OK, "blocks of %u bytes, WAL segments of %u MB; %s",
			   check->control.block_size, check->control.wal_segment_bytes / (1024 * 1024),
			   check->running ? standby ? "a standby runs" : "a server runs" :
			   standby ? "a start goes on with the replay of a standby" :
			   controlfile__needs_recovery(&check->control, &check->cluster) ?
			   "a start begins with recovery" : "it was shut down cleanly");
	needs__number(needs, "block_size", check->control.block_size);
	needs__number(needs, "wal_segment_size", check->control.wal_segment_bytes);
}

/* Tablespaces: all can be read. */
void
check__tablespaces(struct check *check)
{
	struct relpath_layout layout;
	char		hidden[NAME_MAX + 1];
	int			count;

	if (!check->has_control)
		return;
	layout = controlfile__layout(&check->control, &check->cluster);
	count = tablespaces__find_hidden(check->cluster.dirfd, layout.tablespace_dir, hidden);
	if (count >= 0)
	{
		needs__add(&check->needs, "tablespaces", NEED_OK, count == 0 ? "none outside of the data "
				   "directory" : count == 1 ? "one, which can be read" : "%d, which can be read",
				   count);
		return;
	}
	needs__add(&check->needs, "tablespaces", NEED_PROBLEM,
			   "%s/pg_tblspc/%s cannot be read: %s; no block of it is read ahead",
			   check->cluster.path, hidden, strerror(-count));
	needs__remedy(&check->needs, "see where the link leads, and who may read that: "
				  "namei -l %s/pg_tblspc/%s", check->pgdata, hidden);
}

/* The type of the file system that a file is on. */
static void
find_type(const struct statx *stx, char type[TYPE_BYTES])
{
	FILE	   *mounts = fopen("/proc/self/mountinfo", "re");
	char		line[4096];
	unsigned long long id;

	snprintf(type, TYPE_BYTES, "this file system");
	while (mounts != NULL && fgets(line, sizeof(line), mounts) != NULL)
	{
		char	   *separator = strstr(line, " - ");

		if (sscanf(line, "%llu", &id) == 1 && id == stx->stx_mnt_id && separator != NULL)
			(void) sscanf(separator + 3, "%63s", type);
	}
	if (mounts != NULL)
		fclose(mounts);
}

/* Does the kernel report what is in the page cache?  Where it does not, why? */
void
check__page_cache(struct check *check)
{
	struct needs *needs = &check->needs;
	struct relpath_layout layout = {0};
	struct statx stx = {0};
	char		type[TYPE_BYTES];
	char		byte;
	int			resident = -EBADF;
	int			fd = cluster__open_file(&check->cluster, "global/pg_control");

	if (check->has_control)
		layout = controlfile__layout(&check->control, &check->cluster);
	if (fd >= 0 && statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) == 0 &&
		pread(fd, &byte, 1, 0) == 1)
		resident = residency__of(fd, 0, 1);
	find_type(&stx, type);
	if (fd >= 0)
		close(fd);
	if ((stx.stx_attributes & STATX_ATTR_DAX) != 0)
	{
		needs__add(needs, "page_cache", NEED_WARNING,
				   "%s is mounted with dax: there is no page cache to read into", type);
		needs__remedy(needs, "mount it with dax=never, or go without redoahead");
	}
	else if (residency__works(check->cluster.dirfd, layout.tablespace_dir))
		needs__add(needs, "page_cache", NEED_OK, "on %s, the kernel reports what is resident", type);
	else if (resident == -ENOSYS)
	{
		needs__add(needs, "page_cache", NEED_WARNING, "the kernel has no cachestat(2), so with "
				   "little memory blocks are read twice, or stay too long");
		needs__remedy(needs, "use Linux 6.5 or later");
	}
	else if (resident < 0)
	{
		needs__add(needs, "page_cache", NEED_WARNING, "cachestat(2) is refused: %s",
				   strerror(-resident));
		needs__remedy(needs, resident == -EPERM && !check->owner ?
					  "run this as the owner of the data directory" :
					  "allow cachestat in the seccomp filter of the container");
	}
	else
	{
		needs__add(needs, "page_cache", NEED_WARNING, "on %s, the kernel does not report what is "
				   "resident, so with little memory blocks are read twice, or stay too long",
				   resident == RESIDENT_ALL ? "the file system of a tablespace" : type);
		needs__remedy(needs, "put the data on ext4, xfs or btrfs; in a container, on a volume");
	}
}
