/*
 * ring_producer.c
 *		A stand-in for the startup process of a patched server.
 *
 * Connects to a daemon, makes and seals a ring, and emits references: to
 * random or consecutive blocks of given files, or random bytes, at a given rate.
 * Can also do wrong whatever a server could do wrong.  Prints one line of
 * JSON about what the daemon replied and did.  Shares no code with the daemon or
 * the extension, only their header, so that it tests both against that.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/redoahead_abi.h"
#include "ring_producer_options.h"

static void
die(const char *what)
{
	fprintf(stderr, "ring_producer: %s: %s\n", what, strerror(errno));
	exit(1);
}

static bool
fault(const struct settings *s, const char *name)
{
	return s->fault != NULL && strcmp(s->fault, name) == 0;
}

static uint64_t
next_random(uint64_t *state)
{
	uint64_t	x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t) ts.tv_sec * UINT64_C(1000000000) + (uint64_t) ts.tv_nsec;
}

/* The identifier that the data directory's control file holds. */
static uint64_t
read_identifier(const char *directory)
{
	char		path[4096];
	uint64_t	identifier = 0;
	int			fd;

	snprintf(path, sizeof(path), "%s/global/pg_control", directory);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, &identifier, sizeof(identifier)) != sizeof(identifier))
		die(path);
	close(fd);
	return identifier;
}

/* Make the ring, with the fault that is to be in it. */
static struct redoahead_ring *
make_ring(const struct settings *s, int *memfd, uint64_t *bytes)
{
	struct redoahead_ring *ring;

	*bytes = sizeof(*ring) + (uint64_t) s->capacity * sizeof(struct redoahead_ref);
	*memfd = memfd_create("redoahead ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*memfd < 0 || ftruncate(*memfd, (off_t) *bytes) < 0)
		die("memfd");
	ring = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *memfd, 0);
	if (ring == MAP_FAILED)
		die("mmap");
	ring->magic = fault(s, "ring-magic") ? 42 : REDOAHEAD_MAGIC;
	ring->version = fault(s, "ring-version") ? 99 : REDOAHEAD_ABI_VERSION;
	ring->ref_size = fault(s, "ref-size") ? 24 : sizeof(struct redoahead_ref);
	ring->capacity = (uint32_t) s->capacity - fault(s, "odd-capacity");
	ring->refs_offset = fault(s, "refs-offset") ? UINT32_MAX & ~31U : sizeof(*ring);
	ring->head = fault(s, "used-ring") ? 7 : 0;
	if (fault(s, "truncated") && ftruncate(*memfd, (off_t) (*bytes / 2)) < 0)
		die("ftruncate");
	if (fault(s, "oversized") && ftruncate(*memfd, (off_t) (*bytes * 2)) < 0)
		die("ftruncate");
	if (!fault(s, "unsealed") &&
		fcntl(*memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		die("seal");
	return ring;
}

static int
connect_daemon(const struct settings *s)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char		directory[4096];
	char	   *slash;
	int			dirfd;
	int			fd;

	snprintf(directory, sizeof(directory), "%s", s->socket);
	slash = strrchr(directory, '/');
	if (slash == NULL)
		die("socket path without a directory");
	*slash = '\0';
	dirfd = open(directory, O_PATH | O_CLOEXEC);
	if (dirfd < 0)
		die(directory);
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%.64s",
			 dirfd, slash + 1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *) &address, sizeof(address)) < 0)
		die(s->socket);
	close(dirfd);
	return fd;
}

static void
send_handshake(const struct settings *s, int fd, int memfd, int event, uint64_t bytes)
{
	struct
	{
		struct redoahead_handshake handshake;
		char		more[64];
	}			m = {0};
	int			fds[3] = {memfd, fault(s, "not-eventfd") ? memfd : event, event};
	size_t		n = fault(s, "no-fds") ? 0 : fault(s, "three-fds") ? 3 : 2;
	union
	{
		struct cmsghdr header;
		char		bytes[CMSG_SPACE(sizeof(fds))];
	}			control = {0};
	struct iovec iov = {&m, sizeof(m.handshake)};
	struct msghdr message = {.msg_iov = &iov,.msg_iovlen = 1};
	struct stat st;

	m.handshake.magic = fault(s, "magic") ? 42 : REDOAHEAD_MAGIC;
	m.handshake.version = s->version;
	m.handshake.server_version = s->server_version;
	m.handshake.system_identifier = s->identifier;
	m.handshake.block_size = s->block_size;
	m.handshake.segment_blocks = s->segment_blocks;
	m.handshake.ring_bytes = bytes;
	m.handshake.wal_segment_bytes = 16 * 1024 * 1024;
	snprintf(m.handshake.tablespace_dir, sizeof(m.handshake.tablespace_dir), "%s", s->tablespace_dir);
	if (stat(s->data_directory, &st) == 0)
	{
		m.handshake.device = st.st_dev;
		m.handshake.inode = st.st_ino;
	}
	if (fault(s, "empty-handshake"))
		iov.iov_len = 0;
	if (fault(s, "short-handshake"))
		iov.iov_len = 100;
	if (fault(s, "long-handshake"))
		iov.iov_len = sizeof(m);
	if (n > 0)
	{
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(n * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, n * sizeof(int));
	}
	if (sendmsg(fd, &message, MSG_NOSIGNAL) < 0)
		die("handshake");
}

static void
make_ref(const struct settings *s, uint64_t index, uint64_t *random, struct redoahead_ref *ref)
{
	uint64_t	number = s->sequential ? index : next_random(random) >> 11;

	if (s->garbage)
	{
		uint64_t	words[4];

		for (int i = 0; i < 4; i++)
			words[i] = next_random(random);
		memcpy(ref, words, sizeof(*ref));
		/* Half of them nearly valid, so that more than the first check runs. */
		if (words[0] & 1)
		{
			ref->kind &= 1;
			ref->fork &= 3;
			ref->spc = s->spc;
			ref->db = s->db;
		}
		return;
	}
	memset(ref, 0, sizeof(*ref));
	ref->lsn = 1000 + index * s->lsn_step;
	ref->spc = s->spc;
	ref->db = s->db;
	ref->rel = s->rel + (uint32_t) (number / s->blocks % s->rels);
	ref->block = s->first_block + (uint32_t) (number % s->blocks);
	ref->fork = (uint8_t) s->fork;
	ref->kind = (uint8_t) s->kind;
}

/* Has the daemon closed the socket? */
static bool
is_gone(int fd)
{
	struct pollfd p = {.fd = fd,.events = POLLIN | POLLRDHUP};

	return poll(&p, 1, 0) > 0;
}

static void
nap(long us)
{
	struct timespec ts = {.tv_nsec = us * 1000};

	nanosleep(&ts, NULL);
}

static void
wake(struct redoahead_ring *ring, int event)
{
	uint64_t	one = 1;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&ring->sleeping, __ATOMIC_SEQ_CST) &&
		write(event, &one, sizeof(one)) < 0)
		die("eventfd");
}

/* Emit references until the daemon disconnects; returns how many. */
static uint64_t
emit(const struct settings *s, struct redoahead_ring *ring, int fd, int event)
{
	struct redoahead_ref *refs = (struct redoahead_ref *) (ring + 1);
	uint64_t	random = s->seed;
	uint64_t	begin = now_ns();
	uint64_t	head = 0;

	while (head < s->count)
	{
		uint64_t	tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
		uint64_t	limit = tail + s->capacity;

		if (s->rate > 0)
		{
			uint64_t	due = (now_ns() - begin) / 1000 * s->rate / 1000000;

			limit = due < limit ? due : limit;
		}
		if (limit > s->count)
			limit = s->count;
		if (head >= limit)
		{
			if (is_gone(fd))
				return head;
			nap(50);
			continue;
		}
		/* In small portions, as a startup process would. */
		if (limit > head + 64)
			limit = head + 64;
		for (; head < limit; head++)
			make_ref(s, head, &random, &refs[head % s->capacity]);
		__atomic_store_n(&ring->head, head, __ATOMIC_RELEASE);
		wake(ring, event);
	}
	return head;
}

/* Stay until stdin ends; each of its lines is a new replay position. */
static void
follow_input(struct redoahead_ring *ring)
{
	char		line[64];

	while (fgets(line, sizeof(line), stdin) != NULL)
		__atomic_store_n(&ring->replay_lsn, strtoull(line, NULL, 10), __ATOMIC_RELAXED);
}

static void
print_result(const struct redoahead_ring *ring, bool gone)
{
	printf("{\"status\": 0, \"tail\": %" PRIu64 ", \"blocks_read\": %" PRIu64
		   ", \"blocks_failed\": %" PRIu64 ", \"blocks_stale\": %" PRIu64 ", \"gone\": %s}\n",
		   ring->tail, ring->blocks_read, ring->blocks_failed, ring->blocks_stale,
		   gone ? "true" : "false");
}

int
main(int argc, char **argv)
{
	struct settings s = {
		.version = REDOAHEAD_ABI_VERSION,.server_version = 180006,.block_size = 8192,
		.segment_blocks = 131072,.capacity = 65536,.tablespace_dir = "PG_18_202506291",
		.spc = 1663,.db = 5,.rel = 16384,.rels = 1,.blocks = 1000,.lsn_step = 1,.seed = 88172645463325252ULL,
	};
	char		socket_path[4096];
	struct redoahead_reply reply = {0};
	struct redoahead_ring *ring;
	uint64_t	bytes;
	uint64_t	emitted;
	int			memfd;
	int			event;
	int			fd;

	parse_options(argc, argv, &s);
	if (s.socket == NULL)
	{
		snprintf(socket_path, sizeof(socket_path), "%s/%s", s.data_directory,
				 REDOAHEAD_DEFAULT_SOCKET);
		s.socket = socket_path;
	}
	if (s.identifier == 0)
		s.identifier = read_identifier(s.data_directory);

	fd = connect_daemon(&s);
	if (fault(&s, "silent"))
	{
		while (!is_gone(fd))
			nap(10000);
		puts("{\"status\": -1}");
		return 0;
	}
	ring = make_ring(&s, &memfd, &bytes);
	event = eventfd(0, EFD_CLOEXEC);
	if (event < 0)
		die("eventfd");
	__atomic_store_n(&ring->replay_lsn, s.replay, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->dropped, s.dropped, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->hot_standby, s.hot_standby, __ATOMIC_RELAXED);
	send_handshake(&s, fd, memfd, event, bytes);
	if (fault(&s, "leave"))
		return 0;
	if (recv(fd, &reply, sizeof(reply), 0) != (ssize_t) sizeof(reply))
		die("reply");
	if (reply.status != REDOAHEAD_ACCEPTED)
	{
		printf("{\"status\": %u, \"reason\": \"%s\"}\n", reply.status, reply.reason);
		return 0;
	}

	emitted = emit(&s, ring, fd, event);
	if (fault(&s, "head-jump"))
		__atomic_store_n(&ring->head, emitted + UINT64_C(1000000000), __ATOMIC_RELEASE);
	if (fault(&s, "head-back"))
	{
		while (__atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) < emitted && !is_gone(fd))
			nap(100);
		__atomic_store_n(&ring->head, emitted / 2, __ATOMIC_RELEASE);
	}
	wake(ring, event);
	while (!s.no_wait && !is_gone(fd) &&
		   (s.fault != NULL || !__atomic_load_n(&ring->sleeping, __ATOMIC_SEQ_CST) ||
			__atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) < emitted))
		nap(200);
	print_result(ring, is_gone(fd));
	fflush(stdout);
	if (s.hold)
		follow_input(ring);
	return 0;
}
