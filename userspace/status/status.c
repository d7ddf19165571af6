/*
 * status.c
 *		Shows what a daemon and the recovery do, in the form that the user wants.
 *
 * client.c reads the status document, values.c takes its values, text.c makes the
 * line, live.c shows it all the time, liveness.c judges it.  Nothing here needs the
 * server to take connections.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/status_document.h"
#include "report/json.h"
#include "report/prometheus.h"
#include "status/client.h"
#include "status/live.h"
#include "status/liveness.h"
#include "status/status.h"
#include "status/text.h"

/* Time in which a daemon must respond; the one for a probe is less than a kubelet waits; ms. */
#define TIMEOUT_MS			5000
#define PROBE_TIMEOUT_MS	700

/* One run of the command. */
struct run
{
	const struct status_options *options;
	struct cluster cluster;		/* if there is one, dirfd is not -1 */
	char		socket[PATH_MAX + sizeof(STATUS_DOCUMENT_SOCKET) + 1];	/* path of the daemon's socket */
	char		message[CLIENT_MESSAGE_BYTES];	/* why there is no document */
};

/* Is the socket known without a data directory? */
static bool
has_own_socket(const struct run *run)
{
	return run->options->socket != NULL && run->options->socket[0] == '/';
}

/*
 * Open the data directory if there is one.  root becomes its owner, because the owner may
 * have replaced the socket; anybody else stays who he is.
 */
static int
open_cluster(struct run *run)
{
	const char *pgdata = run->options->pgdata;
	int			err;

	if (pgdata == NULL || pgdata[0] == '\0')
		return 0;
	err = cluster__open(&run->cluster, pgdata);
	if (err == 0 && geteuid() == 0)
		err = cluster__become_owner(&run->cluster);
	return err;
}

/* The path of the daemon's socket, relative to the data directory as for the daemon. */
static int
find_socket(struct run *run)
{
	const char *name = run->options->socket != NULL ? run->options->socket : STATUS_DOCUMENT_SOCKET;
	bool		relative = name[0] != '/' && run->cluster.dirfd >= 0;
	int			n = snprintf(run->socket, sizeof(run->socket), "%s%s%s",
							 relative ? run->cluster.path : "", relative ? "/" : "", name);

	if (n < (int) sizeof(run->socket))
		return 0;
	log_error("path of the status socket is too long: \"%.100s...\"; give a shorter one with --socket",
			  run->socket);
	return -ENAMETOOLONG;
}

/* Read a document and take its values; the reason of a failure is in the message. */
static int
read_document(struct run *run, unsigned timeout_ms, struct json_object **json,
			  struct values *document)
{
	int			err = client__read(run->socket, timeout_ms, json, run->message);

	if (err < 0)
		return err;
	err = values__parse(document, *json, run->message, sizeof(run->message));
	if (err < 0)
	{
		json_object_put(*json);
		*json = NULL;
	}
	return err;
}

/*
 * By the daemon if one responds, else by the server's own state: a daemon that has died
 * must not restart a server.  Returns 0 while recovery advances.
 */
static int
probe(struct run *run)
{
	char		reason[LIVENESS_REASON_BYTES] = "";
	enum liveness liveness = LIVENESS_UNKNOWN;
	struct json_object *json = NULL;
	struct values document;

	if (run->cluster.dirfd >= 0)
		liveness = liveness__of_postmaster(&run->cluster, reason);
	if (liveness == LIVENESS_UNKNOWN &&
		read_document(run, PROBE_TIMEOUT_MS, &json, &document) == 0)
	{
		liveness = liveness__of_document(&document, (double) run->options->probe, reason);
		json_object_put(json);
		if (liveness == LIVENESS_STALLED && run->cluster.dirfd >= 0 &&
			liveness__works(&run->cluster))
		{
			liveness = LIVENESS_ADVANCES;
			snprintf(reason, sizeof(reason), "no progress is seen, but the startup process works");
		}
	}
	else if (liveness == LIVENESS_UNKNOWN)
		log_warning("%s", run->message);
	if (liveness == LIVENESS_UNKNOWN && run->cluster.dirfd >= 0)
		liveness = liveness__of_processes(&run->cluster, reason);
	if (liveness == LIVENESS_UNKNOWN)
		snprintf(reason, sizeof(reason), "unknown, because neither a daemon nor, without -D, a "
				 "server can be examined");
	puts(reason);
	return liveness == LIVENESS_STALLED ? -EAGAIN : 0;
}

/*
 * The metrics; those of a daemon that does not respond are that it is down.  They name the
 * data directory, which only then is of use for one with a socket of its own.
 */
static int
print_metrics(struct run *run)
{
	struct json_object *json = NULL;
	struct values document;
	int			err = read_document(run, TIMEOUT_MS, &json, &document);
	int			write_err;

	if (err < 0)
	{
		log_error("%s", run->message);
		if (has_own_socket(run) && run->cluster.dirfd < 0)
			(void) open_cluster(run);
		if (run->cluster.dirfd < 0)
			return err;
		json = json_object_new_object();
		json__text(json, "data_directory", run->cluster.path);
	}
	write_err = prometheus__write(stdout, json);
	json_object_put(json);
	return err < 0 ? err : write_err;
}

/* Once, as a line or as JSON. */
static int
print_once(struct run *run)
{
	char		line[TEXT_LINE_BYTES];
	struct json_object *json = NULL;
	struct values document;
	int			err = read_document(run, TIMEOUT_MS, &json, &document);

	if (err < 0)
	{
		log_error("%s", run->message);
		return err;
	}
	text__line(line, &document);
	puts(run->options->json ?
		 json_object_to_json_string_ext(json, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
										JSON_C_TO_STRING_NOSLASHESCAPE) : line);
	json_object_put(json);
	return 0;
}

/* Show the status.  Returns 0 or -errno; -EAGAIN is a probe of a stalled recovery. */
int
status__run(const struct status_options *options)
{
	struct run	run = {.options = options,.cluster.dirfd = -1};
	int			err = 0;

	/* Also, root becomes the owner, who may have replaced the socket. */
	if (!has_own_socket(&run) || options->probe > 0 || geteuid() == 0)
		err = open_cluster(&run);
	if (err < 0 && has_own_socket(&run))
		err = 0;
	if (err == 0)
		err = find_socket(&run);
	if (err < 0 && options->probe > 0)
	{
		/*
		 * Before a data directory is complete, nothing in it can be stalled.  What cannot be
		 * examined must not be restarted for it; the message has been logged.
		 */
		puts(err == -ENOENT || err == -ENOTDIR || err == -ENODATA ?
			 "there is no complete data directory, so there is nothing to recover" :
			 "unknown, because the data directory cannot be examined");
		err = 0;
	}
	else if (err == 0)
		err = options->probe > 0 ? probe(&run) : options->prometheus ? print_metrics(&run) :
			options->watch > 0 ? live__run(run.socket, options->watch) : print_once(&run);
	cluster__close(&run.cluster);
	if (fflush(stdout) != 0 || ferror(stdout))
	{
		log_error("standard output cannot be written: %s; check where it leads", strerror(errno));
		/* The result of a probe is that of the recovery, whoever reads what it prints. */
		if (options->probe == 0)
			err = -EIO;
	}
	return err;
}
