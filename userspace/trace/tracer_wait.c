/*
 * tracer_wait.c
 *		Waits for a recovery, and finds the daemons that serve it.
 *
 * When a server starts, all its children are followed until it is known which
 * one is the startup process, so that the beginning is not missed; what the
 * others did is discarded.
 */
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/daemons.h"
#include "cluster/processes.h"
#include "cluster/serverstate.h"
#include "trace/tracer_internal.h"

/* Time between two checks for a server or for the startup process of a new one, ms. */
#define START_CHECK_MS		5

/* Such checks after which a postmaster.pid that names no server is reported: a second. */
#define UNKNOWN_CHECKS		200

/* Time between two checks for the startup process of a server that runs, ms. */
#define RUNNING_CHECK_MS	500

/* Time between two searches for daemons while there is none, and else, us. */
#define DAEMON_SEARCH_US	250000
#define DAEMON_CHECK_US		1000000

/* Wait for a time, a signal, or the end of the startup process; true if it ended. */
bool
tracer__wait_ms(struct tracer *tracer, int ms)
{
	struct pollfd fds[] = {
		{.fd = tracer->config->signal_fd,.events = POLLIN},
		{.fd = tracer->startup_fd,.events = POLLIN},
	};

	if (poll(fds, 2, ms) <= 0)
		return false;
	if (fds[0].revents != 0)
	{
		struct signalfd_siginfo signal;

		tracer->stop = true;
		/* Another signal will end the look-up of names. */
		(void) !read(tracer->config->signal_fd, &signal, sizeof(signal));
	}
	return fds[1].revents != 0;
}

/* Add a daemon to those that are reported. */
static void
report_daemon(struct tracer *tracer, pid_t pid)
{
	for (unsigned i = 0; i < tracer->reported_count; i++)
		if (tracer->reported[i] == pid)
			return;
	if (tracer->reported_count < FINDINGS_DAEMONS)
		tracer->reported[tracer->reported_count++] = pid;
}

/* Find the daemons, and the references of the one that is connected to the server. */
void
tracer__find_daemons(struct tracer *tracer, uint64_t now_us)
{
	bool		refused = tracer->daemon_refused;
	int			result = 0;

	if (now_us - tracer->daemons_us >=
		(tracer->daemon_count > 0 ? DAEMON_CHECK_US : DAEMON_SEARCH_US))
	{
		tracer->daemons_us = now_us;
		tracer->daemon_count = daemons__find(tracer->config->cluster, tracer->daemons,
											 TRACE_DAEMONS, &refused, &tracer->daemon_follows);
		probe__follow_daemons(tracer->probe, tracer->daemons, tracer->daemon_count);
		for (unsigned i = 0; i < tracer->daemon_count; i++)
			report_daemon(tracer, tracer->daemons[i]);
		if (refused && !tracer->daemon_refused)
			log_warning("a process may be a daemon of this cluster, but its files cannot be read; "
						"run as root or with CAP_SYS_PTRACE");
		tracer->daemon_refused = refused;
	}
	else if (tracer->references.ring != NULL)
		return;

	if (tracer->daemon_count > 0)
		result = references__find(&tracer->references, tracer->daemons, tracer->daemon_count);
	else
		references__close(&tracer->references);
	tracer->references_followed |= result > 0;
	if (result > 0)
		tracer->classify.daemon = CLASSIFY_DAEMON_FOLLOWED;
	else if (result < 0 || tracer->daemon_refused || tracer->daemon_follows)
		tracer->classify.daemon = CLASSIFY_DAEMON_UNKNOWN;
	else
		tracer->classify.daemon = CLASSIFY_DAEMON_NONE;
}

/* Follow nobody, and discard what was reported so far. */
static void
discard(struct tracer *tracer)
{
	probe__follow(tracer->probe, 0, 0);
	tracer->awaited_us = 0;
	tracer->discarding = true;
	probe__consume(tracer->probe);
	tracer->discarding = false;
}

/* A server started: follow its children until its startup process is known. */
static void
await(struct tracer *tracer, pid_t postmaster)
{
	discard(tracer);
	probe__await(tracer->probe, postmaster);
	tracer->awaited_us = clock__now_us();
	probe__devices(tracer->probe, &tracer->devices);
	tracer__find_daemons(tracer, tracer->awaited_us);
	log_debug("following all children of the server (PID %d) until its startup process is known",
			  (int) postmaster);
}

/* Would a server that starts now recover?  Unchanged if that is not known. */
static void
check_state(struct tracer *tracer, bool *recovers)
{
	const struct cluster *cluster = tracer->config->cluster;

	if (controlfile__read(&tracer->control, cluster) == 0)
		*recovers = controlfile__needs_recovery(&tracer->control, cluster);
}

/* Wait until a startup process recovers, or for a signal. */
void
tracer__wait_for_recovery(struct tracer *tracer)
{
	bool		recovers = false;	/* would a startup process recover? */
	bool		is_new = false; /* did the server start while this waited? */
	unsigned	unknown = 0;	/* checks for which postmaster.pid has named no server */
	pid_t		server = 0;			/* the postmaster that was seen last */

	while (!tracer->stop)
	{
		pid_t		postmaster = processes__postmaster(tracer->config->cluster);

		if (postmaster == 0)
		{
			is_new = true;
			check_state(tracer, &recovers);
			tracer__wait_ms(tracer, START_CHECK_MS);
			/* One that starts writes it in steps. */
			if (faccessat(tracer->config->cluster->dirfd, "postmaster.pid", F_OK, 0) < 0)
				unknown = 0;
			else if (++unknown == UNKNOWN_CHECKS)
				log_info("postmaster.pid names no running server: a crash has left it, or the server "
						 "is in another PID namespace, where it cannot be traced");
			continue;
		}
		/* While a server replaces postmaster.pid, there is none; its children are followed on. */
		if (postmaster != server || (is_new && tracer->awaited_us == 0))
		{
			/* Of a new server, the state before it started counts. */
			if (!is_new)
				check_state(tracer, &recovers);
			await(tracer, postmaster);
			server = postmaster;
		}
		tracer->startup = processes__startup(tracer->config->cluster, postmaster);
		if (tracer->startup != 0 && recovers)
		{
			if (tracer->awaited_us == 0)
				await(tracer, postmaster);
			return;
		}
		if (tracer->startup != 0 || !serverstate__is_ready(tracer->config->cluster))
		{
			tracer__wait_ms(tracer, START_CHECK_MS);
			continue;
		}

		if (is_new && recovers)
			log_warning("recovery of the server (PID %d) was over before it could be followed; "
						"waiting for the next one", (int) postmaster);
		discard(tracer);
		is_new = false;
		recovers = true;
		tracer__wait_ms(tracer, RUNNING_CHECK_MS);
	}
}
