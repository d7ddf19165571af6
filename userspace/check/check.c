/*
 * check.c
 *		`redoahead check`: goes through the needs, and prints them.
 *
 * The data directory is opened with the rights that this program was started with; what
 * follows, except for the attempt to load a BPF program, runs as the owner of the data
 * directory, as the daemon would.  Needs no server that runs, and changes nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/version.h"
#include "check/check_internal.h"
#include "cluster/processes.h"
#include "cluster/serverstate.h"
#include "report/json.h"

/* All needs, in the order of the report. */
static void (*const needs[]) (struct check *check) = {
	check__data_directory,
	check__control_file,
	check__tablespaces,
	check__server,
	check__configuration,
	check__extension,
	check__settings,
	check__memory_settings,
	check__wal,
	check__uring,
	check__page_cache,
	check__memory,
	check__open_files,
	check__position,
	check__trace,
};

/* A size as text, in the largest unit of which it has one. */
void
check__size(char text[CHECK_SIZE_BYTES], uint64_t bytes)
{
	static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
	double		size = (double) bytes;
	size_t		unit = 0;

	for (; size >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
		size /= 1024;
	snprintf(text, CHECK_SIZE_BYTES, size < 999.5 ? "%.3g %s" : "%.0f %s", size, units[unit]);
}

/* A path as a word of a shell: in single quotes, if it needs any. */
void
check__word(char word[CHECK_WORD_BYTES], const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-+:@";
	char	   *to = word;

	if (path[0] != '\0' && path[strspn(path, plain)] == '\0')
	{
		snprintf(word, CHECK_WORD_BYTES, "%s", path);
		return;
	}
	*to++ = '\'';
	for (; *path != '\0' && to < word + CHECK_WORD_BYTES - 6; path++)
		if (*path == '\'')
			to = stpcpy(to, "'\\''");
		else
			*to++ = *path;
	*to++ = '\'';
	*to = '\0';
}

/* Print the report as JSON. */
static void
print_json(struct check *check)
{
	static const char *const commands[] = {
		[SERVER_UNKNOWN] = NULL,[SERVER_STOCK] = "follow",[SERVER_PATCHED] = "serve",
	};
	struct json_object *report = json_object_new_object();

	json__count(report, "version", 1);
	json__text(report, "program_version", REDOAHEAD_VERSION);
	json__text(report, "data_directory", check->cluster.path);
	json__count(report, "server_major", (uint64_t) check->cluster.major);
	json__text(report, "server_program", check->program[0] != '\0' ? check->program : NULL);
	json__text(report, "server_version", check->version[0] != '\0' ? check->version : NULL);
	json__text(report, "command", commands[check->kind]);
	json__text(report, "status", needs__status_name(needs__worst(&check->needs)));
	json__count(report, "problems", check->needs.counts[NEED_PROBLEM]);
	json__count(report, "warnings", check->needs.counts[NEED_WARNING]);
	json_object_object_add(report, "needs", json_object_get(check->needs.list));
	puts(json_object_to_json_string_ext(report, JSON_C_TO_STRING_PRETTY |
										JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(report);
}

/* Print the report; 0 or -errno. */
static int
print(struct check *check)
{
	struct winsize size = {0};

	if (check->options->json)
		print_json(check);
	else
	{
		if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
			size.ws_col = 0;
		needs__print(&check->needs, stdout, size.ws_col);
	}
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	log_error("the report cannot be written: %s; make room for it", strerror(errno));
	return -EIO;
}

/*
 * Report a directory of another user, which this process cannot enter.  What else is wrong
 * is reported when it is opened.
 */
static bool
is_closed_to_us(const char *path)
{
	struct stat st;

	if (geteuid() == 0 || stat(path, &st) < 0 || st.st_uid == geteuid() ||
		faccessat(AT_FDCWD, path, R_OK | X_OK, AT_EACCESS) == 0)
		return false;
	log_error("data directory \"%s\" belongs to user %u, this process runs as user %u; "
			  "start it as the owner or as root", path, (unsigned) st.st_uid,
			  (unsigned) geteuid());
	return true;
}

/* The command that connects to this server rather than to another one of the machine. */
static void
find_psql(struct check *check)
{
	struct processes_server server;
	char		directory[CHECK_WORD_BYTES];

	if (!serverstate__is_ready(&check->cluster) ||
		processes__server(&check->cluster, &server) < 0)
		return;
	check__word(directory, server.socket_directory);
	snprintf(check->psql, sizeof(check->psql), "psql -h %s -p %d", directory, server.port);
}

/*
 * Check, and print what was found.  Sets *problems if there is one.  Returns 0, or -errno
 * after a message if the data directory cannot be checked.
 */
int
check__run(const struct check_options *options, bool *problems)
{
	struct check check = {.options = options};
	int			err;

	if (is_closed_to_us(options->pgdata))
		return -EACCES;
	err = cluster__open(&check.cluster, options->pgdata);
	if (err < 0)
		return err;
	check__word(check.pgdata, check.cluster.path);
	err = cluster__check_owner(&check.cluster);
	if (err == 0)
		check__try_bpf(&check);
	if (err == 0 && geteuid() == 0)
	{
		check__sudo(check.as_owner, check.cluster.uid);
		err = cluster__become_owner(&check.cluster);
	}
	check.owner = geteuid() == check.cluster.uid;
	if (err == 0)
		err = needs__create(&check.needs);
	if (err == 0)
	{
		check.running = processes__postmaster(&check.cluster) > 0;
		find_psql(&check);
		err = startcommand__read(&check.start, &check.cluster);
		if (err < 0 && err != -ENOMEM)
			err = 0;
	}
	for (size_t i = 0; err == 0 && i < sizeof(needs) / sizeof(needs[0]); i++)
		needs[i] (&check);
	if (err == 0)
		err = print(&check);
	*problems = check.needs.counts[NEED_PROBLEM] > 0;
	startcommand__free(&check.start);
	config__free(&check.config);
	needs__destroy(&check.needs);
	cluster__close(&check.cluster);
	return err;
}
