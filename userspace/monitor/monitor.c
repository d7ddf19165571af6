/*
 * monitor.c
 *		Watches a command that prefetches, for people.
 *
 * The command publishes what it does, 20 times a second; all else is done in a thread of its
 * own, so that neither clients of the status socket nor a full file system delay
 * prefetching.  The thread copies what was published, samples what the server does, answers
 * clients, and writes the metrics file, and a line and a page at the end of each recovery.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/notify.h"
#include "monitor/conclusion.h"
#include "monitor/document.h"
#include "monitor/mailbox.h"
#include "monitor/metrics_file.h"
#include "monitor/monitor.h"
#include "monitor/service.h"
#include "monitor/status_socket.h"

/* Time between two samples, ms: during a recovery, and without one. */
#define SAMPLE_MS		50
#define IDLE_MS			1000

/* Redo and prefetching come first where CPUs are short. */
#define THREAD_NICE		10

/*
 * Longest waits for the thread, which may be held up by a file system or get no CPU, s: until
 * it has attached a cluster, and until it has ended, after which a socket and metrics would stay.
 */
#define ATTACH_SECONDS	1
#define END_SECONDS		5

/* A document is sent again for so long, us. */
#define DOCUMENT_US		100000

/* Time between two reports to the service manager, us. */
#define SERVICE_US		2000000

/* Time between two checks whether the status socket is still there, us. */
#define CHECK_US		1000000

struct monitor
{
	const struct monitor_options *options;
	const char *command;
	char		pgdata[PATH_MAX];	/* without symbolic links, so that its label stays */
	uint64_t	begin_us;		/* time at which the process began, us */
	pthread_t	thread;
	struct mailbox mailbox;

	/* The thread's alone. */
	struct monitor_snapshot snapshot;
	char		refused[MONITOR_REFUSED_BYTES]; /* why a server is not served, empty: none */
	struct cluster cluster;		/* to watch; dirfd is -1 if there is none */
	struct status_socket socket;
	gid_t		group;			/* may connect to it; -1: none */
	bool		wants_socket;	/* it should be there */
	bool		socket_failed;	/* the last attempt failed, and that was logged */
	uint64_t	check_us;		/* time of the last check of the socket, us */
	struct recovery recoveries[2];	/* the present one and the last */
	struct recovery *present;	/* NULL: there is none */
	struct recovery *last;		/* likewise */
	struct relations relations; /* whose blocks were requested in the last one */
	struct json_object *document;	/* the last one made, or NULL */
	uint64_t	document_us;	/* time of that, us */
	struct metrics_file metrics;
	uint64_t	service_us;		/* time of the last report to the service manager, us; 0: it waits */
};

/* The cluster, or NULL if none is attached. */
static const struct cluster *
attached(const struct monitor *monitor)
{
	return monitor->cluster.dirfd < 0 ? NULL : &monitor->cluster;
}

/* Make the document, if the last one is too old. */
static struct json_object *
current_document(struct monitor *monitor)
{
	uint64_t	now_us = clock__now_us();
	struct document contents = {
		.command = monitor->command,
		.pgdata = monitor->pgdata,
		.major = monitor->cluster.major,
		.uptime_us = now_us - monitor->begin_us,
		.present = monitor->present,
		.last = monitor->last,
		.snapshot = &monitor->snapshot,
		.refused = monitor->refused[0] != '\0' ? monitor->refused : NULL,
	};
	struct activity_server server;

	if (monitor->document != NULL && now_us - monitor->document_us < DOCUMENT_US)
		return monitor->document;
	if (monitor->present != NULL)
	{
		recovery__update(monitor->present, &monitor->snapshot, attached(monitor), now_us);
		contents.phase = monitor->present->phase;
	}
	else if (attached(monitor) != NULL && activity__read_server(&monitor->cluster, &server))
		contents.phase = recovery__phase(&monitor->cluster, &server, false, monitor->last != NULL &&
										 monitor->last->server.startup == server.startup);
	json_object_put(monitor->document);
	monitor->document = document__create(&contents);
	monitor->document_us = now_us;
	return monitor->document;
}

/* For clients of the socket. */
static const char *
document_text(void *monitor)
{
	return json_object_to_json_string_ext(current_document(monitor), JSON_C_TO_STRING_PLAIN);
}

/* Report the present recovery, which has ended, unless it goes on unwatched. */
static void
conclude(struct monitor *monitor, const struct monitor_snapshot *ended, bool completed)
{
	recovery__update(monitor->present, ended, attached(monitor), clock__now_us());
	recovery__end(monitor->present, completed ? attached(monitor) : NULL);
	if (completed)
	{
		conclusion__log(monitor->present);
		monitor->last = monitor->present;
	}
	monitor->present = NULL;
	monitor->document_us = 0;
	if (completed && monitor->options->report != NULL)
		conclusion__report(monitor->options->report, current_document(monitor),
						   &monitor->relations);
}

/* A recovery was found. */
static void
begin(struct monitor *monitor, const struct monitor_snapshot *snapshot)
{
	if (monitor->present != NULL)
		recovery__end(monitor->present, NULL);
	monitor->present = monitor->last == &monitor->recoveries[0] ? &monitor->recoveries[1] :
		&monitor->recoveries[0];
	recovery__begin(monitor->present, snapshot);
	monitor->document_us = 0;
}

/* Listen, if there is where to: what is not in the data directory needs none. */
static void
listen_again(struct monitor *monitor)
{
	const char *path = monitor->options->status_socket;

	monitor->check_us = clock__now_us();
	monitor->wants_socket = false;
	status_socket__close(&monitor->socket);
	if (path[0] == '\0' || (path[0] != '/' && attached(monitor) == NULL))
		return;
	monitor->wants_socket = true;
	if (status_socket__open(&monitor->socket, &monitor->cluster, path,
							monitor->group, monitor->socket_failed) == 0)
		monitor->socket_failed = false;
	else if (!monitor->socket_failed)
	{
		log_warning("the status cannot be read from a socket; prefetching goes on, and the socket "
					"is tried again");
		monitor->socket_failed = true;
	}
}

/* Watch another cluster, or none. */
static void
attach(struct monitor *monitor, const struct cluster *cluster)
{
	cluster__close(&monitor->cluster);
	monitor->cluster = *cluster;
	if (monitor->options->status_socket[0] != '/')
		listen_again(monitor);
}

/* Take what the command has published.  Returns false if the thread must end. */
static bool
take_mail(struct monitor *monitor)
{
	struct mail mail;

	mailbox__take(&monitor->mailbox, &mail, &monitor->relations);
	monitor->snapshot = mail.snapshot;
	if (strcmp(monitor->refused, mail.refused) != 0)
		monitor->document_us = 0;
	memcpy(monitor->refused, mail.refused, sizeof(monitor->refused));
	if (mail.has_ended)
	{
		/* It may have been too short for being seen, or this thread was held up. */
		if (monitor->present == NULL ||
			monitor->present->snapshot.begin_us != mail.ended.begin_us)
			begin(monitor, &mail.ended);
		conclude(monitor, &mail.ended, mail.completed);
	}
	if (mail.has_cluster)
	{
		attach(monitor, &mail.cluster);
		mailbox__attached(&monitor->mailbox, &mail);
	}
	if (mail.found && monitor->present == NULL)
		begin(monitor, &monitor->snapshot);
	return !mail.stop;
}

/* Report to the service manager, if there is one, until the checkpoint after a recovery ends. */
static void
report_to_service(struct monitor *monitor, uint64_t now_us)
{
	bool		waits;

	if (!notify__is_used() || (monitor->present == NULL && monitor->service_us == 0) ||
		now_us - monitor->service_us < SERVICE_US)
		return;
	waits = service__report(current_document(monitor));
	monitor->service_us = waits && monitor->present == NULL ? 0 : now_us;
}

/* If somebody has removed the socket, or it could not be made, make it again. */
static void
check_socket(struct monitor *monitor, uint64_t now_us)
{
	if (!monitor->wants_socket || now_us - monitor->check_us < CHECK_US)
		return;
	monitor->check_us = now_us;
	if (monitor->socket.fd < 0 || !sockfile__is_ours(&monitor->socket.file))
		listen_again(monitor);
}

static void *
run(void *argument)
{
	struct monitor *monitor = argument;
	struct pollfd files[2] = {{.fd = monitor->mailbox.event_fd,.events = POLLIN},
	{.events = POLLIN}};

	/* Of this thread only. */
	(void) setpriority(PRIO_PROCESS, 0, THREAD_NICE);
	listen_again(monitor);
	while (take_mail(monitor))
	{
		uint64_t	now_us = clock__now_us();
		uint64_t	count;

		if (monitor->present != NULL)
			recovery__update(monitor->present, &monitor->snapshot, attached(monitor), now_us);
		if (metrics_file__is_due(&monitor->metrics, now_us))
			metrics_file__write(&monitor->metrics, current_document(monitor), now_us);
		report_to_service(monitor, now_us);
		check_socket(monitor, now_us);
		files[1].fd = status_socket__watch(&monitor->socket, now_us);
		(void) poll(files, 2, monitor->present != NULL ||
					files[1].fd != monitor->socket.fd ? SAMPLE_MS : IDLE_MS);
		if (files[0].revents != 0 && read(files[0].fd, &count, sizeof(count)) < 0)
			continue;
		if (files[1].fd >= 0 && files[1].revents != 0)
			status_socket__serve(&monitor->socket, document_text, monitor);
	}
	return NULL;
}

/* Run a thread that receives no signals.  Returns 0 or -errno. */
static int
start_thread(struct monitor *monitor)
{
	sigset_t	all;
	sigset_t	before;
	int			err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(&monitor->thread, NULL, run, monitor);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

/*
 * Begin to watch a command of this name.  What the other arguments point to must stay.  To be
 * called with the rights of the owner.  Returns 0, or -errno after a message.
 */
int
monitor__create(struct monitor **result, const struct monitor_options *options,
				const char *command, const char *pgdata)
{
	struct monitor *monitor;
	gid_t		gid;
	int			err = status_socket__group(options->status_group, &gid);

	if (err < 0)
		return err;
	monitor = calloc(1, sizeof(*monitor));
	if (monitor == NULL)
		return -ENOMEM;
	monitor->options = options;
	monitor->command = command;
	if (realpath(pgdata, monitor->pgdata) == NULL)
		snprintf(monitor->pgdata, sizeof(monitor->pgdata), "%s", pgdata);
	monitor->group = gid;
	monitor->begin_us = clock__now_us();
	if (options->report != NULL)
		conclusion__check(options->report);
	monitor->metrics.path = options->metrics;
	monitor->cluster.dirfd = monitor->socket.fd = -1;
	err = mailbox__create(&monitor->mailbox);
	if (err == 0)
	{
		err = start_thread(monitor);
		if (err < 0)
			mailbox__destroy(&monitor->mailbox);
	}
	if (err < 0)
	{
		log_error("cannot create a thread for the status: %s; raise the limits of this process",
				  strerror(-err));
		free(monitor);
		return err;
	}
	*result = monitor;
	return 0;
}

/* A time in so many seconds. */
static struct timespec
in_seconds(time_t seconds)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_sec += seconds;
	return time;
}

/*
 * Watch a cluster, or none.  On return the status socket is there, or nothing is open any
 * more, unless the thread takes more than a second.  The caller may close its own
 * descriptor.
 */
void
monitor__attach(struct monitor *monitor, const struct cluster *cluster)
{
	struct timespec end = in_seconds(ATTACH_SECONDS);

	mailbox__attach(&monitor->mailbox, cluster, &end);
}

/* Publish what the command does in a recovery. */
void
monitor__publish(struct monitor *monitor, const struct monitor_snapshot *snapshot)
{
	mailbox__publish(&monitor->mailbox, snapshot);
}

/* A server is not served, for this reason; empty: there is none any more. */
void
monitor__refuse(struct monitor *monitor, const char *reason)
{
	mailbox__refuse(&monitor->mailbox, reason);
}

/* The recovery has ended, or goes on, and the command does nothing for it now. */
void
monitor__end(struct monitor *monitor, const struct monitor_snapshot *snapshot,
			 const struct relations *relations, bool ended)
{
	mailbox__end(&monitor->mailbox, snapshot, relations, ended);
}

/* End the thread, and remove the socket and the metrics file. */
void
monitor__destroy(struct monitor *monitor)
{
	struct timespec end = in_seconds(END_SECONDS);

	if (monitor == NULL)
		return;
	mailbox__stop(&monitor->mailbox);
	/* It may be held up by a file system that does not respond; the process ends anyway. */
	if (pthread_clockjoin_np(monitor->thread, NULL, CLOCK_MONOTONIC, &end) != 0)
		return;
	status_socket__close(&monitor->socket);
	cluster__close(&monitor->cluster);
	metrics_file__remove(&monitor->metrics);
	json_object_put(monitor->document);
	mailbox__destroy(&monitor->mailbox);
	free(monitor);
}
