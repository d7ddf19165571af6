/*
 * names.c
 *		Names of relations, from the catalogs of a server that answers.
 *
 * Runs the psql beside the server's program, as the owner of the cluster and without
 * any rights beyond that, with one query in each database that has rows.  A server that takes no connections is not
 * queried.  All of it is bounded by a few seconds; without names, paths are reported.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/processes.h"
#include "cluster/serverstate.h"
#include "trace/names.h"
#include "base/clock.h"
#include "base/confined.h"
#include "base/log.h"
#include "common/memfd.h"

/* How long all may take, us; time between two checks whether the server is ready, ms. */
#define MAX_US			5000000
#define READY_CHECK_MS	20

/* What psql may answer: the owner of the cluster chose that program. */
#define MAX_ANSWER_BYTES	(64 * 1024 * 1024)

/* What a session may take for a query, and to get a lock: redo may have to wait for it. */
#define SESSION_OPTIONS	"-c statement_timeout=2s -c lock_timeout=200ms -c search_path=public"

/* A database that has rows. */
struct database
{
	uint32_t	oid;			/* 0: for shared relations */
	char		name[FINDINGS_DATABASE_BYTES];	/* to connect to */
};

struct search
{
	const struct cluster *cluster;	/* whose relations */
	struct processes_server server; /* where it listens */
	struct findings_row *rows;	/* rows without names */
	uint32_t	count;			/* how many */
	uint64_t	end_us;			/* when to give up, us */
	int			stop_fd;		/* readable: give up */
	const char *reason;			/* why a query failed */
	char		text[256];		/* room for that */
};

/* Wait for a time or a descriptor; false if time is up or the descriptor is not readable. */
static bool
wait_ms(const struct search *search, int fd, int ms)
{
	struct pollfd fds[] = {
		{.fd = search->stop_fd,.events = POLLIN},
		{.fd = fd,.events = POLLIN},
	};
	uint64_t	now_us = clock__now_us();
	int			left_ms = now_us < search->end_us ? (int) ((search->end_us - now_us) / 1000) : 0;

	(void) poll(fds, 2, ms < left_ms ? ms : left_ms);
	return fds[0].revents == 0 && left_ms > 0 && (fd < 0 || fds[1].revents != 0);
}

/* Wait until the server takes connections; false if it does not. */
static bool
is_ready(struct search *search, bool wait)
{
	do
		if (serverstate__is_ready(search->cluster) &&
			processes__server(search->cluster, &search->server) == 0)
			return true;
	while (wait && wait_ms(search, -1, READY_CHECK_MS));
	return false;
}

/* Quote a value for a connection string; quoted has room for twice as much and 3 more. */
static void
quote(const char *value, char *quoted)
{
	char	   *to = quoted;

	*to++ = '\'';
	for (const char *from = value; *from != '\0'; from++)
	{
		if (*from == '\'' || *from == '\\')
			*to++ = '\\';
		*to++ = *from;
	}
	memcpy(to, "'", 2);
}

/* In the child: become psql, with these files as input, output and error. */
static _Noreturn void
become_psql(const struct search *search, const char *database, const int files[3])
{
	static const struct rlimit answer = {MAX_ANSWER_BYTES, MAX_ANSWER_BYTES};
	char		quoted[2 * FINDINGS_DATABASE_BYTES + 3];
	char		directory[2 * PATH_MAX + 3];
	char		where[2 * PATH_MAX + 1024];
	const char *const psql = search->server.psql;
	const char *const arguments[] = {psql, "-XAtqw0", "-v", "ON_ERROR_STOP=1", "-d", where, NULL};

	quote(database, quoted);
	quote(search->server.socket_directory, directory);
	snprintf(where, sizeof(where), "host=%s port=%d dbname=%s connect_timeout=2 "
			 "application_name=redoahead options='" SESSION_OPTIONS "'",
			 directory, search->server.port, quoted);
	if (dup2(files[0], STDIN_FILENO) >= 0 && dup2(files[1], STDOUT_FILENO) >= 0 &&
		dup2(files[2], STDERR_FILENO) >= 0 &&
		cluster__become_owner(search->cluster) == 0 &&
		setrlimit(RLIMIT_FSIZE, &answer) == 0)
		(void) confined__exec(psql, arguments);
	dprintf(STDERR_FILENO, "%s: %s\n", psql, strerror(errno));
	_exit(127);
}

/* Run psql on a query; false, with the reason, if it fails or takes too long. */
static bool
run_psql(struct search *search, const char *database, const int files[3])
{
	pid_t		child = fork();
	int			status = -1;
	int			pidfd;
	bool		in_time;
	ssize_t		n;

	if (child == 0)
		become_psql(search, database, files);
	if (child < 0)
		return false;
	pidfd = (int) syscall(SYS_pidfd_open, child, 0);
	in_time = pidfd >= 0 && wait_ms(search, pidfd, INT_MAX);
	if (!in_time)
		kill(child, SIGKILL);
	(void) waitpid(child, &status, 0);
	if (pidfd >= 0)
		close(pidfd);
	if (in_time && status == 0)
		return true;
	search->reason = "the server does not answer in time";
	if (!in_time)
		return false;
	n = pread(files[2], search->text, sizeof(search->text) - 1, 0);
	search->text[n < 0 ? 0 : n] = '\0';
	search->text[strcspn(search->text, "\n")] = '\0';
	search->reason = search->text[0] != '\0' ? search->text : "psql failed";
	return false;
}

/*
 * The content of a file; NULL if there is no memory, or too much content: psql's user can
 * have another process write, which has other limits.
 */
static char *
read_all(int fd, size_t *length)
{
	struct stat st;
	bool		fits = fstat(fd, &st) == 0 && st.st_size <= MAX_ANSWER_BYTES;
	char	   *text = fits ? malloc((size_t) st.st_size + 1) : NULL;
	ssize_t		n = text == NULL ? -1 : pread(fd, text, (size_t) st.st_size, 0);

	if (n < 0)
	{
		free(text);
		return NULL;
	}
	text[n] = '\0';
	*length = (size_t) n;
	return text;
}

/* Query a database.  Each row of the answer ends with a zero byte; NULL, with the reason. */
static char *
query_database(struct search *search, const char *database, const char *query, size_t *length)
{
	int			files[3] = {-1, -1, -1};
	char	   *answer = NULL;

	search->reason = "there is no memory or descriptor left";
	for (int i = 0; i < 3; i++)
		files[i] = memfd__create("redoahead-psql", MFD_CLOEXEC);
	if (files[0] >= 0 && files[1] >= 0 && files[2] >= 0 &&
		write(files[0], query, strlen(query)) == (ssize_t) strlen(query) &&
		lseek(files[0], 0, SEEK_SET) == 0 &&
		run_psql(search, database, files))
		answer = read_all(files[1], length);
	for (int i = 0; i < 3; i++)
		if (files[i] >= 0)
			close(files[i]);
	return answer;
}

/* Is a row of this database, and may it have a name? */
static bool
is_of(const struct findings_row *row, uint32_t database)
{
	return row->key.kind == REDOAHEAD_KIND_RELATION && row->key.db == database &&
		row->key.spc != 0 && !row->dropped;
}

static bool
has_rows(const struct search *search, uint32_t database)
{
	for (uint32_t i = 0; i < search->count; i++)
		if (is_of(&search->rows[i], database))
			return true;
	return false;
}

/* The query for all relations of a database; NULL if there is no memory. */
static char *
make_query(const struct search *search, uint32_t database)
{
	char	   *query = NULL;
	const char *separator = "(oid '%" PRIu32 "', oid '%" PRIu32 "')";
	size_t		size;
	FILE	   *file = open_memstream(&query, &size);

	if (file == NULL)
		return NULL;
	fputs("SELECT spc, rel, pg_filenode_relation(spc, rel)::regclass FROM (VALUES ", file);
	for (uint32_t i = 0; i < search->count; i++)
		if (is_of(&search->rows[i], database))
		{
			fprintf(file, separator, search->rows[i].key.spc, search->rows[i].key.rel);
			separator = ", ('%" PRIu32 "', '%" PRIu32 "')";
		}
	fputs(") AS f(spc, rel) WHERE pg_filenode_relation(spc, rel) IS NOT NULL", file);
	if (fclose(file) == 0)
		return query;
	free(query);
	return NULL;
}

/* Name all forks of a relation. */
static void
take_name(struct search *search, const struct database *database, uint32_t spc, uint32_t rel,
		  const char *name)
{
	for (uint32_t i = 0; i < search->count; i++)
	{
		struct findings_row *row = &search->rows[i];

		if (!is_of(row, database->oid) || row->key.spc != spc || row->key.rel != rel)
			continue;
		snprintf(row->name, sizeof(row->name), "%s", name);
		if (database->oid != 0)
			memcpy(row->database, database->name, sizeof(row->database));
	}
}

/* Name the relations of one database; false if it does not answer. */
static bool
name_in(struct search *search, const struct database *database)
{
	char	   *query = make_query(search, database->oid);
	size_t		length = 0;
	char	   *answer = query == NULL ? NULL : query_database(search, database->name, query, &length);

	free(query);
	if (answer == NULL)
		return false;
	for (char *line = answer; line < answer + length && wait_ms(search, -1, 0);
		 line += strlen(line) + 1)
	{
		uint32_t	spc;
		uint32_t	rel;
		int			at = 0;

		if (sscanf(line, "%" SCNu32 "|%" SCNu32 "|%n", &spc, &rel, &at) == 2 && at > 0)
			take_name(search, database, spc, rel, line + at);
	}
	free(answer);
	return true;
}

/* Name the relations of all databases in a list from psql. */
static void
name_in_all(struct search *search, const char *list, size_t length)
{
	struct database database = {.name = "postgres"};

	if (has_rows(search, 0) && !name_in(search, &database))
		log_debug("shared relations are shown by their paths: %s", search->reason);
	for (const char *line = list; line < list + length; line += strlen(line) + 1)
	{
		char	   *name;

		database.oid = (uint32_t) strtoul(line, &name, 10);
		if (*name != '|' || !has_rows(search, database.oid))
			continue;
		memset(database.name, 0, sizeof(database.name));
		snprintf(database.name, sizeof(database.name), "%s", name + 1);
		if (!name_in(search, &database))
			log_info("relations of database \"%s\" are shown by their paths: %s", database.name,
					 search->reason);
	}
}

/* Give rows their names from the catalogs; wait: for a server that will take connections. */
void
names__find(const struct cluster *cluster, struct findings_row *rows, uint32_t count, bool wait,
			int stop_fd)
{
	struct search search = {
		.cluster = cluster,.rows = rows,.count = count,
		.end_us = clock__now_us() + MAX_US,.stop_fd = stop_fd,
		.reason = "the server takes no connections"
	};
	size_t		length = 0;
	char	   *list = NULL;

	if (is_ready(&search, wait))
		list = query_database(&search, "postgres",
							  "SELECT oid, datname FROM pg_database WHERE datallowconn", &length);
	if (list != NULL)
		name_in_all(&search, list, length);
	else
		log_info("relations are shown by their paths: %s", search.reason);
	free(list);
}
