/*
 * liveness.c
 *		Does a recovery advance, by the status document of a daemon or, without a daemon,
 *		by the server's own state?
 *
 * Who asks restarts a server that does not.  A restart begins the recovery anew, so only
 * what a restart could help counts as stalled: not waiting for WAL, for a query, or for
 * the user who paused it.  A startup process that works is not stalled, however long one
 * record takes.  Without a daemon the position of redo is not known; then a crash recovery
 * is stalled whose startup process does no work, and all else is not.  The same holds for a
 * daemon that does not see what redo waits for, but a crash recovery has all of its WAL: it is
 * stalled, too, if its position stays the same.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cluster/activity.h"
#include "cluster/processes.h"
#include "cluster/serverstate.h"
#include "status/liveness.h"
#include "status/text.h"

/* How often the startup process is examined, and the time between, ns. */
#define WORK_SAMPLES	16
#define WORK_PAUSE_NS	50000000

/*
 * By a status document: a recovery is stalled whose position has been the same for so
 * many seconds, without one of the reasons above.
 */
enum liveness
liveness__of_document(const struct values *document, double seconds,
					  char reason[LIVENESS_REASON_BYTES])
{
	const struct values_recovery *recovery = &document->recovery;
	char		line[TEXT_LINE_BYTES];
	char		number[TEXT_NUMBER_BYTES];

	text__line(line, document);
	snprintf(reason, LIVENESS_REASON_BYTES, "%s", line);
	if (values__is_idle(document))
		return LIVENESS_ADVANCES;
	if (!document->has_recovery)
		return LIVENESS_UNKNOWN;
	if (recovery->replay_lsn[0] == '\0')
		return recovery->elapsed < seconds ? LIVENESS_ADVANCES : LIVENESS_UNKNOWN;
	if (isnan(recovery->stalled))
		return LIVENESS_UNKNOWN;
	/* A crash recovery has no queries beside it. */
	if (recovery->stalled < seconds ||
		(document->phase != VALUES_CRASH_RECOVERY && strcmp(recovery->limit, "lock conflict") == 0))
		return LIVENESS_ADVANCES;
	/* For WAL, for a query, or for who paused it? */
	if (document->phase != VALUES_CRASH_RECOVERY && recovery->limit[0] == '\0')
		return LIVENESS_UNKNOWN;
	snprintf(reason, LIVENESS_REASON_BYTES, "stalled for %s: %.400s",
			 text__duration(number, recovery->stalled), line);
	return LIVENESS_STALLED;
}

/*
 * By the postmaster's file, before a daemon is asked: a server that takes
 * connections has started, whatever a standby's replay waits for.
 */
enum liveness
liveness__of_postmaster(const struct cluster *cluster, char reason[LIVENESS_REASON_BYTES])
{
	if (serverstate__read(cluster) != SERVERSTATE_READY)
		return LIVENESS_UNKNOWN;
	snprintf(reason, LIVENESS_REASON_BYTES, "the server takes connections");
	return LIVENESS_ADVANCES;
}

/* Does a process run, wait for a device or a CPU, or has it run, at any of the samples? */
static bool
does_work(pid_t pid)
{
	const struct timespec pause = {.tv_nsec = WORK_PAUSE_NS};
	struct activity_work first;
	struct activity_work now;

	if (activity__read_work(pid, &first) < 0)
		return true;			/* it has just ended, so something happens */
	for (int i = 0; i < WORK_SAMPLES; i++)
	{
		/* One that is stopped by a signal or a debugger has no work. */
		if (activity__read_work(pid, &now) < 0 || now.state == 'R' || now.state == 'D' ||
			now.run_us != first.run_us || now.queued_us != first.queued_us)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/*
 * Does the startup process of a server that takes no connections do work?  Redo of one
 * record may take minutes: DROP DATABASE, or CREATE DATABASE with FILE_COPY.
 */
bool
liveness__works(const struct cluster *cluster)
{
	enum serverstate state = serverstate__read(cluster);
	struct activity_server server;

	return (state == SERVERSTATE_STARTING || state == SERVERSTATE_STANDBY) &&
		activity__read_server(cluster, &server) && server.startup > 0 &&
		does_work(server.startup);
}

/* By the processes of the server. */
enum liveness
liveness__of_processes(const struct cluster *cluster, char reason[LIVENESS_REASON_BYTES])
{
	enum serverstate state = serverstate__read(cluster);
	struct activity_server server;
	const char *text = NULL;

	if (state == SERVERSTATE_NONE)
		text = "no server runs";
	else if (state != SERVERSTATE_STARTING)
		text = state == SERVERSTATE_READY ? "the server takes connections" :
			state == SERVERSTATE_STANDBY ? "the server is a standby without connections" :
			"the server is not starting";
	else if (!activity__read_server(cluster, &server))
		text = "no process of the server is visible here";
	else if (server.checkpoint)
		text = "the end-of-recovery checkpoint runs";
	else if (server.startup == 0 || server.timeline == 0)
		text = "the server starts, and redo does not run";
	else if (!serverstate__in_crash_recovery(cluster))
		text = "archive recovery, which may wait for WAL";
	else if (does_work(server.startup))
		text = "crash recovery, and the startup process works";
	if (text != NULL)
	{
		snprintf(reason, LIVENESS_REASON_BYTES, "%s", text);
		return LIVENESS_ADVANCES;
	}
	snprintf(reason, LIVENESS_REASON_BYTES, "stalled: crash recovery, and the startup process "
			 "(%d) does no work", (int) server.startup);
	return LIVENESS_STALLED;
}
