/*
 * handshake.h
 *		The first words of a server.
 */
#ifndef REDOAHEAD_SOURCE_HANDSHAKE_H
#define REDOAHEAD_SOURCE_HANDSHAKE_H

#include <stddef.h>
#include <stdint.h>

#include "cluster/cluster.h"
#include "common/redoahead_abi.h"

/* What to answer. */
struct handshake_verdict
{
	uint32_t	status;			/* REDOAHEAD_ACCEPTED or why not */
	char		reason[108];	/* what is wrong and what to do */
};

void		handshake__refuse(struct handshake_verdict *verdict, uint32_t status,
						  const char *format,...)
			__attribute__((format(printf, 3, 4)));
int			handshake__parse(const void *message, size_t bytes,
						 struct redoahead_handshake *handshake, struct handshake_verdict *verdict);
int			handshake__match(const struct redoahead_handshake *handshake,
						 const struct cluster *cluster, struct handshake_verdict *verdict);

#endif							/* REDOAHEAD_SOURCE_HANDSHAKE_H */
