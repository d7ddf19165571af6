/*
 * heartbeat.h
 *		The sign to the server that the daemon is alive.
 */
#ifndef REDOAHEAD_DAEMON_HEARTBEAT_H
#define REDOAHEAD_DAEMON_HEARTBEAT_H

#include <pthread.h>
#include <stdbool.h>

#include "source/ring.h"

struct heartbeat
{
	pthread_t	thread;
	pthread_mutex_t mutex;		/* protects what follows */
	pthread_cond_t ended;		/* end was set */
	bool		end;
	struct ring *ring;			/* its heartbeat is changed by the thread only */
};

int			heartbeat__begin(struct heartbeat *heartbeat, struct ring *ring);
void		heartbeat__end(struct heartbeat *heartbeat);

#endif							/* REDOAHEAD_DAEMON_HEARTBEAT_H */
