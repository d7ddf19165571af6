/*
 * handshake.c
 *		Receives a server's handshake, and checks that it is valid and comes from a
 *		server of this cluster.
 *
 * The message comes from another process and may hold anything.  The memory that
 * comes with it is checked in ring.c.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "source/handshake.h"

/* Bounds that PostgreSQL's configure sets: BLCKSZ and RELSEG_SIZE. */
#define MIN_BLOCK_SIZE	1024
#define MAX_BLOCK_SIZE	32768
#define MAX_SEGMENT_BYTES	(UINT64_C(1) << 40)

/* Descriptors taken from a message, so that too many are noticed. */
#define MAX_RECEIVED_FDS	16

/* Bounds of initdb --wal-segsize, bytes. */
#define MIN_WAL_SEGMENT	(1024 * 1024)
#define MAX_WAL_SEGMENT	(1024 * 1024 * 1024)

/* Fill in a refusal. */
void
handshake__refuse(struct handshake_verdict *verdict, uint32_t status, const char *format,...)
{
	va_list		args;

	/* All of it is sent, so no byte may stay uninitialized. */
	memset(verdict, 0, sizeof(*verdict));
	verdict->status = status;
	va_start(args, format);
	vsnprintf(verdict->reason, sizeof(verdict->reason), format, args);
	va_end(args);
}

static int
is_power_of_two(uint32_t number)
{
	return number != 0 && (number & (number - 1)) == 0;
}

/* Is it the name of a directory, of printable characters, without a path? */
static int
is_directory_name(const char *name)
{
	if (name[0] == '\0' || name[0] == '.')
		return 0;
	for (; *name != '\0'; name++)
		if (*name <= ' ' || *name > '~' || *name == '/')
			return 0;
	return 1;
}

/* Copy a message and check its fields.  Returns 0, or -1 with the verdict to send. */
int
handshake__parse(const void *message, size_t bytes, struct redoahead_handshake *handshake,
			 struct handshake_verdict *verdict)
{
	const size_t head = offsetof(struct redoahead_handshake, server_version);

	memset(handshake, 0, sizeof(*handshake));
	memcpy(handshake, message, bytes < sizeof(*handshake) ? bytes : sizeof(*handshake));

	/* The version is checked first: the length may depend on it. */
	if (bytes < head || handshake->magic != REDOAHEAD_MAGIC)
		handshake__refuse(verdict, REDOAHEAD_BAD_VERSION,
					  "not a redoahead handshake; check who connects to this socket");
	else if (handshake->version != REDOAHEAD_ABI_VERSION)
		handshake__refuse(verdict, REDOAHEAD_BAD_VERSION,
					  "daemon has version %d, server %u; %s", REDOAHEAD_ABI_VERSION,
					  handshake->version, handshake->version < REDOAHEAD_ABI_VERSION ?
					  "install the new extension and restart the server" :
					  "install the new program and restart the daemon");
	else if (bytes != sizeof(*handshake))
		handshake__refuse(verdict, REDOAHEAD_BAD_VERSION,
					  "handshake of %zu bytes, not %zu; install matching versions",
					  bytes, sizeof(*handshake));
	else if (!is_power_of_two(handshake->block_size) ||
			 handshake->block_size < MIN_BLOCK_SIZE || handshake->block_size > MAX_BLOCK_SIZE)
		handshake__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "block size %u is impossible; report a bug", handshake->block_size);
	else if (handshake->segment_blocks == 0 ||
			 (uint64_t) handshake->segment_blocks * handshake->block_size > MAX_SEGMENT_BYTES)
		handshake__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "segment size of %u blocks is impossible; report a bug",
					  handshake->segment_blocks);
	else if (!is_power_of_two(handshake->wal_segment_bytes) ||
			 handshake->wal_segment_bytes < MIN_WAL_SEGMENT ||
			 handshake->wal_segment_bytes > MAX_WAL_SEGMENT)
		handshake__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "WAL segment size of %u bytes is impossible; report a bug",
					  handshake->wal_segment_bytes);
	else if (memchr(handshake->tablespace_dir, '\0', sizeof(handshake->tablespace_dir)) == NULL ||
			 !is_directory_name(handshake->tablespace_dir))
		handshake__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "tablespace directory is no file name; report a bug");
	else if (handshake->ring_bytes < sizeof(struct redoahead_ring) ||
			 handshake->ring_bytes > sizeof(struct redoahead_ring) + 65536 +
			 (uint64_t) REDOAHEAD_MAX_CAPACITY * sizeof(struct redoahead_ref))
		handshake__refuse(verdict, REDOAHEAD_BAD_RING,
					  "ring of %llu bytes is impossible; report a bug",
					  (unsigned long long) handshake->ring_bytes);
	else
	{
		verdict->status = REDOAHEAD_ACCEPTED;
		verdict->reason[0] = '\0';
		return 0;
	}
	return -1;
}

/*
 * Is it a server of this cluster?  Returns 0, or -1 with the verdict to send.
 */
int
handshake__match(const struct redoahead_handshake *handshake, const struct cluster *cluster,
			 struct handshake_verdict *verdict)
{
	uint64_t	identifier;

	if (handshake->device != cluster->device || handshake->inode != cluster->inode)
		handshake__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "daemon serves another data directory; start it with -D of this server");
	else if (cluster__system_identifier(cluster, &identifier) < 0 ||
			 identifier != handshake->system_identifier)
		handshake__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "daemon serves another cluster (system identifier); restart it");
	else if (cluster__major(cluster) != (int) (handshake->server_version / 10000))
		handshake__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "PG_VERSION is not of server %u; start the server of that major",
					  handshake->server_version);
	else
		return 0;
	return -1;
}

/* Only processes of the cluster's owner are served.  Returns 0 or -EPERM. */
static int
check_user(const struct cluster *cluster, int fd, pid_t *pid, struct handshake_verdict *verdict)
{
	struct ucred peer;
	socklen_t	length = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 ||
		peer.uid != cluster->uid)
	{
		handshake__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "only the owner of the data directory (user %u) is served",
					  (unsigned) cluster->uid);
		return -EPERM;
	}
	*pid = peer.pid;
	return 0;
}

/*
 * Keep the descriptors of a message if they are the two expected ones; close
 * them all if not.  Returns 0 or -EPROTO.
 */
static int
take_descriptors(struct msghdr *message, int fds[2])
{
	int			count = 0;

	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(message); cmsg != NULL;
		 cmsg = CMSG_NXTHDR(message, cmsg))
	{
		size_t		n;

		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++, count++)
		{
			int			fd;

			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(int));
			if (count < 2)
				fds[count] = fd;
			else
				close(fd);
		}
	}
	if (count == 2 && !(message->msg_flags & MSG_CTRUNC))
		return 0;
	for (int i = 0; i < count && i < 2; i++)
		close(fds[i]);
	return -EPROTO;
}

/*
 * Has the client closed its socket?  While the daemon was stopped, a server may have
 * given up on it several times; its old handshakes precede the one that counts.
 */
bool
handshake__is_abandoned(int fd)
{
	struct pollfd poll_fd = {.fd = fd,.events = POLLRDHUP};

	return poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & (POLLRDHUP | POLLHUP)) != 0;
}

/*
 * Receive the handshake of a client.  Returns 1 and an offer, 0 if there is none
 * yet, -1 with a verdict if there never will be.
 */
int
handshake__receive(int fd, const struct cluster *cluster, struct handshake_offer *offer,
				   struct handshake_verdict *verdict)
{
	char		buffer[sizeof(struct redoahead_handshake) + 1];
	union
	{
		struct cmsghdr align;
		char		bytes[CMSG_SPACE(MAX_RECEIVED_FDS * sizeof(int))];
	}			control;
	struct iovec iov = {.iov_base = buffer,.iov_len = sizeof(buffer)};
	struct msghdr message = {
		.msg_iov = &iov,.msg_iovlen = 1,
		.msg_control = control.bytes,.msg_controllen = sizeof(control.bytes),
	};
	int			fds[2];
	int			have_fds;
	ssize_t		n;

	n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	/* An empty message may have descriptors, too. */
	have_fds = n >= 0 && take_descriptors(&message, fds) == 0;
	if (n <= 0)
	{
		handshake__refuse(verdict, REDOAHEAD_BAD_VERSION, "closed without a handshake");
		if (have_fds)
		{
			close(fds[0]);
			close(fds[1]);
		}
		return -1;
	}

	/*
	 * The user is checked only now: a socket that is closed with a message unread
	 * gives the client an error in place of the reply.
	 */
	if (check_user(cluster, fd, &offer->startup, verdict) == 0 &&
		handshake__parse(buffer, (size_t) n, &offer->handshake, verdict) == 0)
	{
		if (!have_fds && (message.msg_flags & MSG_CTRUNC))
			handshake__refuse(verdict, REDOAHEAD_BAD_RING,
						  "no descriptor is left for the ring; raise the limits of the daemon");
		else if (!have_fds)
			handshake__refuse(verdict, REDOAHEAD_BAD_RING,
						  "handshake without exactly two descriptors; report a bug");
		else if (handshake__match(&offer->handshake, cluster, verdict) == 0)
		{
			offer->socket = fd;
			offer->memfd = fds[0];
			offer->eventfd = fds[1];
			return 1;
		}
	}
	if (have_fds)
	{
		close(fds[0]);
		close(fds[1]);
	}
	return -1;
}

/* Close the descriptors of an offer. */
void
handshake__drop_offer(struct handshake_offer *offer)
{
	close(offer->socket);
	close(offer->memfd);
	close(offer->eventfd);
}
