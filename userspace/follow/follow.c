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
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/notify.h"
#include "cluster/processes.h"
#include "cluster/serverstate.h"
#include "engine/block_queue.h"
#include "follow/follow.h"
#include "follow/position.h"
#include "follow/stream.h"

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

struct follow
{
	struct prefetch prefetch;	/* what is common to commands that prefetch */
	struct controlfile control; /* as it was when a recovery was searched for */
	ino_t		attached;		/* inode of the data directory that the monitor watches, 0: none */
	pid_t		hidden;			/* postmaster that cannot be seen, which was logged; 0: none */
	struct position position;	/* of redo */
	struct stream stream;		/* of references */
	uint64_t	state_us;		/* time of the last check of the state of the server, us */
	struct redoahead_ref refs[NEEDED_BLOCKS_MAX];	/* of one record */
};

/* Wait for a signal, or for the end of a process unless pidfd is negative. */
static void
wait_for(struct follow *follow, int pidfd, int wait_ms, bool *ended)
{
	struct pollfd files[] = {
		{.fd = follow->prefetch.signal_fd,.events = POLLIN},
		{.fd = pidfd,.events = POLLIN},
	};

	notify__alive(clock__now_us());
	if (poll(files, 2, wait_ms) <= 0)
		return;
	if (files[0].revents != 0)
		prefetch__handle_signal(&follow->prefetch);
	*ended = files[1].revents != 0;
}

/* Is the timeline the server's?  Do sessions read beside redo, which must not wait for us? */
static void
check_state(struct follow *follow, uint64_t replay_lsn, uint64_t now_us)
{
	struct prefetch *prefetch = &follow->prefetch;
	uint32_t	timeline = 0;
	uint64_t	segment = 0;
	bool		reads;

	if (now_us - follow->state_us < STATE_US)
		return;
	follow->state_us = now_us;
	(void) position__segment(&follow->position, &timeline, &segment);
	stream__check_timeline(&follow->stream, timeline, segment, replay_lsn);
	reads = readers__of_server(&prefetch->readers, &prefetch->cluster, now_us);
	/* A server that shuts down waits for sessions to end. */
	if (!prefetch->readers.ready)
		query__end(&follow->position.query);
	engine__share(prefetch->engine, reads);
}

/* Or a small queue would never have room for the blocks of a record. */
_Static_assert(BLOCK_QUEUE_MIN_ENTRIES >= NEEDED_BLOCKS_MAX, "a record's blocks fit into the queue");

/* Decode for a while.  Returns false if there is nothing to decode now. */
static bool
decode(struct follow *follow, uint64_t replay_lsn, uint64_t now_us)
{
	struct engine *engine = follow->prefetch.engine;
	bool		more = true;

	for (int i = 0; i < ROUND_RECORDS && more; i++)
	{
		unsigned	count;

		if (engine__room(engine) < NEEDED_BLOCKS_MAX)
			return false;
		count = stream__next(&follow->stream, replay_lsn, now_us, follow->refs, &more);
		engine__offer(engine, follow->refs, count);
	}
	return more;
}

/* Prefetch until the recovery has ended.  Returns 0, or -errno if the engine is broken. */
static int
prefetch_until_end(struct follow *follow, uint64_t start_lsn, int pidfd, bool *ended)
{
	struct prefetch *prefetch = &follow->prefetch;
	int			idle_ms = IDLE_MS;
	int			done = 0;

	*ended = false;
	while (!*ended && !prefetch->stop && done >= 0)
	{
		uint64_t	now_us = clock__now_us();
		uint64_t	replay_lsn = position__read(&follow->position, now_us);
		bool		idle;
		bool		more;

		if (replay_lsn < start_lsn)
			replay_lsn = start_lsn;
		check_state(follow, replay_lsn, now_us);
		more = decode(follow, replay_lsn, now_us);
		done = engine__run(prefetch->engine, replay_lsn, follow->stream.reader.next_lsn,
						   more ? 0 : BUSY_WAIT_US, more ? 0 : SPARE_WAIT_US);
		engine__sweep(prefetch->engine);
		prefetch->position = (struct prefetch_position)
		{
			.replay_lsn = follow->position.lsn,.exact = position__is_exact(&follow->position),
				.decode_lsn = follow->stream.reader.next_lsn,
				.primary_lsn = follow->position.query.primary_lsn,
		};
		prefetch__report(prefetch, now_us);
		idle = !more && done == 0 && engine__state(prefetch->engine).in_flight == 0;
		wait_for(follow, pidfd, idle ? idle_ms : 0, ended);
		idle_ms = !idle ? IDLE_MS : 2 * idle_ms < MAX_IDLE_MS ? 2 * idle_ms : MAX_IDLE_MS;
	}
	return done < 0 ? done : 0;
}

/* Wait for the end of the startup process. */
static void
let_end(struct follow *follow, int pidfd)
{
	bool		ended = false;

	while (!ended && !follow->prefetch.stop)
		wait_for(follow, pidfd, ALIVE_MS, &ended);
}

/* Prefetch for the recovery that a startup process runs from start_lsn on.  Returns 0 or -errno. */
static int
serve_recovery(struct follow *follow, pid_t startup, int pidfd, uint64_t start_lsn,
			   const struct relpath_layout *layout)
{
	struct prefetch *prefetch = &follow->prefetch;
	bool		ended;
	int			err = prefetch__create_engine(prefetch, false);

	if (err < 0)
		return err;
	prefetch__begin(prefetch, layout, startup);
	log_info("recovery of PostgreSQL %d found, from %X/%08X on", prefetch->cluster.major,
			 (unsigned) (start_lsn >> 32), (unsigned) start_lsn);
	position__begin(&follow->position, startup, follow->control.system_identifier,
					follow->control.wal_segment_bytes, start_lsn);
	err = prefetch_until_end(follow, start_lsn, pidfd, &ended);
	position__end(&follow->position);
	if (err < 0)
		err = prefetch__engine_failed(prefetch, err);
	log_info("%" PRIu64 " records decoded, up to %X/%08X", follow->stream.records,
			 (unsigned) (follow->stream.reader.next_lsn >> 32),
			 (unsigned) follow->stream.reader.next_lsn);
	/* Where reads are not complete, destroying the engine waits for none either. */
	(void) prefetch__end(prefetch, ended);
	engine__destroy(prefetch->engine);
	prefetch->engine = NULL;
	return err;
}

/* Follow the recovery that a startup process runs.  Returns 0 or -errno. */
static int
follow_recovery(struct follow *follow, pid_t startup, int pidfd)
{
	const struct cluster *cluster = &follow->prefetch.cluster;
	struct relpath_layout layout;
	struct recoverystart start;
	int			err = recoverystart__read(&start, &follow->control, cluster);

	if (err < 0)
		log_warning("cannot use \"%s/global/pg_control\": %s", cluster->path, strerror(-err));
	else if (!controlfile__needs_recovery(&follow->control, cluster))
	{
		/* It was shut down cleanly, and replays nothing. */
		let_end(follow, pidfd);
		return 0;
	}
	else
	{
		layout = controlfile__layout(&follow->control, cluster);
		/* What comes from elsewhere has just been written. */
		layout.timeline = start.from_archive ? 0 : start.timeline;
		err = stream__begin(&follow->stream, cluster, &follow->control, &start);
	}
	if (err < 0)
	{
		log_warning("recovery goes on without prefetching");
		notify__status("waiting for the end of a recovery that cannot be followed");
		let_end(follow, pidfd);
		if (!follow->prefetch.stop)
			notify__status(PREFETCH_WAITING);
		return 0;
	}
	err = serve_recovery(follow, startup, pidfd, start.lsn, &layout);
	stream__end(&follow->stream);
	return err;
}

/* Find a recovery, if one runs, and follow it.  Returns 0 or -errno. */
static int
find_recovery(struct follow *follow)
{
	const struct cluster *cluster = &follow->prefetch.cluster;
	pid_t		startup;
	int			pidfd;
	int			err = 0;

	/* A server that runs normally has no startup process. */
	if (serverstate__is_ready(cluster) &&
		controlfile__read(&follow->control, cluster) == 0 &&
		follow->control.state == CONTROLFILE_IN_PRODUCTION)
		return 0;
	startup = processes__startup(cluster, processes__postmaster(cluster));
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
	close(pidfd);
	return err;
}

/* Is there a server, or was there one?  Answered without keeping the directory open. */
static bool
has_server(const struct follow *follow)
{
	char		path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/postmaster.pid", follow->prefetch.options->pgdata) <
		(int) sizeof(path) && access(path, F_OK) == 0;
}

/*
 * Let the monitor watch the data directory while a server runs on it, and no longer.  Returns as
 * prefetch__attach() does.
 */
static int
attach_monitor(struct follow *follow, bool runs)
{
	ino_t		inode = runs ? follow->prefetch.cluster.inode : 0;

	if (inode == follow->attached)
		return 0;
	follow->attached = inode;
	if (runs)
		return prefetch__attach(&follow->prefetch);
	monitor__attach(follow->prefetch.monitor, NULL);
	return 0;
}

/* Log, once for each server, that it cannot be seen. */
static void
report_hidden(struct follow *follow)
{
	const struct cluster *cluster = &follow->prefetch.cluster;
	pid_t		pid = processes__hidden(cluster);
	struct stat st;

	/* The server has made the file, so that has its group. */
	if (pid != 0 && pid != follow->hidden && fstatat(cluster->dirfd, "postmaster.pid", &st, 0) == 0)
		log_warning("the server of \"%s\" cannot be followed: it runs with another group, and /proc "
					"hides its process %d; run this program with group %u, or if it is a service, "
					"add to its unit, by systemctl edit: [Service] Group=%u", cluster->path,
					(int) pid, (unsigned) st.st_gid, (unsigned) st.st_gid);
	follow->hidden = pid;
}

/* Follow all recoveries until a signal arrives.  Returns 0 or -errno. */
static int
follow_recoveries(struct follow *follow)
{
	struct prefetch *prefetch = &follow->prefetch;
	char		message[CLUSTER_MESSAGE_BYTES];
	char		logged[CLUSTER_MESSAGE_BYTES] = "";
	bool		ended = false;
	int			err = 0;

	while (err == 0 && !prefetch->stop)
	{
		int			wait_ms = SEARCH_MS;

		if (!has_server(follow))
			(void) attach_monitor(follow, false);
		else if (cluster__try(&prefetch->cluster, prefetch->options->pgdata, message) == 0)
		{
			bool		runs = processes__postmaster(&prefetch->cluster) > 0;

			logged[0] = '\0';
			err = attach_monitor(follow, runs);
			if (!runs)
				report_hidden(follow);
			if (err == 0)
				err = find_recovery(follow);
			cluster__close(&prefetch->cluster);
		}
		else
		{
			/* It may be there again soon; each reason is logged once. */
			if (strcmp(message, logged) != 0)
				log_error("%s", message);
			strcpy(logged, message);
			wait_ms = BROKEN_MS;
		}
		if (err == 0 && !prefetch->stop)
			wait_for(follow, -1, wait_ms, &ended);
	}
	return err;
}

/* Follow all recoveries of a cluster until a signal arrives.  Returns 0 or -errno. */
int
follow__run(const struct follow_options *options)
{
	static struct follow follow;
	struct prefetch *prefetch = &follow.prefetch;
	int			err;

	prefetch__init(prefetch, &options->prefetch);
	err = cluster__open(&prefetch->cluster, prefetch->options->pgdata);
	if (err == 0)
		position__create(&follow.position, &prefetch->cluster, options->position, options->attach);
	if (err == 0)
		err = cluster__become_owner(&prefetch->cluster);
	if (err == 0)
		err = position__start(&follow.position);
	if (err == 0)
		err = prefetch__open(prefetch, "follow");
	if (err == 0)
	{
		log_info("following recoveries of \"%s\"", prefetch->cluster.path);
		notify__ready(PREFETCH_WAITING);
		cluster__close(&prefetch->cluster);
		err = follow_recoveries(&follow);
	}
	position__destroy(&follow.position);
	prefetch__close(prefetch);
	return err;
}
