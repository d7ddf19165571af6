/*
 * volume.c
 *		A network volume with a limit of requests and of bytes per second: like
 *		a gp3 volume of 3000 IOPS and 125 MB/s, each request taking 0.8 ms.
 *
 * Requests are independent of each other and of where they go; the limits
 * space them evenly.  After a pause, be it ours, the CREDIT of it may be caught
 * up with, like with the token bucket of such volumes.  All delays only grow
 * with the order of arrival, so requests are done in that order.
 */
#include "volume.h"

#define LATENCY				(0.8 * MILLISECOND)
#define REQUESTS_PER_SECOND	3000.0
#define BYTES_PER_NS		0.125

#define CREDIT				((uint64_t) (20 * MILLISECOND))

/* A larger request counts as several. */
#define REQUEST_BYTES		(256 * 1024)

static uint64_t
later(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

void
volume__submit(struct volume *volume, struct request *request, uint64_t now)
{
	unsigned	slots = (request->length + REQUEST_BYTES - 1) / REQUEST_BYTES;
	uint64_t	oldest = now > CREDIT ? now - CREDIT : 0;

	/* A flush has nothing to do: a write is durable when it is done. */
	volume->next_slot = later(volume->next_slot, oldest);
	volume->link_free = later(volume->link_free, oldest);
	request->done = later(volume->next_slot, now) + (uint64_t) LATENCY;
	volume->next_slot += (uint64_t) (slots * 1e9 / REQUESTS_PER_SECOND);
	volume->link_free += (uint64_t) (request->length / BYTES_PER_NS);
	request->done = later(request->done, volume->link_free);
	request__push(&volume->queue, request);
}

uint64_t
volume__due(const struct volume *volume)
{
	return volume->queue.first != NULL ? volume->queue.first->done : NEVER;
}

uint64_t
volume__busy_until(const struct volume *volume)
{
	return volume->next_slot;
}

struct request *
volume__take(struct volume *volume, uint64_t now)
{
	return volume__due(volume) <= now ? request__pop(&volume->queue) : NULL;
}
