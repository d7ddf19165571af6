/*
 * disk.c
 *		A modelled disk: hands over to the model that it is made with.
 */
#include <errno.h>
#include <stdlib.h>

#include "disk.h"
#include "spindle.h"
#include "volume.h"

/* Platters of neighbouring spindles stand this far apart, revolutions. */
#define GOLDEN_RATIO	0.6180339887

struct disk
{
	enum disk_kind kind;		/* which of the two it is */
	struct disk_counters counters;	/* what it did */
	unsigned	pending;		/* requests submitted and not taken back */
	union
	{
		struct spindle spindle;
		struct volume volume;
	};
};

int
disk__create(struct disk **disk, enum disk_kind kind, uint64_t bytes, unsigned number)
{
	struct disk *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return -ENOMEM;
	made->kind = kind;
	if (kind == DISK_HDD)
		spindle__init(&made->spindle, &made->counters, bytes, number * GOLDEN_RATIO);
	*disk = made;
	return 0;
}

void
disk__destroy(struct disk *disk)
{
	free(disk);
}

void
disk__submit(struct disk *disk, struct request *request, uint64_t now)
{
	request->arrived = now;
	disk->pending++;
	if (disk->kind == DISK_HDD)
		spindle__submit(&disk->spindle, request, now);
	else
		volume__submit(&disk->volume, request, now);
}

/* When is there something to take, or to decide?  NEVER if nothing is under way. */
uint64_t
disk__due(const struct disk *disk)
{
	return disk->kind == DISK_HDD ? spindle__due(&disk->spindle) : volume__due(&disk->volume);
}

/* Before when does no request start that has not been submitted yet? */
uint64_t
disk__busy_until(const struct disk *disk)
{
	return disk->kind == DISK_HDD ?
		spindle__busy_until(&disk->spindle) : volume__busy_until(&disk->volume);
}

/* Take back one request that is done by now, or NULL. */
struct request *
disk__take(struct disk *disk, uint64_t now)
{
	struct request *request = disk->kind == DISK_HDD ?
		spindle__take(&disk->spindle, now) : volume__take(&disk->volume, now);

	if (request == NULL)
		return NULL;
	disk->pending--;
	disk->counters.reads += request->kind == REQUEST_READ;
	disk->counters.writes += request->kind == REQUEST_WRITE;
	return request;
}

/* Count from zero, and with an empty read cache. */
void
disk__reset(struct disk *disk)
{
	disk->counters = (struct disk_counters) {0};
	if (disk->kind == DISK_HDD)
		spindle__reset(&disk->spindle);
}

const struct disk_counters *
disk__counters(const struct disk *disk)
{
	return &disk->counters;
}

/* Requests that the model has not finished. */
unsigned
disk__pending(const struct disk *disk)
{
	return disk->pending;
}
