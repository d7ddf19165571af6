/*
 * walahead.c
 *		Decides which part of the WAL to read before it is decoded.
 *
 * The startup process reads the WAL in order, block by block, and cannot look ahead
 * while it waits for that.  The kernel's read-ahead is 128 kB, and its requests queue
 * behind ours: on a busy array each takes about 100 ms.  So WAL is read in large requests,
 * far ahead, because WAL whose full-page images have been removed names few blocks in each
 * megabyte.  Behind the end of WAL there may be recycled segments, and how much of them is
 * read in vain is bounded: reading goes on once the pages read last turned out to be WAL.
 *
 * A pure function of positions; reads nothing.
 */
#include "engine/walahead.h"

/* How far to read ahead of decoding, at most and at least, and the size of a read, bytes. */
#define WAL_AHEAD	(128 * 1024 * 1024)
#define MIN_AHEAD	(256 * 1024)
#define WAL_CHUNK	(128 * 1024)

/* How far to read beyond the last page that is known to be WAL, bytes. */
#define UNKNOWN_AHEAD	(8 * 1024 * 1024)

/* Part of the read-ahead limit that may hold WAL. */
#define WAL_PART	4

/*
 * The next part to read.  *next is the end of what has been submitted, 0 at first.  Given the
 * read-ahead limit in bytes, the decode LSN, and the latest position where a page of WAL has
 * been read, 0 if none has.  False if that is far enough.
 */
bool
walahead__next(uint64_t *next, const struct relpath_layout *layout, uint64_t limit_bytes,
			   uint64_t decode_lsn, uint64_t known_lsn, struct block_run *run)
{
	uint64_t	ahead = limit_bytes / WAL_PART;
	uint64_t	segments;
	uint64_t	segment;

	if (layout->timeline == 0 || decode_lsn == 0 || decode_lsn > UINT64_MAX - 2 * WAL_AHEAD)
		return false;

	if (ahead > WAL_AHEAD)
		ahead = WAL_AHEAD;
	if (ahead < MIN_AHEAD)
		ahead = MIN_AHEAD;
	/* The decode LSN may jump. */
	if (*next < decode_lsn || *next > decode_lsn + WAL_AHEAD + WAL_CHUNK)
		*next = decode_lsn / WAL_CHUNK * WAL_CHUNK;
	if (known_lsn < decode_lsn)
		known_lsn = decode_lsn;
	if (*next >= decode_lsn + ahead ||
		(*next > known_lsn && *next - known_lsn >= UNKNOWN_AHEAD))
		return false;

	segments = (UINT64_C(1) << 32) / layout->wal_segment_bytes;
	segment = *next / layout->wal_segment_bytes;
	*run = (struct block_run)
	{
		.key = {
			.kind = RELPATH_KIND_WAL,.spc = layout->timeline,
			.db = (uint32_t) (segment / segments),.rel = (uint32_t) (segment % segments)
		},
		.block = (uint32_t) (*next % layout->wal_segment_bytes / layout->block_size),
		.blocks = WAL_CHUNK / layout->block_size,
		.lsn = *next
	};
	return true;
}
