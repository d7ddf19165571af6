/*
 * daemons.c
 *		Finds the programs of ours that prefetch for a cluster.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/daemons.h"
#include "cluster/processes.h"

/* Name of the program, as the kernel has it. */
#define PROGRAM			"redoahead"

/* The search for daemons. */
struct daemon_search
{
	const struct cluster *cluster;	/* that they serve */
	pid_t	   *pids;			/* found ones */
	unsigned	count;			/* how many */
	unsigned	max;			/* room for so many */
	bool		refused;		/* may another one, which must not be inspected, serve it? */
	bool		follows;		/* one of them is `redoahead follow` */
};

/* Has the process the data directory open? */
static bool
holds_directory(pid_t pid, const struct cluster *cluster, bool *refused)
{
	struct dirent *entry;
	struct stat st;
	char		path[64];
	bool		found = false;
	DIR		   *directory;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int) pid);
	directory = opendir(path);
	if (directory == NULL)
	{
		if (errno == EACCES || errno == EPERM)
			*refused = true;
		return false;
	}
	while (!found && (entry = readdir(directory)) != NULL)
		found = fstatat(dirfd(directory), entry->d_name, &st, 0) == 0 &&
			S_ISDIR(st.st_mode) && st.st_dev == cluster->device && st.st_ino == cluster->inode;
	closedir(directory);
	return found;
}

/*
 * Does a command line name the cluster's directory, by an absolute path?  `redoahead
 * follow` keeps no directory open while it waits for a recovery.
 */
static bool
names_directory(const char *command, size_t length, const struct cluster *cluster)
{
	const char *word = command;
	bool		is_value = false;
	struct stat st;

	for (; word < command + length; word += strlen(word) + 1)
	{
		const char *path = is_value ? word :
			strncmp(word, "--pgdata=", 9) == 0 ? word + 9 :
			strncmp(word, "-D", 2) == 0 ? word + 2 : "";

		if (path[0] == '/' && stat(path, &st) == 0 && st.st_dev == cluster->device &&
			st.st_ino == cluster->inode)
			return true;
		is_value = strcmp(word, "-D") == 0 || strcmp(word, "--pgdata") == 0;
	}
	return false;
}

static bool
visit_for_daemon(pid_t pid, void *argument)
{
	struct daemon_search *search = argument;
	char		command[4096] = "";
	const char *subcommand;
	char		name[32];
	size_t		length;
	bool		follows;

	if (pid == getpid() || processes__read(pid, "comm", name, sizeof(name)) == 0 ||
		strcmp(name, PROGRAM "\n") != 0)
		return false;
	length = processes__read(pid, "cmdline", command, sizeof(command));
	subcommand = command + strnlen(command, sizeof(command) - 2) + 1;
	follows = strcmp(subcommand, "follow") == 0;
	if (!follows && strcmp(subcommand, "serve") != 0 && strcmp(subcommand, "prefault") != 0 &&
		strcmp(subcommand, "restore") != 0)
		return false;
	/* Anybody may give a program this name. */
	if (!processes__is_of_owner(pid, search->cluster) ||
		(!(follows && names_directory(command, length, search->cluster)) &&
		 !holds_directory(pid, search->cluster, &search->refused)))
		return false;
	search->follows |= follows;
	search->pids[search->count++] = pid;
	return search->count == search->max;
}

/*
 * Programs of ours that read blocks of the cluster; returns how many.  Sets *refused if there
 * may be another one that this process must not inspect, and *follows if one of them is
 * `redoahead follow`, to which the server gives no references.
 */
unsigned
daemons__find(const struct cluster *cluster, pid_t *pids, unsigned max, bool *refused,
				   bool *follows)
{
	struct daemon_search search = {.cluster = cluster,.pids = pids,.max = max};

	processes__each(visit_for_daemon, &search);
	*refused = search.refused;
	*follows = search.follows;
	return search.count;
}
