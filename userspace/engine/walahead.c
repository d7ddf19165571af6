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

/* A recovery begins. */
void
walahead__begin(struct walahead *wal, const struct relpath_layout *layout)
{
	*wal = (struct walahead)
	{
		.timeline = layout->timeline,.segment_bytes = layout->wal_segment_bytes,
			.block_size = layout->block_size
	};
}

/*
 * The next part to read, given the read-ahead limit in bytes, the decode LSN, and the latest
 * position where a page of WAL has been read, 0 if none has; false if that is far enough.
 */
bool
walahead__next(struct walahead *wal, uint64_t limit_bytes, uint64_t decode_lsn,
			   uint64_t known_lsn, struct block_run *run)
{
	uint64_t	ahead = limit_bytes / WAL_PART;
	uint64_t	segments = (UINT64_C(1) << 32) / (wal->segment_bytes > 0 ? wal->segment_bytes : 1);
	uint64_t	segment;

	if (wal->timeline == 0 || decode_lsn == 0 || decode_lsn > UINT64_MAX - 2 * WAL_AHEAD)
		return false;

	if (ahead > WAL_AHEAD)
		ahead = WAL_AHEAD;
	if (ahead < MIN_AHEAD)
		ahead = MIN_AHEAD;
	/* The decode LSN may jump. */
	if (wal->next < decode_lsn || wal->next > decode_lsn + WAL_AHEAD + WAL_CHUNK)
		wal->next = decode_lsn / WAL_CHUNK * WAL_CHUNK;
	if (known_lsn < decode_lsn)
		known_lsn = decode_lsn;
	if (wal->next >= decode_lsn + ahead ||
		(wal->next > known_lsn && wal->next - known_lsn >= UNKNOWN_AHEAD))
		return false;

	segment = wal->next / wal->segment_bytes;
	*run = (struct block_run)
	{
		.key = {
			.kind = RELPATH_KIND_WAL,.spc = wal->timeline,
			.db = (uint32_t) (segment / segments),.rel = (uint32_t) (segment % segments)
		},
		.block = (uint32_t) (wal->next % wal->segment_bytes / wal->block_size),
		.blocks = WAL_CHUNK / wal->block_size,
		.lsn = wal->next
	};
	return true;
}

/* The part that walahead__next returned last has been submitted. */
void
walahead__take(struct walahead *wal, const struct block_run *run)
{
	wal->next = run->lsn + WAL_CHUNK;
}
