/*
 * submit.c
 *		Submitting blocks to be read: to the daemon, or to the kernel.
 *
 * Which blocks redo has to read of those that records name is decided in routine.c; those
 * that the WAL implies are dropped here if they have been submitted lately.
 */
#include "postgres.h"

#include "access/xlogprefetcher.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"

#include "buffers.h"
#include "submit.h"

/*
 * The block of a reference in the queue, if redo has to read it; else NULL.  If it was
 * submitted again for a later record, or the entry is that of another block by now, the
 * entry's LSN is greater: redo needs that block, too.
 */
static const BlockKey *
block_to_read(const Prefetcher *p, const PendingRef *ref)
{
	const RecentBlock *recent = &p->recent.blocks[ref->recent];

	return ref->reads && recent->lsn >= ref->lsn &&
		recent->key.fork_kind >> 8 == REDOAHEAD_KIND_RELATION ? &recent->key : NULL;
}

/* Submit to a new daemon what is in the queue: the last daemon may have read none of it. */
void
submit__queue(Prefetcher *p)
{
	const Lookahead *l = &p->lookahead;

	for (uint32 i = l->replaying; i != l->head; i++)
	{
		const PendingRef *ref = lookahead__ref(l, i);
		const BlockKey *key = block_to_read(p, ref);

		if (key)
			(void) submit__block(p, key, ref->lsn);
	}
}

/* Are fewer than maintenance_io_concurrency blocks that the kernel reads not used yet? */
static bool
kernel_has_room(const Prefetcher *p)
{
	uint32		oldest = p->kernel_requests - maintenance_io_concurrency;
	XLogRecPtr	lsn = p->kernel_lsns[oldest % lengthof(p->kernel_lsns)];

	return recovery_prefetch != RECOVERY_PREFETCH_OFF && maintenance_io_concurrency > 0 &&
		(lsn == InvalidXLogRecPtr || lsn < p->lookahead.replay_lsn);
}

/*
 * Have the kernel read a block.  Returns whether it does.  An error, for example because
 * a file can't be opened, must not end recovery here: redo may never need the block.
 * Log it, and do not try again until a daemon is connected.
 */
static bool
prefetch_by_kernel(Prefetcher *p, const BlockKey *key)
{
	RelFileLocator rlocator = {.spcOid = key->spc,.dbOid = key->db,
	.relNumber = key->rel};
	MemoryContext context = CurrentMemoryContext;
	volatile bool initiated = false;

	PG_TRY();
	{
		initiated = PrefetchSharedBuffer(smgropen(rlocator, INVALID_PROC_NUMBER),
										 (ForkNumber) (key->fork_kind & 0xff),
										 key->block).initiated_io;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		p->kernel_failed = true;
		ereport(LOG,
				(errmsg("redoahead: could not prefetch a block: %s", error->message),
				 errdetail("Blocks that the last daemon was to read are not prefetched any more, until the next daemon is connected.")));
		FreeErrorData(error);
	}
	PG_END_TRY();
	return initiated;
}

/*
 * No daemon takes references: have the kernel read the next blocks in the queue, for at most
 * maintenance_io_concurrency references.  The built-in prefetching begins behind the queue.
 */
void
submit__to_kernel(Prefetcher *p)
{
	const Lookahead *l = &p->lookahead;

	if ((int32) (p->kernel_next - l->replaying) < 0)
		p->kernel_next = l->replaying;
	for (; p->kernel_next != l->head && !p->kernel_failed && kernel_has_room(p); p->kernel_next++)
	{
		const PendingRef *ref = lookahead__ref(l, p->kernel_next);
		const BlockKey *key = block_to_read(p, ref);

		if (key && prefetch_by_kernel(p, key))
			p->kernel_lsns[p->kernel_requests++ % lengthof(p->kernel_lsns)] = ref->lsn;
	}
}

/* Submit what redo reads although the WAL does not name it, unless done lately. */
void
submit__implied(Prefetcher *p, const struct redoahead_ref *refs, int n)
{
	for (int i = 0; i < n; i++)
	{
		const struct redoahead_ref *ref = &refs[i];
		BlockKey	key = block_key(ref->spc, ref->db, ref->rel, ref->block,
									ref->fork, ref->kind);
		bool		slru = ref->kind == REDOAHEAD_KIND_SLRU;
		bool		found;
		RecentBlock *recent = recent_blocks__enter(&p->recent, &key, &found);

		/* An SLRU page stays in the SLRU's buffers or the page cache: once is enough. */
		if (found && (slru ? recent->lsn > p->forgotten_lsn :
					  prefetcher__will_be_resident(p, recent)))
			continue;
		if (!slru)
		{
			BufferTag	tag = buffer_tag(&key);

			if (find_buffer(&tag) != InvalidBuffer)
			{
				recent->lsn = ref->lsn;
				continue;
			}
		}
		if (submit__ref(p, ref))
			recent->lsn = ref->lsn;
	}
}
