/*
 * volume.c
 *		A network volume with a limit of requests and of bytes per second: like
 *		a gp3 volume of 3000 IOPS and 125 MB/s, each request taking 0.8 ms.
 *
 * Requests are independent of each other and of where they go; the limit
 * spaces them evenly, without credit for quiet times.  All delays only grow
 * with the order of arrival, so requests are done in that order.
 */
#include "volume.h"

#define LATENCY				(0.8 * MILLISECOND)
#define REQUESTS_PER_SECOND	3000.0
#define BYTES_PER_NS		0.125

/* A larger request counts as several. */
#define REQUEST_BYTES		(256 * 1024)

void
volume__submit(struct volume *volume, struct request *request, uint64_t now)
{
	uint64_t	start = now > volume->next_slot ? now : volume->next_slot;
	uint64_t	link = now > volume->link_free ? now : volume->link_free;
	unsigned	slots = (request->length + REQUEST_BYTES - 1) / REQUEST_BYTES;

	/* A flush has nothing to do: a write is durable when it is done. */
	volume->next_slot = start + (uint64_t) (slots * 1e9 / REQUESTS_PER_SECOND);
	volume->link_free = link + (uint64_t) (request->length / BYTES_PER_NS);
	request->done = start + (uint64_t) LATENCY;
	if (volume->link_free > request->done)
		request->done = volume->link_free;
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
