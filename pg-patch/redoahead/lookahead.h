/*
 * lookahead.h
 *		The queue of block references between decoding and replay.
 *
 * Redo comes to the references in the order in which they were decoded, so
 * positions in the queue show which reference redo is at and which are next.
 * Positions wrap around.  Nothing here allocates; the owner provides the array.
 */
#ifndef REDOAHEAD_LOOKAHEAD_H
#define REDOAHEAD_LOOKAHEAD_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "storage/buf.h"
#include "storage/off.h"

/* A reference between decoding and replay. */
typedef struct PendingRef
{
	XLogRecPtr	lsn;			/* start of its record */
	uint32		recent;			/* index of its block in the recent-block cache */
	Buffer		buffer;			/* where the block was when decoded; then, redo's hint */
	OffsetNumber tuple;			/* tuple that redo changes or removes (cpu_prefetch.c) */
	bool		moves;			/* its removal moves other tuples */
	uint8		block_id;		/* which block reference of the record */
	bool		reads;			/* redo has to read the block */
} PendingRef;

typedef struct Lookahead
{
	PendingRef *refs;			/* circular, mask + 1 entries; NULL until allocated */
	uint32		mask;			/* of positions in the queue */

	/* Written where records are decoded, which may be another process. */
	pg_attribute_aligned(PG_CACHE_LINE_SIZE)
	XLogRecPtr	decode_lsn;		/* start of the last record decoded */
	uint32		head;			/* where the next reference goes */

	/* Written where they are replayed. */
	pg_attribute_aligned(PG_CACHE_LINE_SIZE)
	XLogRecPtr	replay_lsn;		/* start of the record that is being replayed */
	uint32		tail;			/* oldest reference not replayed */
	uint32		replaying;		/* end of those of the record in replay */
} Lookahead;

static inline PendingRef *
lookahead__ref(const Lookahead *l, uint32 position)
{
	return &l->refs[position & l->mask];
}

/* Where the next reference goes; those before it have been written. */
static inline uint32
lookahead__end(const Lookahead *l)
{
	return __atomic_load_n(&l->head, __ATOMIC_ACQUIRE);
}

/* References between decoding and replay. */
static inline uint32
lookahead__length(const Lookahead *l)
{
	return l->head - l->tail;
}

/* Remove all references. */
static inline void
lookahead__clear(Lookahead *l)
{
	l->head = l->tail = l->replaying = 0;
}

/* Append a reference. */
static inline void
lookahead__append(Lookahead *l, const PendingRef *ref)
{
	/*
	 * After a change of the distance, decoding restarts on top of what is decoded
	 * already, so the queue may be full for a while.  The oldest references are lost
	 * then: hints for redo, and what a daemon that is lost has not read.
	 */
	if (lookahead__length(l) > l->mask)
	{
		if (l->replaying == l->tail)
			l->replaying++;
		l->tail++;
	}

	*lookahead__ref(l, l->head) = *ref;
	/* Another process may read the reference from now on. */
	__atomic_store_n(&l->head, l->head + 1, __ATOMIC_RELEASE);
}

/* Redo has come to the record at "lsn": remove the references before it. */
static inline void
lookahead__advance(Lookahead *l, XLogRecPtr lsn)
{
	uint32		end = lookahead__end(l);

	l->replay_lsn = lsn;
	while (l->tail != end && lookahead__ref(l, l->tail)->lsn < lsn)
		l->tail++;
}

#endif							/* REDOAHEAD_LOOKAHEAD_H */
