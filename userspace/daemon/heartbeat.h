/*
 * heartbeat.h
 *		The sign to the server that the daemon is alive.
 */
#ifndef REDOAHEAD_DAEMON_HEARTBEAT_H
#define REDOAHEAD_DAEMON_HEARTBEAT_H

#include <pthread.h>
#include <semaphore.h>

#include "source/ring.h"

struct heartbeat
{
	pthread_t	thread;
	sem_t		end;			/* posted when it shall end */
	struct ring *ring;			/* its heartbeat is changed by the thread only */
};

int			heartbeat__begin(struct heartbeat *heartbeat, struct ring *ring);
void		heartbeat__end(struct heartbeat *heartbeat);

#endif							/* REDOAHEAD_DAEMON_HEARTBEAT_H */
