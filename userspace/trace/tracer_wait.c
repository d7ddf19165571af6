/*
 * tracer_wait.c
 *		Waits for a recovery, and for the daemons that serve it.
 *
 * When a server starts, the probes are attached before it is known which of
 * its processes does the redo, so that the beginning is not missed; what the
 * others did is thrown away.  While nothing happens, nothing is attached.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cluster/processes.h"
#include "trace/tracer_internal.h"
#include "base/clock.h"
#include "base/log.h"

/* Time between two looks for a server, for the startup process of a server
 * that starts, and for that of one that runs, ms. */
#define SERVER_LOOK_MS	5
#define STARTUP_LOOK_MS	5
#define RUNNING_LOOK_MS	500

/* How long the probes stay attached when there is no server, us. */
#define READY_US		60000000

/* How long a server that has just been met is watched closely, us. */
#define STARTUP_WAIT_US	1000000

/* Time between two looks for daemons while there is none, and else, us. */
#define DAEMON_LOOK_US	250000
#define DAEMON_CHECK_US	1000000

/* Wait for a time, a signal, or the end of the startup process; true if it ended. */
bool
tracer__wait_ms(struct tracer *tracer, int ms)
{
	struct pollfd fds[] = {
		{.fd = tracer->signal_fd,.events = POLLIN},
		{.fd = tracer->startup_fd,.events = POLLIN},
	};

	if (poll(fds, 2, ms) <= 0)
		return false;
	if (fds[0].revents != 0)
	{
		struct signalfd_siginfo signal;

		tracer->stop = true;
		/* A second one ends the look-up of names. */
		(void) !read(tracer->signal_fd, &signal, sizeof(signal));
	}
	return fds[1].revents != 0;
}

/* Note a daemon for the report. */
static void
note_daemon(struct tracer *tracer, pid_t pid)
{
	for (unsigned i = 0; i < tracer->seen_count; i++)
		if (tracer->seen[i] == pid)
			return;
	if (tracer->seen_count < FINDINGS_DAEMONS)
		tracer->seen[tracer->seen_count++] = pid;
}

/* Find out what there is of daemons, and whether one is attached to the server. */
void
tracer__look_for_daemons(struct tracer *tracer, uint64_t now_us)
{
	bool		follow = strcmp(probe__way(tracer->probe, ATTACH_REFERENCES), "ring") == 0;
	bool		refused = tracer->daemon_refused;
	int			result = 0;

	if (now_us - tracer->daemon_us >= (tracer->daemon_count > 0 ? DAEMON_CHECK_US : DAEMON_LOOK_US))
	{
		tracer->daemon_us = now_us;
		tracer->daemon_count = processes__daemons(tracer->config->cluster, tracer->daemons,
												  TRACE_DAEMONS, &refused);
		probe__follow_daemons(tracer->probe, tracer->daemons, tracer->daemon_count);
		for (unsigned i = 0; i < tracer->daemon_count; i++)
			note_daemon(tracer, tracer->daemons[i]);
		if (refused && !tracer->daemon_refused)
			log_warning("a process may be a daemon of this cluster, but its files cannot be seen; "
						"run as root or with CAP_SYS_PTRACE");
		tracer->daemon_refused = refused;
	}
	else if (tracer->references.ring != NULL)
		return;

	/* Whether it is still there is looked up more rarely than whether it is there. */
	if (tracer->daemon_count > 0)
		result = follow ? references__look(&tracer->references, tracer->daemons,
										   tracer->daemon_count) : -ENOTSUP;
	else
		references__close(&tracer->references);
	tracer->references_seen |= result > 0;
	if (result > 0)
		tracer->classify.engine = CLASSIFY_ENGINE_FOLLOWED;
	else if (result < 0 || tracer->daemon_refused)
		tracer->classify.engine = CLASSIFY_ENGINE_UNKNOWN;
	else
		tracer->classify.engine = CLASSIFY_ENGINE_DOWN;
}

/* Follow nobody, and forget what was seen: it was of a start without a recovery. */
static void
forget(struct tracer *tracer)
{
	probe__follow(tracer->probe, 0);
	tracer->waiting = true;
	probe__consume(tracer->probe);
	tracer->waiting = false;
}

/* Detach the probes. */
static void
rest(struct tracer *tracer)
{
	probe__detach(tracer->probe);
	forget(tracer);
}

/* Attach the probes, if they are not. */
static int
be_ready(struct tracer *tracer)
{
	return probe__is_attached(tracer->probe) ? 0 : probe__attach(tracer->probe);
}

/* A server that was not there: be ready before its startup process is. */
static int
meet_server(struct tracer *tracer, pid_t postmaster)
{
	int			err = be_ready(tracer);

	if (err < 0)
		return err;
	/* A server that was there before may have gone again without a recovery. */
	forget(tracer);
	probe__await(tracer->probe, postmaster);
	tracer->attached_us = clock__now_us();
	probe__devices(tracer->probe, &tracer->devices);
	tracer__look_for_daemons(tracer, tracer->attached_us);
	log_debug("following all children of the server (PID %d) until its startup process is known",
			  (int) postmaster);
	return 0;
}

/* Would a server that starts now recover?  Stays as it is if that cannot be told. */
static void
learn_state(struct tracer *tracer, bool *recovers)
{
	const struct cluster *cluster = tracer->config->cluster;

	if (controlfile__read(&tracer->control, cluster) == 0)
		*recovers = controlfile__needs_recovery(&tracer->control, cluster);
}

/* Wait until a startup process recovers, or for a signal. */
int
tracer__wait_for_recovery(struct tracer *tracer)
{
	bool		recovers = false;
	bool		arrived = false;
	uint64_t	met_us = 0;
	uint64_t	gone_us = 0;
	pid_t		server = 0;
	int			err;

	while (!tracer->stop)
	{
		pid_t		postmaster = processes__postmaster(tracer->config->cluster);

		if (postmaster == 0)
		{
			/* Who starts a trace may be about to start the server. */
			if (server != 0 || !arrived)
				gone_us = clock__now_us();
			arrived = true;
			server = 0;
			learn_state(tracer, &recovers);
			if (clock__now_us() - gone_us >= READY_US)
				rest(tracer);
			else if ((err = be_ready(tracer)) < 0)
				return err;
			tracer__wait_ms(tracer, SERVER_LOOK_MS);
			continue;
		}
		if (postmaster != server)
		{
			/* The startup process changes what the file says. */
			if (!arrived)
				learn_state(tracer, &recovers);
			err = meet_server(tracer, postmaster);
			if (err < 0)
				return err;
			server = postmaster;
			met_us = clock__now_us();
		}
		tracer->startup = processes__startup(postmaster);
		if (tracer->startup != 0 && recovers)
			return probe__is_attached(tracer->probe) ? 0 : meet_server(tracer, postmaster);
		if (tracer->startup != 0 || clock__now_us() - met_us < STARTUP_WAIT_US)
		{
			tracer__wait_ms(tracer, STARTUP_LOOK_MS);
			continue;
		}

		/* It runs.  Only a crash of one of its processes makes it recover now. */
		if (arrived && recovers)
			log_warning("recovery of the server (PID %d) was over before it could be followed; "
						"waiting for the next one", (int) postmaster);
		rest(tracer);
		arrived = false;
		recovers = true;
		tracer__wait_ms(tracer, RUNNING_LOOK_MS);
	}
	return 0;
}
