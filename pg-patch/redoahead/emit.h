/*
 * emit.h
 *		The producer's end of the ring.
 *
 * One call per reference: no system call, no lock, no allocation, no wait.  A
 * full ring drops the reference and counts it.  The daemon writes to the same
 * memory and isn't trusted: the producer keeps its own position in private
 * memory, and an impossible tail closes the emitter for good.  A closed emitter,
 * which a zeroed one is, too, accepts nothing; so callers need not know whether
 * a daemon is connected.  Knows nothing of PostgreSQL.
 */
#ifndef REDOAHEAD_EMIT_H
#define REDOAHEAD_EMIT_H

#include <stdbool.h>

#include "common/redoahead_abi.h"

/* The producer's private state. */
typedef struct Emitter
{
	struct redoahead_ring *ring;	/* shared memory, NULL without a daemon */
	struct redoahead_ref *refs; /* its slots */
	uint64_t	head;			/* references emitted */
	uint64_t	tail;			/* the daemon's tail when last read */
	uint64_t	published;		/* head as the daemon sees it */
	uint64_t	dropped;		/* references dropped: full ring */
	uint32_t	capacity;		/* slots, a power of two; 0 if closed */
} Emitter;

static inline bool
emit__is_open(const Emitter *e)
{
	return e->capacity != 0;
}

/* Read the daemon's tail.  Returns false if the emitter is closed. */
static inline bool
emit__refresh_tail(Emitter *e)
{
	uint64_t	tail;

	if (!emit__is_open(e))
		return false;
	tail = __atomic_load_n(&e->ring->tail, __ATOMIC_ACQUIRE);
	if (tail < e->tail || tail > e->published)
	{
		e->capacity = 0;
		return false;
	}
	e->tail = tail;
	return true;
}

/* Is there room for a reference? */
static inline bool
emit__has_room(Emitter *e)
{
	return e->head - e->tail < e->capacity ||
		(emit__refresh_tail(e) && e->head - e->tail < e->capacity);
}

/*
 * Put one reference into the ring; the daemon sees it after emit__publish().  False if
 * the ring is full, so that it is dropped and counted, or closed.
 */
static inline bool
emit__put(Emitter *e, const struct redoahead_ref *ref)
{
	if (!emit__has_room(e))
	{
		if (emit__is_open(e))
			__atomic_store_n(&e->ring->dropped, ++e->dropped, __ATOMIC_RELAXED);
		return false;
	}

	e->refs[e->head & (e->capacity - 1)] = *ref;
	e->head++;
	return true;
}

/*
 * Show the daemon what has been put.  Call it after each record or so: each call
 * that publishes something moves a cache line to the daemon's CPU and back.
 * Returns true if the daemon sleeps; then the caller must write to the eventfd.
 */
static inline bool
emit__publish(Emitter *e)
{
	if (e->published == e->head)
		return false;
	e->published = e->head;
	__atomic_store_n(&e->ring->head, e->head, __ATOMIC_RELEASE);

	/* Pairs with the daemon's: set sleeping, fence, read head. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&e->ring->sleeping, __ATOMIC_RELAXED) != 0;
}

#endif							/* REDOAHEAD_EMIT_H */
