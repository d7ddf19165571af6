/*
 * submit.c
 *		Asking for blocks: of the daemon, or of the kernel where there is none.
 *
 * Decides nothing about the blocks that records name (redoahead.c does), but
 * drops those that the WAL does not name when they have been asked for lately.
 */
#include "postgres.h"

#include "storage/smgr.h"

#include "buffers.h"
#include "submit.h"
#include "lookahead.h"
#include "redoahead.h"

/* How many references are shown to the daemon at a time, at most. */
#define EMITTED_PER_PUBLISH	32

/* Pages of each SLRU that are remembered as emitted. */
#define SLRU_WAYS			16

Emitter		redoahead_emitter;

/* SLRU pages emitted last, a direct-mapped cache for each SLRU. */
static BlockKey recent_slru[REDOAHEAD_SLRU_COUNT * SLRU_WAYS];


/* Forget what was asked for. */
void
submit__forget(void)
{
	memset(recent_slru, 0xff, sizeof(recent_slru));
}

/* Give a reference to the daemon.  True if it will get it. */
bool
submit__ref(const struct redoahead_ref *ref)
{
	switch (emit__put(&redoahead_emitter, ref))
	{
		case EMIT_OK:
			redoahead_counters.emitted++;
			if (redoahead_emitter.head - redoahead_emitter.published >= EMITTED_PER_PUBLISH &&
				emit__publish(&redoahead_emitter))
				connection__wake();
			return true;
		case EMIT_FULL:
			redoahead_counters.dropped++;
			break;
		case EMIT_BAD_TAIL:
			connection__drop();
			break;
	}
	return false;
}

/*
 * Ask the kernel for a block, as the built-in prefetching does.  Like that, it
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

/* Where a page of an SLRU is remembered, if it has been emitted lately. */
static BlockKey *
recent_of(const struct redoahead_ref *ref)
{
	return &recent_slru[ref->rel * SLRU_WAYS + ref->block % SLRU_WAYS];
}

static BlockKey
key_of(const struct redoahead_ref *ref)
{
	return block_key(ref->spc, ref->db, ref->rel, ref->block, ref->fork, ref->kind);
}

/* May any of these be emitted? */
bool
submit__is_new(const struct redoahead_ref *refs, int n)
{
	for (int i = 0; i < n; i++)
	{
		BlockKey		key = key_of(&refs[i]);

		if (refs[i].kind != REDOAHEAD_KIND_SLRU || !block_key_equal(recent_of(&refs[i]), &key))
			return true;
	}
	return false;
}

/* Emit what the WAL does not name, unless it has been lately. */
void
submit__implied(const struct redoahead_ref *refs, int n)
{
	for (int i = 0; i < n; i++)
	{
		const struct redoahead_ref *ref = &refs[i];
		BlockKey		key = key_of(ref);

		if (!submit__possible())
			return;

		if (ref->kind == REDOAHEAD_KIND_SLRU)
		{
			BlockKey    *recent = recent_of(ref);

			/* Once is enough: it stays in the SLRU's buffers, or near. */
			if (block_key_equal(recent, &key))
				continue;
			if (submit__ref(ref))
			{
				*recent = key;
				redoahead_counters.implied++;
			}
		}
		else
		{
			BufferTag	tag = tag_of(&key);
			bool		found;
			RecentBlock   *slot = recent_blocks__enter(&lookahead.recent, &key, &found);
			Buffer		buffer;

			if (found && lookahead__stays_resident(slot, ref->lsn))
				continue;
			buffer = look_up(&tag);
			/* A map serves many blocks: what was used more than once will be again. */
			if (buffer != InvalidBuffer &&
				(!lookahead__is_unsafe() || usage_count(buffer) > 1))
				slot->lsn = ref->lsn;
			else if (submit__ref(ref))
			{
				slot->lsn = ref->lsn;
				redoahead_counters.implied++;
			}
		}
	}
}
