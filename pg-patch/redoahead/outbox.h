/*
 * outbox.h
 *		The queue of references from the decoder to the startup process, which has
 *		the connection to the daemon.
 *
 * One process puts, the other takes; no lock, no wait.  Positions wrap around.
 */
#ifndef REDOAHEAD_OUTBOX_H
#define REDOAHEAD_OUTBOX_H

#include "postgres.h"

#include "port/atomics.h"

#include "common/redoahead_abi.h"

typedef struct Outbox
{
	struct redoahead_ref *refs; /* circular, mask + 1 entries */
	uint32		mask;

	/* Written by the one that puts. */
	pg_attribute_aligned(PG_CACHE_LINE_SIZE)
	uint32		head;			/* where the next one goes */
	pg_attribute_aligned(PG_CACHE_LINE_SIZE)
	pg_atomic_uint32 published; /* end of what may be taken */

	/* Written by the one that takes. */
	pg_attribute_aligned(PG_CACHE_LINE_SIZE)
	pg_atomic_uint32 tail;		/* the oldest that has not been taken */
} Outbox;

/* Put a reference; it may be taken after outbox__publish().  False if it is full. */
static inline bool
outbox__put(Outbox *box, const struct redoahead_ref *ref)
{
	if (box->head - pg_atomic_read_u32(&box->tail) > box->mask)
		return false;
	box->refs[box->head++ & box->mask] = *ref;
	return true;
}

static inline void
outbox__publish(Outbox *box)
{
	pg_write_barrier();
	pg_atomic_write_u32(&box->published, box->head);
}

#endif							/* REDOAHEAD_OUTBOX_H */
