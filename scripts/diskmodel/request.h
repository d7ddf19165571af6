/*
 * request.h
 *		A request to a modelled disk, and queues of them.
 *
 * The model decides only when a request is done; data is moved elsewhere.
 */
#ifndef DISKMODEL_REQUEST_H
#define DISKMODEL_REQUEST_H

#include <stddef.h>
#include <stdint.h>

/* No event is due. */
#define NEVER		UINT64_MAX

#define MICROSECOND	1000.0		/* ns */
#define MILLISECOND	1000000.0	/* ns */

enum request_kind
{
	REQUEST_READ,
	REQUEST_WRITE,
	REQUEST_FLUSH				/* done when what was written before is on disk */
};

/* Belongs to its submitter, who must keep it until the model is done with it. */
struct request
{
	struct request *next;		/* in the queue that it is in */
	enum request_kind kind;		/* what to do */
	uint32_t	length;			/* bytes */
	uint64_t	offset;			/* from the start of the disk, bytes */
	uint64_t	arrived;		/* when it was submitted, ns */
	uint64_t	entered;		/* when the drive took it into its queue, ns */
	uint64_t	barrier;		/* of a flush: the last write that it waits for */
	uint64_t	done;			/* when the model completes it, ns */
};

/* First in, first out. */
struct request_queue
{
	struct request *first;		/* NULL: empty */
	struct request *last;		/* undefined if empty */
};

static inline void
request__push(struct request_queue *queue, struct request *request)
{
	request->next = NULL;
	if (queue->first == NULL)
		queue->first = request;
	else
		queue->last->next = request;
	queue->last = request;
}

static inline struct request *
request__pop(struct request_queue *queue)
{
	struct request *request = queue->first;

	if (request != NULL)
		queue->first = request->next;
	return request;
}

#endif							/* DISKMODEL_REQUEST_H */
