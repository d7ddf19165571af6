/*
 * emission.c
 *		Asking for blocks: of the daemon, or of the kernel where there is none.
 *
 * Decides nothing about the blocks that records name (redoahead.c does), but
 * drops those that the WAL does not name when they have been asked for lately.
 */
#include "postgres.h"

#include "storage/smgr.h"

#include "buffers.h"
#include "emission.h"
#include "lookahead.h"
#include "redoahead.h"

/* How many references are shown to the daemon at a time, at most. */
#define EMITTED_PER_PUBLISH	32

/* Pages of each SLRU that are remembered as emitted. */
#define SLRU_WAYS			16

Emitter		redoahead_emitter;

/* SLRU pages emitted last, a direct-mapped cache for each SLRU. */
static SeenKey recent_slru[REDOAHEAD_SLRU_COUNT * SLRU_WAYS];


/* Forget what was asked for. */
void
emission__forget(void)
{
	memset(recent_slru, 0xff, sizeof(recent_slru));
}

/* Give a reference to the daemon.  True if it will get it. */
bool
emission__emit(const struct redoahead_ref *ref)
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
bool
emission__as_stock(const SeenKey *key)
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
static SeenKey *
recent_of(const struct redoahead_ref *ref)
{
	return &recent_slru[ref->rel * SLRU_WAYS + ref->block % SLRU_WAYS];
}

static SeenKey
key_of(const struct redoahead_ref *ref)
{
	return seen__key(ref->spc, ref->db, ref->rel, ref->block, ref->fork, ref->kind);
}

/* May any of these be emitted? */
bool
emission__is_news(const struct redoahead_ref *refs, int n)
{
	for (int i = 0; i < n; i++)
	{
		SeenKey		key = key_of(&refs[i]);

		if (refs[i].kind != REDOAHEAD_KIND_SLRU || !seen__same(recent_of(&refs[i]), &key))
			return true;
	}
	return false;
}

/* Emit what the WAL does not name, unless it has been lately. */
void
emission__implied(const struct redoahead_ref *refs, int n)
{
	for (int i = 0; i < n; i++)
	{
		const struct redoahead_ref *ref = &refs[i];
		SeenKey		key = key_of(ref);

		if (!emission__possible())
			return;

		if (ref->kind == REDOAHEAD_KIND_SLRU)
		{
			SeenKey    *recent = recent_of(ref);

			/* Once is enough: it stays in the SLRU's buffers, or near. */
			if (seen__same(recent, &key))
				continue;
			if (emission__emit(ref))
			{
				*recent = key;
				redoahead_counters.implied++;
			}
		}
		else
		{
			BufferTag	tag = tag_of(&key);
			bool		found;
			SeenSlot   *slot = seen__enter(&lookahead.seen, &key, &found);
			Buffer		buffer;

			if (found && lookahead__comes_and_stays(slot, ref->lsn))
				continue;
			buffer = look_up(&tag);
			/* A map serves many blocks: what was used more than once will be again. */
			if (buffer != InvalidBuffer &&
				(!lookahead__is_long() || usage_count(buffer) > 1))
				slot->lsn = ref->lsn;
			else if (emission__emit(ref))
			{
				slot->lsn = ref->lsn;
				redoahead_counters.implied++;
				lookahead__needs_read();
			}
		}
	}
}
