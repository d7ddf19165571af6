/*
 * submit.c
 *		Submitting blocks to be read: to the daemon, or to the kernel.
 *
 * Decides nothing about the blocks that records name (redoahead.c does), but
 * drops those that the WAL implies if they will be resident.
 */
#include "postgres.h"

#include "storage/smgr.h"

#include "buffers.h"
#include "submit.h"

/*
 * Have the kernel read a block, as the built-in prefetching does.  Like that, it
 * fails if a file exists that can't be opened.
 */
bool
submit__to_kernel(const BlockKey *key)
{
	RelFileLocator rlocator = {.spcOid = key->spc,.dbOid = key->db,
	.relNumber = key->rel};

	if (maintenance_io_concurrency == 0)
		return false;
	return PrefetchSharedBuffer(smgropen(rlocator, INVALID_PROC_NUMBER),
								(ForkNumber) (key->fork_kind & 0xff),
								key->block).initiated_io;
}

/* Submit map pages that redo reads although the WAL does not name them. */
void
submit__implied(Prefetcher *p, const struct redoahead_ref *refs, int n)
{
	for (int i = 0; i < n; i++)
	{
		const struct redoahead_ref *ref = &refs[i];
		BlockKey	key = block_key(ref->spc, ref->db, ref->rel, ref->block,
									ref->fork, ref->kind);
		BufferTag	tag = buffer_tag(&key);
		bool		found;
		RecentBlock *recent = recent_blocks__enter(&p->recent, &key, &found);

		if (found && prefetcher__will_be_resident(p, recent))
			continue;
		if (find_buffer(&tag) != InvalidBuffer)
			recent->lsn = ref->lsn;
		else if (submit__ref(p, ref))
		{
			recent->lsn = ref->lsn;
			p->counters.implied++;
		}
	}
}
