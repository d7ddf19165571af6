/*
 * loop.c
 *		The event loop: accepts servers, and serves one recovery after the other.
 *
 * One epoll set: the listening socket, clients without a handshake, the
 * connected server's socket and eventfd, and signals.  During a recovery the loop
 * waits in the engine, for completions, and polls epoll now and then; without work
 * it sleeps in epoll.  Without a recovery it wakes up once a second, to see whether
 * the data directory is still there.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/watch.h"
#include "cluster/processes.h"
#include "daemon/daemon_internal.h"

/* The ring stays empty for so long before the daemon sleeps in epoll, us. */
#define IDLE_US			2000

/* Time between two polls of an empty ring, us. */
#define POLL_RING_US	200

/*
 * How long references are left to gather in an empty ring, us, while redo has more
 * than GATHER_BYTES of WAL to replay before it needs those taken last: at 100 MB of
 * WAL per second that takes it 20 ms.  Without this pause the daemon takes up to
 * twice the CPU time, and an array gets shorter sweeps.
 */
#define GATHER_US		2000
#define GATHER_BYTES	(2 * 1024 * 1024)

/*
 * Longest wait for redo when nothing can be read before it proceeds, ms: the
 * read-ahead limit is reached, no more references can be taken, or a sweep waits for more.
 */
#define REDO_WAIT_MS	5

/* The same when there has been no work for PAUSED_US, us, as while redo is paused. */
#define PAUSED_WAIT_MS	50
#define PAUSED_US		1000000

/* Time between two checks of the decode LSN, for reading WAL ahead, or while redo proceeds, ms. */
#define DECODE_POLL_MS	10

/* Longest wait for completions; bounds the time between two rounds, us. */
#define COMPLETION_WAIT_US	2000

/* Time between two polls of sockets and signals during a recovery, us. */
#define EVENTS_US		2000

/* Time between two updates of the progress that the server can read, us. */
#define PUBLISH_US		10000

/* References taken from the ring in one round at most. */
#define TAKE_REFS_ROUND	65536

/* Time between two checks whether the data directory is still there, ms. */
#define DIRECTORY_CHECK_MS	1000

/* A postmaster may take so long to load its libraries, us.  It is examined so often. */
#define LOAD_US			5000000

/* What the status has of one that has not loaded ours. */
#define UNLOADED		"it has not loaded redoahead; add that to shared_preload_libraries and " \
	"restart it, or use redoahead follow if it is stock"

/* Events fetched at once. */
#define MAX_EVENTS		16

static void
handle_event(struct daemon *daemon, int fd)
{
	struct handshake_offer offer;

	if (fd == daemon->prefetch.signal_fd)
		prefetch__handle_signal(&daemon->prefetch);
	else if (listener__owns(daemon->listener, fd))
	{
		if (listener__handle(daemon->listener, fd, &offer))
			session__connect(daemon, &offer);
	}
	else if (daemon->prefetch.runs && fd == daemon->session.server.socket)
		daemon->session.hung_up = true;	/* the socket carries nothing after the handshake */
}

/* Show why a server is not served, until one is; of one that comes meanwhile, afterwards. */
static void
publish_refusal(struct daemon *daemon)
{
	const char *reason = daemon->unloaded ? UNLOADED : listener__refusal(daemon->listener);

	if (strcmp(reason, daemon->refused) == 0 || (daemon->prefetch.runs && reason[0] != '\0'))
		return;
	snprintf(daemon->refused, sizeof(daemon->refused), "%s", reason);
	monitor__refuse(daemon->prefetch.monitor, reason);
}

/* Handle all that epoll reports within wait_ms, -1 for no limit. */
static int
handle_events(struct daemon *daemon, int wait_ms)
{
	struct epoll_event events[MAX_EVENTS];
	int			client_ms;
	int			n;

	client_ms = listener__wait_ms(daemon->listener, clock__now_us());
	if (client_ms >= 0 && (wait_ms < 0 || client_ms < wait_ms))
		wait_ms = client_ms;
	n = epoll_wait(daemon->epoll_fd, events, MAX_EVENTS, wait_ms);
	if (n < 0 && errno != EINTR)
		return -errno;
	for (int i = 0; i < n; i++)
		handle_event(daemon, events[i].data.fd);

	daemon->events_us = clock__now_us();
	notify__alive(daemon->events_us);
	listener__expire(daemon->listener, daemon->events_us);
	publish_refusal(daemon);
	return 0;
}

/* Sleep until the server writes to the eventfd, a signal arrives or a timer expires. */
static int
sleep_until_woken(struct daemon *daemon)
{
	struct session *session = &daemon->session;
	/* The sum changes with either.  Replay makes room for decoding, which comes in bursts. */
	uint64_t	lsn = ring__decode_lsn(&session->ring) + ring__replay_lsn(&session->ring);
	bool		reads_wal = session->server.handshake.timeline != 0;
	bool		proceeds = lsn != session->sleep_lsn;
	int			err;

	session__publish(daemon, daemon->events_us);
	if (!ring__sleep(&session->ring))
		return 0;
	engine__counters(daemon->prefetch.engine)->sleeps++;
	session->sleep_lsn = lsn;
	err = handle_events(daemon, reads_wal || proceeds ? DECODE_POLL_MS :
						OUTPUTS_STATISTICS_US / 1000);
	if (daemon->prefetch.runs)
		ring__wake(&session->ring);
	return err;
}

/* Give references from the ring to the engine; returns how many, or -EPROTO. */
static int
take_references(struct daemon *daemon)
{
	struct session *session = &daemon->session;
	struct engine *engine = daemon->prefetch.engine;
	unsigned	room;
	int			taken = 0;

	while ((room = engine__room(engine)) > 0 && taken < TAKE_REFS_ROUND)
	{
		int			n = ring__take(&session->ring, session->refs,
								   room < TAKE_REFS ? room : TAKE_REFS);

		if (n < 0)
		{
			log_warning("invalid ring head written by the server; its recovery is no longer "
						"served; report a bug");
			return n;
		}
		if (n == 0)
			break;
		engine__offer(engine, session->refs, (unsigned) n);
		session->taken_lsn = session->refs[n - 1].lsn;
		taken += n;
	}
	return taken;
}

/* Do what is due at intervals. */
static void
run_timers(struct daemon *daemon, uint64_t replay_lsn, uint64_t now_us)
{
	engine__sweep(daemon->prefetch.engine);
	if (now_us - daemon->session.publish_us >= PUBLISH_US)
		session__publish(daemon, now_us);
	session__update(daemon, replay_lsn);
	prefetch__report(&daemon->prefetch, now_us);
}

/* Is everything submitted that may be, and redo far enough away to let references gather? */
static bool
may_gather(struct session *session, const struct engine_state *state, uint64_t replay_lsn)
{
	return (state->queued == 0 || state->gathers) && session->taken_lsn > replay_lsn &&
		session->taken_lsn - replay_lsn > GATHER_BYTES && ring__is_empty(&session->ring);
}

/* One round of a connected recovery.  Returns -errno to end it. */
static int
serve_round(struct daemon *daemon)
{
	static const struct timespec poll_time = {.tv_nsec = POLL_RING_US * 1000};
	static const struct timespec gather_time = {.tv_nsec = GATHER_US * 1000};
	struct session *session = &daemon->session;
	struct prefetch *prefetch = &daemon->prefetch;
	struct engine *engine = prefetch->engine;
	struct engine_state state;
	uint64_t	replay_lsn = ring__replay_lsn(&session->ring);
	uint64_t	now_us;
	int			taken;
	int			done;

	taken = take_references(daemon);
	if (taken < 0)
		return taken;
	engine__share(engine, readers__active(&prefetch->readers, &prefetch->cluster,
										  ring__hot_standby(&session->ring), clock__now_us()));
	done = engine__run(engine, replay_lsn, session__decode_lsn(session, replay_lsn),
					   COMPLETION_WAIT_US, POLL_RING_US);
	if (done < 0)
		return done;
	now_us = clock__now_us();
	run_timers(daemon, replay_lsn, now_us);

	state = engine__state(engine);
	if (taken == 0 && done == 0 && state.in_flight == 0 &&
		(state.queued > 0 || engine__room(engine) == 0))
		return handle_events(daemon, now_us - session->work_us < PAUSED_US ? REDO_WAIT_MS :
							 PAUSED_WAIT_MS);
	if (taken > 0 || state.in_flight > 0 || state.queued > 0)
	{
		session->work_us = now_us;
		if (may_gather(session, &state, replay_lsn))
			nanosleep(&gather_time, NULL);
		return now_us - daemon->events_us >= EVENTS_US ? handle_events(daemon, 0) : 0;
	}
	if (now_us - session->work_us < IDLE_US)
	{
		nanosleep(&poll_time, NULL);
		return 0;
	}
	return sleep_until_woken(daemon);
}

/* Has the data directory been moved, replaced, removed or emptied? */
static bool
has_moved(const struct daemon *daemon)
{
	return !cluster__is_at(&daemon->prefetch.cluster, daemon->prefetch.options->pgdata) ||
		!listener__is_reachable(daemon->listener);
}

/*
 * Has the server that runs not loaded the extension?  Then it will never connect.  To be
 * called often.
 */
static void
examine_server(struct daemon *daemon)
{
	pid_t		postmaster = processes__postmaster(&daemon->prefetch.cluster);
	uint64_t	ticks = postmaster > 0 ? processes__start_ticks(postmaster) : 0;
	uint64_t	now_us = clock__now_us();
	bool		unloaded = false;

	if (ticks == daemon->postmaster_ticks)
	{
		if (ticks == 0 || now_us < daemon->examine_us)
			return;
		unloaded = processes__maps(postmaster, "/redoahead.so") == 0;
		if (unloaded && !daemon->unloaded)
			log_warning("server with PID %d is not served: " UNLOADED, (int) postmaster);
	}
	daemon->postmaster_ticks = ticks;
	daemon->examine_us = now_us + LOAD_US;
	daemon->unloaded = unloaded;
}

/* Serve until a signal arrives, or until the data directory is another one: -ESTALE. */
static int
serve(struct daemon *daemon)
{
	int			err = 0;
	int			end_err;

	while (!daemon->prefetch.stop && err == 0)
	{
		if (!daemon->prefetch.runs)
		{
			examine_server(daemon);
			err = handle_events(daemon, DIRECTORY_CHECK_MS);
			if (err == 0 && !daemon->prefetch.stop && !daemon->prefetch.runs && has_moved(daemon))
				err = -ESTALE;
			continue;
		}
		err = serve_round(daemon);
		if (err == 0 && !daemon->session.hung_up && !daemon->prefetch.stop)
			continue;

		/* A server that misbehaves is not our failure; a broken engine is. */
		if (err == -EPROTO)
			err = 0;
		end_err = session__disconnect(daemon);
		if (err == 0)
			err = end_err;
		if (err < 0 && !daemon->prefetch.stop)
			err = daemon__renew_engine(daemon, err);
	}
	/* A server may connect just when the signal arrives. */
	if (daemon->prefetch.runs)
		session__disconnect(daemon);
	return daemon->prefetch.stop ? 0 : err;
}

static int
fail_setup(int error)
{
	log_error("cannot set up the event loop: %s; raise the limits of this process",
			  strerror(error));
	return -ENOMEM;
}

/* Listen.  Returns 0, or -errno after a message, as where another daemon serves the cluster. */
int
loop__open(struct daemon *daemon)
{
	daemon->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return daemon->epoll_fd < 0 ? fail_setup(errno) :
		listener__open(&daemon->listener, &daemon->prefetch.cluster, daemon->options->socket,
					   daemon->epoll_fd);
}

/*
 * Serve.  Returns 0 after a signal, -ESTALE if the data directory was replaced, or
 * another -errno.
 */
int
loop__run(struct daemon *daemon)
{
	struct prefetch *prefetch = &daemon->prefetch;
	int			err;

	if (watch__add(daemon->epoll_fd, prefetch->signal_fd, EPOLLIN) < 0)
		return fail_setup(errno);
	err = prefetch__attach(prefetch);
	if (err < 0)
		return err;

	/* Who waits for the message may read them. */
	prefetch__write_statistics(prefetch, clock__now_us());
	log_info("serving \"%s\" at \"%s\" with %s, up to %" PRIu64 " blocks in flight",
			 prefetch->cluster.path, daemon->options->socket, prefetch->backend->name,
			 prefetch->options->io_depth);
	notify__ready(PREFETCH_WAITING);
	err = serve(daemon);
	prefetch__write_statistics(prefetch, clock__now_us());
	return err;
}

/* Stop listening; others may from now on. */
void
loop__close(struct daemon *daemon)
{
	listener__close(daemon->listener);
	daemon->listener = NULL;
	if (daemon->epoll_fd >= 0)
		close(daemon->epoll_fd);
	daemon->epoll_fd = -1;
}
