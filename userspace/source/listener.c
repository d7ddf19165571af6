/*
 * listener.c
 *		Accepts connections, and receives the handshake and its two descriptors.
 *
 * Nothing here blocks: a client that connects and says nothing is forgotten
 * after a few seconds.  Whether the handshake is good is decided in handshake.c, what
 * to do with a good one by the caller.  Where the socket lives, and that no
 * other daemon has it, is the business of sockfile.c.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "source/listener.h"
#include "source/sockfile.h"

/* How long a client may take to send its handshake, us. */
#define HANDSHAKE_TIMEOUT_US	5000000

/* How long to leave the socket alone when a connection cannot be taken, us. */
#define ACCEPT_PAUSE_US		1000000

/* Descriptors taken from a message, so that too many are noticed. */
#define MAX_RECEIVED_FDS	16

/* A connection that has not sent its handshake yet. */
struct client
{
	int			fd;				/* -1: this slot is free */
	uint64_t	deadline_us;	/* when to give up, us */
};

struct listener
{
	int			fd;				/* the listening socket */
	int			epoll_fd;		/* the caller's; all sockets are in it */
	const struct cluster *cluster;	/* whose servers are welcome */
	struct sockfile file;		/* the socket in the file system */
	struct client clients[LISTENER_MAX_CLIENTS];	/* silent so far */
	uint64_t	resume_us;		/* when to accept again, us; 0: we do */
	int			accept_error;	/* errno that was logged last; 0: none */
	struct handshake_verdict refused;	/* what was logged last */
};

static int
watch(const struct listener *listener, int fd)
{
	struct epoll_event event = {.events = EPOLLIN,.data.fd = fd};

	return epoll_ctl(listener->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* Listen at a path; "path" NULL means the default below the data directory. */
int
listener__open(struct listener **result, struct cluster *cluster, const char *path,
			   int epoll_fd)
{
	struct listener *listener;
	int			err;

	listener = calloc(1, sizeof(*listener));
	if (listener == NULL)
		return -ENOMEM;
	listener->epoll_fd = epoll_fd;
	listener->cluster = cluster;
	for (int i = 0; i < LISTENER_MAX_CLIENTS; i++)
		listener->clients[i].fd = -1;

	listener->fd = sockfile__listen(&listener->file, cluster, path);
	if (listener->fd < 0)
	{
		err = listener->fd;
		free(listener);
		return err;
	}
	err = watch(listener, listener->fd);
	if (err < 0)
	{
		log_error("cannot watch the socket: %s; try again", strerror(-err));
		listener__close(listener);
		return err;
	}
	*result = listener;
	return 0;
}

/* Stop listening and remove the socket. */
void
listener__close(struct listener *listener)
{
	if (listener == NULL)
		return;
	for (int i = 0; i < LISTENER_MAX_CLIENTS; i++)
		if (listener->clients[i].fd >= 0)
			close(listener->clients[i].fd);
	close(listener->fd);
	sockfile__remove(&listener->file);
	free(listener);
}

static struct client *
find_client(struct listener *listener, int fd)
{
	for (int i = 0; i < LISTENER_MAX_CLIENTS; i++)
		if (listener->clients[i].fd == fd)
			return &listener->clients[i];
	return NULL;
}

/* Is this descriptor, reported by epoll, one of the listener's? */
int
listener__owns(const struct listener *listener, int fd)
{
	if (fd == listener->fd)
		return 1;
	for (int i = 0; i < LISTENER_MAX_CLIENTS; i++)
		if (listener->clients[i].fd == fd)
			return 1;
	return 0;
}

/* Send an answer.  A client that does not read it is not worth waiting for. */
static void
answer(int socket, const struct handshake_verdict *verdict)
{
	struct redoahead_reply reply = {
		.magic = REDOAHEAD_MAGIC,
		.version = REDOAHEAD_ABI_VERSION,
		.status = verdict->status,
		.pid = (uint32_t) getpid(),
	};

	_Static_assert(sizeof(reply.reason) == sizeof(verdict->reason), "reasons fit");
	memcpy(reply.reason, verdict->reason, sizeof(reply.reason));
	if (send(socket, &reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_debug("a client did not take its answer: %s", strerror(errno));
}

/* Tell a server that it is served. */
void
listener__accept(struct listener *listener, int socket)
{
	static const struct handshake_verdict accepted = {.status = REDOAHEAD_ACCEPTED};

	listener->refused = accepted;
	answer(socket, &accepted);
}

/*
 * Tell a client that it is not served, and why.  A server tries again each
 * second, for days perhaps: the log gets only what differs from the last time.
 */
void
listener__refuse(struct listener *listener, int socket, const struct handshake_verdict *verdict)
{
	if (strcmp(listener->refused.reason, verdict->reason) != 0)
		log_warning("refused a connection: %s", verdict->reason);
	listener->refused = *verdict;
	answer(socket, verdict);
}

/* Close all that came with an offer. */
void
listener__drop_offer(struct listener_offer *offer)
{
	close(offer->socket);
	close(offer->memfd);
	close(offer->eventfd);
}

/* Only the owner's processes may say what is to be read; returns 0 or -EPERM. */
static int
check_user(const struct listener *listener, int fd, struct handshake_verdict *verdict)
{
	struct ucred peer;
	socklen_t	length = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 ||
		peer.uid != listener->cluster->uid)
	{
		handshake__refuse(verdict, REDOAHEAD_BAD_CLUSTER,
					  "only the owner of the data directory (user %u) is served",
					  (unsigned) listener->cluster->uid);
		return -EPERM;
	}
	return 0;
}

/*
 * A connection could not be taken, for want of descriptors or of memory.  It
 * stays in the queue, so that epoll would report it again and again.
 */
static void
pause_accepting(struct listener *listener, int error)
{
	struct epoll_event event = {.events = 0,.data.fd = listener->fd};

	if (listener->accept_error != error)
		log_warning("cannot take a connection: %s; raise the limits of this process",
					strerror(error));
	listener->accept_error = error;
	if (epoll_ctl(listener->epoll_fd, EPOLL_CTL_MOD, listener->fd, &event) == 0)
		listener->resume_us = clock__now_us() + ACCEPT_PAUSE_US;
}

static void
resume_accepting(struct listener *listener)
{
	struct epoll_event event = {.events = EPOLLIN,.data.fd = listener->fd};

	if (epoll_ctl(listener->epoll_fd, EPOLL_CTL_MOD, listener->fd, &event) == 0)
		listener->resume_us = 0;
}

static void
accept_client(struct listener *listener)
{
	struct handshake_verdict verdict;
	struct client *client;
	int			fd;

	fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
	{
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			pause_accepting(listener, errno);
		return;
	}
	listener->accept_error = 0;
	client = find_client(listener, -1);
	if (client == NULL || watch(listener, fd) < 0)
	{
		handshake__refuse(&verdict, REDOAHEAD_BUSY,
					  "too many connections that say nothing; try again");
		listener__refuse(listener, fd, &verdict);
		close(fd);
		return;
	}
	client->fd = fd;
	client->deadline_us = clock__now_us() + HANDSHAKE_TIMEOUT_US;
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
 * Has the client gone?  While we were stopped, a server may have given up on
 * us several times; its old greetings lie before the one that counts.
 */
static bool
has_left(int fd)
{
	struct pollfd poll_fd = {.fd = fd,.events = POLLRDHUP};

	return poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & (POLLRDHUP | POLLHUP)) != 0;
}

/*
 * Receive the handshake of a client.  Returns 1 and an offer, 0 if there is none
 * yet, -1 with a verdict if there never will be.
 */
static int
receive_handshake(const struct listener *listener, int fd, struct listener_offer *offer,
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
	if (n <= 0)
	{
		handshake__refuse(verdict, REDOAHEAD_BAD_VERSION, "closed without a handshake");
		return -1;
	}
	have_fds = take_descriptors(&message, fds) == 0;

	/*
	 * Judged only now: a socket that is closed with a message unread gives the
	 * client an error in place of our answer.
	 */
	if (check_user(listener, fd, verdict) == 0 &&
		handshake__parse(buffer, (size_t) n, &offer->handshake, verdict) == 0)
	{
		if (!have_fds && (message.msg_flags & MSG_CTRUNC))
			handshake__refuse(verdict, REDOAHEAD_BAD_RING,
						  "no descriptor is left for the ring; raise the limits of the daemon");
		else if (!have_fds)
			handshake__refuse(verdict, REDOAHEAD_BAD_RING,
						  "handshake without exactly two descriptors; report a bug");
		else if (handshake__match(&offer->handshake, listener->cluster, verdict) == 0)
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

/*
 * epoll reports one of our descriptors.  Returns 1 if a server now wants to be
 * served, and what it offers; its socket is no longer watched.
 */
int
listener__handle(struct listener *listener, int fd, struct listener_offer *offer)
{
	struct handshake_verdict verdict;
	int			got;

	if (fd == listener->fd)
	{
		accept_client(listener);
		return 0;
	}
	got = receive_handshake(listener, fd, offer, &verdict);
	if (got == 0)
		return 0;
	find_client(listener, fd)->fd = -1;
	(void) epoll_ctl(listener->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	if (got > 0 && has_left(fd))
	{
		log_debug("a client left before it was served");
		listener__drop_offer(offer);
		return 0;
	}
	if (got < 0)
	{
		listener__refuse(listener, fd, &verdict);
		close(fd);
		return 0;
	}
	return 1;
}

/* Forget clients that said nothing for too long; end a pause. */
void
listener__expire(struct listener *listener, uint64_t now_us)
{
	struct handshake_verdict verdict;

	if (listener->resume_us != 0 && listener->resume_us <= now_us)
		resume_accepting(listener);
	for (int i = 0; i < LISTENER_MAX_CLIENTS; i++)
	{
		struct client *client = &listener->clients[i];

		if (client->fd < 0 || client->deadline_us > now_us)
			continue;
		handshake__refuse(&verdict, REDOAHEAD_BAD_VERSION, "it said nothing for %d s",
					  (int) (HANDSHAKE_TIMEOUT_US / 1000000));
		listener__refuse(listener, client->fd, &verdict);
		close(client->fd);
		client->fd = -1;
	}
}

/* Time until listener__expire has something to do, ms; -1: never. */
int
listener__wait_ms(const struct listener *listener, uint64_t now_us)
{
	uint64_t	next_us = listener->resume_us;

	for (int i = 0; i < LISTENER_MAX_CLIENTS; i++)
	{
		const struct client *client = &listener->clients[i];

		if (client->fd >= 0 && (next_us == 0 || client->deadline_us < next_us))
			next_us = client->deadline_us;
	}
	if (next_us == 0)
		return -1;
	return next_us <= now_us ? 0 : (int) ((next_us - now_us) / 1000) + 1;
}
