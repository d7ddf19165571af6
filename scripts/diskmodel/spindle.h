/*
 * spindle.h
 *		One spindle: a queue, an arm, a read cache and a write buffer.
 */
#ifndef DISKMODEL_SPINDLE_H
#define DISKMODEL_SPINDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "disk.h"
#include "geometry.h"
#include "readahead.h"
#include "writeback.h"

/* Requests that the drive reorders, like native command queueing. */
#define SPINDLE_QUEUE	32

/* What the arm is doing. */
enum spindle_work
{
	SPINDLE_IDLE,				/* nothing, or it reads ahead */
	SPINDLE_READING,
	SPINDLE_DESTAGING
};

struct spindle
{
	struct disk_counters *counters; /* of the disk that it is */
	struct geometry geometry;	/* of the platter */
	struct readahead cache;		/* what was read */
	struct writeback buffer;	/* what is yet to be written */

	struct request *queue[SPINDLE_QUEUE];	/* reads that compete for the arm */
	unsigned	queued;			/* of those */
	struct request_queue host;	/* reads that wait for a place in the queue */
	struct request_queue blocked;	/* writes that wait for room in the buffer */
	struct request_queue flushes;	/* flushes that wait for the buffer */
	struct request_queue finished;	/* to be taken */

	enum spindle_work work;		/* what the arm is doing */
	struct request *served;		/* the read that it serves */
	unsigned	destaged;		/* index of the write that it does */
	uint64_t	free_at;		/* when that is done, ns */
	uint64_t	track;			/* where the arm is then */
	bool		destage_turn;	/* reads and writes compete: a write is next */
};

void		spindle__init(struct spindle *spindle, struct disk_counters *counters,
						  uint64_t bytes, double phase);
void		spindle__submit(struct spindle *spindle, struct request *request, uint64_t now);
uint64_t	spindle__due(const struct spindle *spindle);
uint64_t	spindle__busy_until(const struct spindle *spindle);
struct request *spindle__take(struct spindle *spindle, uint64_t now);
void		spindle__reset(struct spindle *spindle);

#endif							/* DISKMODEL_SPINDLE_H */
