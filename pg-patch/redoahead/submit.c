/*
 * submit.c
 *		Submitting blocks to be read: to the daemon, or to the kernel.
 *
 * Decides nothing about the blocks that records name (routine.c does), but
 * drops those that the WAL implies if they have been submitted lately.
 */
#include "postgres.h"

#include "storage/smgr.h"

#include "buffers.h"
#include "submit.h"

/*
 * Have the kernel read a block for the record at lsn, as the built-in prefetching
 * does: for at most maintenance_io_concurrency references between decoding and
 * replay.  An error, for example because a file can't be opened, must not end
 * recovery here: redo may never need the block.  Log it, and do not try again until
 * a daemon is connected.
 */
bool
submit__to_kernel(Prefetcher *p, const BlockKey *key, XLogRecPtr lsn)
{
	RelFileLocator rlocator = {.spcOid = key->spc,.dbOid = key->db,
	.relNumber = key->rel};
	MemoryContext context = CurrentMemoryContext;
	volatile bool initiated = false;

	if (p->kernel_failed || !submit__kernel_has_room(p))
		return false;
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
				 errdetail("Blocks that the daemon does not take are not prefetched any more, until the next daemon is connected.")));
		FreeErrorData(error);
	}
	PG_END_TRY();
	if (initiated)
		p->kernel_lsns[p->kernel_requests++ % lengthof(p->kernel_lsns)] = lsn;
	return initiated;
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
