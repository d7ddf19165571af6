/*
 * rest.c
 *		What stays as it is of a record whose images are removed.
 *
 * A CRC of it is the same before images are removed and after, if nothing else is changed.
 */
#include <stddef.h>

#include "lesslog/rest.h"
#include "wal/crc.h"

/* Of the record of a hint, only the block stays, and what kind of record it is. */
static uint32_t
add_hint(uint32_t crc, const struct wal_record *record)
{
	const struct wal_block *block = &record->blocks[0];
	const uint32_t rest[] = {
		block->spc, block->db, block->rel, block->block, block->fork, block->id, block->will_init,
		record->data_len
	};

	crc = crc__add(crc, record->bytes, offsetof(struct wal_record_header, crc));
	return crc__add(crc, rest, sizeof(rest));
}

/* Is the image of a block one that has been removed, or that is to be? */
static bool
is_removed(const struct wal_record *record, const struct wal_block *block, bool removed)
{
	return block->has_image && (removed || !block->restored) &&
		(record->info & WAL_INFO_CHECK_CONSISTENCY) == 0;
}

/*
 * Add what stays of a record to a CRC-32C: all but its own CRC, images that are removed, and
 * the marks of those as ones to restore.  removed: are those that redo would restore to be
 * removed?
 */
uint32_t
rest__add(uint32_t crc, const struct wal_record *record, bool removed)
{
	uint32_t	at = WAL_RECORD_HEADER_BYTES;

	if (record->rmid == WAL_RMGR_XLOG && record->block_count == 1 &&
		(record->info & ~WAL_INFO_COMMON) == WAL_XLOG_FPI_FOR_HINT &&
		(removed || !record->blocks[0].restored))
		return add_hint(crc, record);

	crc = crc__add(crc, record->bytes, offsetof(struct wal_record_header, crc));
	for (unsigned i = 0; i < record->block_count; i++)
	{
		const struct wal_block *block = &record->blocks[i];
		unsigned char info;

		if (!is_removed(record, block, removed))
			continue;
		info = (unsigned char) (record->bytes[block->image_info_at] &
								~record->format->image_applies);
		crc = crc__add(crc, record->bytes + at, block->image_info_at - at);
		crc = crc__add(crc, &info, 1);
		at = block->image_info_at + 1;
	}
	for (unsigned i = 0; i < record->block_count; i++)
	{
		const struct wal_block *block = &record->blocks[i];

		if (!is_removed(record, block, removed))
			continue;
		crc = crc__add(crc, record->bytes + at, block->image_at - at);
		at = block->image_at + block->image_bytes;
	}
	return crc__add(crc, record->bytes + at, record->total_bytes - at);
}
