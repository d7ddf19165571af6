/*
 * buffers.h
 *		Which block is in which shared buffer.
 *
 * Looks at the buffer manager's tables and changes nothing.
 */
#ifndef REDOAHEAD_BUFFERS_H
#define REDOAHEAD_BUFFERS_H

#include "postgres.h"

#include "storage/buf_internals.h"
#include "storage/bufmgr.h"

#include "recent_blocks.h"

/* The tag that the buffer manager knows the block by. */
static inline BufferTag
tag_of(const BlockKey *key)
{
	RelFileLocator rlocator = {.spcOid = key->spc,.dbOid = key->db,
	.relNumber = key->rel};
	BufferTag	tag;

	InitBufferTag(&tag, &rlocator, (ForkNumber) (key->fork_kind & 0xff),
				  key->block);
	return tag;
}

/*
 * Does the buffer hold the block?  Looks without a lock, so the answer is a
 * hint, which is all that redo takes it for.
 */
static inline bool
still_in(Buffer buffer, const BufferTag *tag)
{
	return BufferTagsEqual(&GetBufferDescriptor(buffer - 1)->tag, tag);
}

/* How often the buffer has been used since the clock came by, up to a limit; a hint, too. */
static inline uint32
usage_count(Buffer buffer)
{
	return BUF_STATE_GET_USAGECOUNT(pg_atomic_read_u32(&GetBufferDescriptor(buffer - 1)->state));
}

/* Look the block up in the buffer table.  InvalidBuffer if it isn't there. */
static inline Buffer
look_up(BufferTag *tag)
{
	uint32		hash = BufTableHashCode(tag);
	LWLock	   *lock = BufMappingPartitionLock(hash);
	int			buf_id;

	LWLockAcquire(lock, LW_SHARED);
	buf_id = BufTableLookup(tag, hash);
	LWLockRelease(lock);

	return buf_id + 1;
}

#endif							/* REDOAHEAD_BUFFERS_H */
