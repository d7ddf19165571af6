/*
 * heartbeat.c
 *		Changes the ring's heartbeat during a recovery, in a thread of its own.
 *
 * The daemon opens files, and writes its statistics and its log; on a saturated
 * file system each of these can take seconds.  The server would take the daemon for
 * stopped, and drop what it has submitted.
 */
#include <time.h>

#include "daemon/heartbeat.h"

/* Time between two beats; without one for a second, the server takes the daemon for stopped. */
#define BEAT_NS		50000000

static void *
beat(void *argument)
{
	struct heartbeat *heartbeat = argument;
	struct timespec next;

	pthread_mutex_lock(&heartbeat->mutex);
	while (!heartbeat->end)
	{
		ring__beat(heartbeat->ring);
		clock_gettime(CLOCK_MONOTONIC, &next);
		next.tv_nsec += BEAT_NS;
		if (next.tv_nsec >= 1000000000)
		{
			next.tv_sec++;
			next.tv_nsec -= 1000000000;
		}
		(void) pthread_cond_clockwait(&heartbeat->ended, &heartbeat->mutex, CLOCK_MONOTONIC, &next);
	}
	pthread_mutex_unlock(&heartbeat->mutex);
	return NULL;
}

/* Begin to beat; the ring must stay mapped until heartbeat__end().  Returns 0 or -errno. */
int
heartbeat__begin(struct heartbeat *heartbeat, struct ring *ring)
{
	heartbeat->ring = ring;
	heartbeat->end = false;
	pthread_mutex_init(&heartbeat->mutex, NULL);
	pthread_cond_init(&heartbeat->ended, NULL);
	return -pthread_create(&heartbeat->thread, NULL, beat, heartbeat);
}

/* Stop beating. */
void
heartbeat__end(struct heartbeat *heartbeat)
{
	pthread_mutex_lock(&heartbeat->mutex);
	heartbeat->end = true;
	pthread_cond_signal(&heartbeat->ended);
	pthread_mutex_unlock(&heartbeat->mutex);
	pthread_join(heartbeat->thread, NULL);
}
