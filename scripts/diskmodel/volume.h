/*
 * volume.h
 *		A network volume with a limit of requests and of bytes per second.
 */
#ifndef DISKMODEL_VOLUME_H
#define DISKMODEL_VOLUME_H

#include <stdint.h>

#include "request.h"

/* All zero at first. */
struct volume
{
	struct request_queue queue; /* under way; done in this order */
	uint64_t	next_slot;		/* earliest start of the next request, ns */
	uint64_t	link_free;		/* when all bytes so far have gone through, ns */
};

void		volume__submit(struct volume *volume, struct request *request, uint64_t now);
uint64_t	volume__due(const struct volume *volume);
uint64_t	volume__busy_until(const struct volume *volume);
struct request *volume__take(struct volume *volume, uint64_t now);

#endif							/* DISKMODEL_VOLUME_H */
