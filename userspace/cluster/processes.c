/*
 * processes.c
 *		Finds the processes of a cluster: its postmaster, the startup process, the
 *		daemons that serve it.
 *
 * Reads postmaster.pid and /proc only.  A process may have ended before the caller
 * uses its number.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cluster/processes.h"

/* Read a small file of the cluster whole; returns its length, 0 if that is not possible. */
static size_t
read_of_cluster(const struct cluster *cluster, const char *name, char *text, size_t size)
{
	int			n = cluster__read_file(cluster, name, text, size - 1);

	if (n < 0)
		n = 0;
	text[n] = '\0';
	return (size_t) n;
}

/* The same of a file of a process, in /proc. */
size_t
processes__read(pid_t pid, const char *name, char *text, size_t size)
{
	char		path[64];
	ssize_t		n;
	int			fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int) pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, size - 1);
	if (fd >= 0)
		close(fd);
	if (n < 0)
		n = 0;
	text[n] = '\0';
	return (size_t) n;
}

/* Does a process run as the owner of the cluster, as all of its server do? */
bool
processes__is_of_owner(pid_t pid, const struct cluster *cluster)
{
	char		text[2048];
	const char *ids;
	unsigned	real;
	unsigned	effective;

	if (processes__read(pid, "status", text, sizeof(text)) == 0 ||
		(ids = strstr(text, "\nUid:")) == NULL ||
		sscanf(ids, "\nUid: %u %u", &real, &effective) != 2)
		return false;
	return real == cluster->uid && effective == cluster->uid;
}

/* Does a process work in the cluster's directory, as postmasters do?  True if that cannot be read. */
static bool
works_there(pid_t pid, const struct cluster *cluster)
{
	struct stat there;
	struct stat here;
	char		path[64];

	snprintf(path, sizeof(path), "/proc/%d/cwd", (int) pid);
	if (stat(path, &there) < 0)
		return errno == EACCES || errno == EPERM;
	return fstat(cluster->dirfd, &here) == 0 && here.st_dev == there.st_dev &&
		here.st_ino == there.st_ino;
}

/* The number in the postmaster's file, 0 if there is none. */
static pid_t
read_number(const struct cluster *cluster)
{
	char		text[32];
	long		pid;

	if (read_of_cluster(cluster, "postmaster.pid", text, sizeof(text)) == 0)
		return 0;
	/* A standalone backend writes its number with a minus. */
	pid = labs(strtol(text, NULL, 10));
	return pid <= INT32_MAX ? (pid_t) pid : 0;
}

/*
 * The postmaster that runs on the cluster, 0 if there is none.  After a crash the
 * number in its file may be that of another process, and the owner may write any.
 */
pid_t
processes__postmaster(const struct cluster *cluster)
{
	pid_t		pid = read_number(cluster);

	return pid > 0 && processes__is_of_owner(pid, cluster) && works_there(pid, cluster) ? pid : 0;
}

/* The same, if it cannot be found because /proc hides processes of other groups (hidepid). */
pid_t
processes__hidden(const struct cluster *cluster)
{
	pid_t		pid = read_number(cluster);
	char		text[32];

	return pid > 0 && processes__read(pid, "status", text, sizeof(text)) == 0 &&
		kill(pid, 0) == 0 ? pid : 0;
}

/* How to reach the server that runs on the cluster; -ENOENT if none does that has a socket. */
int
processes__server(const struct cluster *cluster, struct processes_server *server)
{
	pid_t		postmaster = processes__postmaster(cluster);
	char		path[64];
	char		text[8192];
	char	   *lines[6] = {text};
	char	   *slash;
	ssize_t		n;

	/* Its number, its directory, when it began, port, socket's directory, and more. */
	if (postmaster == 0 ||
		read_of_cluster(cluster, "postmaster.pid", text, sizeof(text)) == 0)
		return -ENOENT;
	for (int i = 1; i < 6; i++)
	{
		lines[i] = strchr(lines[i - 1], '\n');
		if (lines[i] == NULL)
			return -ENOENT;
		*lines[i]++ = '\0';
	}
	if (lines[4][0] == '\0')
		return -ENOENT;
	server->port = (int) strtol(lines[3], NULL, 10);
	snprintf(path, sizeof(path), "/proc/%d/exe", (int) postmaster);
	n = readlink(path, server->psql, sizeof(server->psql) - sizeof("psql"));
	if (n < 0)
		return -errno;
	server->psql[n] = '\0';
	slash = strrchr(server->psql, '/');
	if (slash == NULL)
		return -ENOENT;
	memcpy(slash + 1, "psql", sizeof("psql"));
	/* As set, so it may be relative to the data directory. */
	n = snprintf(server->socket_directory, sizeof(server->socket_directory), "%s%s%s",
				 strchr("/@", lines[4][0]) ? "" : cluster->path,
				 strchr("/@", lines[4][0]) ? "" : "/", lines[4]);
	return n < (ssize_t) sizeof(server->socket_directory) ? 0 : -ENAMETOOLONG;
}

/* A field of /proc/PID/stat behind the name of the program; field 3 is the first. */
static bool
read_stat(pid_t pid, int field, unsigned long long *value)
{
	char		text[1024];
	char	   *at;

	if (processes__read(pid, "stat", text, sizeof(text)) == 0 ||
		(at = strrchr(text, ')')) == NULL)
		return false;
	for (; field > 2 && at != NULL; field--)
		at = strchr(at + 1, ' ');
	if (at == NULL)
		return false;
	*value = strtoull(at, NULL, 10);
	return true;
}

/*
 * Call a function for each child of a process until it returns true.  False if the kernel
 * does not list children.
 */
static bool
each_child(pid_t parent, bool (*visit) (pid_t pid, void *argument), void *argument)
{
	char		path[64];
	FILE	   *file;
	int			child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int) parent, (int) parent);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	while (fscanf(file, "%d", &child) == 1 && !visit((pid_t) child, argument))
		;
	fclose(file);
	return true;
}

/* Call a function for each process until it returns true. */
void
processes__each(bool (*visit) (pid_t pid, void *argument), void *argument)
{
	struct dirent *entry;
	DIR		   *directory;

	directory = opendir("/proc");
	if (directory == NULL)
		return;
	while ((entry = readdir(directory)) != NULL)
		if (isdigit((unsigned char) entry->d_name[0]) &&
			visit((pid_t) strtol(entry->d_name, NULL, 10), argument))
			break;
	closedir(directory);
}

/*
 * The text behind the name of a server process in its title, NULL if it is the title of
 * another one: "postgres: NAME ..." or "postgres: CLUSTER NAME: NAME ...".
 */
const char *
processes__activity(const char *title, const char *name)
{
	static const char program[] = "postgres: ";
	size_t		length = strlen(name);
	const char *text = NULL;

	if (strncmp(title, program, strlen(program)) == 0)
		text = title + strlen(program);
	for (; text != NULL; text = strstr(text, ": "))
	{
		text += strncmp(text, ": ", 2) == 0 ? 2 : 0;
		/* The name of a cluster may begin with that of a process. */
		if (strncmp(text, name, length) == 0 && (text[length] == ' ' || text[length] == '\0') &&
			strstr(text + length, ": ") == NULL)
			return text + length;
	}
	return NULL;
}

/* The search for a startup process. */
struct startup_search
{
	const struct cluster *cluster;	/* of its server */
	pid_t		postmaster;		/* its parent */
	pid_t		found;			/* 0: not found */
};

static bool
visit_for_startup(pid_t pid, void *argument)
{
	struct startup_search *search = argument;
	unsigned long long parent;
	char		title[256];

	if (!read_stat(pid, 4, &parent) || (pid_t) parent != search->postmaster)
		return false;
	if (processes__read(pid, "cmdline", title, sizeof(title)) == 0 ||
		processes__activity(title, "startup") == NULL || !processes__is_of_owner(pid, search->cluster))
		return false;
	search->found = pid;
	return true;
}

/* The startup process of a postmaster, 0 if there is none. */
pid_t
processes__startup(const struct cluster *cluster, pid_t postmaster)
{
	struct startup_search search = {.cluster = cluster,.postmaster = postmaster};

	if (postmaster <= 0)
		return 0;
	if (!each_child(postmaster, visit_for_startup, &search))
		processes__each(visit_for_startup, &search);
	return search.found;
}

struct children_visit
{
	processes_visitor visit;	/* takes each of them */
	void	   *argument;		/* is passed to it */
	bool		refused;		/* this process may not see what a child has read */
};

static bool
visit_child(pid_t pid, void *argument)
{
	struct children_visit *visit = argument;
	unsigned long long bytes = 0;
	const char *line;
	char		title[256];
	char		text[512];

	if (processes__read(pid, "cmdline", title, sizeof(title)) == 0)
		return false;
	line = processes__read(pid, "io", text, sizeof(text)) > 0 ? strstr(text, "\nread_bytes: ") : NULL;
	if ((line == NULL || sscanf(line, "\nread_bytes: %llu", &bytes) != 1) && kill(pid, 0) == 0)
		visit->refused = true;
	visit->visit(title, bytes, visit->argument);
	return false;
}

/*
 * Call a function for each child of the cluster's postmaster.  Returns 0, -ESRCH if no server is
 * visible, -EOPNOTSUPP if the kernel does not list children, or -EACCES if this process may not
 * see what one of them has read.
 */
int
processes__children(const struct cluster *cluster, processes_visitor visit, void *argument)
{
	struct children_visit each = {.visit = visit,.argument = argument};
	pid_t		postmaster = processes__postmaster(cluster);

	if (postmaster <= 0)
		return -ESRCH;
	if (!each_child(postmaster, visit_child, &each))
		return -EOPNOTSUPP;
	return each.refused ? -EACCES : 0;
}

static bool
visit_any(pid_t pid, void *found)
{
	(void) pid;
	*(bool *) found = true;
	return true;
}

/* Has a process a child?  Where the kernel keeps no list of them, it has none. */
bool
processes__has_child(pid_t pid)
{
	bool		found = false;

	(void) each_child(pid, visit_any, &found);
	return found;
}

/*
 * Has a process mapped a file whose path, as in /proc, has this text?  Returns 1 or 0, or -errno
 * if that is not known.
 */
int
processes__maps(pid_t pid, const char *text)
{
	char		path[64];
	char		line[PATH_MAX + 128];
	FILE	   *maps;
	int			lines = 0;
	int			found = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int) pid);
	maps = fopen(path, "re");
	if (maps == NULL)
		return -errno;
	for (; found == 0 && fgets(line, sizeof(line), maps) != NULL; lines++)
		found = strstr(line, text) != NULL;
	fclose(maps);
	/* Of one that has just ended, there is nothing. */
	return lines == 0 ? -ESRCH : found;
}

/*
 * When a process was started, in clock ticks since the machine was; 0 if there is none.  That
 * distinguishes it from another process with the same number.
 */
uint64_t
processes__start_ticks(pid_t pid)
{
	unsigned long long start;

	return read_stat(pid, 22, &start) ? start : 0;
}

/* Time since a process was started, us, with the kernel's precision of 10 ms. */
int
processes__age_us(pid_t pid, uint64_t *age_us)
{
	unsigned long long start;
	struct timespec now;
	uint64_t	start_us;
	uint64_t	now_us;

	if (!read_stat(pid, 22, &start) || clock_gettime(CLOCK_BOOTTIME, &now) < 0)
		return -ESRCH;
	start_us = start * 1000000 / (uint64_t) sysconf(_SC_CLK_TCK);
	now_us = (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
	*age_us = now_us > start_us ? now_us - start_us : 0;
	return 0;
}
