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

	do
	{
		ring__beat(heartbeat->ring);
		clock_gettime(CLOCK_MONOTONIC, &next);
		next.tv_nsec += BEAT_NS;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
	} while (sem_clockwait(&heartbeat->end, CLOCK_MONOTONIC, &next) < 0);
	return NULL;
}

/* Begin to beat; the ring must stay mapped until heartbeat__end().  Returns 0 or -errno. */
int
heartbeat__begin(struct heartbeat *heartbeat, struct ring *ring)
{
	heartbeat->ring = ring;
	sem_init(&heartbeat->end, 0, 0);
	return -pthread_create(&heartbeat->thread, NULL, beat, heartbeat);
}

/* Stop beating. */
void
heartbeat__end(struct heartbeat *heartbeat)
{
	sem_post(&heartbeat->end);
	pthread_join(heartbeat->thread, NULL);
}
