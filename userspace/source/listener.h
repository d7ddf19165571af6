/*
 * listener.h
 *		The socket that startup processes connect to.
 */
#ifndef REDOAHEAD_SOURCE_LISTENER_H
#define REDOAHEAD_SOURCE_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/cluster.h"
#include "source/handshake.h"

/* Connections that have not sent their handshake yet, at most. */
#define LISTENER_MAX_CLIENTS	8

struct listener;

int			listener__open(struct listener **listener, struct cluster *cluster,
						   const char *path, int epoll_fd);
bool		listener__is_reachable(const struct listener *listener);
void		listener__close(struct listener *listener);
int			listener__owns(const struct listener *listener, int fd);
int			listener__handle(struct listener *listener, int fd,
							 struct handshake_offer *offer);
void		listener__expire(struct listener *listener, uint64_t now_us);
int			listener__wait_ms(const struct listener *listener, uint64_t now_us);
void		listener__accept(struct listener *listener, int socket);
const char *listener__refusal(const struct listener *listener);
void		listener__refuse(struct listener *listener, int socket,
							 const struct handshake_verdict *verdict);

#endif							/* REDOAHEAD_SOURCE_LISTENER_H */
