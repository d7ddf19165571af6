/*
 * redoahead.c
 *		Recovery prefetch by the redoahead daemon: the server's side.
 *
 * The startup process offers each block reference that it decodes from the
 * WAL, well before redo needs it.  Those that redo will have to read are
 * emitted into a ring in shared memory, and the daemon brings the blocks into
 * the page cache.  Where no daemon takes them, the server's own prefetching
 * works as if this library weren't there.
 *
 * A reference takes this way:
 *
 * 1. the memory of blocks (seen.h) knows that redo will have the block,
 *    because an earlier record brings it in: nothing to do;
 * 2. the record carries a full-page image or initializes the page: remember;
 * 3. the block is in shared buffers, and will be when redo comes to it: remember
 *    where;
 * 4. otherwise emit it, and remember that.
 *
 * Redo then comes to the same references in the same order.  A queue of them
 * leads back to the slots of the memory, through which redo is told in which
 * buffer it will find a block that it has used before, and through which we
 * learn what buffer it used.
 *
 * All of this runs in the startup process.  It raises an error only where the
 * built-in prefetching would: when a relation's file exists but can't be
 * opened.
 */
#include "postgres.h"

#include "access/rmgr.h"
#include "access/xlogprefetcher.h"
#include "access/xlogutils.h"
#include "catalog/pg_control.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/smgr.h"
#include "utils/memutils.h"

#include "buffers.h"
#include "implied.h"
#include "redoahead.h"
#include "seen.h"

PG_MODULE_MAGIC_EXT(.name = "redoahead", .version = "1.0");

/* How many records go by between two looks at the daemon. */
#define RECORDS_PER_POLL	16

/* How many references are shown to the daemon at a time, at most. */
#define EMITTED_PER_PUBLISH	32

/*
 * Most blocks to remember beyond the window: as many as there are shared
 * buffers, but no more than this (64 to 128 bytes each).
 */
#define MAX_SEEN_BUFFERS	(4 * 1024 * 1024)

/*
 * How many references before redo comes to one its slot, and then its buffer,
 * are brought into the CPU's cache.  A record takes redo 1 to 3 us, memory
 * answers within 0.1 us or so; too early and they're gone again.
 */
#define SLOT_DISTANCE		16
#define BUFFER_DISTANCE		8

/* Cache lines of a page to bring in: its header and some line pointers. */
#define PAGE_LINES			4

/* Pages of each SLRU that are remembered as emitted. */
#define SLRU_WAYS			16

/* A reference between decoding and replay. */
typedef struct PendingRef
{
	XLogRecPtr	lsn;			/* start of its record */
	uint32		slot;			/* index into the memory's slots */
	Buffer		buffer;			/* where it was when decoded; then, what redo was told */
	uint8		block_id;		/* which block reference of the record */
	bool		emitted;		/* the daemon was asked to read it */
} PendingRef;

RedoaheadCounters redoahead_counters;
Emitter		redoahead_emitter;

static SeenTable seen;			/* memory of blocks; empty until attached */

static PendingRef *pending;		/* circular, pending_mask + 1 entries */
static uint32 pending_mask;
static uint32 pending_head;		/* where the next reference goes */
static uint32 pending_tail;		/* oldest one not replayed */
static uint32 pending_replaying;	/* end of those of the record in replay */

static XLogRecPtr replay_lsn;	/* start of the record that is being replayed */
static XLogRecPtr decode_lsn;	/* start of the last record decoded */
static XLogRecPtr forgotten_lsn;	/* what was decoded until here is forgotten */
static uint32 records_until_poll = 1;

/*
 * For how much WAL a block that redo has used is certain to stay in shared
 * buffers, bytes.  The look-ahead may well reach further than that.
 */
static uint64 reach = PG_UINT64_MAX;

/* SLRU pages emitted last, a direct-mapped cache for each SLRU. */
static SeenKey recent_slru[REDOAHEAD_SLRU_COUNT * SLRU_WAYS];


/* ---------- memory ---------- */

/*
 * Forget what was asked for, and all references under way.  The memory of
 * blocks stays, with the buffers that it knows: it is large, and daemons may
 * come and go.
 */
static void
forget(void)
{
	forgotten_lsn = decode_lsn;
	pending_head = pending_tail = pending_replaying = 0;
	memset(recent_slru, 0xff, sizeof(recent_slru));
}

/*
 * Does a record that has not been replayed yet bring the slot's block in, and
 * will it still be there for the record at lsn?
 */
static inline bool
is_coming(const SeenSlot *slot, XLogRecPtr lsn)
{
	return slot->lsn >= replay_lsn && slot->lsn > forgotten_lsn &&
		lsn - slot->lsn <= reach;
}

/*
 * Estimate the reach.  Blocks that redo loads take buffers, and one that has been
 * used is not taken again before the clock has gone round.
 */
static inline void
update_reach(void)
{
	uint64		refs = pending_head - pending_tail;
	uint64		loads;

	reach = PG_UINT64_MAX;
	if (likely(refs <= (uint32) NBuffers))
		return;
	loads = refs * (redoahead_counters.emitted + redoahead_counters.not_read) /
		Max(redoahead_counters.offered, 1);
	if (loads > (uint32) NBuffers)
		reach = (decode_lsn - replay_lsn) / loads * NBuffers;
}

/*
 * Make the memory and the queue large enough for the window.  False if there
 * isn't the memory.
 */
static bool
fit_window(void)
{
	static uint32 window;		/* what the present sizes are good for */
	uint32		size = 1024;

	if (window >= (uint32) redoahead_window && pending)
		return true;

	/* A record has up to XLR_MAX_BLOCK_ID more references than the window. */
	while (size < (uint32) redoahead_window + 2 * XLR_MAX_BLOCK_ID)
		size *= 2;

	seen__destroy(&seen);
	if (pending)
		pfree(pending);
	pending = MemoryContextAllocExtended(TopMemoryContext,
										 size * sizeof(PendingRef),
										 MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	window = 0;
	if (!pending ||
		!seen__create(&seen, Max(2 * redoahead_window, Min(NBuffers, MAX_SEEN_BUFFERS))))
	{
		ereport(LOG,
				(errmsg("redoahead: not enough memory for redoahead.window = %d; using built-in prefetching",
						redoahead_window)));
		if (pending)
			pfree(pending);
		pending = NULL;
		seen__destroy(&seen);
		forget();
		return false;
	}

	pending_mask = size - 1;
	window = redoahead_window;
	forget();
	return true;
}

/* Note a reference that redo will come to. */
static inline void
enqueue(XLogRecPtr lsn, const SeenSlot *slot, int block_id, bool emitted)
{
	/*
	 * When settings change, the look-ahead starts anew on top of what is
	 * decoded already, so it may get longer than the window for a while.
	 * Losing the oldest hints is all that happens.
	 */
	if (pending_head - pending_tail > pending_mask)
		pending_tail++;

	pending[pending_head++ & pending_mask] = (PendingRef)
	{
		.lsn = lsn,.slot = slot - seen.slots,.buffer = slot->buffer,
			.block_id = block_id,.emitted = emitted
	};
}

/* Does the slot still stand for the block that the record refers to? */
static inline bool
slot_is_for(const SeenSlot *slot, const DecodedBkpBlock *block)
{
	SeenKey		key = seen__key(block->rlocator.spcOid, block->rlocator.dbOid,
								block->rlocator.relNumber, block->blkno,
								block->forknum, REDOAHEAD_KIND_RELATION);

	return slot->lsn != 0 && seen__same(&slot->key, &key);
}


/* ---------- emission ---------- */

/* Give a reference to the daemon.  True if it will get it. */
static bool
emit(const struct redoahead_ref *ref)
{
	switch (emit__put(&redoahead_emitter, ref))
	{
		case EMIT_OK:
			redoahead_counters.emitted++;
			if (redoahead_emitter.head - redoahead_emitter.published >= EMITTED_PER_PUBLISH &&
				emit__publish(&redoahead_emitter))
				attach__wake();
			return true;
		case EMIT_FULL:
			redoahead_counters.dropped++;
			break;
		case EMIT_BAD_TAIL:
			attach__distrust();
			break;
	}
	return false;
}

/*
 * Ask the kernel for a block, as the built-in prefetching does.  Like that, it
 * fails if a file exists that can't be opened.
 */
static bool
prefetch_as_stock(const SeenKey *key)
{
	RelFileLocator rlocator = {.spcOid = key->spc,.dbOid = key->db,
	.relNumber = key->rel};

	if (maintenance_io_concurrency == 0)
		return false;
	return PrefetchSharedBuffer(smgropen(rlocator, INVALID_PROC_NUMBER),
								(ForkNumber) (key->fork_kind & 0xff),
								key->block).initiated_io;
}

/* Emit what the WAL does not name, unless it has been lately. */
static void
emit_implied(const struct redoahead_ref *refs, int n)
{
	for (int i = 0; i < n; i++)
	{
		const struct redoahead_ref *ref = &refs[i];
		SeenKey		key = seen__key(ref->spc, ref->db, ref->rel, ref->block,
									ref->fork, ref->kind);

		if (redoahead_emitter.ring == NULL)
			return;

		if (ref->kind == REDOAHEAD_KIND_SLRU)
		{
			SeenKey    *recent = &recent_slru[ref->rel * SLRU_WAYS +
											  ref->block % SLRU_WAYS];

			/* Once is enough: it stays in the SLRU's buffers, or near. */
			if (seen__same(recent, &key))
				continue;
			if (emit(ref))
			{
				*recent = key;
				redoahead_counters.implied++;
			}
		}
		else
		{
			BufferTag	tag = tag_of(&key);
			bool		found;
			SeenSlot   *slot = seen__enter(&seen, &key, &found);

			if (found && is_coming(slot, ref->lsn))
				continue;
			if (reach == PG_UINT64_MAX && look_up(&tag) != InvalidBuffer)
				slot->lsn = ref->lsn;
			else if (emit(ref))
			{
				slot->lsn = ref->lsn;
				redoahead_counters.implied++;
			}
		}
	}
}


/* ---------- the sink ---------- */

static bool
sink_configure(uint32 *max_distance, size_t *decode_buffer_size)
{
	/* With direct I/O, the page cache is the wrong place. */
	if (attach__state() != REDOAHEAD_ATTACHED ||
		(io_direct_flags & IO_DIRECT_DATA) != 0 ||
		!fit_window())
		return false;

	*max_distance = redoahead_window;
	*decode_buffer_size = (size_t) redoahead_decode_buffer_size * 1024;
	return true;
}

static void
sink_decoded(const DecodedXLogRecord *record)
{
	struct redoahead_ref refs[IMPLIED_MAX_PER_RECORD];
	int			n;

	decode_lsn = record->lsn;
	update_reach();
	n = implied__of_record(record, refs);
	if (unlikely(n > 0))
		emit_implied(refs, n);
}

static XLogPrefetchSinkResult
sink_block(DecodedXLogRecord *record, int block_id, bool filtered)
{
	DecodedBkpBlock *block = &record->blocks[block_id];
	SeenKey		key = seen__key(block->rlocator.spcOid, block->rlocator.dbOid,
								block->rlocator.relNumber, block->blkno,
								block->forknum, REDOAHEAD_KIND_RELATION);
	XLogPrefetchSinkResult result;
	SeenSlot   *slot;
	bool		found;

	/* A record's first blocks may have gone another way, without decoded(). */
	decode_lsn = record->lsn;
	redoahead_counters.offered++;

	/* Without an image, this record only tells backup tools of the block. */
	if (record->header.xl_rmid == RM_XLOG_ID && !block->has_image &&
		(record->header.xl_info & ~XLR_INFO_MASK) == XLOG_FPI_FOR_HINT)
	{
		redoahead_counters.not_read++;
		return XLOG_PREFETCH_SINK_NOT_READ;
	}

	if (!filtered)
	{
		struct redoahead_ref refs[IMPLIED_MAX_PER_BLOCK];
		int			n = implied__of_block(record, block_id, refs);

		if (n > 0)
			emit_implied(refs, n);
	}

	slot = seen__enter(&seen, &key, &found);

	if (found && is_coming(slot, record->lsn))
	{
		/* An earlier record, not replayed yet, brings it in. */
		block->prefetch_buffer = slot->buffer;
		redoahead_counters.repeat++;
		result = XLOG_PREFETCH_SINK_REPEAT;
	}
	else if (block->apply_image || (block->flags & BKPBLOCK_WILL_INIT))
	{
		/* This record does, without reading. */
		slot->lsn = record->lsn;
		redoahead_counters.not_read++;
		result = XLOG_PREFETCH_SINK_NOT_READ;
	}
	else if (filtered)
	{
		redoahead_counters.not_read++;
		return XLOG_PREFETCH_SINK_NOT_READ;
	}
	else
	{
		BufferTag	tag = tag_of(&key);

		/* As long as buffers are free, none has been taken from a block. */
		if (!found || slot->buffer == InvalidBuffer ||
			(!have_free_buffer() && !still_in(slot->buffer, &tag)))
			slot->buffer = look_up(&tag);

		block->prefetch_buffer = slot->buffer;
		if (slot->buffer != InvalidBuffer && reach == PG_UINT64_MAX)
		{
			redoahead_counters.hit++;
			result = XLOG_PREFETCH_SINK_HIT;
		}
		else if (redoahead_emitter.ring &&
				 emit(&(struct redoahead_ref)
					  {
						  .lsn = record->lsn,.spc = key.spc,.db = key.db,
						  .rel = key.rel,.block = key.block,
						  .fork = block->forknum,
						  .kind = REDOAHEAD_KIND_RELATION
					  }))
			result = XLOG_PREFETCH_SINK_IO;
		else if (prefetch_as_stock(&key))
			return XLOG_PREFETCH_SINK_IO;
		else
			return XLOG_PREFETCH_SINK_NOT_READ;
		slot->lsn = record->lsn;
	}

	enqueue(record->lsn, slot, block_id, result == XLOG_PREFETCH_SINK_IO);
	return result;
}

/*
 * Bring what redo will touch soon, by way of the references "position" leads
 * to, into the CPU's cache.
 */
static inline void
warm_cpu_cache(uint32 position)
{
	const PendingRef *far = &pending[(position + SLOT_DISTANCE) & pending_mask];
	const PendingRef *near = &pending[(position + BUFFER_DISTANCE) & pending_mask];
	Buffer		buffer;

	if (pending_head - position <= SLOT_DISTANCE)
		return;

	/* What was not known when it was decoded, redo may have found since. */
	if (far->buffer == InvalidBuffer)
		__builtin_prefetch(&seen.slots[far->slot]);
	buffer = near->buffer;
	if (buffer == InvalidBuffer)
		buffer = seen.slots[near->slot].buffer;
	if (buffer != InvalidBuffer)
	{
		const char *page = BufferGetBlock(buffer);

		/*
		 * A prefetch may be dropped where it would miss the TLB, a load is not;
		 * so the first access of each kind is one, and they miss side by side.
		 */
		(void) *(volatile uint32 *) &GetBufferDescriptor(buffer - 1)->state;
		(void) *(const volatile char *) page;
		(void) *(const volatile char *) (page + BLCKSZ / 2);
		for (int line = 1; line < PAGE_LINES; line++)
			__builtin_prefetch(page + line * 64, 1);
	}
}

/*
 * A record is about to be replayed.  Redo will look for its blocks: say where
 * the last redo that used them found them.
 */
static void
sink_replaying(DecodedXLogRecord *record)
{
	uint32		i;

	replay_lsn = record->lsn;

	if (redoahead_emitter.ring)
	{
		__atomic_store_n(&redoahead_emitter.ring->replay_lsn, replay_lsn,
						 __ATOMIC_RELAXED);
		__atomic_store_n(&redoahead_emitter.ring->decode_lsn, decode_lsn,
						 __ATOMIC_RELAXED);
		if (emit__publish(&redoahead_emitter))
			attach__wake();
	}

	while (pending_tail != pending_head &&
		   pending[pending_tail & pending_mask].lsn < record->lsn)
		pending_tail++;

	for (i = pending_tail; i != pending_head; i++)
	{
		PendingRef *ref = &pending[i & pending_mask];
		DecodedBkpBlock *block = &record->blocks[ref->block_id];
		SeenSlot   *slot = &seen.slots[ref->slot];

		if (ref->lsn != record->lsn)
			break;
		warm_cpu_cache(i);
		if (block->prefetch_buffer == InvalidBuffer && slot->buffer != 0 &&
			slot_is_for(slot, block))
		{
			block->prefetch_buffer = slot->buffer;
			redoahead_counters.buffers_found++;
		}
		ref->buffer = block->prefetch_buffer;
	}
	pending_replaying = i;

	if (--records_until_poll == 0)
	{
		records_until_poll = RECORDS_PER_POLL;
		attach__poll(replay_lsn, decode_lsn);
	}
}

/* A record has been replayed: remember where its blocks are. */
static void
sink_replayed(const DecodedXLogRecord *record)
{
	for (; pending_tail != pending_replaying; pending_tail++)
	{
		PendingRef *ref = &pending[pending_tail & pending_mask];
		const DecodedBkpBlock *block = &record->blocks[ref->block_id];
		SeenSlot   *slot = &seen.slots[ref->slot];

		/* The slot is far away in memory: look only if it may be wrong. */
		if (block->prefetch_buffer != ref->buffer &&
			block->prefetch_buffer != InvalidBuffer && slot_is_for(slot, block))
			slot->buffer = block->prefetch_buffer;
		prefault__used(block->prefetch_buffer);
	}
}

static void
sink_reset(void)
{
	if (seen.slots)
		seen__clear(&seen);
	implied__forget();
	replay_lsn = decode_lsn = InvalidXLogRecPtr;
	forget();
}

static void
sink_shutdown(void)
{
	attach__close();
	stats__publish(replay_lsn, decode_lsn);
}

static const XLogPrefetchSink sink = {
	.configure = sink_configure,
	.decoded = sink_decoded,
	.block = sink_block,
	.replaying = sink_replaying,
	.replayed = sink_replayed,
	.reset = sink_reset,
	.shutdown = sink_shutdown,
};


/* ---------- coming and going of the daemon ---------- */

/* A daemon takes references from now on. */
void
redoahead__attached(void)
{
	forget();
	prefault__start();
	XLogPrefetchReconfigure();
}

/*
 * The daemon has gone, or stands still.  Of what it was asked for and may not
 * have read, ask the kernel for the next few blocks, as the built-in
 * prefetching would have.
 */
void
redoahead__lost(void)
{
	int			room = 4 * maintenance_io_concurrency;

	XLogPrefetchReconfigure();

	for (uint32 i = pending_replaying; i != pending_head && room > 0; i++)
	{
		const PendingRef *ref = &pending[i & pending_mask];
		const SeenSlot *slot = &seen.slots[ref->slot];

		if (ref->emitted && slot->lsn == ref->lsn)
		{
			(void) prefetch_as_stock(&slot->key);
			room--;
		}
	}
	forget();
}


void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;

	settings__init();
	stats__init();
	xlog_prefetch_sink = &sink;
}
