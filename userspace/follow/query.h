/*
 * query.h
 *		Queries a hot standby for how far it has replayed WAL.
 */
#ifndef REDOAHEAD_FOLLOW_QUERY_H
#define REDOAHEAD_FOLLOW_QUERY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cluster/cluster.h"

struct query
{
	pid_t		psql;			/* the client, 0: none */
	int			socket;			/* its standard input and output */
	int			messages;		/* its standard error, a file in memory */
	bool		pending;		/* a query has been sent, and not been answered */
	uint64_t	sent_us;		/* time of that, us */
	bool		reported;		/* psql has answered, or it was reported why not */
	uint64_t	begin_us;		/* time of the last attempt to connect, us */
	uint64_t	pause_us;		/* until the next one, us */
	char		line[64];		/* of the answer, as far as it has come */
	unsigned	line_bytes;		/* length of that */
	uint64_t	primary_lsn;	/* end of the primary's WAL, as it reported lately; 0: unknown */
};

void		query__begin(struct query *query);
void		query__end(struct query *query);
void		query__leave(struct query *query, uint64_t now_us);
uint64_t	query__position(struct query *query, const struct cluster *cluster, uint64_t now_us);

#endif							/* REDOAHEAD_FOLLOW_QUERY_H */
