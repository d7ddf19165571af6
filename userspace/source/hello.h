/*
 * hello.h
 *		The first words of a server.
 */
#ifndef REDOAHEAD_SOURCE_HELLO_H
#define REDOAHEAD_SOURCE_HELLO_H

#include <stddef.h>
#include <stdint.h>

#include "cluster/cluster.h"
#include "common/redoahead_abi.h"

/* What to answer. */
struct hello_verdict
{
	uint32_t	status;			/* REDOAHEAD_ACCEPTED or why not */
	char		reason[108];	/* what is wrong and what to do */
};

void		hello__refuse(struct hello_verdict *verdict, uint32_t status,
						  const char *format,...)
			__attribute__((format(printf, 3, 4)));
int			hello__parse(const void *message, size_t bytes,
						 struct redoahead_hello *hello, struct hello_verdict *verdict);
int			hello__match(const struct redoahead_hello *hello,
						 const struct cluster *cluster, struct hello_verdict *verdict);

#endif							/* REDOAHEAD_SOURCE_HELLO_H */
