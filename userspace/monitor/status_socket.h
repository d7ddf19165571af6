/*
 * status_socket.h
 *		The socket on which everybody who may connects gets the status document.
 */
#ifndef REDOAHEAD_MONITOR_STATUS_SOCKET_H
#define REDOAHEAD_MONITOR_STATUS_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/sockfile.h"

struct status_socket
{
	int			fd;				/* listens; -1: there is none */
	struct sockfile file;		/* the socket in the file system */
	uint64_t	period_us;		/* time at which the present period began, us */
	unsigned	accepted;		/* connections in it */
};

/* Makes the text of the document, which stays valid until the next call. */
typedef const char *(*status_socket_text) (void *argument);

int			status_socket__open(struct status_socket *socket, const struct cluster *cluster,
								const char *path, gid_t group, bool again);
void		status_socket__close(struct status_socket *socket);
int			status_socket__group(const char *group, gid_t *gid);
int			status_socket__watch(struct status_socket *socket, uint64_t now_us);
void		status_socket__serve(struct status_socket *socket, status_socket_text text,
								 void *argument);

#endif							/* REDOAHEAD_MONITOR_STATUS_SOCKET_H */
