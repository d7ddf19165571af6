/*
 * names.c
 *		Names of relations, from the catalogs of a server that answers.
 *
 * Asks with the psql that lies beside the server's program, as the owner of the cluster,
 * one query in each database that has rows.  A server that recovers and takes no
 * connections is not asked.  All of it takes a few seconds at most; who has to know
 * more than that gets paths.
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
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/processes.h"
#include "trace/names.h"
#include "base/clock.h"
#include "base/log.h"

/* How long all may take, us; a look at whether the server is ready, ms. */
#define MAX_US			5000000
#define READY_LOOK_MS	20

/* What a session may take for a query, and to get a lock: redo may have to wait for it. */
#define SESSION_OPTIONS	"-c statement_timeout=2s -c lock_timeout=200ms -c search_path=public"

/* Most that is read of an answer, bytes. */
#define MAX_ANSWER		(64 * 1024 * 1024)

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
	struct findings_row *rows;	/* what is to be named */
	uint32_t	count;			/* how many */
	uint64_t	end_us;			/* when to give up, us */
	int			stop_fd;		/* readable: give up */
	const char *reason;			/* why a query failed */
	char		text[256];		/* room for that */
};

/* Is there still time, after waiting for so long, or for a descriptor? */
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
		if (processes__server(search->cluster, &search->server) == 0 && search->server.ready)
			return true;
	while (wait && wait_ms(search, -1, READY_LOOK_MS));
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

/* In the child: become psql. */
static _Noreturn void
become_psql(const struct search *search, const char *database, int input, int output, int error)
{
	static char encoding[] = "PGCLIENTENCODING=UTF8";
	char	   *environment[] = {encoding, NULL};
	char		quoted[2 * FINDINGS_DATABASE_BYTES + 3];
	char		directory[2 * PATH_MAX + 3];
	char		where[2 * PATH_MAX + 1024];
	sigset_t	none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* What ends the trace on a terminal shall not end this. */
	setsid();
	quote(database, quoted);
	quote(search->server.socket_directory, directory);
	snprintf(where, sizeof(where), "host=%s port=%d dbname=%s connect_timeout=2 "
			 "application_name=redoahead options='" SESSION_OPTIONS "'",
			 directory, search->server.port, quoted);
	if (dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
		dup2(error, STDERR_FILENO) >= 0 && chdir("/") == 0 &&
		cluster__become_owner(search->cluster) == 0)
		execle(search->server.psql, search->server.psql, "-XAtqw0", "-v", "ON_ERROR_STOP=1",
			   "-d", where, (char *) NULL, environment);
	dprintf(STDERR_FILENO, "%s: %s\n", search->server.psql, strerror(errno));
	_exit(127);
}

/* Read an answer to its end; NULL if that does not come. */
static char *
read_answer(const struct search *search, int fd, size_t *length)
{
	size_t		size = 65536;
	char	   *answer = malloc(size);

	*length = 0;
	while (answer != NULL && wait_ms(search, fd, INT_MAX))
	{
		ssize_t		n = read(fd, answer + *length, size - *length - 1);

		if (n <= 0)
		{
			answer[*length] = '\0';
			return answer;
		}
		*length += (size_t) n;
		if (size - *length < 4096)
		{
			char	   *grown = size < MAX_ANSWER ? realloc(answer, size * 2) : NULL;

			if (grown == NULL)
				break;
			answer = grown;
			size *= 2;
		}
	}
	free(answer);
	return NULL;
}

/* Why psql failed: the first line that it says. */
static void
note_reason(struct search *search, int error)
{
	ssize_t		n = pread(error, search->text, sizeof(search->text) - 1, 0);

	search->text[n < 0 ? 0 : n] = '\0';
	search->text[strcspn(search->text, "\n")] = '\0';
	search->reason = search->text[0] != '\0' ? search->text : "psql failed";
}

/*
 * Ask in one database.  The answer's rows end with a zero byte each, it with two; NULL
 * if there is none, and the reason is noted.
 */
static char *
ask(struct search *search, const char *database, const char *query, size_t *length)
{
	int			input = memfd_create("redoahead-query", MFD_CLOEXEC);
	int			error = memfd_create("redoahead-error", MFD_CLOEXEC);
	int			pipes[2] = {-1, -1};
	char	   *answer = NULL;
	int			status = -1;
	pid_t		child = -1;

	search->reason = "there is no memory or descriptor left";
	if (input >= 0 && error >= 0 && pipe2(pipes, O_CLOEXEC) == 0 &&
		write(input, query, strlen(query)) == (ssize_t) strlen(query) &&
		lseek(input, 0, SEEK_SET) == 0)
		child = fork();
	if (child == 0)
		become_psql(search, database, input, pipes[1], error);
	if (pipes[1] >= 0)
		close(pipes[1]);
	if (child > 0)
	{
		answer = read_answer(search, pipes[0], length);
		if (answer == NULL)
			kill(child, SIGKILL);
		(void) waitpid(child, &status, 0);
		if (answer == NULL)
			search->reason = "the server does not answer in time";
		else if (status != 0)
		{
			note_reason(search, error);
			free(answer);
			answer = NULL;
		}
	}
	if (pipes[0] >= 0)
		close(pipes[0]);
	if (input >= 0)
		close(input);
	if (error >= 0)
		close(error);
	return answer;
}

/* Is a row one of this database that may have a name? */
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
	char	   *answer = query == NULL ? NULL : ask(search, database->name, query, &length);

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

/* Name the relations of all databases that a list, as psql gave it, has. */
static void
name_in_all(struct search *search, const char *list, size_t length)
{
	struct database database = {.name = "postgres"};

	if (has_rows(search, 0) && !name_in(search, &database))
		log_debug("shared relations stay without names: %s", search->reason);
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

/*
 * Give rows the names that the catalogs have for them; wait for a server that is about to
 * take connections, if told to.
 */
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
		list = ask(&search, "postgres", "SELECT oid, datname FROM pg_database WHERE datallowconn",
				   &length);
	if (list != NULL)
		name_in_all(&search, list, length);
	else
		log_info("relations are shown by their paths: %s", search.reason);
	free(list);
}
