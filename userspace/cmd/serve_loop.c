/*
 * serve_loop.c
 *		Waits for servers, and serves one recovery after the other.
 *
 * One thread, one epoll set: the listening socket, clients that have not said
 * hello, the attached server's socket and eventfd, and signals.  While a
 * recovery keeps us busy the loop runs on the engine's waits and looks at
 * epoll now and then; without work it sleeps in epoll.  A recovery that is
 * not attached costs nothing.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "ablate.h"
#include "cmd/options.h"
#include "cmd/serve_state.h"
#include "report/clock.h"
#include "report/log.h"

/* How long to look for new references before going to sleep, us. */
#define IDLE_US			2000

/* Time between two looks at an empty ring, us. */
#define LOOK_US			200

/*
 * How long to let references gather in an empty ring, us: of a trickle, few
 * large batches cost less CPU time than many small ones, and are in better
 * order.  Done while redo, at its pace, needs at least GATHER_PACES times
 * PUBLISH_US to come to what was taken last, and that is at least GATHER_BYTES
 * of WAL away.
 */
#define GATHER_US		2000
#define GATHER_PACES	2
#define GATHER_BYTES	(256 * 1024)

/*
 * How long to wait for redo when nothing else can be done, ms: when all that may
 * be read ahead is there, or the ring holds more than may be taken.
 */
#define REDO_WAIT_MS	5

/* Time between two looks at how far decoding is, for reading WAL ahead, ms. */
#define DECODE_LOOK_MS	10

/* Longest wait for completions; bounds the time between heartbeats, us. */
#define WAIT_US			2000

/* Time between two looks at sockets and signals while busy, us. */
#define EVENTS_US		2000

/* Time between two updates of what the server can read of us, us. */
#define PUBLISH_US		10000

/* Time between two writes of the statistics file, us. */
#define STATS_US		1000000

/* References taken from the ring in one round at most. */
#define TAKE_REFS_ROUND	65536

/* Events fetched at once. */
#define MAX_EVENTS		16

static void
handle_event(struct serve *serve, int fd)
{
	struct listener_offer offer;
	struct signalfd_siginfo info;

	if (fd == serve->signal_fd)
	{
		if (read(fd, &info, sizeof(info)) == (ssize_t) sizeof(info))
		{
			log_info("stopping: %s", strsignal((int) info.ssi_signo));
			serve->stop = true;
		}
	}
	else if (listener__owns(serve->listener, fd))
	{
		if (listener__handle(serve->listener, fd, &offer))
			serve__attach(serve, &offer);
	}
	else if (serve->attached && fd == serve->server.socket)
		serve->hung_up = true;	/* nothing may be said here, only goodbye */
}

/* Look at everything that epoll watches, waiting up to wait_ms. */
static int
handle_events(struct serve *serve, int wait_ms)
{
	struct epoll_event events[MAX_EVENTS];
	int			client_ms;
	int			n;

	client_ms = listener__wait_ms(serve->listener, clock__now_us());
	if (client_ms >= 0 && (wait_ms < 0 || client_ms < wait_ms))
		wait_ms = client_ms;
	n = epoll_wait(serve->epoll_fd, events, MAX_EVENTS, wait_ms);
	if (n < 0 && errno != EINTR)
		return -errno;
	for (int i = 0; i < n; i++)
		handle_event(serve, events[i].data.fd);

	serve->events_us = clock__now_us();
	listener__expire(serve->listener, serve->events_us);
	return 0;
}

/* Sleep until the server, a signal or the next sweep wakes us. */
static int
sleep_until_woken(struct serve *serve)
{
	uint64_t	lsn = ring__decode_lsn(&serve->ring);
	bool		decodes = lsn != serve->sleep_lsn;
	int			err;

	serve__publish(serve, serve->events_us);
	if (!ring__sleep(&serve->ring))
		return 0;
	engine__counters(serve->config->engine)->sleeps++;
	serve->sleep_lsn = lsn;
	err = handle_events(serve, decodes ? DECODE_LOOK_MS : STATS_US / 1000);
	if (serve->attached)
		ring__wake(&serve->ring);
	return err;
}

/* Is there time to let references gather? */
static bool
may_gather(struct serve *serve, uint64_t replay_lsn)
{
	uint64_t	distance = serve->taken_lsn - replay_lsn;

	return !ablated(gather) &&
		serve->taken_lsn > replay_lsn && distance >= GATHER_BYTES &&
		distance / GATHER_PACES >= serve->pace && ring__is_empty(&serve->ring);
}

/* How far the server has come with decoding, as far as we can know. */
static uint64_t
decode_lsn(const struct serve *serve, uint64_t replay_lsn)
{
	uint64_t	lsn = ring__decode_lsn(&serve->ring);

	if (lsn < replay_lsn)
		lsn = replay_lsn;
	return lsn < serve->taken_lsn ? serve->taken_lsn : lsn;
}

/* One round while a recovery is attached.  Returns -errno to end it. */
static int
serve_round(struct serve *serve)
{
	static const struct timespec look = {.tv_nsec = LOOK_US * 1000};
	static const struct timespec gathering = {.tv_nsec = GATHER_US * 1000};
	struct engine *engine = serve->config->engine;
	uint64_t	replay_lsn = ring__replay_lsn(&serve->ring);
	unsigned	room;
	uint64_t	now_us;
	bool		gather;
	int			taken = 0;
	int			done;

	ring__beat(&serve->ring);
	while ((room = engine__room(engine)) > 0 && taken < TAKE_REFS_ROUND)
	{
		int			n = ring__take(&serve->ring, serve->refs,
								   room < TAKE_REFS ? room : TAKE_REFS);

		if (n < 0)
		{
			log_warning("the server wrote an impossible index into the ring; its recovery is no longer served; report a bug");
			return n;
		}
		if (n == 0)
			break;
		engine__offer(engine, serve->refs, (unsigned) n);
		serve->taken_lsn = serve->refs[n - 1].lsn;
		taken += n;
	}

	feedback__take(serve->config->feedback, engine__counters(engine));

	/* With all asked for, look at the ring again soon, or let it fill. */
	gather = may_gather(serve, replay_lsn);
	done = engine__run(engine, replay_lsn, decode_lsn(serve, replay_lsn),
					   WAIT_US, gather ? 0 : LOOK_US);
	if (done < 0)
		return done;

	now_us = clock__now_us();
	if (now_us - serve->publish_us >= PUBLISH_US)
	{
		serve->pace = replay_lsn - serve->pace_lsn;
		serve->pace_lsn = replay_lsn;
		serve__publish(serve, now_us);
		engine__sweep(engine);
	}
	if (now_us - serve->stats_us >= STATS_US)
		serve__write_stats(serve);
	if (serve->config->timeline != NULL && now_us - serve->moment_us >= TIMELINE_US)
		serve__note_moment(serve, replay_lsn, now_us);

	if (taken == 0 && engine__in_flight(engine) == 0 &&
		(engine__waiting(engine) > 0 || engine__room(engine) == 0))
		return handle_events(serve, REDO_WAIT_MS);
	if (taken > 0 || !engine__idle(engine))
	{
		serve->work_us = now_us;
		if (gather && engine__waiting(engine) == 0)
			nanosleep(&gathering, NULL);
		if (now_us - serve->events_us >= EVENTS_US)
			return handle_events(serve, 0);
		return 0;
	}
	if (now_us - serve->work_us < IDLE_US)
	{
		nanosleep(&look, NULL);
		return 0;
	}
	return sleep_until_woken(serve);
}

/* Serve until a signal says stop. */
static int
run(struct serve *serve)
{
	int			err = 0;
	int			end_err;

	while (!serve->stop && err == 0)
	{
		if (!serve->attached)
		{
			err = handle_events(serve, -1);
			continue;
		}
		err = serve_round(serve);
		if (err == 0 && !serve->hung_up && !serve->stop)
			continue;

		/* A server that misbehaves is not our failure; a broken sink is. */
		if (err == -EPROTO)
			err = 0;
		if (err < 0)
			log_error("reading failed: %s; try --backend=fadvise", strerror(-err));
		end_err = serve__detach(serve);
		if (err == 0)
			err = end_err;
	}
	return err;
}

/* The daemon.  Returns 0 when told to stop, or -errno. */
int
serve_loop__run(const struct serve_config *config)
{
	struct serve serve = {.config = config,.epoll_fd = -1,.signal_fd = -1};
	int			err;

	serve.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	serve.signal_fd = options__signals();
	if (serve.epoll_fd < 0 || serve.signal_fd < 0 ||
		serve__watch(&serve, serve.signal_fd, EPOLLIN) < 0)
	{
		log_error("cannot set up the event loop: %s; raise the limits of this process",
				  strerror(errno));
		err = -ENOMEM;
		goto cleanup;
	}
	err = listener__open(&serve.listener, config->cluster, config->socket, serve.epoll_fd);
	if (err < 0)
		goto cleanup;

	log_info("serving \"%s\" at \"%s\" with %s, up to %u blocks in flight",
			 config->cluster->path, config->socket,
			 config->engine_options->sink->name, config->engine_options->depth);
	serve__write_stats(&serve);
	err = run(&serve);
	serve__write_stats(&serve);

cleanup:
	listener__close(serve.listener);
	if (serve.signal_fd >= 0)
		close(serve.signal_fd);
	if (serve.epoll_fd >= 0)
		close(serve.epoll_fd);
	return err;
}
