/*
 * trace_loop.c
 *		Waits for a recovery, follows it to its end, and reports.
 *
 * When a server starts, the probes are attached before it is known which of
 * its processes does the redo, so that the beginning is not missed; what the
 * others did is thrown away.  While nothing happens, nothing is attached.  From then
 * on events are fetched twenty times a second.  The recovery is only looked
 * at: no process is stopped, signalled or asked anything.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cluster/controlfile.h"
#include "cluster/processes.h"
#include "cmd/options.h"
#include "cmd/trace_loop.h"
#include "probe/classify.h"
#include "probe/probe.h"
#include "probe/references.h"
#include "probe/rows.h"
#include "report/clock.h"
#include "report/findings.h"
#include "report/log.h"

/* Time between two looks for a server, for the startup process of a server
 * that starts, and for that of one that runs, ms. */
#define SERVER_LOOK_MS	5
#define STARTUP_LOOK_MS	5
#define RUNNING_LOOK_MS	500

/* How long the probes stay attached when there is no server, us. */
#define READY_US		60000000

/* How long a server that has just been met is watched closely, us. */
#define STARTUP_WAIT_US	1000000

/* Time between two fetches of events, ms. */
#define FETCH_MS		50

/* Time between two looks for daemons while there is none, and else, us. */
#define DAEMON_LOOK_US	250000
#define DAEMON_CHECK_US	1000000

/* Most blocks that are kept in mind: 16 bytes each. */
#define MAX_BLOCKS		(8 * 1024 * 1024)

struct tracer
{
	const struct trace_config *config;	/* as given */
	struct controlfile control; /* of the cluster, when it was looked at last */
	struct relpath_layout layout;	/* of its files */
	struct probe *probe;		/* what sees */
	struct files *files;		/* what was met */
	struct classify classify;	/* what it means */
	struct references references;	/* what the daemon is asked for */
	struct tally now;			/* counts of the present interval */
	struct tally total;			/* of all intervals before */
	struct probe_devices devices;	/* counters at the begin of the interval */
	int			signal_fd;		/* SIGTERM and SIGINT */
	int			startup_fd;		/* the startup process */
	pid_t		startup;		/* the same, 0: none yet */
	pid_t		daemons[TRACE_DAEMONS]; /* that run now */
	unsigned	daemon_count;	/* how many */
	pid_t		seen[FINDINGS_DAEMONS]; /* that have run in the course */
	unsigned	seen_count;		/* how many */
	bool		daemon_refused; /* we may not know about another one, said so */
	bool		references_seen;	/* what the daemon is asked for could be read along */
	uint64_t	daemon_us;		/* when they were looked for last, us */
	bool		waiting;		/* nothing is followed yet: what is seen is of others */
	uint64_t	attached_us;	/* when the probes were attached, us */
	bool		from_start;		/* before the startup process began */
	uint64_t	begin_us;		/* when following began, us */
	uint64_t	interval_begin_us;	/* when the present interval began, us */
	uint64_t	reports;		/* of intervals so far */
	bool		stop;			/* a signal said so */
};

/* Wait for a time, a signal, or the end of the startup process; true if it ended. */
static bool
wait_ms(struct tracer *tracer, int ms)
{
	struct pollfd fds[] = {
		{.fd = tracer->signal_fd,.events = POLLIN},
		{.fd = tracer->startup_fd,.events = POLLIN},
	};

	if (poll(fds, 2, ms) <= 0)
		return false;
	if (fds[0].revents != 0)
		tracer->stop = true;
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
static void
look_for_daemons(struct tracer *tracer, uint64_t now_us)
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

/* ---------- what is told ---------- */

static void
handle_event(void *context, const void *event, size_t size)
{
	struct tracer *tracer = context;

	/* Numbers of files stay valid; all else is over. */
	if (tracer->waiting && *(const uint8_t *) event != TRACE_EVENT_FILE)
		return;
	classify__event(&tracer->classify, event, size);
}

static void
handle_reference(void *context, const struct redoahead_ref *ref)
{
	struct tracer *tracer = context;
	enum invalid_reason reason;
	struct relpath_key key;
	uint32_t	block;

	if (relpath__resolve(ref, &tracer->layout, &key, &block, &reason) == 0)
		classify__reference(&tracer->classify, &key, block);
}

/* Fetch all that has been seen. */
static void
fetch(struct tracer *tracer)
{
	/* References first: they precede the reads that they are for. */
	tracer->classify.references_complete =
		references__take(&tracer->references, handle_reference, tracer);
	tracer->classify.now_ns = clock__now_us() * 1000;
	tracer->classify.failed += references__take_failed(&tracer->references);
	(void) probe__consume(tracer->probe);
	if (references__replay_lsn(&tracer->references) > tracer->now.replay_lsn)
		tracer->now.replay_lsn = references__replay_lsn(&tracer->references);
}

/* ---------- reports ---------- */

static void
subtract_device(struct tally_device *device, const struct trace_device *now,
				const struct trace_device *before)
{
	_Static_assert(TALLY_SLOTS == TRACE_SLOTS, "histograms of both sides are the same");

	device->requests = now->requests - before->requests;
	device->bytes = now->bytes - before->bytes;
	device->busy_ns = now->busy_ns - before->busy_ns;
	for (int i = 0; i < TALLY_SLOTS; i++)
		device->slots[i] = now->slots[i] - before->slots[i];
}

/* Take what the devices did in this interval into its counts. */
static void
count_devices(struct tracer *tracer)
{
	struct probe_devices now;

	probe__devices(tracer->probe, &now);
	subtract_device(&tracer->now.reads, &now.reads, &tracer->devices.reads);
	subtract_device(&tracer->now.writes, &now.writes, &tracer->devices.writes);
	tracer->devices = now;
}

/* Report an interval or the whole. */
static int
report(struct tracer *tracer, const struct tally *tally, bool interval,
	   enum findings_outcome outcome, uint64_t elapsed_us)
{
	const struct trace_config *config = tracer->config;
	struct findings findings = {
		.interval = interval,
		.outcome = outcome,
		.pgdata = config->cluster->path,
		.major = config->cluster->major,
		.block_size = tracer->control.block_size,
		.startup = tracer->startup,
		.daemon_count = tracer->seen_count,
		.from_start = tracer->from_start,
		.elapsed_ns = elapsed_us * 1000,
		.cpu_ns = clock__cpu_us() * 1000,
		.lost = {
			.events = probe__lost_events(tracer->probe),
			.references = tracer->references.lost,
			.files = probe__lost_files(tracer->probe),
			.blocks = tracer->classify.blocks.forgotten,
		},
		.point_count = ATTACH_POINT_COUNT,
		.tally = tally,
	};
	struct findings_row *rows;
	int			err;

	_Static_assert(ATTACH_POINT_COUNT <= FINDINGS_POINTS, "all points can be told");
	memcpy(findings.daemons, tracer->seen, sizeof(findings.daemons));
	memcpy(findings.pending, tracer->classify.pending, sizeof(findings.pending));
	for (int point = 0; point < ATTACH_POINT_COUNT; point++)
	{
		findings.points[point] = attach__point_name(point);
		findings.ways[point] = probe__way(tracer->probe, point);
	}
	if (!tracer->references_seen)
		findings.ways[ATTACH_REFERENCES] = "none";
	rows = rows__make(tracer->files, tally, config->cluster->dirfd, &findings.row_count);
	findings.rows = rows;
	err = config->json ? findings__json(&findings, config->output) :
		findings__text(&findings, config->output);
	free(rows);
	if (err < 0)
		log_error("the report cannot be written: %s; make room for it", strerror(-err));
	return err;
}

/* An interval is over: report it, if that is wanted, and begin the next one. */
static int
end_interval(struct tracer *tracer, bool tell)
{
	uint64_t	now_us = clock__now_us();
	int			err = 0;

	count_devices(tracer);
	if (tell)
	{
		err = report(tracer, &tracer->now, true, FINDINGS_RUNNING,
					 now_us - tracer->interval_begin_us);
		tracer->reports++;
	}
	if (err == 0)
		err = tally__merge(&tracer->total, &tracer->now);
	tally__begin(&tracer->now, now_us * 1000);
	tracer->interval_begin_us = now_us;
	return err;
}

/* ---------- waiting ---------- */

/* Detach the probes; what they saw was of a start without a recovery. */
static void
rest(struct tracer *tracer)
{
	probe__detach(tracer->probe);
	tracer->waiting = true;
	(void) probe__consume(tracer->probe);
	tracer->waiting = false;
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
	probe__await(tracer->probe, postmaster);
	tracer->attached_us = clock__now_us();
	probe__devices(tracer->probe, &tracer->devices);
	look_for_daemons(tracer, tracer->attached_us);
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
static int
wait_for_recovery(struct tracer *tracer)
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
			wait_ms(tracer, SERVER_LOOK_MS);
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
			wait_ms(tracer, STARTUP_LOOK_MS);
			continue;
		}

		/* It runs.  Only a crash of one of its processes makes it recover now. */
		if (arrived && recovers)
			log_warning("recovery of the server (PID %d) was over before it could be followed; "
						"waiting for the next one", (int) postmaster);
		rest(tracer);
		arrived = false;
		recovers = true;
		wait_ms(tracer, RUNNING_LOOK_MS);
	}
	return 0;
}

/* ---------- following ---------- */

/* Follow the startup process that was found. */
static int
begin(struct tracer *tracer)
{
	uint64_t	age_us = UINT64_MAX;

	tracer->startup_fd = (int) syscall(SYS_pidfd_open, tracer->startup, 0);
	if (tracer->startup_fd < 0)
		return -errno;
	tracer->begin_us = tracer->interval_begin_us = clock__now_us();
	(void) processes__age_us(tracer->startup, &age_us);
	/* The kernel makes processes older than they are, by up to 10 ms. */
	tracer->from_start = age_us <= tracer->begin_us - tracer->attached_us;
	probe__follow(tracer->probe, tracer->startup);
	/* What came before it was noticed was seen, too. */
	if (!tracer->from_start)
		probe__devices(tracer->probe, &tracer->devices);
	tracer->classify.startup = tracer->startup;
	tracer->classify.tally = &tracer->now;
	tally__begin(&tracer->now, tracer->begin_us * 1000);
	tally__begin(&tracer->total, tracer->begin_us * 1000);
	log_info("tracing the startup process (PID %d)%s: reads by %s, page cache by %s, devices by %s",
			 (int) tracer->startup, tracer->from_start ? "" : " in the middle of its work",
			 probe__way(tracer->probe, ATTACH_CALLS), probe__way(tracer->probe, ATTACH_INSERTIONS),
			 probe__way(tracer->probe, ATTACH_DEVICE));
	return 0;
}

/* How did it end? */
static enum findings_outcome
outcome_of(struct tracer *tracer, bool ended)
{
	if (!ended)
		return FINDINGS_STOPPED;
	if (controlfile__read(&tracer->control, tracer->config->cluster) == 0 &&
		tracer->control.state == CONTROLFILE_IN_PRODUCTION)
		return FINDINGS_COMPLETED;
	log_warning("the startup process (PID %d) has gone before recovery was complete; "
				"see the server's log", (int) tracer->startup);
	return FINDINGS_INTERRUPTED;
}

/*
 * Follow the startup process until it ends, or we are to stop.  -EAGAIN if it had
 * gone before that.
 */
static int
follow(struct tracer *tracer)
{
	const struct trace_config *config = tracer->config;
	enum findings_outcome outcome;
	bool		ended = false;
	int			err;

	err = begin(tracer);
	if (err == -ESRCH)
	{
		log_warning("the startup process (PID %d) had gone before it could be followed; "
					"waiting for the next recovery", (int) tracer->startup);
		return -EAGAIN;
	}
	if (err < 0)
		log_error("the startup process (PID %d) cannot be followed: %s; run as root, on Linux "
				  "5.15 or later", (int) tracer->startup, strerror(-err));
	while (err == 0 && !ended && !tracer->stop &&
		   (config->count == 0 || tracer->reports < config->count))
	{
		ended = wait_ms(tracer, FETCH_MS);
		look_for_daemons(tracer, clock__now_us());
		fetch(tracer);
		if (config->interval_us > 0 &&
			clock__now_us() - tracer->interval_begin_us >= config->interval_us)
			err = end_interval(tracer, true);
	}
	if (err < 0)
		return err;

	probe__detach(tracer->probe);
	fetch(tracer);
	outcome = outcome_of(tracer, ended);
	if (outcome == FINDINGS_COMPLETED)
		classify__end(&tracer->classify);
	err = end_interval(tracer, false);
	return err < 0 ? err : report(tracer, &tracer->total, false, outcome,
								  clock__now_us() - tracer->begin_us);
}

/* Learn about the cluster, and load all that will be needed. */
static int
prepare(struct tracer *tracer)
{
	const struct trace_config *config = tracer->config;
	int			err;

	err = controlfile__read(&tracer->control, config->cluster);
	if (err < 0)
	{
		log_error("global/pg_control of \"%s\" cannot be understood: %s; give the directory of a "
				  "sound cluster with -D", config->cluster->path,
				  err == -EINVAL ? "its sizes are not where they should be" : strerror(-err));
		return err;
	}
	tracer->layout = (struct relpath_layout) {
		.block_size = tracer->control.block_size,
		.segment_blocks = tracer->control.segment_blocks,
		.wal_segment_bytes = tracer->control.wal_segment_bytes,
	};
	err = files__create(&tracer->files, config->cluster->path);
	if (err == 0)
		err = classify__create(&tracer->classify, tracer->files,
							   tracer->control.block_size, MAX_BLOCKS);
	if (err == 0)
		err = tracer->signal_fd = options__signals();
	if (err < 0)
	{
		log_error("cannot start: %s; give this process more memory and descriptors",
				  strerror(-err));
		return err;
	}
	return probe__open(&tracer->probe, config->attach, config->cluster,
					   tracer->control.block_size, config->buffer_bytes, handle_event, tracer);
}

/* Trace one recovery.  Returns 0 if it was reported, or there was none to report. */
int
trace_loop__run(const struct trace_config *config)
{
	struct tracer *tracer = calloc(1, sizeof(*tracer));
	int			err;

	if (tracer == NULL)
	{
		log_error("cannot start: %s; give this process more memory", strerror(ENOMEM));
		return -ENOMEM;
	}
	tracer->config = config;
	tracer->signal_fd = tracer->startup_fd = -1;
	err = prepare(tracer);
	if (err < 0)
		goto cleanup;
	log_info("waiting for recovery of \"%s\"", config->cluster->path);
	do
	{
		err = wait_for_recovery(tracer);
		if (err == 0 && tracer->stop)
			log_info("stopped before there was a recovery");
		else if (err == 0)
			err = follow(tracer);
	} while (err == -EAGAIN);

cleanup:
	probe__close(tracer->probe);
	references__close(&tracer->references);
	classify__destroy(&tracer->classify);
	files__destroy(tracer->files);
	tally__destroy(&tracer->now);
	tally__destroy(&tracer->total);
	if (tracer->signal_fd >= 0)
		close(tracer->signal_fd);
	if (tracer->startup_fd >= 0)
		close(tracer->startup_fd);
	free(tracer);
	return err;
}
