/*
 * connection.c
 *		The startup process's connection to the redoahead daemon.
 *
 * connection__poll() is called every few records and moves a small state machine
 * on: connect, greet, watch, let go, try again.  Nothing here waits: sockets
 * are non-blocking, and a daemon that doesn't answer, doesn't move or doesn't
 * make sense is left alone.  Each change of state is logged once.
 *
 * What to emit is not decided here.
 */
#include "postgres.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "access/xlogutils.h"
#include "common/relpath.h"
#include "miscadmin.h"
#include "portability/instr_time.h"

#include "lookahead.h"
#include "redoahead.h"

/* How long until we try again to find a daemon, in ms. */
#define RETRY_INTERVAL_MS	1000

/* How long a daemon may take to answer the greeting, in ms. */
#define HANDSHAKE_TIMEOUT_MS	2000

/* How long it may leave references lying without a sign of life, in ms. */
#define STALL_TIMEOUT_MS	1000

/* How often the state is looked at, in ms. */
#define WATCH_INTERVAL_MS	10

static const char *explain(const char *fmt,...) pg_attribute_printf(1, 2);

static RedoaheadState state = REDOAHEAD_OFF;
static int	sock = -1;			/* connection to the daemon */
static int	wake_fd = -1;		/* eventfd that it sleeps on */
static size_t ring_bytes;		/* size of the ring's mapping */
static uint32 daemon_pid;		/* as it said in its reply */

static uint64 next_look;		/* when to look again, ms */
static uint64 deadline;			/* when the state's patience ends, ms */
static uint64 last_heartbeat;	/* value at the last look */
static uint64 suspect_since;	/* first look that found it idle at work, ms; or 0 */
static char reported[256];		/* why there's no daemon, as logged last */
static bool reconnect_wanted;	/* a setting has changed */

/* A coarse clock that costs a few ns, ms. */
static uint64
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64) ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

RedoaheadState
connection__state(void)
{
	return state;
}

/* Process id of the attached daemon, 0 if none. */
uint32
connection__pid(void)
{
	return state >= REDOAHEAD_CONNECTED ? daemon_pid : 0;
}

/* Compose a reason in static memory: there may be one every second for days. */
static const char *
explain(const char *fmt, ...)
{
	static char why[256];
	va_list		args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	return why;
}

/* Release everything that a connection holds.  Does not log. */
static void
release(void)
{
	if (redoahead_emitter.ring)
		munmap(redoahead_emitter.ring, ring_bytes);
	memset(&redoahead_emitter, 0, sizeof(redoahead_emitter));
	if (sock >= 0)
		close(sock);
	if (wake_fd >= 0)
		close(wake_fd);
	sock = wake_fd = -1;
}

/*
 * The daemon isn't there, or isn't what it should be: log why, once, and try
 * again later.
 */
static void
detach(const char *why)
{
	bool		was_connected = (state == REDOAHEAD_CONNECTED);

	if (was_connected)
		redoahead_counters.disconnects++;

	release();
	if (state >= REDOAHEAD_CONNECTED)
		ereport(LOG,
				(errmsg("redoahead: lost connection to daemon (PID %u): %s; using built-in prefetching",
						daemon_pid, why)));
	else if (strcmp(reported, why) != 0)
		ereport(LOG,
				(errmsg("redoahead: no daemon at \"%s\": %s; using built-in prefetching until one is available",
						redoahead_socket, why)));
	if (why != reported)
		strlcpy(reported, why, sizeof(reported));
	state = REDOAHEAD_DISCONNECTED;
	deadline = now_ms() + RETRY_INTERVAL_MS;

	if (was_connected)
		redoahead__lost();
}

/*
 * Nobody answers at the socket.  That is no news when the log says already
 * that the daemon is gone, or that there is none to be had.
 */
static void
nobody_there(const char *why)
{
	detach(reported[0] != '\0' ? reported : why);
}

/* Make and seal the ring.  Returns its descriptor, or -1 with errno set. */
static int
make_ring(void)
{
	struct redoahead_ring *ring;
	uint32		capacity = REDOAHEAD_MIN_CAPACITY;
	int			fd;

	while (capacity < (uint32) redoahead_ring_size)
		capacity *= 2;
	ring_bytes = sizeof(*ring) + (size_t) capacity * sizeof(struct redoahead_ref);

	fd = memfd_create("redoahead", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -1;
	if (ftruncate(fd, ring_bytes) < 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
	{
		close(fd);
		return -1;
	}
	ring = mmap(NULL, ring_bytes, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_POPULATE, fd, 0);
	if (ring == MAP_FAILED)
	{
		close(fd);
		return -1;
	}

	ring->magic = REDOAHEAD_MAGIC;
	ring->version = REDOAHEAD_ABI_VERSION;
	ring->ref_size = sizeof(struct redoahead_ref);
	ring->capacity = capacity;
	ring->refs_offset = sizeof(*ring);

	memset(&redoahead_emitter, 0, sizeof(redoahead_emitter));
	redoahead_emitter.ring = ring;
	redoahead_emitter.refs = (struct redoahead_ref *) (ring + 1);
	redoahead_emitter.capacity = capacity;
	return fd;
}

/* Send the greeting with the ring and the eventfd.  False with errno set. */
static bool
send_handshake(int ring_fd)
{
	struct redoahead_handshake handshake = {0};
	union
	{
		struct cmsghdr align;
		char		bytes[CMSG_SPACE(2 * sizeof(int))];
	}			control = {0};
	struct iovec iov = {&handshake, sizeof(handshake)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.bytes,
	.msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *cmsg;

	handshake.magic = REDOAHEAD_MAGIC;
	handshake.version = REDOAHEAD_ABI_VERSION;
	handshake.server_version = PG_VERSION_NUM;
	handshake.system_identifier = GetSystemIdentifier();
	handshake.block_size = BLCKSZ;
	handshake.segment_blocks = RELSEG_SIZE;
	handshake.ring_bytes = ring_bytes;
	handshake.wal_segment_bytes = wal_segment_size;

	/* In archive recovery, WAL has just been written when it is read. */
	handshake.timeline = ArchiveRecoveryRequested ? 0 : recoveryTargetTLI;
	strlcpy(handshake.tablespace_dir, TABLESPACE_VERSION_DIRECTORY,
			sizeof(handshake.tablespace_dir));
	strlcpy(handshake.data_directory, DataDir, sizeof(handshake.data_directory));

	cmsg = CMSG_FIRSTHDR(&msg);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(cmsg), (int[]) {ring_fd, wake_fd}, 2 * sizeof(int));

	return sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(handshake);
}

/* Look for a daemon and greet it. */
static void
try_connect(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct ucred peer;
	socklen_t	len = sizeof(peer);
	int			ring_fd;

	if (strlcpy(addr.sun_path, redoahead_socket,
				sizeof(addr.sun_path)) >= sizeof(addr.sun_path))
	{
		detach("the path is too long for a unix socket");
		return;
	}

	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0 ||
		connect(sock, (struct sockaddr *) &addr, sizeof(addr)) < 0)
	{
		nobody_there(strerror(errno));
		return;
	}
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
		peer.uid != geteuid())
	{
		detach("the socket belongs to another user than the server runs as");
		return;
	}

	ring_fd = make_ring();
	if (ring_fd < 0)
	{
		detach(explain("could not make the shared ring: %s", strerror(errno)));
		return;
	}
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wake_fd < 0 || !send_handshake(ring_fd))
	{
		close(ring_fd);
		detach(explain("could not send the handshake: %s", strerror(errno)));
		return;
	}
	close(ring_fd);

	state = REDOAHEAD_CONNECTING;
	deadline = now_ms() + HANDSHAKE_TIMEOUT_MS;
}

/* See whether the daemon has answered. */
static void
read_reply(uint64 now)
{
	struct redoahead_reply reply;
	ssize_t		got = recv(sock, &reply, sizeof(reply), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
	{
		if (now >= deadline)
			detach("it did not answer");
		return;
	}
	if (got == 0)
		detach("it closed the connection");
	else if (got < 0)
		detach(strerror(errno));
	else if (got != sizeof(reply) || reply.magic != REDOAHEAD_MAGIC)
		detach("it does not speak redoahead's protocol");
	else if (reply.status != REDOAHEAD_ACCEPTED)
	{
		reply.reason[sizeof(reply.reason) - 1] = '\0';
		detach(explain("it refused: %s", reply.reason));
	}
	else if (reply.version != REDOAHEAD_ABI_VERSION)
		detach(explain("it speaks protocol version %u, the server %u; install the same release of both",
						reply.version, REDOAHEAD_ABI_VERSION));
	else
	{
		int			window;

		lookahead__limit_memory();
		window = lookahead__window();
		state = REDOAHEAD_CONNECTED;
		daemon_pid = reply.pid;
		last_heartbeat = 0;
		suspect_since = 0;
		reported[0] = '\0';
		redoahead_counters.connects++;
		ereport(LOG,
				(errmsg("redoahead: connected to daemon (PID %u), looking ahead %d block references",
						daemon_pid, window),
				 window < redoahead_lookahead ?
				 errdetail("redoahead.lookahead is %d, for which the server's memory cgroup, or the machine, has too little memory.",
						   redoahead_lookahead) : 0));
		redoahead__connected();
	}
}

/* Is the attached daemon there, moving and sane? */
static void
watch(uint64 now)
{
	Emitter    *e = &redoahead_emitter;
	uint64		heartbeat = __atomic_load_n(&e->ring->heartbeat, __ATOMIC_RELAXED);
	char		byte;
	ssize_t		got;

	/* It never says anything; zero bytes mean that it has gone. */
	got = recv(sock, &byte, 1, MSG_DONTWAIT);
	if (got >= 0 || (errno != EAGAIN && errno != EINTR))
	{
		detach(got == 0 ? "it closed the connection" :
			   got > 0 ? "it does not keep to the protocol" : strerror(errno));
		return;
	}
	if (!emit__refresh_tail(e))
	{
		detach("invalid ring tail");
		return;
	}

	if (heartbeat != last_heartbeat || e->tail == e->head)
	{
		last_heartbeat = heartbeat;
		suspect_since = 0;
		if (state == REDOAHEAD_STALLED)
		{
			state = REDOAHEAD_CONNECTED;
			ereport(LOG,
					(errmsg("redoahead: daemon (PID %u) is responding again",
							daemon_pid)));
			redoahead__connected();
		}
	}
	else if (suspect_since == 0)
		suspect_since = now;
	else if (state == REDOAHEAD_CONNECTED && now - suspect_since > STALL_TIMEOUT_MS)
	{
		state = REDOAHEAD_STALLED;
		redoahead_counters.disconnects++;
		ereport(LOG,
				(errmsg("redoahead: daemon (PID %u) has not responded for %d ms; using built-in prefetching until it does",
						daemon_pid, STALL_TIMEOUT_MS)));
		redoahead__lost();
	}
}

/* Leave the present daemon for that which the settings name now. */
static void
reconnect(void)
{
	bool		was_connected = (state == REDOAHEAD_CONNECTED);

	reconnect_wanted = false;
	release();
	state = REDOAHEAD_OFF;
	reported[0] = '\0';
	deadline = 0;
	if (was_connected)
		redoahead__lost();
}

/*
 * Move on.  Cheap enough to be called for every few records: nearly always it
 * only finds that it is too early.
 */
void
connection__poll(XLogRecPtr replay_lsn, XLogRecPtr decode_lsn)
{
	uint64		now = now_ms();

	/* While greeted, the answer is worth an extra look. */
	if (now < next_look && state != REDOAHEAD_CONNECTING)
		return;
	next_look = now + WATCH_INTERVAL_MS;

	if (reconnect_wanted)
		reconnect();

	switch (state)
	{
		case REDOAHEAD_OFF:
		case REDOAHEAD_DISCONNECTED:
			if (redoahead_socket[0] != '\0' && InRecovery && now >= deadline)
				try_connect();
			break;
		case REDOAHEAD_CONNECTING:
			read_reply(now);
			break;
		case REDOAHEAD_CONNECTED:
		case REDOAHEAD_STALLED:
			watch(now);
			break;
	}

	stats__publish(replay_lsn, decode_lsn);
}

/*
 * Wake the daemon, which said that it sleeps.
 *
 * Whether a write may block is a property of the open file, which the daemon
 * shares, so look first: a counter that is full wakes it just as well.
 */
void
connection__wake(void)
{
	struct pollfd writable = {.fd = wake_fd,.events = POLLOUT};
	uint64		one = 1;

	redoahead_counters.wakeups++;
	if (poll(&writable, 1, 0) == 1 && (writable.revents & POLLOUT) &&
		write(wake_fd, &one, sizeof(one)) < 0)
		ereport(DEBUG1,
				(errmsg("redoahead: could not wake the daemon: %m")));
}

/* The daemon wrote nonsense into the ring. */
void
connection__drop(void)
{
	detach("invalid ring tail");
}

/*
 * redoahead.socket or redoahead.ring_size has changed.  We may be anywhere in
 * the startup process, so only make a note.
 */
void
connection__reconnect(void)
{
	reconnect_wanted = true;
	next_look = 0;
}

/* Recovery has ended. */
void
connection__close(void)
{
	release();
	state = REDOAHEAD_OFF;
}
