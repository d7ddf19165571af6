/*
 * activity.c
 *		What the processes of a server do, by /proc: whether one runs or waits, and what
 *		their titles report.
 *
 * The titles are those of PostgreSQL 13 to 19.  Needs no right that the owner lacks.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cluster/activity.h"
#include "cluster/processes.h"

/*
 * What a process is at.  Returns 0, or -ESRCH if it has ended.  Where the kernel keeps no
 * times of the scheduler, both are 0.
 */
int
activity__read_work(pid_t pid, struct activity_work *work)
{
	char		text[1024];
	const char *name_end;
	uint64_t	run_ns = 0;
	uint64_t	queued_ns = 0;

	if (processes__read(pid, "stat", text, sizeof(text)) == 0 ||
		(name_end = strrchr(text, ')')) == NULL || name_end[1] == '\0')
		return -ESRCH;
	work->state = name_end[2];
	/* It has ended, and its parent has not noticed. */
	if (work->state == 'Z' || work->state == 'X')
		return -ESRCH;
	if (processes__read(pid, "schedstat", text, sizeof(text)) > 0)
		(void) sscanf(text, "%" SCNu64 " %" SCNu64, &run_ns, &queued_ns);
	work->run_us = run_ns / 1000;
	work->queued_us = queued_ns / 1000;
	return 0;
}

/* Add what the title of one process reports. */
void
activity__parse_title(struct activity_server *server, const char *title)
{
	const char *startup = processes__activity(title, "startup");
	const char *checkpointer = processes__activity(title, "checkpointer");
	const char *receiver = processes__activity(title, "walreceiver");
	const char *at;
	uint32_t	high;
	uint32_t	low;

	if (startup != NULL)
	{
		/* A session of a role of this name does not recover. */
		at = strstr(startup, "recovering ");
		if (at != NULL)
		{
			(void) sscanf(at, "recovering %8" SCNx32, &server->timeline);
			server->waiting = strstr(at, " waiting") != NULL;
		}
	}
	/* Before PostgreSQL 15, the startup process makes it after a crash. */
	at = startup != NULL ? startup : checkpointer;
	if (at != NULL && strstr(at, "end-of-recovery checkpoint") != NULL)
		server->checkpoint = true;
	if (receiver != NULL && (at = strstr(receiver, "streaming ")) != NULL)
	{
		server->streaming = true;
		if (sscanf(at, "streaming %8" SCNx32 "/%8" SCNx32, &high, &low) == 2)
			server->received_lsn = (uint64_t) high << 32 | low;
	}
}

/* Takes what a child has read, which does not matter here. */
static void
take_title(const char *title, uint64_t read_bytes, void *server)
{
	(void) read_bytes;
	activity__parse_title(server, title);
}

/* What the server is at.  Returns false if none runs. */
bool
activity__read_server(const struct cluster *cluster, struct activity_server *server)
{
	pid_t		postmaster = processes__postmaster(cluster);

	*server = (struct activity_server) {0};
	if (postmaster <= 0)
		return false;
	server->startup = processes__startup(cluster, postmaster);
	server->fetching = server->startup > 0 && processes__has_child(server->startup);
	(void) processes__children(cluster, take_title, server);
	return true;
}
