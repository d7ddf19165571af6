/*
 * routine.c
 *		The XLogPrefetchRoutine: what happens to each block reference of the WAL.
 *
 * The startup process passes each block reference that it decodes from the WAL
 * to the routine, well before redo needs the block.  Those that redo will have to
 * read are put into a ring in shared memory, and the daemon reads the blocks into
 * the page cache.
 *
 * A reference is handled like this:
 *
 * 1. if the recent-block cache knows that an earlier record brings the block
 *    in, there is nothing to do;
 * 2. if the record has a full-page image or initializes the page, note that;
 * 3. if the block is in shared buffers, note where;
 * 4. otherwise submit it to the daemon, and note that.
 *
 * In cases 1 and 3 the block may be evicted from shared buffers before redo
 * comes to it.  Then redo reads it from the page cache, or else from disk, and it
 * is counted.
 *
 * Redo comes to the same references in the same order.  A queue of them
 * (lookahead.h) leads back to the recent-block cache: it gives redo the buffers
 * that it has used before, and learns which ones it used.
 *
 * All of this runs in the startup process; in crash recovery another one, the
 * decoder (decoder.h), may do what comes before the queue.  It raises no errors:
 * they would end recovery.
 */
#include "postgres.h"

#include "access/rmgr.h"
#include "access/xlogprefetcher.h"
#include "catalog/pg_control.h"

#include "buffers.h"
#include "cpu_prefetch.h"
#include "decoder.h"
#include "monitor.h"
#include "pg_compat.h"
#include "prefault.h"
#include "record_view.h"
#include "routine.h"
#include "stats.h"
#include "submit.h"

/* Records between two calls of monitor__check(). */
#define RECORDS_PER_CHECK	16

static Prefetcher prefetcher = {
	.connection = {.sock = -1,.wake_fd = -1},
	.prefault = {.frontier = INT_MAX},
};

/* The one that this process looks ahead with. */
static inline Prefetcher *
looking_ahead(void)
{
	return unlikely(decoder_is_this) ? &decoder->prefetcher : &prefetcher;
}

/* The one whose references lead redo. */
static inline Prefetcher *
replaying(void)
{
	return unlikely(decoder != NULL) ? decoder__replaying(&prefetcher) : &prefetcher;
}


/* ---------- decoding ---------- */

/* Count a reference that redo won't read a block for, and return why. */
static XLogPrefetchResult
skip(Prefetcher *p, const DecodedBkpBlock *block)
{
	if (block->apply_image)
	{
		p->counters.skip_fpw++;
		return XLOG_PREFETCH_SKIP_FPW;
	}
	if (block->flags & BKPBLOCK_WILL_INIT)
	{
		p->counters.skip_init++;
		return XLOG_PREFETCH_SKIP_INIT;
	}
	p->counters.skip_new++;
	return XLOG_PREFETCH_SKIP_NEW;
}

/*
 * Does redo of a record restore or change the block?  A hint without an image to restore
 * only informs backup tools.
 */
static bool
uses_block(const DecodedXLogRecord *record, const DecodedBkpBlock *block)
{
	return block->apply_image || record->header.xl_rmid != RM_XLOG_ID ||
		(record->header.xl_info & ~XLR_INFO_MASK) != XLOG_FPI_FOR_HINT;
}

/* Find the block in shared buffers.  InvalidBuffer if it isn't there. */
static inline Buffer
find_recent_buffer(Prefetcher *p, const RecentBlock *recent)
{
	BufferTag	tag = buffer_tag(&recent->key);

	/*
	 * Until all buffers have been taken once, no block has been evicted, and the
	 * descriptor, which is out of the CPU's cache, need not be read.  Dropping a
	 * relation frees buffers again, so the first time counts.
	 */
	if (!p->evicting)
		p->evicting = !have_free_buffer();
	if (recent->buffer != InvalidBuffer &&
		(!p->evicting || buffer_holds(recent->buffer, &tag)))
		return recent->buffer;
	return find_buffer(&tag);
}

static bool
prefetch_configure(int *max_distance, size_t *decode_buffer_size)
{
	Prefetcher *p = &prefetcher;
	int			distance = prefetcher__distance(p);

	if (decoder_is_this)
	{
		*max_distance = decoder->distance;
		*decode_buffer_size = decoder->buffer_size;
		return true;
	}
	p->distance = 0;
	if (connection__is_ready(&p->connection) &&
		(uint32) distance > p->connection.emitter.capacity)
	{
		/* What is in the queue has to go into the new ring first. */
		connection__renew(&p->connection);
		distance = p->allocated > 0 ? p->allocated : p->connection.emitter.capacity;
	}
	if (!connection__is_ready(&p->connection) ||
		!prefetcher__allocate(p, distance))
	{
		decoder__stop(p);
		return false;
	}

	p->distance = distance;
	*max_distance = distance;
	*decode_buffer_size = prefetcher__decode_buffer_size(p);
	if (decoder)
	{
		decoder__configured(p);
		if (decoder->distance != distance || decoder->buffer_size != *decode_buffer_size)
			decoder__stop(p);
	}
	return true;
}

/* A record has been decoded.  Its references are passed next. */
static void
prefetch_record_decoded(const DecodedXLogRecord *record)
{
	Prefetcher *p = looking_ahead();
	struct redoahead_ref refs[IMPLIED_MAX_PER_RECORD];
	int			n;

	if (decoder_is_this)
		decoder_worker__decoded(record);
	else
		cpu_prefetch__moved(p);

	/* Access to the cache is random; let the misses of a record overlap. */
	for (int i = 0; i <= record->max_block_id; i++)
		if (record->blocks[i].in_use)
		{
			BlockKey	key = key_of_block(&record->blocks[i]);

			recent_blocks__prefetch(&p->recent, &key);
		}

	/* The daemon reads WAL ahead of this, also while many records are decoded at once. */
	p->lookahead.decode_lsn = record->lsn;
	if (p->connection.emitter.ring != NULL)
		__atomic_store_n(&p->connection.emitter.ring->decode_lsn, record->lsn, __ATOMIC_RELAXED);
	n = record_view__implied_by_record(&p->slru, record, refs);
	if (unlikely(n > 0) && prefetcher__may_submit(p))
		submit__implied(p, refs, n);
}

/* Decide what to do about a block reference. */
static XLogPrefetchResult
prefetch_block(DecodedXLogRecord *record, int block_id, bool filtered)
{
	Prefetcher *p = looking_ahead();
	DecodedBkpBlock *block = &record->blocks[block_id];
	BlockKey	key = key_of_block(block);
	XLogPrefetchResult result;
	RecentBlock *recent;
	PendingRef	ref;
	bool		reads = false;
	bool		found;

	if (!decoder_is_this)
		cpu_prefetch__moved(p);

	/* The first references after configure() come without record_decoded(). */
	p->lookahead.decode_lsn = Max(p->lookahead.decode_lsn, record->lsn);
	p->counters.offered++;

	if (!uses_block(record, block))
		return skip(p, block);

	if (!filtered && prefetcher__may_submit(p))
	{
		struct redoahead_ref refs[IMPLIED_MAX_PER_BLOCK];
		int			n = record_view__implied_by_block(record, block_id, refs);

		submit__implied(p, refs, n);
	}

	recent = recent_blocks__enter(&p->recent, &key, &found);

	if (found && prefetcher__will_be_resident(p, recent))
	{
		/* An earlier record, not replayed yet, brings it in. */
		block->prefetch_buffer = recent->buffer;
		p->counters.skip_rep++;
		result = XLOG_PREFETCH_SKIP_REP;
	}
	else if (block->apply_image || (block->flags & BKPBLOCK_WILL_INIT))
	{
		/* This record does, without reading. */
		recent->lsn = record->lsn;
		result = skip(p, block);
	}
	else if (filtered)
		return skip(p, block);
	else
	{
		recent->buffer = block->prefetch_buffer = find_recent_buffer(p, recent);
		if (recent->buffer != InvalidBuffer)
		{
			p->counters.hit++;
			result = XLOG_PREFETCH_HIT;
		}
		else
		{
			reads = true;
			result = submit__block(p, &key, record->lsn) ? XLOG_PREFETCH_IO :
				XLOG_PREFETCH_SKIP_NEW;
		}
		/* Redo of this record brings it in, prefetched or not. */
		recent->lsn = record->lsn;
	}

	ref = (PendingRef)
	{
		.lsn = record->lsn,
			.recent = recent - p->recent.blocks,
			.buffer = recent->buffer,
			.block_id = block_id,
			.reads = reads,
	};
	cpu_prefetch__find_tuple(record, &ref);
	/* Only the startup process may remove references. */
	if (!decoder_is_this || lookahead__length(&p->lookahead) <= p->lookahead.mask)
		lookahead__append(&p->lookahead, &ref);
	return result;
}


/* ---------- replay ---------- */

/* Is the entry still that of the block that the record refers to? */
static inline bool
is_entry_of(const RecentBlock *recent, const DecodedBkpBlock *block)
{
	BlockKey	key = key_of_block(block);

	return recent->lsn != 0 && block_key_equal(&recent->key, &key);
}

/* Let the daemon see where redo is, and what was put into the ring. */
static inline void
publish_progress(Prefetcher *p)
{
	struct redoahead_ring *ring = p->connection.emitter.ring;

	if (ring == NULL)
		return;
	__atomic_store_n(&ring->replay_lsn, p->lookahead.replay_lsn, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->decode_lsn,
					 decoder ? decoder__decode_lsn(p) : p->lookahead.decode_lsn, __ATOMIC_RELAXED);
	if (decoder)
		decoder__submit(p);
	submit__publish(p);
}

/* Does redo read the block, and not restore or initialize it? */
static inline bool
redo_reads(const DecodedBkpBlock *block)
{
	return !block->apply_image && (block->flags & BKPBLOCK_WILL_INIT) == 0;
}

/*
 * A record is about to be replayed.  Set the buffers in which redo found its
 * blocks last.
 */
static void
prefetch_record_returned(DecodedXLogRecord *record)
{
	Prefetcher *p = replaying();
	Lookahead  *l = &p->lookahead;
	uint32		end;
	uint32		i;

	lookahead__advance(l, record->lsn);
	prefetcher.lookahead.replay_lsn = record->lsn;
	publish_progress(&prefetcher);

	end = lookahead__end(l);
	for (i = l->tail; i != end; i++)
	{
		PendingRef *ref = lookahead__ref(l, i);
		DecodedBkpBlock *block = &record->blocks[ref->block_id];
		const RecentBlock *recent = &p->recent.blocks[ref->recent];

		if (ref->lsn != record->lsn || ref->block_id > record->max_block_id)
			break;
		cpu_prefetch__ahead(p, i);
		if (block->prefetch_buffer == InvalidBuffer && recent->buffer != InvalidBuffer &&
			is_entry_of(recent, block))
		{
			block->prefetch_buffer = recent->buffer;
			prefetcher.counters.buffers_found += redo_reads(block);
		}
		ref->buffer = block->prefetch_buffer;
	}
	l->replaying = i;
	cpu_prefetch__moved(p);
	if (unlikely(prefetcher.distance == 0))
		submit__to_kernel(&prefetcher);

	if (prefetcher.records++ % RECORDS_PER_CHECK == 0)
		monitor__check(&prefetcher);
}

/* A record has been replayed.  Note which buffers its blocks are in. */
static void
prefetch_record_released(const DecodedXLogRecord *record)
{
	Prefetcher *p = replaying();
	Lookahead  *l = &p->lookahead;
	struct redoahead_ring *ring = prefetcher.connection.emitter.ring;

	/* Before redo may wait for the next one. */
	if (ring)
		__atomic_store_n(&ring->replay_lsn, record->next_lsn, __ATOMIC_RELAXED);
	cpu_prefetch__moved(p);
	for (; l->tail != l->replaying; l->tail++)
	{
		const PendingRef *ref = lookahead__ref(l, l->tail);
		const DecodedBkpBlock *block = &record->blocks[ref->block_id];
		RecentBlock *recent = &p->recent.blocks[ref->recent];

		/* The entry may be out of the CPU's cache: read it only if it may be wrong. */
		if (block->prefetch_buffer != ref->buffer && block->prefetch_buffer != InvalidBuffer)
		{
			if (ref->buffer != InvalidBuffer)
				prefetcher.counters.evicted += redo_reads(block);
			if (is_entry_of(recent, block))
				recent->buffer = block->prefetch_buffer;
		}
		prefault__used(&prefetcher.prefault, block->prefetch_buffer);
	}
}

static void
prefetch_reset(void)
{
	Prefetcher *p = &prefetcher;

	decoder__reset(p);
	memset(&p->slru, 0, sizeof(p->slru));
	prefetcher__clear(p);
	memset(p->kernel_lsns, 0, sizeof(p->kernel_lsns));
	p->lookahead.replay_lsn = p->lookahead.decode_lsn = InvalidXLogRecPtr;
}

static void
prefetch_shutdown(void)
{
	Prefetcher *p = &prefetcher;

	/* What the daemon has counted is lost with the ring. */
	stats__publish(p);
	decoder__shutdown(p);
	connection__close(&p->connection);
	p->distance = 0;
	stats__publish(p);
}

static bool
prefetch_hand_over(const XLogReaderState *reader)
{
	return !decoder_is_this && decoder__hand_over(&prefetcher, reader);
}

static DecodedXLogRecord *
prefetch_take_record(XLogReaderState *reader)
{
	return decoder__take(&prefetcher, reader);
}

static XLogPrefetchRoutine prefetch_routine = {
	.version = XLOG_PREFETCH_ROUTINE_VERSION,
	.configure = prefetch_configure,
	.record_decoded = prefetch_record_decoded,
	.prefetch_block = prefetch_block,
	.record_returned = prefetch_record_returned,
	.record_released = prefetch_record_released,
	.reset = prefetch_reset,
	.shutdown = prefetch_shutdown,
};

/* Have the server use the routine; to be called after decoder__init(). */
void
routine__register(void)
{
	if (decoder)
	{
		prefetch_routine.hand_over = prefetch_hand_over;
		prefetch_routine.take_record = prefetch_take_record;
	}
	RegisterXLogPrefetchRoutine(&prefetch_routine);
}
