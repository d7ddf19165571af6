/*
 * lesslog_fixture.h
 *		A segment of WAL that tests fill with records, before and after its images are
 *		removed, and what must be the same in both.
 */
#ifndef REDOAHEAD_TEST_LESSLOG_FIXTURE_H
#define REDOAHEAD_TEST_LESSLOG_FIXTURE_H

#include <errno.h>
#include <stdio.h>

#include "unit.h"

#include "lesslog/segment.h"
#include "wal_writer.h"

#define OPTIONAL	WAL_INFO_IMAGES_OPTIONAL
#define RMGR_BTREE	11
#define NAME		"000000010000000000000003"

/* Room for the body of a record with as many images as fit, bytes. */
#define MAX_BODY	(33 * (27 + 8192 + 100))

static struct wal_writer writer;
static struct segment segment;
static struct edits edits;
static char message[WAL_MESSAGE_BYTES];

/* The segment before and after, and where it begins in WAL. */
static unsigned char before[WRITER_SEGMENT];
static unsigned char after[WRITER_SEGMENT];
static uint64_t segment_lsn;

static int
set_up(void **state)
{
	writer_begin(&writer, 3);
	segment_lsn = WRITER_START;
	return 0;
}

static int
tear_down(void **state)
{
	edits__destroy(&edits);
	free(writer.wal);
	return 0;
}

/* The body of a record that is being made: headers, and then data. */
static unsigned char headers[2000];
static unsigned char data[MAX_BODY];
static uint32_t header_bytes;
static uint32_t data_bytes;

static void
begin_body(void)
{
	header_bytes = data_bytes = 0;
}

static void
put(const void *value, size_t bytes)
{
	memcpy(headers + header_bytes, value, bytes);
	header_bytes += (uint32_t) bytes;
}

#define PUT(type, ...) put(&(type) {__VA_ARGS__}, sizeof(type))

static void
put_data(uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		data[data_bytes + i] = (unsigned char) (i * 7 + bytes + 1) | 1;
	data_bytes += bytes;
}

/* A block with an image, bimg_info "info", and data of its own. */
static void
put_block(uint8_t id, uint8_t info, uint16_t image_bytes, uint16_t own_bytes)
{
	PUT(uint8_t, id);
	PUT(uint8_t, 0x10 | (own_bytes > 0 ? 0x20 : 0));
	PUT(uint16_t, own_bytes);
	PUT(uint16_t, image_bytes);
	PUT(uint16_t, info & 1 ? 100 : 0);
	PUT(uint8_t, info);
	if ((info & 0x05) == 0x05)
		PUT(uint16_t, 2000);
	PUT(uint32_t, 1663);
	PUT(uint32_t, 5);
	PUT(uint32_t, 16384);
	PUT(uint32_t, 7 + id);
	put_data(image_bytes);
	put_data(own_bytes);
}

static void
put_main_data(uint8_t bytes)
{
	PUT(uint8_t, 255);
	PUT(uint8_t, bytes);
	put_data(bytes);
}

/* Append the record. */
static uint64_t
end_body(uint8_t rmid, uint8_t info)
{
	static unsigned char body[sizeof(headers) + sizeof(data)];

	memcpy(body, headers, header_bytes);
	memcpy(body + header_bytes, data, data_bytes);
	return writer_add(&writer, rmid, info, body, header_bytes + data_bytes);
}

/* A usual record: an image as it is, the block's data, main data. */
static inline uint64_t
add_usual(uint8_t rmid, uint8_t info)
{
	begin_body();
	put_block(0, 0x02, WRITER_BLOCK, rmid == WAL_RMGR_XLOG ? 0 : 60);
	if (rmid != WAL_RMGR_XLOG)
		put_main_data(20);
	return end_body(rmid, info);
}

/* Records of all sizes without an image, up to a place in the WAL. */
static void
fill_up_to(size_t place)
{
	while (writer.end < place)
		writer_add_data(&writer, 15, 0, (uint32_t) ((writer.end / 8) % 200));
}

/* Fill the segment up to its end, with a record that ends behind it. */
static inline void
fill_segment(void)
{
	fill_up_to(WRITER_SEGMENT);
}

/* End the segment early. */
static void
end_segment(void)
{
	writer_add_data(&writer, WAL_RMGR_XLOG, WAL_XLOG_SWITCH, 0);
}

/* One segment of the WAL as a source. */
static long
read_segment(void *context, uint64_t lsn, void *out, size_t bytes)
{
	assert_true(lsn >= segment_lsn && lsn + bytes <= segment_lsn + WRITER_SEGMENT);
	memcpy(out, (const unsigned char *) context + (lsn - segment_lsn), bytes);
	return (long) bytes;
}

/* Examine a segment. */
static int
scan(unsigned char *bytes)
{
	struct wal_long_page_header header;

	memcpy(&header, bytes, sizeof(header));
	edits__destroy(&edits);
	assert_int_equal(segment__identify(&segment, segment_lsn == WRITER_START ? NAME : NULL,
									   &header, WRITER_SEGMENT, message), 0);
	assert_int_equal(segment.lsn, segment_lsn);
	return segment__scan(&segment, (struct wal_source) {read_segment, bytes}, &edits, message);
}

/* Examine a segment, which must decode, and change it. */
static void
change_segment(unsigned number)
{
	segment_lsn = WRITER_START + (uint64_t) number * WRITER_SEGMENT;
	memcpy(before, writer.wal + (size_t) number * WRITER_SEGMENT, WRITER_SEGMENT);
	if (scan(before) != 0)
		fail_msg("%s", message);
	memcpy(after, before, WRITER_SEGMENT);
	edits__apply(&edits, 0, after, WRITER_SEGMENT);
}

static void
change(void)
{
	change_segment(0);
}

/* The first segment must not decode, for a reason. */
static inline void
expect_refused(const char *reason)
{
	assert_int_equal(scan(writer.wal), -EBADMSG);
	if (strstr(message, reason) == NULL)
		fail_msg("the reason is \"%s\", not \"%s\"", message, reason);
	assert_int_equal(segment.counts.images_removed, 0);
}

/* What a hint's record must become: one that names the same block, and has data: zeros. */
static void
expect_hint(const struct wal_record *old, const struct wal_record *new)
{
	const struct wal_block *was = &old->blocks[0];
	const struct wal_block *is = &new->blocks[0];
	uint32_t	data_at = was->image_at - was->image_header_bytes;

	assert_int_equal(new->info, old->info);
	assert_int_equal(new->block_count, 1);
	assert_int_equal(new->data_len, 0);
	assert_false(is->has_image);
	assert_false(wal_record__uses_block(new, is));
	assert_int_equal(is->spc, was->spc);
	assert_int_equal(is->db, was->db);
	assert_int_equal(is->rel, was->rel);
	assert_int_equal(is->fork, was->fork);
	assert_int_equal(is->block, was->block);
	/* The size of the data is there, or it would not decode. */
	for (uint32_t at = data_at; at < new->total_bytes; at++)
		assert_int_equal(new->bytes[at], 0);
}

/* A record as it must become. */
static void
expect_changed(const struct wal_record *old, const struct wal_record *new)
{
	bool		hint = old->rmid == WAL_RMGR_XLOG &&
		(old->info & ~WAL_INFO_COMMON) == WAL_XLOG_FPI_FOR_HINT;
	bool		removed = false;

	assert_int_equal(new->lsn, old->lsn);
	assert_int_equal(new->end_lsn, old->end_lsn);
	assert_int_equal(new->total_bytes, old->total_bytes);
	assert_int_equal(new->rmid, old->rmid);
	if (hint && old->block_count == 1 && old->blocks[0].restored && !new->blocks[0].has_image)
	{
		expect_hint(old, new);
		return;
	}
	assert_int_equal(new->block_count, old->block_count);
	assert_int_equal(new->data_len, old->data_len);
	assert_memory_equal(new->data, old->data, old->data_len);
	for (unsigned i = 0; i < old->block_count; i++)
	{
		const struct wal_block *was = &old->blocks[i];
		const struct wal_block *is = &new->blocks[i];
		uint32_t	end = i + 1 < old->block_count && was[1].has_image ? was[1].image_at :
			old->total_bytes;

		assert_int_equal(is->block, was->block);
		assert_int_equal(is->has_image, was->has_image);
		assert_int_equal(is->image_at, was->image_at);
		if (was->restored && !is->restored)
		{
			removed = true;
			assert_int_equal(old->bytes[was->image_info_at] ^ new->bytes[is->image_info_at],
							 old->format->image_applies);
			for (uint32_t at = 0; at < was->image_bytes; at++)
				assert_int_equal(new->bytes[is->image_at + at], 0);
		}
		else
			assert_memory_equal(new->bytes + is->image_at, old->bytes + was->image_at,
								was->image_bytes);
		if (was->has_image)
			assert_memory_equal(new->bytes + is->image_at + is->image_bytes,
								old->bytes + was->image_at + was->image_bytes,
								end - was->image_at - was->image_bytes);
	}
	if (!removed)
		assert_memory_equal(new->bytes, old->bytes, old->total_bytes);
	assert_int_equal(new->info, old->info);
}

/*
 * Compare the segment after the change with that before: the same records, of which images
 * may be removed; the same page headers; and nothing more to remove.
 */
static inline void
expect_same_but_images(void)
{
	const struct wal_reader_options options = {
		.source = {read_segment, before},.segment_bytes = WRITER_SEGMENT,
		.page_bytes = WRITER_PAGE,.block_size = WRITER_BLOCK,
	};
	const struct segment_counts counts = segment.counts;
	struct wal_reader old;
	struct wal_reader new;
	uint64_t	removed = 0;

	for (size_t page = 0; page < WRITER_SEGMENT; page += WRITER_PAGE)
		assert_memory_equal(before + page, after + page, WAL_PAGE_SHORT_BYTES);
	assert_int_equal(wal_reader__create(&old, &options), 0);
	assert_int_equal(wal_reader__create(&new, &options), 0);
	new.options.source.context = after;
	assert_int_equal(wal_reader__find(&old, segment_lsn), WAL_READER_RECORD);
	assert_int_equal(wal_reader__find(&new, segment_lsn), WAL_READER_RECORD);
	for (uint64_t i = 0; i < counts.records; i++)
	{
		assert_int_equal(wal_reader__next(&old), WAL_READER_RECORD);
		if (wal_reader__next(&new) != WAL_READER_RECORD)
			fail_msg("%s", new.message);
		expect_changed(&old.record, &new.record);
		for (unsigned b = 0; b < old.record.block_count; b++)
			removed += old.record.blocks[b].restored &&
				(b >= new.record.block_count || !new.record.blocks[b].restored);
	}
	assert_int_equal(removed, counts.images_removed);
	wal_reader__destroy(&old);
	wal_reader__destroy(&new);

	/* Once is enough. */
	assert_int_equal(scan(after), 0);
	assert_int_equal(edits.count, 0);
	assert_int_equal(segment.counts.records, counts.records);
	assert_int_equal(segment.counts.images, counts.images - counts.images_removed);
	segment.counts = counts;
}

#endif							/* REDOAHEAD_TEST_LESSLOG_FIXTURE_H */
