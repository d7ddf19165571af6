/*
 * status_socket.c
 *		The socket on which everybody who may connects gets the status document.
 *
 * A client is served at once and closed: the document fits into the socket's buffer, so
 * nothing waits for a client that does not read.  What a client sends is dropped.  How
 * many are served in a period is bounded, the others wait in the kernel's queue, which is
 * bounded, too; so no client costs more than a little of this thread's time.
 */
#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "monitor/status_socket.h"

/* Connections accepted in a period at most, and its length, us. */
#define PERIOD_CLIENTS	16
#define PERIOD_US		UINT64_C(100000)

/* Room for a document that is not read yet, bytes. */
#define SEND_BYTES		(512 * 1024)

/* Most of what a client sends that is read, to drop it, bytes. */
#define DROP_BYTES		4096

/* Most supplementary groups of this process that are compared. */
#define MAX_GROUPS		1024

/* Is this process a member? */
static bool
is_member(gid_t gid)
{
	gid_t		groups[MAX_GROUPS];
	int			count = getgroups(MAX_GROUPS, groups);

	if (gid == getegid())
		return true;
	for (int i = 0; i < count; i++)
		if (groups[i] == gid)
			return true;
	return false;
}

/*
 * Find the group that may read the status, (gid_t) -1 for NULL.  Returns 0, or -errno after a
 * message.
 */
int
status_socket__group(const char *group, gid_t *gid)
{
	const struct group *entry;

	*gid = (gid_t) -1;
	if (group == NULL)
		return 0;
	errno = 0;
	entry = getgrnam(group);
	if (entry == NULL)
	{
		int			err = errno == 0 ? -ENOENT : -errno;

		log_error("group \"%s\" is not known: %s; create it or give another one with --status-group",
				  group, strerror(-err));
		return err;
	}
	if (!is_member(entry->gr_gid))
	{
		log_error("this process is not a member of group \"%s\"; start it as a user who is one, not as "
				  "root, or give another group with --status-group", group);
		return -EPERM;
	}
	*gid = entry->gr_gid;
	return 0;
}

/*
 * Listen at a path, for the owner and for a group unless that is -1.  Returns 0, or -errno
 * after a message, unless it is tried again.
 */
int
status_socket__open(struct status_socket *status, const struct cluster *cluster,
					const char *path, gid_t group, bool again)
{
	struct sockfile_options options = {
		.path = path,.option = "--status-socket",.type = SOCK_STREAM,.again = again,
		.mode = group != (gid_t) -1 ? 0660 : 0600,.gid = group
	};

	*status = (struct status_socket) {.fd = -1};
	status->fd = sockfile__listen(&status->file, cluster, &options);
	return status->fd < 0 ? status->fd : 0;
}

/* Stop listening and remove the socket. */
void
status_socket__close(struct status_socket *status)
{
	if (status->fd < 0)
		return;
	close(status->fd);
	sockfile__remove(&status->file);
	status->fd = -1;
}

/* The descriptor to wait for, or -1 if no more clients may be served in this period. */
int
status_socket__watch(struct status_socket *status, uint64_t now_us)
{
	if (now_us - status->period_us >= PERIOD_US)
	{
		status->period_us = now_us;
		status->accepted = 0;
	}
	return status->accepted < PERIOD_CLIENTS ? status->fd : -1;
}

/* Send the document to a client. */
static void
serve_client(int fd, const char *text)
{
	char		dropped[DROP_BYTES];
	size_t		length = strlen(text);
	int			room = SEND_BYTES;
	ssize_t		sent;

	/* Unread input would reset the connection. */
	while (recv(fd, dropped, sizeof(dropped), MSG_DONTWAIT) == (ssize_t) sizeof(dropped) &&
		   room > 0)
		room -= DROP_BYTES;
	room = SEND_BYTES;
	(void) setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	sent = send(fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent >= 0 && (size_t) sent < length)
		log_debug("status: %zd of %zu bytes sent; raise net.core.wmem_max", sent, length);
}

/* Serve the clients that wait. */
void
status_socket__serve(struct status_socket *status, status_socket_text text, void *argument)
{
	while (status->accepted < PERIOD_CLIENTS)
	{
		int			fd = accept4(status->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
		{
			/* With no descriptor left, the client waits for the next period. */
			if (errno != EAGAIN)
				status->accepted = PERIOD_CLIENTS;
			return;
		}
		status->accepted++;
		serve_client(fd, text(argument));
		close(fd);
	}
}
