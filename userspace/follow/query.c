/*
 * query.c
 *		Queries a hot standby for how far it has replayed WAL, and its primary has written
 *		it: psql, of the server's own installation, is kept connected, and gets a query
 *		every now and then.
 *
 * Never waits for an answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confined.h"
#include "base/log.h"
#include "cluster/processes.h"
#include "cluster/serverstate.h"
#include "common/memfd.h"
#include "follow/query.h"

/* Time between two queries, us. */
#define QUERY_US	20000

/* Time between two attempts to connect, us: at first, and at most; it doubles each time. */
#define RETRY_US		1000000
#define MAX_RETRY_US	64000000

/* Time that psql has to connect and to answer, us. */
#define ANSWER_US	5000000

/* Size of psql's messages, at most, bytes. */
#define MESSAGE_BYTES	65536

/* Within that time the server ends a session whose psql will be killed. */
#define SESSION_OPTIONS	"connect_timeout=2 options='-c statement_timeout=2s -c lock_timeout=1s'"

static const char question[] = "select pg_last_wal_replay_lsn(), "
	"(select latest_end_lsn from pg_stat_wal_receiver);\n";

/*
 * In the child: become psql, with the socket as standard input and output, and its messages
 * in a file.
 */
static _Noreturn void
become_psql(const struct processes_server *server, int socket, int messages)
{
	static const struct rlimit most = {MESSAGE_BYTES, MESSAGE_BYTES};
	char		port[16];
	const char *const arguments[] = {
		"psql", "-XAtqw", "-v", "ON_ERROR_STOP=1", "-h", server->socket_directory, "-p", port,
		"-d", "dbname=template1 " SESSION_OPTIONS, NULL
	};

	snprintf(port, sizeof(port), "%d", server->port);
	if (dup2(messages, STDERR_FILENO) >= 0 && dup2(socket, STDIN_FILENO) >= 0 &&
		dup2(socket, STDOUT_FILENO) >= 0 && setrlimit(RLIMIT_FSIZE, &most) == 0)
		(void) confined__exec(server->psql, arguments);
	dprintf(STDERR_FILENO, "%s: %s\n", server->psql, strerror(errno));
	_exit(127);
}

/* A recovery begins: connect without a pause. */
void
query__begin(struct query *query)
{
	query->pause_us = 0;
}

/* Connect, if the server takes connections. */
static void
begin(struct query *query, const struct cluster *cluster)
{
	struct processes_server server;
	uint64_t	pause_us = 2 * query->pause_us;
	int			sockets[2];

	query->pause_us = RETRY_US;
	if (!serverstate__is_ready(cluster) || processes__server(cluster, &server) < 0)
		return;
	query->messages = memfd__create("redoahead-psql", MFD_CLOEXEC);
	if (query->messages < 0)
		return;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) < 0)
	{
		close(query->messages);
		return;
	}
	/* psql waits for its input. */
	(void) fcntl(sockets[1], F_SETFL, 0);
	query->psql = fork();
	if (query->psql == 0)
		become_psql(&server, sockets[1], query->messages);
	close(sockets[1]);
	if (query->psql < 0)
	{
		close(sockets[0]);
		close(query->messages);
		query->psql = 0;
		return;
	}
	/* Each attempt may be an error in the server's log. */
	if (pause_us > RETRY_US)
		query->pause_us = pause_us < MAX_RETRY_US ? pause_us : MAX_RETRY_US;
	query->socket = sockets[0];
	query->pending = false;
	query->sent_us = 0;
	query->line_bytes = 0;
}

/* End the client, if there is one. */
void
query__end(struct query *query)
{
	if (query->psql == 0)
		return;
	close(query->socket);
	close(query->messages);
	(void) kill(query->psql, SIGKILL);
	(void) waitpid(query->psql, NULL, 0);
	query->psql = 0;
	query->primary_lsn = 0;
}

/* psql has ended: report why, but once, and only if it has never answered. */
static void
report_end(struct query *query)
{
	char		text[512];
	ssize_t		n = pread(query->messages, text, sizeof(text) - 1, 0);

	text[n < 0 ? 0 : n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (text[0] == '\0' || query->reported)
	{
		log_debug("psql has ended; connecting again: %s", text);
		return;
	}
	log_info("the standby cannot be queried: %s; trying again", text);
	query->reported = true;
}

/* Take what has come of an answer.  Returns a position, or 0. */
static uint64_t
take_answer(struct query *query)
{
	uint32_t	high;
	uint32_t	low;
	uint32_t	primary_high;
	uint32_t	primary_low;
	int			fields;
	ssize_t		n;

	n = recv(query->socket, query->line + query->line_bytes,
			 sizeof(query->line) - 1 - query->line_bytes, 0);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
	{
		report_end(query);
		query__end(query);
		return 0;
	}
	if (n < 0)
		return 0;
	query->line_bytes += (unsigned) n;
	query->line[query->line_bytes] = '\0';
	if (strchr(query->line, '\n') == NULL && query->line_bytes < sizeof(query->line) - 1)
		return 0;
	query->pending = false;
	query->reported = true;
	query->pause_us = RETRY_US;
	query->line_bytes = 0;
	/* The second one is for those who may read it, and only while WAL is received. */
	fields = sscanf(query->line, "%" SCNx32 "/%" SCNx32 "|%" SCNx32 "/%" SCNx32, &high, &low,
					&primary_high, &primary_low);
	query->primary_lsn = fields == 4 ? (uint64_t) primary_high << 32 | primary_low : 0;
	if (fields < 2)
		return 0;
	return (uint64_t) high << 32 | low;
}

/* Take what has come within the time that psql has.  Returns a position, or 0. */
static uint64_t
receive(struct query *query, uint64_t now_us)
{
	uint64_t	lsn = 0;

	if (query->psql != 0 && query->pending)
		lsn = take_answer(query);
	if (query->psql != 0 && query->pending && now_us - query->sent_us > ANSWER_US)
	{
		log_debug("psql has not answered in time");
		query__end(query);
	}
	return lsn;
}

/*
 * End the client once no answer is due: a server that cannot send one logs an error.  To be
 * called again and again; query->psql is 0 when it has ended.
 */
void
query__leave(struct query *query, uint64_t now_us)
{
	/* Why it cannot connect is of no interest any more. */
	query->reported = true;
	(void) receive(query, now_us);
	if (!query->pending)
		query__end(query);
}

/* The position, if an answer has come; 0 if not.  To be called often. */
uint64_t
query__position(struct query *query, const struct cluster *cluster, uint64_t now_us)
{
	uint64_t	lsn;

	if (query->psql == 0)
	{
		if (now_us - query->begin_us < query->pause_us)
			return 0;
		query->begin_us = now_us;
		begin(query, cluster);
	}
	lsn = receive(query, now_us);
	if (query->psql != 0 && !query->pending && now_us - query->sent_us >= QUERY_US)
	{
		query->sent_us = now_us;
		query->pending = send(query->socket, question, sizeof(question) - 1, MSG_NOSIGNAL) ==
			(ssize_t) sizeof(question) - 1;
		/* It has ended since it answered. */
		if (!query->pending)
			query__end(query);
	}
	return lsn;
}
