/*
 * handshake.h
 *		The first message of a server.
 */
#ifndef REDOAHEAD_SOURCE_HANDSHAKE_H
#define REDOAHEAD_SOURCE_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cluster/cluster.h"
#include "common/redoahead_abi.h"

/* The reply. */
struct handshake_verdict
{
	uint32_t	status;			/* REDOAHEAD_ACCEPTED or why not */
	char		reason[108];	/* what is wrong and what to do */
};

/* A server that wants to be served; the receiver closes the descriptors. */
struct handshake_offer
{
	int			socket;			/* open while the server is connected */
	pid_t		startup;		/* the startup process; 0: it is not visible here */
	int			memfd;			/* the ring */
	int			eventfd;		/* readable when the daemon is to wake up */
	struct redoahead_handshake handshake;	/* checked */
};

void		handshake__refuse(struct handshake_verdict *verdict, uint32_t status,
						  const char *format,...)
			__attribute__((format(printf, 3, 4)));
int			handshake__parse(const void *message, size_t bytes,
						 struct redoahead_handshake *handshake, struct handshake_verdict *verdict);
int			handshake__match(const struct redoahead_handshake *handshake,
						 const struct cluster *cluster, struct handshake_verdict *verdict);
int			handshake__receive(int fd, const struct cluster *cluster,
							   struct handshake_offer *offer, struct handshake_verdict *verdict);
bool		handshake__is_abandoned(int fd);
void		handshake__drop_offer(struct handshake_offer *offer);

#endif							/* REDOAHEAD_SOURCE_HANDSHAKE_H */
