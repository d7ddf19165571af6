/*
 * spindle.c
 *		One spindle: which request the arm serves next, and for how long.
 *
 * The drive knows up to SPINDLE_QUEUE reads and serves the one that it can
 * finish first (shortest access time first), but one that has been in the
 * queue for STARVATION before all others.  Writes are confirmed as soon as
 * they are in the write buffer, and go to the platter when no read is waiting,
 * or in turn with reads if the buffer is half full or a flush waits for it.
 * An arm that has nothing to do after a read reads ahead.
 *
 * The next service begins at the time when the last one ended, not at the time of
 * the call: a late call costs the disk nothing, unless it is later than CATCH_UP.
 */
#include "spindle.h"

/* From the arrival of a command to the first move of an arm that is free. */
#define COMMAND_TIME	((uint64_t) (0.05 * MILLISECOND))

/* From the drive's memory to the host, bytes per ns. */
#define BUS_RATE		0.5

#define STARVATION		((uint64_t) (600 * MILLISECOND))
#define CATCH_UP		((uint64_t) (5 * MILLISECOND))

/* What serving a request would take. */
struct service
{
	uint64_t	begin;			/* when the arm turns to it, ns */
	uint64_t	finish;			/* when it is done, ns */
	uint64_t	there;			/* of a cache hit: when its last byte is there, ns */
	double		seek;			/* time that the arm moves, ns */
	double		rotation;		/* time that it waits for the sector, ns */
	bool		cached;			/* the arm is not needed, or reads ahead of it */
};

void
spindle__init(struct spindle *spindle, struct disk_counters *counters, uint64_t bytes,
			  double phase)
{
	spindle->counters = counters;
	geometry__init(&spindle->geometry, bytes, phase);
	readahead__reset(&spindle->cache, bytes);
}

/* What would it take to serve this read, from `time` on? */
static struct service
estimate_read(const struct spindle *spindle, const struct request *request, uint64_t time)
{
	const struct geometry *geometry = &spindle->geometry;
	struct service service = {.begin = request->arrived + COMMAND_TIME};
	double		access;

	/* A command is taken in while the arm is still busy with another. */
	if (service.begin < time)
		service.begin = time;

	if (writeback__covers(&spindle->buffer, request->offset, request->length))
	{
		service.cached = true;
		service.there = service.begin;
	}
	else
		service.cached = readahead__lookup(&spindle->cache, geometry, request->offset,
										   request->length, service.begin, &service.there);
	if (service.cached)
	{
		service.finish = service.there + (uint64_t) (request->length / BUS_RATE);
		return service;
	}

	access = geometry__access(geometry, spindle->track, request->offset, service.begin,
							  &service.seek);
	service.rotation = access - service.seek;
	service.finish = service.begin +
		(uint64_t) (access + geometry__transfer(geometry, request->offset, request->length));
	return service;
}

/* The arm stops reading ahead. */
static void
stop_reading_ahead(struct spindle *spindle, uint64_t time)
{
	uint64_t	head;

	if (readahead__stop(&spindle->cache, &spindle->geometry, time, &head))
		spindle->track = geometry__track(&spindle->geometry, head);
}

/* Occupy the arm until the end of a service. */
static void
occupy(struct spindle *spindle, enum spindle_work work, const struct service *service)
{
	spindle->work = work;
	spindle->free_at = service->finish;
	spindle->counters->busy += (double) (service->finish - service->begin);
	spindle->counters->seek += service->seek;
	spindle->counters->rotation += service->rotation;
}

/* Turn to the read that is done first, or that is too old to wait any longer. */
static void
serve_read(struct spindle *spindle, uint64_t time)
{
	unsigned	oldest = 0;
	unsigned	best;
	struct service service;
	struct request *request;

	for (unsigned i = 1; i < spindle->queued; i++)
		if (spindle->queue[i]->entered < spindle->queue[oldest]->entered)
			oldest = i;

	best = oldest;
	service = estimate_read(spindle, spindle->queue[oldest], time);
	if (time <= spindle->queue[oldest]->entered + STARVATION)
		for (unsigned i = 0; i < spindle->queued; i++)
		{
			struct service other = estimate_read(spindle, spindle->queue[i], time);

			if (other.finish < service.finish)
			{
				service = other;
				best = i;
			}
		}

	request = spindle->queue[best];
	spindle->queue[best] = spindle->queue[--spindle->queued];
	if (service.cached)
	{
		readahead__use(&spindle->cache, &spindle->geometry, request->offset, request->length,
					   service.there);
		spindle->counters->cache_hits++;
	}
	else
	{
		stop_reading_ahead(spindle, service.begin);
		readahead__start(&spindle->cache, request->offset, request->length, service.finish);
		spindle->track = geometry__track(&spindle->geometry, request->offset + request->length);
	}
	spindle->served = request;
	request->done = service.finish;
	occupy(spindle, SPINDLE_READING, &service);
}

/* Turn to the buffered write that the head reaches first. */
static void
serve_write(struct spindle *spindle, uint64_t time)
{
	struct geometry *geometry = &spindle->geometry;
	struct service service = {.begin = time};
	struct request *flush = spindle->flushes.first;
	const struct writeback_entry *entry;
	double		access;

	stop_reading_ahead(spindle, time);
	spindle->destaged = writeback__choose(&spindle->buffer, geometry, spindle->track, time,
										  flush != NULL ? flush->barrier : UINT64_MAX);
	entry = &spindle->buffer.entries[spindle->destaged];
	access = geometry__access(geometry, spindle->track, entry->offset, time, &service.seek);
	service.rotation = access - service.seek;
	service.finish = time +
		(uint64_t) (access + geometry__transfer(geometry, entry->offset, entry->length));
	spindle->track = geometry__track(geometry, entry->offset + entry->length);
	occupy(spindle, SPINDLE_DESTAGING, &service);
}

/* The arm is free since `time`: give it work, if there is some. */
static void
serve_next(struct spindle *spindle, uint64_t time)
{
	bool		must_write;
	struct request *request;

	while (spindle->queued < SPINDLE_QUEUE &&
		   (request = request__pop(&spindle->host)) != NULL)
	{
		request->entered = time;
		spindle->queue[spindle->queued++] = request;
	}

	must_write = spindle->destage_turn &&
		(spindle->flushes.first != NULL || writeback__half_full(&spindle->buffer));
	if (spindle->buffer.count > 0 && (spindle->queued == 0 || must_write))
	{
		spindle->destage_turn = false;
		serve_write(spindle, time);
	}
	else if (spindle->queued > 0)
	{
		spindle->destage_turn = true;
		serve_read(spindle, time);
	}
	else
		spindle->work = SPINDLE_IDLE;
}

static void
finish(struct spindle *spindle, struct request *request, uint64_t time)
{
	request->done = time;
	request__push(&spindle->finished, request);
}

/* Confirm a write if there is room for it. */
static bool
take_write(struct spindle *spindle, struct request *request, uint64_t time)
{
	if (!writeback__add(&spindle->buffer, request->offset, request->length))
		return false;
	readahead__forget(&spindle->cache, request->offset, request->length);
	finish(spindle, request, time);
	return true;
}

/* Take the writes in that waited for room, in their order. */
static void
take_blocked_writes(struct spindle *spindle, uint64_t time)
{
	while (spindle->blocked.first != NULL)
	{
		struct request *request = spindle->blocked.first;
		struct request *rest = request->next;

		if (!take_write(spindle, request, time))
			break;
		spindle->blocked.first = rest;
	}
}

/* A buffered write is on the platter: see who waited for that. */
static void
finish_destaging(struct spindle *spindle, uint64_t time)
{
	writeback__remove(&spindle->buffer, spindle->destaged);
	spindle->counters->destaged++;
	while (spindle->flushes.first != NULL &&
		   writeback__settled(&spindle->buffer, spindle->flushes.first->barrier))
		finish(spindle, request__pop(&spindle->flushes), time);
	take_blocked_writes(spindle, time);
}

void
spindle__submit(struct spindle *spindle, struct request *request, uint64_t now)
{
	switch (request->kind)
	{
		case REQUEST_READ:
			request__push(&spindle->host, request);
			break;
		case REQUEST_WRITE:
			if (spindle->blocked.first != NULL || !take_write(spindle, request, now))
				request__push(&spindle->blocked, request);
			break;
		case REQUEST_FLUSH:
			request->barrier = spindle->buffer.last_number;
			if (writeback__settled(&spindle->buffer, request->barrier))
				finish(spindle, request, now);
			else
				request__push(&spindle->flushes, request);
			break;
	}
	if (spindle->work == SPINDLE_IDLE)
		serve_next(spindle, now);
}

/* When is something finished, or the arm free for more? */
uint64_t
spindle__due(const struct spindle *spindle)
{
	if (spindle->finished.first != NULL)
		return spindle->finished.first->done;
	return spindle->work == SPINDLE_IDLE ? NEVER : spindle->free_at;
}

uint64_t
spindle__busy_until(const struct spindle *spindle)
{
	return spindle->work == SPINDLE_IDLE ? 0 : spindle->free_at;
}

struct request *
spindle__take(struct spindle *spindle, uint64_t now)
{
	while (spindle->finished.first == NULL && spindle->work != SPINDLE_IDLE &&
		   spindle->free_at <= now)
	{
		uint64_t	time = spindle->free_at;

		if (spindle->work == SPINDLE_READING)
			request__push(&spindle->finished, spindle->served);
		else
			finish_destaging(spindle, time);
		if (now > time + CATCH_UP)
			time = now - CATCH_UP;
		serve_next(spindle, time);
	}
	return request__pop(&spindle->finished);
}

/* Forget what was read, as if the drive had been switched off and on. */
void
spindle__reset(struct spindle *spindle)
{
	readahead__reset(&spindle->cache, spindle->cache.disk_bytes);
}
