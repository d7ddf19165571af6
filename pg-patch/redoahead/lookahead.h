/*
 * lookahead.h
 *		The references between decoding and replay.
 *
 * A queue of them, oldest first, and the memory of blocks (recent_blocks.h) that they
 * lead to.  Redo comes to the references in the order in which they were
 * decoded, so the queue tells which one it is at, and which are next.
 *
 * What a reference finds out about its block when it is decoded must still
 * hold when redo comes to it.  With a look-ahead in which redo loads more than a
 * part of shared_buffers, blocks leave them in between; then a reference is marked may_be_evicted,
 * and looked at again shortly before redo comes to it.
 *
 * All in the startup process.
 */
#ifndef REDOAHEAD_LOOKAHEAD_H
#define REDOAHEAD_LOOKAHEAD_H

#include "postgres.h"

#include "access/xlogreader.h"
#include "miscadmin.h"
#include "storage/buf.h"
#include "storage/off.h"

#include "redoahead.h"
#include "recent_blocks.h"

/* A reference between decoding and replay. */
typedef struct PendingRef
{
	XLogRecPtr	lsn;			/* start of its record */
	uint32		slot;			/* index into the memory's slots */
	Buffer		buffer;			/* where it was when decoded; then, what redo was told */
	OffsetNumber tuple;			/* which one redo will change, or remove (cpu_prefetch.h) */
	bool		moves;			/* and what lies below that moves */
	uint8		block_id;		/* which block reference of the record */
	bool		emitted;		/* the daemon was asked to read it */
	bool		may_be_evicted;		/* not emitted, and its block may leave shared buffers */
} PendingRef;

typedef struct Lookahead
{
	RecentBlocks	recent;			/* recently used blocks; empty until connected */
	PendingRef *pending;		/* circular, mask + 1 entries; NULL until connected */
	uint64		share;			/* bytes for decoded records, and again for references */
	int			window;			/* references to look ahead; 0 while they are not offered */
	uint32		mask;			/* of positions in the queue */
	uint32		head;			/* where the next reference goes */
	uint32		tail;			/* oldest one not replayed */
	uint32		replaying;		/* end of those of the record in replay */
	uint32		may_be_evicted;		/* how many are marked so and not settled, at most */
	uint32		revalidated;		/* end of those that need not be looked at again */
	XLogRecPtr	replay_lsn;		/* start of the record that is being replayed */
	XLogRecPtr	decode_lsn;		/* start of the last record decoded */
	XLogRecPtr	forgotten_lsn;	/* what was decoded until here is forgotten */

	/* Estimates of what redo does to shared buffers until it is at decode_lsn. */
	uint32		safe_refs;			/* references from tail on, of whose blocks few leave before */
	uint64		safe_bytes;			/* bytes of WAL for which a block that it has used stays */
} Lookahead;

extern Lookahead lookahead;

extern void lookahead__forget(void);
extern void lookahead__limit_memory(void);
extern int	lookahead__window(void);
extern size_t lookahead__decode_buffer_size(void);
extern bool lookahead__fit(int window);
extern void lookahead__estimate(void);
extern bool lookahead__is_resident(RecentBlock *slot);

/* Does a record that has not been replayed yet bring the slot's block in? */
static inline bool
lookahead__will_be_resident(const RecentBlock *slot)
{
	return slot->lsn >= lookahead.replay_lsn && slot->lsn > lookahead.forgotten_lsn;
}

/* And will the block still be there for the record at lsn? */
static inline bool
lookahead__stays_resident(const RecentBlock *slot, XLogRecPtr lsn)
{
	return lookahead__will_be_resident(slot) && lsn - slot->lsn <= lookahead.safe_bytes;
}

/*
 * How many blocks may be loaded into so many shared buffers before one leaves that has
 * been used.  The clock must have gone round.  Each of its steps takes a buffer, or lowers
 * a usage count, which all that are taken have had: so no more than half of the buffers
 * are taken in a round, and fewer where some are used often.
 */
static inline uint64
lookahead__safe_loads(int buffers)
{
	return buffers / 4;
}

/*
 * Judge how far ahead is near, and how long a block stays that redo has used, when
 * redo will load so many blocks for so many references in so many bytes of WAL.  Asking
 * for a block again must be early enough to be among those that the daemon reads now.
 */
static inline void
lookahead__set_safe(uint64 refs, uint64 loads, uint64 bytes, uint64 kept, uint32 daemon_window)
{
	uint64		near = daemon_window > 0 && daemon_window < kept ? daemon_window : kept;

	if (loads <= kept)
		return;
	lookahead.safe_refs = refs * near / loads;
	lookahead.safe_bytes = bytes / loads * kept;
}

/* May a block that is in shared buffers now have left when redo comes to it? */
static inline bool
lookahead__is_unsafe(void)
{
	return lookahead.safe_refs < lookahead.head - lookahead.tail;
}

/* Note a reference that redo will come to. */
static inline void
lookahead__enqueue(const PendingRef *ref)
{
	/*
	 * When the window changes, the look-ahead starts anew on top of what is
	 * decoded already, so it may get longer than the window for a while.
	 * Losing the oldest hints is all that happens.
	 */
	if (lookahead.head - lookahead.tail > lookahead.mask &&
		lookahead.replaying == lookahead.tail++)
		lookahead.replaying = lookahead.tail;

	if (ref->may_be_evicted && lookahead.may_be_evicted++ == 0)
		lookahead.revalidated = lookahead.head;
	lookahead.pending[lookahead.head++ & lookahead.mask] = *ref;
}

/*
 * The next reference that redo will come to soon and whose block may have left
 * shared buffers.  NULL if there is none.
 */
static inline PendingRef *
lookahead__next_to_revalidate(void)
{
	if (likely(lookahead.may_be_evicted == 0))
		return NULL;

	/* Positions wrap around. */
	if ((int32) (lookahead.revalidated - lookahead.tail) < 0)
		lookahead.revalidated = lookahead.tail;

	while (lookahead.revalidated != lookahead.head &&
		   lookahead.revalidated - lookahead.tail < lookahead.safe_refs)
	{
		PendingRef *ref = &lookahead.pending[lookahead.revalidated++ & lookahead.mask];

		if (unlikely(ref->may_be_evicted))
		{
			lookahead.may_be_evicted--;
			return ref;
		}
	}
	/* Those that the queue has lost are not counted any more. */
	if (lookahead.revalidated == lookahead.head)
		lookahead.may_be_evicted = 0;
	return NULL;
}

/* Does the slot still stand for the block that the record refers to? */
static inline bool
lookahead__slot_is_for(const RecentBlock *slot, const DecodedBkpBlock *block)
{
	BlockKey		key = block_key(block->rlocator.spcOid, block->rlocator.dbOid,
								block->rlocator.relNumber, block->blkno,
								block->forknum, REDOAHEAD_KIND_RELATION);

	return slot->lsn != 0 && block_key_equal(&slot->key, &key);
}

#endif							/* REDOAHEAD_LOOKAHEAD_H */
