/*
 * follow.c
 *		Prefetches for the recoveries of a server that is not patched: finds the startup
 *		process, decodes WAL ahead of it, and has the engine read what redo will need.
 *
 * While no recovery runs, 50 times a second pg_control and postmaster.pid are read, and only
 * if the server does not run normally are its processes searched.  While no server runs,
 * nothing of the cluster stays open.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/signals.h"
#include "cluster/processes.h"
#include "cluster/readers.h"
#include "cluster/serverstate.h"
#include "engine/block_queue.h"
#include "engine/residency.h"
#include "engine/setup.h"
#include "follow/follow_internal.h"

/* Time between two searches for a startup process, ms. */
#define SEARCH_MS		20

/* Time until a data directory that could not be opened is tried again, ms. */
#define BROKEN_MS		1000

/* Records decoded before completions are collected: about 100 us. */
#define ROUND_RECORDS	1000

/* Wait for reads, us: while blocks wait for them, and while there is nothing else to do. */
#define BUSY_WAIT_US	2000
#define SPARE_WAIT_US	1000

/* Waits where nothing is to be decoded or read, ms: the first, and the longest. */
#define IDLE_MS			2
#define MAX_IDLE_MS		20

/* Longest wait without a notification to the watchdog, ms. */
#define ALIVE_MS		1000

/* Time between two checks of the state of the server, us. */
#define STATE_US		500000

/* Status between recoveries. */
#define WAITING			"waiting for a recovery"

/* Wait for a signal, or for the end of a process unless pidfd is negative. */
static void
wait_for(struct follow *follow, int pidfd, int wait_ms, bool *ended)
{
	struct pollfd files[] = {
		{.fd = follow->signal_fd,.events = POLLIN},
		{.fd = pidfd,.events = POLLIN},
	};

	notify__alive(clock__now_us());
	if (poll(files, 2, wait_ms) <= 0)
		return;
	if (files[0].revents != 0)
		switch (signals__take(follow->signal_fd))
		{
			case 0:
				break;
			case SIGHUP:
				notify__reloading();
				outputs__reopen(&follow->outputs);
				notify__reloaded();
				break;
			default:
				notify__stopping();
				follow->stop = true;
		}
	*ended = files[1].revents != 0;
}

/* Is the timeline the server's?  Do sessions read beside redo, which must not wait for us? */
static void
check_state(struct follow *follow, uint64_t replay_lsn, uint64_t now_us)
{
	uint32_t	timeline = 0;
	uint64_t	segment = 0;
	bool		reads;

	if (now_us - follow->state_us < STATE_US)
		return;
	follow->state_us = now_us;
	(void) position__segment(&follow->position, &timeline, &segment);
	stream__check_timeline(&follow->stream, timeline, segment, replay_lsn);
	reads = readers__of_server(&follow->readers, &follow->cluster, now_us);
	/* A server that shuts down waits for sessions to end. */
	if (!follow->readers.ready)
		query__end(&follow->position.query);
	engine__share(follow->engine, reads);
}

/* Or a small queue would never have room for the blocks of a record. */
_Static_assert(BLOCK_QUEUE_MIN_ENTRIES >= NEEDED_BLOCKS_MAX, "a record's blocks fit into the queue");

/* Decode for a while.  Returns false if there is nothing to decode now. */
static bool
decode(struct follow *follow, uint64_t replay_lsn, uint64_t now_us)
{
	bool		more = true;

	for (int i = 0; i < ROUND_RECORDS && more; i++)
	{
		unsigned	count;

		if (engine__room(follow->engine) < NEEDED_BLOCKS_MAX)
			return false;
		count = stream__next(&follow->stream, replay_lsn, now_us, follow->refs, &more);
		engine__offer(follow->engine, follow->refs, count);
	}
	return more;
}

/* Prefetch until the recovery ends.  Returns 0, or -errno if the engine is broken. */
static int
prefetch(struct follow *follow, uint64_t start_lsn, int pidfd)
{
	bool		ended = false;
	int			idle_ms = IDLE_MS;
	int			done = 0;

	while (!ended && !follow->stop && done >= 0)
	{
		uint64_t	now_us = clock__now_us();
		uint64_t	replay_lsn = position__read(&follow->position, now_us);
		bool		idle;
		bool		more;

		if (replay_lsn < start_lsn)
			replay_lsn = start_lsn;
		check_state(follow, replay_lsn, now_us);
		more = decode(follow, replay_lsn, now_us);
		done = engine__run(follow->engine, replay_lsn, follow->stream.reader.next_lsn,
						   more ? 0 : BUSY_WAIT_US, more ? 0 : SPARE_WAIT_US);
		engine__sweep(follow->engine);
		outputs__add_sample(&follow->outputs, follow->engine, replay_lsn, follow->begin_us, now_us);
		if (now_us - follow->outputs.statistics_us >= OUTPUTS_STATISTICS_US)
			state__write_statistics(follow, true);
		state__publish(follow, now_us);
		idle = !more && done == 0 && engine__state(follow->engine).in_flight == 0;
		wait_for(follow, pidfd, idle ? idle_ms : 0, &ended);
		idle_ms = !idle ? IDLE_MS : 2 * idle_ms < MAX_IDLE_MS ? 2 * idle_ms : MAX_IDLE_MS;
	}
	return done < 0 ? done : 0;
}

/* Make the engine.  Returns 0, or -errno after a message. */
static int
create_engine(struct follow *follow)
{
	const struct follow_options *options = follow->options;

	return setup__engine(&follow->engine, &(struct setup)
						 {
							 .backend = options->backend,.io_depth = options->io_depth,
								 .readahead_limit = options->readahead_limit,
								 .files = options->files,.dirfd = follow->cluster.dirfd,
								 .block_log = follow->outputs.block_log,.no_uring = follow->no_uring
						 }, &follow->backend);
}

/* Wait for the end of the startup process. */
static void
let_end(struct follow *follow, int pidfd)
{
	bool		ended = false;

	while (!ended && !follow->stop)
		wait_for(follow, pidfd, ALIVE_MS, &ended);
}

/* Follow the recovery that a startup process runs.  Returns 0 or -errno. */
static int
follow_recovery(struct follow *follow, pid_t startup, int pidfd)
{
	struct relpath_layout layout;
	struct recoverystart start;
	int			err = recoverystart__read(&start, &follow->control, &follow->cluster);

	if (err < 0)
		log_warning("cannot use \"%s/global/pg_control\": %s", follow->cluster.path,
					strerror(-err));
	else if (!controlfile__needs_recovery(&follow->control, &follow->cluster))
	{
		/* It was shut down cleanly, and replays nothing. */
		let_end(follow, pidfd);
		return 0;
	}
	else
	{
		layout = controlfile__layout(&follow->control, &follow->cluster);
		/* What comes from elsewhere has just been written. */
		layout.timeline = start.from_archive ? 0 : start.timeline;
		err = stream__begin(&follow->stream, &follow->cluster, &follow->control, &start);
	}
	if (err < 0)
	{
		log_warning("recovery goes on without prefetching");
		notify__status("waiting for the end of a recovery that cannot be followed");
		let_end(follow, pidfd);
		return 0;
	}
	err = create_engine(follow);
	if (err == 0)
	{
		follow->recoveries++;
		follow->begin_us = clock__now_us();
		follow->readers = (struct readers) {0};
		follow->begin_cpu_us = clock__cpu_us();
		engine__begin(follow->engine, &layout,
					  residency__works(follow->cluster.dirfd, layout.tablespace_dir));
		notify__status("prefetching for a recovery");
		log_info("recovery of PostgreSQL %d found, from %X/%08X on", follow->cluster.major,
				 (unsigned) (start.lsn >> 32), (unsigned) start.lsn);
		position__begin(&follow->position, startup, follow->control.system_identifier,
						follow->control.wal_segment_bytes, start.lsn);
		err = prefetch(follow, start.lsn, pidfd);
		position__end(&follow->position);
		if (err < 0 && follow->backend == &backend_uring &&
			strcmp(follow->options->backend, "io_uring") != 0)
		{
			log_warning("io_uring failed: %s; using posix_fadvise, which is slower, from now on; "
						"restart the program to try again", strerror(-err));
			follow->no_uring = true;
			err = 0;
		}
		else if (err < 0)
			log_error("reading failed: %s; try --backend=auto", strerror(-err));
		(void) engine__end(follow->engine);
		state__report(follow);
		engine__destroy(follow->engine);
		follow->engine = NULL;
	}
	stream__end(&follow->stream);
	return err;
}

/* Find a recovery, if one runs, and follow it.  Returns 0 or -errno. */
static int
find_recovery(struct follow *follow)
{
	pid_t		startup;
	int			pidfd;
	int			err = 0;

	/* A server that runs normally has no startup process. */
	if (serverstate__is_ready(&follow->cluster) &&
		controlfile__read(&follow->control, &follow->cluster) == 0 &&
		follow->control.state == CONTROLFILE_IN_PRODUCTION)
		return 0;
	startup = processes__startup(&follow->cluster, processes__postmaster(&follow->cluster));
	if (startup <= 0)
		return 0;
	pidfd = (int) syscall(SYS_pidfd_open, startup, 0);
	if (pidfd < 0 && errno == ESRCH)
		return 0;
	if (pidfd < 0)
	{
		err = -errno;
		log_error("cannot watch the startup process: %s; this needs Linux 5.3", strerror(-err));
		return err;
	}
	err = follow_recovery(follow, startup, pidfd);
	if (!follow->stop)
		notify__status(WAITING);
	close(pidfd);
	return err;
}

/* Is there a server, or was there one?  Answered without keeping the directory open. */
static bool
has_server(const struct follow *follow)
{
	char		path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/postmaster.pid", follow->options->pgdata) <
		(int) sizeof(path) && access(path, F_OK) == 0;
}

/* Follow all recoveries until a signal arrives.  Returns 0 or -errno. */
static int
follow_recoveries(struct follow *follow)
{
	bool		ended = false;
	int			err = 0;

	while (err == 0 && !follow->stop)
	{
		int			wait_ms = SEARCH_MS;

		if (!has_server(follow))
			state__attach(follow, false);
		else if (cluster__open(&follow->cluster, follow->options->pgdata) == 0)
		{
			state__attach(follow, processes__postmaster(&follow->cluster) > 0);
			err = find_recovery(follow);
			cluster__close(&follow->cluster);
		}
		else
			wait_ms = BROKEN_MS;
		if (err == 0 && !follow->stop)
			wait_for(follow, -1, wait_ms, &ended);
	}
	return err;
}

/* Follow all recoveries of a cluster until a signal arrives.  Returns 0 or -errno. */
int
follow__run(const struct follow_options *options)
{
	static struct follow follow;
	int			err;

	follow.options = options;
	follow.cluster.dirfd = -1;
	err = cluster__open(&follow.cluster, options->pgdata);
	if (err == 0)
		position__create(&follow.position, &follow.cluster, options->position, options->attach);
	if (err == 0)
		err = cluster__become_owner(&follow.cluster);
	if (err == 0)
		err = outputs__open(&follow.outputs, options->block_log, options->timeline,
							options->statistics);
	if (err == 0)
		err = position__start(&follow.position);
	if (err == 0)
		err = follow.signal_fd = signals__open();
	if (err >= 0)
		err = monitor__create(&follow.monitor, &options->monitor, "follow", options->pgdata);
	if (err >= 0)
	{
		log_info("following recoveries of \"%s\"", follow.cluster.path);
		notify__ready(WAITING);
		cluster__close(&follow.cluster);
		err = follow_recoveries(&follow);
	}
	monitor__destroy(follow.monitor);
	position__destroy(&follow.position);
	outputs__close(&follow.outputs);
	cluster__close(&follow.cluster);
	return err;
}
