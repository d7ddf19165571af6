/*
 * buffers.h
 *		Which block is in which shared buffer.
 *
 * Reads the buffer manager's tables and changes nothing.
 */
#ifndef REDOAHEAD_BUFFERS_H
#define REDOAHEAD_BUFFERS_H

#include "postgres.h"

#include "access/xlogreader.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"

#include "common/recent_blocks.h"
#include "common/redoahead_abi.h"

/* The key of a block that a record references. */
static inline BlockKey
key_of_block(const DecodedBkpBlock *block)
{
	return block_key(block->rlocator.spcOid, block->rlocator.dbOid,
					 block->rlocator.relNumber, block->blkno,
					 block->forknum, REDOAHEAD_KIND_RELATION);
}

/* The tag by which the buffer manager knows a block. */
static inline BufferTag
buffer_tag(const BlockKey *key)
{
	RelFileLocator rlocator = {.spcOid = key->spc,.dbOid = key->db,
	.relNumber = key->rel};
	BufferTag	tag;

	InitBufferTag(&tag, &rlocator, (ForkNumber) (key->fork_kind & 0xff),
				  key->block);
	return tag;
}

/*
 * Does the buffer hold the block?  Reads without a lock, so the answer is a
 * hint, which is all that redo takes it for.
 */
static inline bool
buffer_holds(Buffer buffer, const BufferTag *tag)
{
	return BufferTagsEqual(&GetBufferDescriptor(buffer - 1)->tag, tag);
}

/* Look the block up in the buffer table.  InvalidBuffer if it isn't there. */
static inline Buffer
find_buffer(BufferTag *tag)
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
