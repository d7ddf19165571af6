/*
 * server.c
 *		Needs of the server's program: version, patches, and the extension's library.
 *
 * The program's name comes from files of the data directory's owner.  So it is never run
 * as root, nor if another user than root or the owner could have replaced it; whether it is
 * patched is read from its symbols, in a child without rights.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confined.h"
#include "check/check_internal.h"
#include "cluster/processes.h"
#include "cluster/symbol.h"

/* A function of patched servers, which the extension calls. */
#define HOOK			"RegisterXLogPrefetchRoutine"

/* A variable of all servers. */
#define COMMON_SYMBOL	"error_context_stack"

/* How long the program may take to print its version, ms. */
#define VERSION_MS		5000

/* Where packages and builds have the program; %d is the major version. */
static const char *const usual_paths[] = {
	"/usr/lib/postgresql/%d/bin/postgres",
	"/usr/pgsql-%d/bin/postgres",
	"/usr/local/pgsql/bin/postgres",
	"/usr/local/bin/postgres",
	"/usr/bin/postgres",
};

/* Could no other user than root and this one have changed the file, or replaced it? */
static bool
is_trusted(const char *path)
{
	const mode_t others = S_IWGRP | S_IWOTH;
	char		target[PATH_MAX];
	struct stat file;
	struct stat parent;

	return realpath(path, target) != NULL && stat(target, &file) == 0 &&
		stat(dirname(target), &parent) == 0 &&
		(file.st_uid == 0 || file.st_uid == geteuid()) &&
		(parent.st_uid == 0 || parent.st_uid == geteuid()) &&
		(file.st_mode & others) == 0 &&
		((parent.st_mode & others) == 0 || (parent.st_mode & S_ISVTX) != 0);
}

/* In the child: run the program with its output in the pipe. */
static _Noreturn void
print_version(const char *program, int output)
{
	static const char *const arguments[] = {"postgres", "--version", NULL};
	int			null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0 &&
		dup2(output, STDOUT_FILENO) >= 0)
		(void) confined__exec(program, arguments);
	_exit(127);
}

/* Read what the program prints until it ends or its time is over; returns how much. */
static size_t
read_output(int fd, char *text, size_t size)
{
	struct pollfd readable = {.fd = fd,.events = POLLIN};
	size_t		length = 0;
	ssize_t		n = 1;

	while (n > 0 && length < size - 1 && poll(&readable, 1, VERSION_MS) > 0)
	{
		n = read(fd, text + length, size - 1 - length);
		length += n > 0 ? (size_t) n : 0;
	}
	text[length] = '\0';
	return length;
}

/* The version that a program prints, as in "18.6"; empty if it prints none. */
static void
find_version(const char *program, char version[64])
{
	static const char before[] = "postgres (PostgreSQL) ";
	char		text[256];
	int			ends[2];
	pid_t		child;

	version[0] = '\0';
	if (geteuid() == 0 || !is_trusted(program) || pipe2(ends, O_CLOEXEC) < 0)
		return;
	child = fork();
	if (child == 0)
		print_version(program, ends[1]);
	close(ends[1]);
	if (child > 0)
	{
		(void) read_output(ends[0], text, sizeof(text));
		/* And what it has started: it leads a session, unless it has not called setsid() yet. */
		kill(-child, SIGKILL);
		kill(child, SIGKILL);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
		if (strncmp(text, before, strlen(before)) == 0)
			(void) sscanf(text + strlen(before), "%63[0-9a-z.]", version);
	}
	close(ends[0]);
}

/* Is a program there, and which version has it? */
static bool
take_program(struct check *check, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return false;
	snprintf(check->program, sizeof(check->program), "%s", path);
	find_version(path, check->version);
	return true;
}

static bool
is_of_cluster(const struct check *check)
{
	return check->version[0] == '\0' || atoi(check->version) == check->cluster.major;
}

/* Find the program: where the user has it, that of the last start, where packages have it. */
static void
find_program(struct check *check)
{
	char		path[PATH_MAX];

	if (check->options->bindir != NULL)
	{
		/* It is run in another working directory. */
		if (realpath(check->options->bindir, path) != NULL &&
			strlen(path) + sizeof("/postgres") <= sizeof(path))
			(void) take_program(check, strcat(path, "/postgres"));
		return;
	}
	if (check->start.program[0] != '\0' && take_program(check, check->start.program))
		return;
	for (size_t i = 0; i < sizeof(usual_paths) / sizeof(usual_paths[0]); i++)
	{
		snprintf(path, sizeof(path), usual_paths[i], check->cluster.major);
		if (take_program(check, path) && is_of_cluster(check))
			return;
	}
	check->program[0] = check->version[0] = '\0';
}

/* Has a program this symbol?  -ENOENT: no. */
static int
find_symbol(int fd, const char *name)
{
	struct symbol_offsets offsets;
	struct confined reader;
	int			err = symbol__start(&reader, name);

	if (err == 0)
		err = confined__call(&reader, fd, &offsets);
	confined__end(&reader);
	return err;
}

/* Is a program a server, and can it load the extension? */
static enum server_kind
find_kind(const char *program)
{
	enum server_kind kind = SERVER_UNKNOWN;
	int			fd = open(program, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd >= 0 && find_symbol(fd, COMMON_SYMBOL) == 0)
		switch (find_symbol(fd, HOOK))
		{
			case 0:
				kind = SERVER_PATCHED;
				break;
			case -ENOENT:
				kind = SERVER_STOCK;
				break;
		}
	if (fd >= 0)
		close(fd);
	return kind;
}

/* The server's program: found, of the data directory's version, and patched or not. */
void
check__server(struct check *check)
{
	struct needs *needs = &check->needs;

	find_program(check);
	if (check->program[0] != '\0')
		check->kind = find_kind(check->program);
	if (check->program[0] == '\0')
	{
		needs__add(needs, "server", NEED_WARNING, "the program of PostgreSQL %d is not found%s%s",
				   check->cluster.major, check->options->bindir != NULL ? " in " : "",
				   check->options->bindir != NULL ? check->options->bindir : "");
		needs__remedy(needs, "redoahead check --bindir=DIRECTORY -D %s", check->pgdata);
	}
	else if (!is_of_cluster(check))
	{
		needs__add(needs, "server", NEED_PROBLEM, "%s is PostgreSQL %s, the data directory is of "
				   "PostgreSQL %d", check->program, check->version, check->cluster.major);
		needs__remedy(needs, "redoahead check --bindir=DIRECTORY -D %s, with the directory of its "
					  "server's programs", check->pgdata);
		check->kind = SERVER_UNKNOWN;
	}
	else if (check->kind == SERVER_UNKNOWN)
	{
		needs__add(needs, "server", NEED_WARNING, "%s cannot be read, or is no server",
				   check->program);
		needs__remedy(needs, "redoahead check --bindir=DIRECTORY -D %s", check->pgdata);
	}
	else
		needs__add(needs, "server", NEED_OK, "PostgreSQL %s, %s: %s is for it (%s)",
				   check->version[0] != '\0' ? check->version :
				   geteuid() == 0 || is_trusted(check->program) ? "of unknown version" :
				   "of unknown version (other users could change it)",
				   check->kind == SERVER_PATCHED ? "patched" : "stock",
				   check->kind == SERVER_PATCHED ? "redoahead serve" : "redoahead follow",
				   check->program);
}

/* Where the server's libraries are, relative to its programs. */
static const char *const library_places[] = {
	"../lib/postgresql", "../lib", "../lib64/postgresql", "../lib64", "../lib/pgsql", "../lib64/pgsql",
};

/*
 * The directory of the server's libraries, which has one that each server has.  False: not
 * found.
 */
static bool
find_libraries(const char *program, char directory[PATH_MAX])
{
	char		real[PATH_MAX];
	char		path[PATH_MAX];

	if (realpath(program, real) == NULL)
		return false;
	for (size_t i = 0; i < sizeof(library_places) / sizeof(library_places[0]); i++)
	{
		char		bindir[PATH_MAX];

		snprintf(bindir, sizeof(bindir), "%s", real);
		if (snprintf(path, sizeof(path), "%s/%s/libpqwalreceiver.so", dirname(bindir),
					 library_places[i]) >= (int) sizeof(path) || access(path, F_OK) < 0)
			continue;
		*strrchr(path, '/') = '\0';
		return realpath(path, directory) != NULL;
	}
	return false;
}

/* The list of preloaded libraries with redoahead at its end, as SQL. */
static void
set_preload(struct check *check, const char *list)
{
	char		value[512];

	if (snprintf(value, sizeof(value), "%s%sredoahead", list,
				 list[strspn(list, " ")] != '\0' ? ", " : "") < (int) sizeof(value))
		check__set(check, "shared_preload_libraries", value, true);
}

/* Report a library that is not where the server loads it from. */
static void
report_missing(struct check *check, const char *directory)
{
	char		bindir[PATH_MAX];
	char		word[CHECK_WORD_BYTES];

	snprintf(bindir, sizeof(bindir), "%s", check->program);
	check__word(word, dirname(bindir));
	needs__add(&check->needs, "extension", NEED_PROBLEM, "redoahead.so is not in %s", directory);
	/* make runs that program. */
	needs__remedy(&check->needs, "%smake install-extension PG_CONFIG=%s/pg_config",
				  check__as_owner(check, check->program), word);
}

/* The remedy against a setting with which the server does not start. */
static void
tell_to_remove(struct needs *needs, const struct config_setting *setting)
{
	if (setting->line > 0)
		needs__remedy(needs, "remove it in %s, line %u", setting->origin, setting->line);
	else
		needs__remedy(needs, "start the server without it on its command line");
}

/* Does a stock server not start with this setting? */
static bool
is_patched_only(const struct config_setting *setting)
{
	if (strcmp(setting->name, "shared_preload_libraries") == 0)
		return config_value__lists(setting->value, "redoahead");
	return strcmp(setting->name, "wal_compression") != 0 || strchr(setting->value, ':') != NULL ||
		strncasecmp(setting->value, "zlib", 4) == 0;
}

/* Report the settings with which a stock server does not start.  Returns how many there are. */
static unsigned
report_patched_settings(struct check *check)
{
	static const char *const names[] = {
		"shared_preload_libraries", "wal_compression", "wal_keep_block_data", "clear_page_space",
	};
	struct needs *needs = &check->needs;
	unsigned	count = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		const struct config_setting *setting = config__find(&check->config, names[i]);

		if (setting == NULL || !is_patched_only(setting))
			continue;
		if (i == 0)
			needs__add(needs, "extension", NEED_PROBLEM, "a stock server cannot load redoahead, and "
					   "%s names it: the server does not start", setting->name);
		else
			needs__add(needs, "extension", NEED_PROBLEM, "a stock server does not know %s = %s: it "
					   "does not start", setting->name, setting->value);
		tell_to_remove(needs, setting);
		count++;
	}
	return count;
}

/* The extension on a server that is not known to be patched, which must not be told to load it. */
static void
report_unneeded(struct check *check, bool preloaded)
{
	struct needs *needs = &check->needs;

	if (check->kind == SERVER_UNKNOWN && !preloaded)
	{
		needs__add(needs, "extension", NEED_WARNING, "not loaded; whether the server can load it is "
				   "not known");
		needs__remedy(needs, "redoahead check --bindir=DIRECTORY -D %s", check->pgdata);
	}
	else if (check->kind == SERVER_UNKNOWN)
		needs__add(needs, "extension", NEED_OK, "preloaded");
	else if (report_patched_settings(check) == 0)
		needs__add(needs, "extension", NEED_OK, "a stock server needs none");
}

/* Does the server run with a library that has been replaced since it was started? */
static bool
is_library_replaced(const struct cluster *cluster)
{
	pid_t		postmaster = processes__postmaster(cluster);

	return postmaster > 0 && processes__maps(postmaster, "/redoahead.so (deleted)") > 0;
}

/* The extension: its library is installed and preloaded, if the server is patched. */
void
check__extension(struct check *check)
{
	struct needs *needs = &check->needs;
	const char *list = config__get(&check->config, "shared_preload_libraries", "");
	bool		preloaded = config_value__lists(list, "redoahead");
	char		directory[PATH_MAX] = "the server's directory of libraries";
	char		library[PATH_MAX] = "";

	if (check->kind == SERVER_PATCHED &&
		(!find_libraries(check->program, directory) ||
		 snprintf(library, sizeof(library), "%s/redoahead.so", directory) >= (int) sizeof(library) ||
		 access(library, R_OK) < 0))
		report_missing(check, directory);
	else if (check->config_file[0] == '\0')
		return;
	else if (check->kind != SERVER_PATCHED)
		report_unneeded(check, preloaded);
	else if (preloaded && is_library_replaced(&check->cluster))
	{
		needs__add(needs, "extension", NEED_WARNING, "the library has been replaced since the "
				   "server was started, which uses the old one until it is restarted");
		needs__remedy(needs, "restart the server when that suits you");
	}
	else if (preloaded)
		needs__add(needs, "extension", NEED_OK, "%s is preloaded", library);
	else
	{
		needs__add(needs, "extension", NEED_PROBLEM, "not loaded: shared_preload_libraries = '%s'",
				   list);
		set_preload(check, list);
	}
}
