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
 * 3. the block is in shared buffers: remember where;
 * 4. otherwise emit it, and remember that.
 *
 * In cases 1 and 3 the block may leave shared buffers before redo comes to it,
 * if much is loaded meanwhile.  Then it is looked for again shortly before, and
 * emitted late.
 *
 * The slot in that memory is sent for into the CPU's cache before it is looked at,
 * so a reference goes this way a few others later than it is offered, unless redo
 * is near.
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

#include "ablate.h"
#include "buffers.h"
#include "emission.h"
#include "implied.h"
#include "lookahead.h"
#include "redoahead.h"
#include "warm.h"

PG_MODULE_MAGIC_EXT(.name = "redoahead", .version = "1.0");

/* How many records go by between two looks at the daemon. */
#define RECORDS_PER_POLL	16

/*
 * How many references are put off until the memory's slots for them are in the
 * CPU's cache, and how many must be between them and redo for that.
 */
#define DEFERRED_REFS		4
#define LEAST_LEAD			64

/* A reference that has not been considered yet. */
typedef struct DeferredRef
{
	DecodedXLogRecord *record;
	uint8		block_id;
	bool		filtered;
} DeferredRef;

RedoaheadCounters redoahead_counters;

static uint32 records_until_poll = 1;

/* A circular queue of those that were put off; positions wrap around. */
static DeferredRef deferred[DEFERRED_REFS];
static uint32 deferred_head;
static uint32 deferred_tail;

/* And one of what became of those before them, and has not been told yet. */
static XLogPrefetchSinkResult results[2 * DEFERRED_REFS];
static uint32 results_head;
static uint32 results_tail;


/* Forget what was asked for, and all references under way. */
static void
forget(void)
{
	lookahead__forget();
	emission__forget();
}


/* ---------- the sink ---------- */

/* Why redo won't read a block. */
static XLogPrefetchSinkResult
not_read(const DecodedBkpBlock *block)
{
	redoahead_counters.not_read++;
	if (block->has_image)
		return XLOG_PREFETCH_SINK_IMAGE;
	return block->flags & BKPBLOCK_WILL_INIT ? XLOG_PREFETCH_SINK_INIT : XLOG_PREFETCH_SINK_NEW;
}

/* Decide what becomes of a block reference. */
static XLogPrefetchSinkResult
consider(DecodedXLogRecord *record, int block_id, bool filtered)
{
	DecodedBkpBlock *block = &record->blocks[block_id];
	SeenKey		key = seen__key(block->rlocator.spcOid, block->rlocator.dbOid,
								block->rlocator.relNumber, block->blkno,
								block->forknum, REDOAHEAD_KIND_RELATION);
	XLogPrefetchSinkResult result;
	SeenSlot   *slot;
	PendingRef	ref;
	bool		attached = attach__state() == REDOAHEAD_ATTACHED;
	bool		found;
	bool		doubtful = false;

	redoahead_counters.offered++;

	/* Without an image, this record only tells backup tools of the block. */
	if (record->header.xl_rmid == RM_XLOG_ID && !block->has_image &&
		(record->header.xl_info & ~XLR_INFO_MASK) == XLOG_FPI_FOR_HINT)
		return not_read(block);

	if (!filtered && attached && !ablated(implied))
	{
		struct redoahead_ref refs[IMPLIED_MAX_PER_BLOCK];
		int			n = implied__of_block(record, block_id, refs);

		if (n > 0)
			emission__implied(refs, n);
	}

	slot = seen__enter(&lookahead.seen, &key, &found);

	if (found && lookahead__comes_and_stays(slot, record->lsn))
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
		result = not_read(block);
	}
	else if (filtered)
		return not_read(block);
	else if (found && lookahead__comes(slot))
	{
		/* The same, but by then it may have left again. */
		redoahead_counters.repeat++;
		result = XLOG_PREFETCH_SINK_REPEAT;
		slot->lsn = record->lsn;
		doubtful = true;
	}
	else
	{
		BufferTag	tag = tag_of(&key);

		/* As long as buffers are free, none has been taken from a block. */
		if (!found || slot->buffer == InvalidBuffer ||
			(!have_free_buffer() && !still_in(slot->buffer, &tag)))
			slot->buffer = look_up(&tag);

		block->prefetch_buffer = slot->buffer;
		if (slot->buffer != InvalidBuffer)
		{
			redoahead_counters.hit++;
			result = XLOG_PREFETCH_SINK_HIT;
			doubtful = lookahead__is_long();
		}
		else
		{
			lookahead__needs_read();
			if (attached && emission__ask(&key, record->lsn))
				result = XLOG_PREFETCH_SINK_IO;
			else
				return emission__as_stock(&key) ? XLOG_PREFETCH_SINK_IO : XLOG_PREFETCH_SINK_NEW;
		}
		slot->lsn = record->lsn;
	}

	ref = (PendingRef)
	{
		.lsn = record->lsn,.slot = slot - lookahead.seen.slots,
		.buffer = slot->buffer,.block_id = block_id,
		.emitted = result == XLOG_PREFETCH_SINK_IO,.doubtful = doubtful
	};
	/* With phases, these come long before redo does. */
	if (!ablated(warm_tuples) || ablate_phases)
		warm__find_tuple(record, &ref);
	lookahead__enqueue(&ref);
	return result;
}

/* The same for the oldest one that was put off. */
static void
consider_next(void)
{
	const DeferredRef *ref = &deferred[deferred_tail++ % DEFERRED_REFS];

	results[results_head++ % lengthof(results)] =
		consider(ref->record, ref->block_id, ref->filtered);
}

/* And for all of them. */
static void
consider_deferred(void)
{
	while (deferred_tail != deferred_head)
		consider_next();
}

static bool
sink_configure(uint32 *max_distance, size_t *decode_buffer_size)
{
	/* The memory of blocks may become another one. */
	consider_deferred();
	lookahead.window = 0;

	/* With direct I/O, the page cache is the wrong place. */
	if (attach__state() != REDOAHEAD_ATTACHED ||
		(io_direct_flags & IO_DIRECT_DATA) != 0)
		return false;
	if (!lookahead__fit(lookahead__window()))
		return false;

	lookahead.window = lookahead__window_now();
	lookahead__choose_queue();
	*max_distance = lookahead.window;
	*decode_buffer_size = lookahead__decode_buffer_size();
	return true;
}

static void
sink_decoded(const DecodedXLogRecord *record)
{
	struct redoahead_ref refs[IMPLIED_MAX_PER_RECORD];
	int			n;

	warm__send();
	lookahead.decode_lsn = record->lsn;
	lookahead__estimate();
	n = ablated(implied) ? 0 : implied__of_record(record, refs);
	if (unlikely(n > 0) && emission__is_news(refs, n))
	{
		/* The daemon gets references in the order of their records. */
		consider_deferred();
		emission__implied(refs, n);
	}
}

/*
 * The memory's slot for a block is met at random in megabytes, and redo would
 * wait for it.  So it is sent for, and the reference put off for a few others;
 * what is told then is what became of an earlier one.
 */
static XLogPrefetchSinkResult
sink_block(DecodedXLogRecord *record, int block_id, bool filtered)
{
	const DecodedBkpBlock *block = &record->blocks[block_id];

	warm__send();

	/* A record's first blocks may have gone another way, without decoded(). */
	lookahead.decode_lsn = record->lsn;

	if (ablated(deferred))
	{
		consider_deferred();
		results_tail = results_head;
		return consider(record, block_id, filtered);
	}
	if (deferred_head - deferred_tail == DEFERRED_REFS)
		consider_next();
	deferred[deferred_head++ % DEFERRED_REFS] = (DeferredRef)
	{
		.record = record,.block_id = block_id,.filtered = filtered
	};

	/* What redo comes to at once cannot wait. */
	if (lookahead.head - lookahead.tail < LEAST_LEAD)
		consider_deferred();
	else
	{
		SeenKey		key = seen__key(block->rlocator.spcOid, block->rlocator.dbOid,
									block->rlocator.relNumber, block->blkno,
									block->forknum, REDOAHEAD_KIND_RELATION);

		seen__send_for(&lookahead.seen, &key);
	}

	/* The first DEFERRED_REFS times there is nothing to tell yet: those are REPEATs too many. */
	return results_tail == results_head ? XLOG_PREFETCH_SINK_REPEAT :
		results[results_tail++ % lengthof(results)];
}

/* Ask for the doubtful blocks that redo will come to soon and that have left. */
static void
look_again(void)
{
	PendingRef *ref;

	while ((ref = lookahead__next_doubtful()) != NULL)
	{
		SeenSlot   *slot = &lookahead.seen.slots[ref->slot];

		/*
		 * A slot may have been given up, or stand for another block by now; then
		 * a block is asked for a bit too often, or too late.
		 */
		if (slot->lsn != 0 && !lookahead__stays(slot) && emission__possible())
		{
			ref->emitted = emission__ask(&slot->key, ref->lsn);
			lookahead__needs_read();
		}
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

	/* Records are gone once they are replayed, and what is near cannot wait. */
	if (deferred_tail != deferred_head &&
		(lookahead.head - lookahead.tail < LEAST_LEAD ||
		 deferred[deferred_tail % DEFERRED_REFS].record->lsn <= record->lsn))
		consider_deferred();

	lookahead.replay_lsn = record->lsn;
	if (lookahead.window > 0)
		ablate__record();
	look_again();

	if (emission__possible())
	{
		__atomic_store_n(&redoahead_emitter.ring->replay_lsn, lookahead.replay_lsn,
						 __ATOMIC_RELAXED);
		__atomic_store_n(&redoahead_emitter.ring->decode_lsn, lookahead.decode_lsn,
						 __ATOMIC_RELAXED);
		if (emit__publish(&redoahead_emitter))
			attach__wake();
	}

	while (lookahead.tail != lookahead.head &&
		   lookahead.pending[lookahead.tail & lookahead.mask].lsn < record->lsn)
		lookahead.tail++;

	for (i = lookahead.tail; i != lookahead.head; i++)
	{
		PendingRef *ref = &lookahead.pending[i & lookahead.mask];
		DecodedBkpBlock *block = &record->blocks[ref->block_id];
		SeenSlot   *slot = &lookahead.seen.slots[ref->slot];

		if (ref->lsn != record->lsn)
			break;
		warm__ahead(i);
		if (!ablated(bufhints) && block->prefetch_buffer == InvalidBuffer &&
			slot->buffer != 0 && lookahead__slot_is_for(slot, block))
		{
			block->prefetch_buffer = slot->buffer;
			redoahead_counters.buffers_found++;
		}
		ref->buffer = block->prefetch_buffer;
	}
	lookahead.replaying = i;
	warm__send();

	if (--records_until_poll == 0)
	{
		records_until_poll = RECORDS_PER_POLL;
		if (lookahead.window > 0)
		{
			int			window = lookahead__window_now();

			if (window != lookahead.window)
			{
				lookahead.window = window;
				XLogPrefetchReconfigure();
			}
			lookahead__choose_queue();
		}
		attach__poll(lookahead.replay_lsn, lookahead.decode_lsn);
	}
}

/* A record has been replayed: remember where its blocks are. */
static void
sink_replayed(const DecodedXLogRecord *record)
{
	warm__send();
	for (; lookahead.tail != lookahead.replaying; lookahead.tail++)
	{
		PendingRef *ref = &lookahead.pending[lookahead.tail & lookahead.mask];
		const DecodedBkpBlock *block = &record->blocks[ref->block_id];
		SeenSlot   *slot = &lookahead.seen.slots[ref->slot];

		/* The slot is far away in memory: look only if it may be wrong. */
		if (block->prefetch_buffer != ref->buffer &&
			block->prefetch_buffer != InvalidBuffer && lookahead__slot_is_for(slot, block))
			slot->buffer = block->prefetch_buffer;
		prefault__used(block->prefetch_buffer);
	}
}

static void
sink_reset(void)
{
	if (lookahead.seen.slots)
		seen__clear(&lookahead.seen);
	implied__forget();
	deferred_tail = deferred_head;
	results_tail = results_head;
	lookahead.replay_lsn = lookahead.decode_lsn = InvalidXLogRecPtr;
	forget();
}

static void
sink_shutdown(void)
{
	uint64_t	on;
	uint64_t	off;
	uint64_t	on_cpu_us;
	uint64_t	off_cpu_us;
	uint64_t	on_us = ablate__took_us(false, &on_cpu_us, &on);
	uint64_t	off_us = ablate__took_us(true, &off_cpu_us, &off);

	if (off > 0)
		ereport(LOG,
				(errmsg("redoahead: phases on %llu in %llu us, CPU %llu us, off %llu in %llu us, CPU %llu us",
						(unsigned long long) on, (unsigned long long) on_us,
						(unsigned long long) on_cpu_us, (unsigned long long) off,
						(unsigned long long) off_us, (unsigned long long) off_cpu_us)));
	attach__close();
	lookahead.window = 0;
	stats__publish(lookahead.replay_lsn, lookahead.decode_lsn);
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
	/* What was read without a daemon is not known. */
	lookahead__needs_read();
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

	for (uint32 i = lookahead.replaying; i != lookahead.head && room > 0; i++)
	{
		const PendingRef *ref = &lookahead.pending[i & lookahead.mask];
		const SeenSlot *slot = &lookahead.seen.slots[ref->slot];

		if (ref->emitted && slot->lsn == ref->lsn)
		{
			(void) emission__as_stock(&slot->key);
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

	ablate__init();
	settings__init();
	stats__init();
	xlog_prefetch_sink = &sink;
}
