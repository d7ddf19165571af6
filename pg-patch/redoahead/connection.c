/*
 * connection.c
 *		The startup process's connection to the redoahead daemon.
 *
 * connection__poll() advances a small state machine: connect, send the handshake,
 * read the reply, monitor, retry.  It returns what has changed, and logs each
 * change once, but for a new connection, which its caller logs.  Nothing here
 * waits: sockets are non-blocking, and a daemon that doesn't answer, doesn't
 * respond or violates the protocol is dropped.
 *
 * What to submit to the daemon is not decided here.
 */
#include "postgres.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "access/xlogprefetcher.h"
#include "access/xlogutils.h"
#include "storage/fd.h"

#include "connection.h"
#include "handshake.h"
#include "settings.h"

/*
 * Time between two attempts to find a daemon, in ms: at first, because a daemon
 * that is started with the server may come a little later, and afterwards.
 */
#define EAGER_INTERVAL_MS	20
#define RETRY_INTERVAL_MS	1000

/* How long "at first" is, in ms. */
#define EAGER_MS			5000

/*
 * A daemon that is lost sooner than this is connected again later each time, in
 * ms: the delay doubles from RETRY_INTERVAL_MS up to MAX_BACKOFF_MS.
 */
#define STABLE_MS			60000
#define MAX_BACKOFF_MS		64000

/*
 * Time that a daemon has to answer the handshake, in ms.  Nothing waits for it, and
 * a busy machine may have no CPU time for the daemon for some seconds.
 */
#define HANDSHAKE_TIMEOUT_MS	10000

/* Time for which references may lie in the ring without a sign of the daemon, in ms. */
#define STALL_TIMEOUT_MS	1000

static ConnectionEvent drop(Connection *c, uint64 now, const char *fmt,...) pg_attribute_printf(3, 4);

/*
 * Report a descriptor that stays open to fd.c, which keeps fewer files open then.
 * Returns it, or -1 with errno unchanged.
 */
static int
hold(int fd)
{
	if (fd >= 0)
		ReserveExternalFD();
	return fd;
}

/* Close such a descriptor, if it is open. */
static void
close_held(int *fd)
{
	if (*fd < 0)
		return;
	close(*fd);
	ReleaseExternalFD();
	*fd = -1;
}

/* Release everything that a connection holds.  "goes_on" is for the daemon: does recovery? */
static void
release(Connection *c, bool goes_on)
{
	if (c->emitter.ring)
	{
		__atomic_store_n(&c->emitter.ring->goes_on, goes_on, __ATOMIC_RELAXED);
		munmap(c->emitter.ring, c->ring_bytes);
	}
	memset(&c->emitter, 0, sizeof(c->emitter));
	close_held(&c->sock);
	close_held(&c->wake_fd);
}

/*
 * There is no daemon, or it isn't what it should be.  Log why, unless that is
 * what was logged last, and retry later.
 */
static ConnectionEvent
drop(Connection *c, uint64 now, const char *fmt,...)
{
	ConnectionState state = c->state;
	char		why[sizeof(c->reported)];
	va_list		args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);

	release(c, true);
	c->state = CONNECTION_DISCONNECTED;
	if (state == CONNECTION_CONNECTED || state == CONNECTION_STALLED)
	{
		if (now - c->connected_at >= STABLE_MS)
			c->backoff = 0;
		c->backoff = Min(Max(2 * c->backoff, RETRY_INTERVAL_MS), MAX_BACKOFF_MS);
		c->deadline = now + c->backoff;
		ereport(LOG,
				(errmsg("redoahead: lost connection to daemon (PID %u): %s; using built-in prefetching",
						c->daemon_pid, why)));
	}
	else if (strcmp(c->reported, why) != 0)
		ereport(LOG,
				(errmsg("redoahead: no daemon at \"%s\": %s; using built-in prefetching until one is available",
						redoahead_socket, why)));
	strlcpy(c->reported, why, sizeof(c->reported));

	/* The caller knows already that a stalled daemon is of no use. */
	if (state != CONNECTION_CONNECTED)
		return CONNECTION_EVENT_NONE;
	c->disconnects++;
	return CONNECTION_EVENT_LOST;
}

/* Try to connect to a daemon and send it the handshake. */
static void
try_connect(Connection *c, uint64 now)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct ucred peer;
	socklen_t	len = sizeof(peer);
	int			ring_fd;
	bool		sent;

	if (c->begun == 0)
		c->begun = now;
	c->deadline = now + (now - c->begun < EAGER_MS ? EAGER_INTERVAL_MS : RETRY_INTERVAL_MS);
	if (strlcpy(addr.sun_path, redoahead_socket,
				sizeof(addr.sun_path)) >= sizeof(addr.sun_path))
	{
		drop(c, now, "socket path is too long");
		return;
	}

	c->sock = hold(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (c->sock < 0 ||
		connect(c->sock, (struct sockaddr *) &addr, sizeof(addr)) < 0)
	{
		/* No news if the log already has that there is no daemon, and why. */
		drop(c, now, "%s", c->reported[0] != '\0' ? c->reported : strerror(errno));
		return;
	}
	c->deadline = now + RETRY_INTERVAL_MS;
	if (getsockopt(c->sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
		peer.uid != geteuid())
	{
		drop(c, now, "socket does not belong to the user that the server runs as");
		return;
	}

	ring_fd = handshake__create_ring(c);
	if (ring_fd < 0)
	{
		drop(c, now, "could not create shared ring: %s", strerror(errno));
		return;
	}
	c->wake_fd = hold(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	sent = c->wake_fd >= 0 && handshake__send(c, ring_fd);
	if (!sent)
		drop(c, now, "could not send handshake: %s", strerror(errno));
	else
	{
		c->state = CONNECTION_CONNECTING;
		c->deadline = now + HANDSHAKE_TIMEOUT_MS;
	}
	close(ring_fd);
}

/* Read the daemon's reply, if it is there. */
static ConnectionEvent
read_reply(Connection *c, uint64 now)
{
	struct redoahead_reply reply;
	ssize_t		got = recv(c->sock, &reply, sizeof(reply), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR) && now < c->deadline)
		return CONNECTION_EVENT_NONE;

	/* If it is not accepted, the next attempt is this much later. */
	c->deadline = now + RETRY_INTERVAL_MS;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return drop(c, now, "no reply");
	if (got == 0)
		return drop(c, now, "connection closed by daemon");
	if (got < 0)
		return drop(c, now, "%s", strerror(errno));
	if (got != sizeof(reply) || reply.magic != REDOAHEAD_MAGIC)
		return drop(c, now, "invalid reply");
	if (reply.status != REDOAHEAD_ACCEPTED)
	{
		reply.reason[sizeof(reply.reason) - 1] = '\0';
		return drop(c, now, "connection refused by daemon: %s", reply.reason);
	}
	if (reply.version != REDOAHEAD_ABI_VERSION)
		return drop(c, now, "daemon has protocol version %u, server has %u; install the same release of both, and restart the server and the daemon",
					reply.version, REDOAHEAD_ABI_VERSION);

	c->state = CONNECTION_CONNECTED;
	c->daemon_pid = reply.pid;
	c->connected_at = now;
	c->last_heartbeat = c->last_tail = 0;
	c->idle_since = 0;
	c->reported[0] = '\0';
	c->connects++;
	return CONNECTION_EVENT_CONNECTED;
}

/* Has redo come to a reference that the daemon has not taken? */
static bool
is_behind(const Emitter *e)
{
	return e->tail != e->published &&
		e->refs[e->tail & (e->capacity - 1)].lsn <
		__atomic_load_n(&e->ring->replay_lsn, __ATOMIC_RELAXED);
}

/* Is the connected daemon alive, responding and sane? */
static ConnectionEvent
monitor(Connection *c, uint64 now)
{
	Emitter    *e = &c->emitter;
	uint64		heartbeat;
	char		byte;
	ssize_t		got;

	/* It never sends anything; zero bytes mean that it has gone. */
	got = recv(c->sock, &byte, 1, MSG_DONTWAIT);
	if (got == 0)
		return drop(c, now, "connection closed by daemon");
	if (got > 0)
		return drop(c, now, "unexpected message");
	if (errno != EAGAIN && errno != EINTR)
		return drop(c, now, "%s", strerror(errno));
	if (!emit__refresh_tail(e))
		return drop(c, now, "invalid ring tail");

	/* It must take references, or at least beat while redo needs none of them. */
	heartbeat = __atomic_load_n(&e->ring->heartbeat, __ATOMIC_RELAXED);
	if (e->tail == e->head || e->tail != c->last_tail ||
		(heartbeat != c->last_heartbeat && !is_behind(e)))
	{
		c->last_heartbeat = heartbeat;
		c->last_tail = e->tail;
		c->idle_since = 0;
		if (c->state == CONNECTION_STALLED)
		{
			c->state = CONNECTION_CONNECTED;
			ereport(LOG,
					(errmsg("redoahead: daemon (PID %u) is responding again",
							c->daemon_pid)));
			return CONNECTION_EVENT_RESPONDING;
		}
	}
	else if (c->idle_since == 0)
		c->idle_since = now;
	else if (c->state == CONNECTION_CONNECTED && now - c->idle_since > STALL_TIMEOUT_MS)
	{
		c->state = CONNECTION_STALLED;
		c->disconnects++;
		ereport(LOG,
				(errmsg("redoahead: daemon (PID %u) has not responded for %d ms; using built-in prefetching until it does",
						c->daemon_pid, STALL_TIMEOUT_MS)));
		return CONNECTION_EVENT_STALLED;
	}
	return CONNECTION_EVENT_NONE;
}

/*
 * Do the settings want a daemon?  It reads into the page cache, which is the
 * wrong place for direct I/O.
 */
static bool
wanted(void)
{
	return redoahead_socket[0] != '\0' &&
		recovery_prefetch != RECOVERY_PREFETCH_OFF &&
		(io_direct_flags & IO_DIRECT_DATA) == 0;
}

/* Will connection__poll() try to connect?  Then "refs" must have been set. */
bool
connection__may_connect(const Connection *c, uint64 now)
{
	return (c->state == CONNECTION_OFF || c->state == CONNECTION_DISCONNECTED) &&
		now >= c->deadline && InRecovery && wanted();
}

/* Leave the present daemon for the one that the settings name now. */
static ConnectionEvent
reconnect(Connection *c)
{
	bool		was_connected = (c->state == CONNECTION_CONNECTED);

	release(c, true);
	c->state = CONNECTION_OFF;
	c->reported[0] = '\0';
	c->deadline = 0;
	c->backoff = 0;
	return was_connected ? CONNECTION_EVENT_LOST : CONNECTION_EVENT_NONE;
}

/* Advance the state machine; "now" is a monotonic time in ms. */
ConnectionEvent
connection__poll(Connection *c, uint64 now)
{
	if (c->settings_seen != redoahead_connection_changes ||
		(c->sock >= 0 && !wanted()))
	{
		c->settings_seen = redoahead_connection_changes;
		return reconnect(c);
	}

	switch (c->state)
	{
		case CONNECTION_OFF:
		case CONNECTION_DISCONNECTED:
			if (connection__may_connect(c, now))
				try_connect(c, now);
			break;
		case CONNECTION_CONNECTING:
			return read_reply(c, now);
		case CONNECTION_CONNECTED:
		case CONNECTION_STALLED:
			return monitor(c, now);
	}
	return CONNECTION_EVENT_NONE;
}

/*
 * Wake the daemon, which has announced that it sleeps.
 *
 * Whether a write may block is a property of the open file, which the daemon
 * shares, so check first: a counter that is full wakes it just as well.
 */
void
connection__wake(Connection *c)
{
	struct pollfd writable = {.fd = c->wake_fd,.events = POLLOUT};
	uint64		one = 1;

	c->wakeups++;
	if (poll(&writable, 1, 0) == 1 && (writable.revents & POLLOUT) &&
		write(c->wake_fd, &one, sizeof(one)) < 0)
		ereport(DEBUG1,
				(errmsg("redoahead: could not wake the daemon: %m")));
}

/* The ring has become too small: have connection__poll() connect anew. */
void
connection__renew(Connection *c)
{
	c->settings_seen = redoahead_connection_changes - 1;
}

/* Recovery ends: close the connection without a log entry. */
void
connection__close(Connection *c)
{
	release(c, false);
	c->state = CONNECTION_OFF;
}
