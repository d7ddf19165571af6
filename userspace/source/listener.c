/*
 * listener.c
 *		Accepts connections and passes valid handshakes to the caller.
 *
 * Nothing here blocks: a client that sends no handshake is closed after a few seconds.
 * handshake.c receives and checks handshakes, sockfile.c makes the socket.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/watch.h"
#include "source/listener.h"
#include "source/sockfile.h"

/* Time in which a client must send its handshake, us. */
#define HANDSHAKE_TIMEOUT_US	5000000

/* Pause after a connection that could not be accepted, us. */
#define ACCEPT_PAUSE_US		1000000

/* A connection that has not sent its handshake yet. */
struct client
{
	int			fd;				/* -1: the slot is free */
	uint64_t	deadline_us;	/* time of the close, us */
};

struct listener
{
	int			fd;				/* the listening socket */
	int			epoll_fd;		/* the caller's; contains all sockets */
	const struct cluster *cluster;	/* whose servers are served */
	struct sockfile file;		/* the socket in the file system */
	struct client clients[LISTENER_MAX_CLIENTS];	/* those without a handshake */
	uint64_t	resume_us;		/* end of the pause, us; 0: no pause */
	int			accept_error;	/* last errno logged; 0: none */
	struct handshake_verdict refused;	/* last verdict logged */
};

/* Listen at a path. */
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

	listener->fd = sockfile__listen(&listener->file, cluster, &(struct sockfile_options)
									{
										.path = path,.option = "--socket",.type = SOCK_SEQPACKET,
											.mode = 0600,.gid = (gid_t) -1
									});
	if (listener->fd < 0)
	{
		err = listener->fd;
		free(listener);
		return err;
	}
	err = watch__add(listener->epoll_fd, listener->fd, EPOLLIN);
	if (err < 0)
	{
		log_error("cannot watch the socket: %s; try again", strerror(-err));
		listener__close(listener);
		return err;
	}
	*result = listener;
	return 0;
}

/* Can servers still find the socket? */
bool
listener__is_reachable(const struct listener *listener)
{
	return sockfile__is_ours(&listener->file);
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

/* Is a descriptor that epoll reports one of the listener's? */
int
listener__owns(const struct listener *listener, int fd)
{
	return fd == listener->fd || find_client((struct listener *) listener, fd) != NULL;
}

/* Send a reply.  Does not wait for a client that does not read it. */
static void
reply_to(int socket, const struct handshake_verdict *verdict)
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
		log_debug("a client did not receive its reply: %s", strerror(errno));
}

/* Reply that the server is served. */
void
listener__accept(struct listener *listener, int socket)
{
	static const struct handshake_verdict accepted = {.status = REDOAHEAD_ACCEPTED};

	listener->refused = accepted;
	reply_to(socket, &accepted);
}

/*
 * Why the last client was not served; empty if it is, or if it came while another one was
 * served.
 */
const char *
listener__refusal(const struct listener *listener)
{
	return listener->refused.status == REDOAHEAD_BUSY ? "" : listener->refused.reason;
}

/*
 * Reply that a client is not served, and why.  A server tries again each second,
 * perhaps for days: only verdicts that differ from the last one are logged.
 */
void
listener__refuse(struct listener *listener, int socket, const struct handshake_verdict *verdict)
{
	if (strcmp(listener->refused.reason, verdict->reason) != 0)
		log_warning("refused a connection: %s", verdict->reason);
	listener->refused = *verdict;
	reply_to(socket, verdict);
}

/*
 * A connection cannot be accepted because descriptors or memory are exhausted.  It
 * stays in the queue, and without a pause epoll would report it all the time.
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
	if (client == NULL || watch__add(listener->epoll_fd, fd, EPOLLIN) < 0)
	{
		handshake__refuse(&verdict, REDOAHEAD_BUSY,
					  "too many connections without a handshake; try again");
		listener__refuse(listener, fd, &verdict);
		close(fd);
		return;
	}
	client->fd = fd;
	client->deadline_us = clock__now_us() + HANDSHAKE_TIMEOUT_US;
}

/*
 * Handle a descriptor that epoll reports.  Returns 1 and an offer if a server wants to
 * be served; its socket is no longer watched.
 */
int
listener__handle(struct listener *listener, int fd, struct handshake_offer *offer)
{
	struct handshake_verdict verdict;
	int			got;

	if (fd == listener->fd)
	{
		accept_client(listener);
		return 0;
	}
	got = handshake__receive(fd, listener->cluster, offer, &verdict);
	if (got == 0)
		return 0;
	find_client(listener, fd)->fd = -1;
	(void) epoll_ctl(listener->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	if (got > 0 && handshake__is_abandoned(fd))
	{
		log_debug("a client closed its socket before it was served");
		handshake__drop_offer(offer);
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

/* Close clients that sent no handshake in time; end a pause. */
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
		handshake__refuse(&verdict, REDOAHEAD_BAD_VERSION, "no handshake for %d s",
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
