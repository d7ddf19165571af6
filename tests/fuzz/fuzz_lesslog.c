/*
 * fuzz_lesslog.c
 *		Fuzzes what removes images from segments of WAL.
 *
 * The first byte of the input is the major, the second one how the segment is made: of
 * records whose bodies the input has, with valid CRCs, or nothing after their check would ever
 * be reached; then bytes are changed; or of the bytes of the input as they are.  If the segment
 * decodes, what is made of it decodes to the same records but for images, and has nothing more
 * to remove.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lesslog/segment.h"
#include "tests/unit/wal_writer.h"

/* How a segment is made. */
#define RAW			0x80		/* of bytes as they are */
#define MARK		0x40		/* mark all records as ones whose images redo can do without */
#define BACK		0x20		/* begin in the middle of the first record */

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The segment before and after. */
static unsigned char before[WRITER_SEGMENT];
static unsigned char after[WRITER_SEGMENT];

static void
check(bool holds)
{
	if (!holds)
		abort();
}

static long
read_segment(void *context, uint64_t lsn, void *out, size_t bytes)
{
	check(lsn >= WRITER_START && bytes <= WRITER_SEGMENT &&
		  lsn - WRITER_START <= WRITER_SEGMENT - bytes);
	memcpy(out, (unsigned char *) context + (lsn - WRITER_START), bytes);
	return (long) bytes;
}

/* The "read" of the sources that compare the segments. */
static long
read_bounded(void *context, uint64_t lsn, void *out, size_t bytes)
{
	if (lsn >= WRITER_START + WRITER_SEGMENT)
		return 0;
	if (bytes > WRITER_START + WRITER_SEGMENT - lsn)
		bytes = (size_t) (WRITER_START + WRITER_SEGMENT - lsn);
	return read_segment(context, lsn, out, bytes);
}

static int
scan(unsigned char *bytes, struct segment *segment, struct edits *edits)
{
	char		message[WAL_MESSAGE_BYTES] = "";
	struct wal_long_page_header header;
	int			err;

	memcpy(&header, bytes, sizeof(header));
	err = segment__identify(segment, "000000010000000000000003", &header, WRITER_SEGMENT, message);
	if (err == 0)
		err = segment__scan(segment, (struct wal_source) {read_segment, bytes}, edits, message);
	check(err == 0 || message[0] != '\0');
	return err;
}

/* Put records with bodies from the input into the segment, and change bytes of it. */
static void
make_segment(int major, uint8_t how, const uint8_t *data, size_t size)
{
	struct wal_writer writer;

	writer_begin(&writer, 3);
	writer.magic = wal_format__of_major(major)->page_magic;
	while (size > 8 && writer.end < WRITER_SEGMENT)
	{
		uint32_t	bytes = data[2] | (uint32_t) data[3] << 8;
		uint8_t		info = data[1] | (how & MARK ? WAL_INFO_IMAGES_OPTIONAL : 0);

		/* Records that a few bytes of input end: as large as the rest of the segment. */
		if (bytes == UINT16_MAX)
			writer_add_data(&writer, 15, 0, WRITER_SEGMENT);
		if (bytes > size - 4)
			bytes = (uint32_t) size - 4;
		writer_add(&writer, data[0], info, data + 4, bytes);
		data += 4 + bytes;
		size -= 4 + bytes;
		if (data[-1] == 0xFF)
			break;
	}
	if (!(how & 1) && writer.end < WRITER_SEGMENT)
		writer_add_data(&writer, WAL_RMGR_XLOG, WAL_XLOG_SWITCH, 0);
	for (; size >= 5; data += 5, size -= 5)
	{
		uint32_t	at;

		memcpy(&at, data, sizeof(at));
		writer.wal[at % WRITER_SEGMENT] = data[4];
	}
	if (how & BACK)
	{
		struct wal_page_header header;

		memcpy(&header, writer.wal, sizeof(header));
		header.flags |= WAL_PAGE_CONTINUES;
		header.rest_bytes = size > 0 ? data[0] * 8 : 64;
		memcpy(writer.wal, &header, sizeof(header));
	}
	memcpy(before, writer.wal, WRITER_SEGMENT);
	free(writer.wal);
}

/* Compare a record before and after. */
static void
check_record(const struct wal_record *old, const struct wal_record *new)
{
	bool		hint = old->rmid == WAL_RMGR_XLOG &&
		(old->info & ~WAL_INFO_COMMON) == WAL_XLOG_FPI_FOR_HINT;
	bool		removed = false;

	if (hint && old->block_count == 1 && old->blocks[0].restored && !new->blocks[0].has_image)
	{
		const struct wal_block *was = &old->blocks[0];
		const struct wal_block *is = &new->blocks[0];

		check(new->lsn == old->lsn && new->end_lsn == old->end_lsn && new->info == old->info &&
			  new->rmid == old->rmid && new->block_count == 1 && new->data_len == 0 &&
			  is->spc == was->spc && is->db == was->db && is->rel == was->rel &&
			  is->fork == was->fork && is->block == was->block && is->id == was->id &&
			  is->will_init == was->will_init && (old->info & WAL_INFO_IMAGES_OPTIONAL) &&
			  !(old->info & WAL_INFO_CHECK_CONSISTENCY));
		return;
	}
	check(new->lsn == old->lsn && new->end_lsn == old->end_lsn && new->xid == old->xid &&
		  new->total_bytes == old->total_bytes && new->rmid == old->rmid &&
		  new->block_count == old->block_count && new->data_len == old->data_len &&
		  memcmp(new->data, old->data, old->data_len) == 0);
	for (unsigned i = 0; i < old->block_count; i++)
	{
		const struct wal_block *was = &old->blocks[i];
		const struct wal_block *is = &new->blocks[i];

		check(is->spc == was->spc && is->db == was->db && is->rel == was->rel &&
			  is->fork == was->fork && is->block == was->block && is->id == was->id &&
			  is->will_init == was->will_init && is->has_image == was->has_image &&
			  is->image_bytes == was->image_bytes);
		if (!is->has_image)
			continue;
		check(is->image_at == was->image_at);
		removed |= was->restored && !is->restored;
		check(was->restored || !is->restored);
	}
	if (removed)
		check((old->info & WAL_INFO_IMAGES_OPTIONAL) &&
			  !(old->info & WAL_INFO_CHECK_CONSISTENCY) && old->rmid < WAL_RMGR_MIN_CUSTOM &&
			  old->rmid != WAL_RMGR_XLOG);
	else
		check(memcmp(new->bytes, old->bytes, old->total_bytes) == 0);
	for (unsigned i = 0; removed && i < new->block_count; i++)
		check(!new->blocks[i].restored);
	check(new->info == old->info);
}

/* Compare all records. */
static void
check_records(const struct segment *segment)
{
	struct wal_reader_options options = {
		.source = {read_bounded, before},.segment_bytes = WRITER_SEGMENT,.page_bytes = WRITER_PAGE,
	};
	struct wal_reader old;
	struct wal_reader new;

	options.page_bytes = segment->page_bytes;
	check(wal_reader__create(&old, &options) == 0);
	options.source.context = after;
	check(wal_reader__create(&new, &options) == 0);
	if (wal_reader__find(&old, WRITER_START) == WAL_READER_RECORD)
	{
		check(wal_reader__find(&new, WRITER_START) == WAL_READER_RECORD);
		for (uint64_t i = 0; i < segment->counts.records; i++)
		{
			check(wal_reader__next(&old) == WAL_READER_RECORD);
			check(wal_reader__next(&new) == WAL_READER_RECORD);
			check_record(&old.record, &new.record);
		}
	}
	wal_reader__destroy(&old);
	wal_reader__destroy(&new);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct segment segment;
	struct segment again;
	struct edits edits = {0};
	struct edits more = {0};

	if (size < 2)
		return 0;
	if (data[1] & RAW)
	{
		memset(before, 0, sizeof(before));
		memcpy(before, data + 2, size - 2 < WRITER_SEGMENT ? size - 2 : WRITER_SEGMENT);
	}
	else
		make_segment(13 + data[0] % 7, data[1], data + 2, size - 2);
	if (scan(before, &segment, &edits) == 0)
	{
		memcpy(after, before, WRITER_SEGMENT);
		edits__apply(&edits, 0, after, WRITER_SEGMENT / 2 + data[0]);
		edits__apply(&edits, WRITER_SEGMENT / 2 + data[0], after + WRITER_SEGMENT / 2 + data[0],
					 WRITER_SEGMENT / 2 - data[0]);
		check((segment.counts.images_removed > 0) == (edits.count > 0));
		check_records(&segment);
		check(scan(after, &again, &more) == 0);
		check(more.count == 0 && again.counts.records == segment.counts.records);
		check(again.counts.images == segment.counts.images - segment.counts.images_removed);
		check(again.rest_crc == segment.rest_crc);
	}
	edits__destroy(&edits);
	edits__destroy(&more);
	return 0;
}
