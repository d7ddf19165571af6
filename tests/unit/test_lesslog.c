/*
 * test_lesslog.c
 *		Are exactly those images removed from a segment that redo can do without, and is
 *		all else as it was?
 *
 * That servers, stock and patched, replay the result is shown by black box tests.
 */
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
static uint64_t
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
static void
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
static void
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
static void
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

/* Lost otherwise: data, if redo restores zeros or a record has another CRC. */
TEST(test_marked_images_are_removed)
{
	add_usual(RMGR_BTREE, OPTIONAL);
	add_usual(WAL_RMGR_HEAP, OPTIONAL | 0x80);
	writer_add_data(&writer, 15, 0, 100);
	fill_segment();
	change();
	expect_same_but_images();
	assert_int_equal(segment.counts.images, 2);
	assert_int_equal(segment.counts.images_removed, 2);
	assert_int_equal(segment.counts.image_bytes_removed, 2 * WRITER_BLOCK);
	assert_int_equal(segment.counts.hints_removed, 0);
	assert_int_equal(segment.counts.kept[SEGMENT_NOT_OPTIONAL], 0);
	assert_int_equal(segment.counts.kept[SEGMENT_SPANS_SEGMENTS], writer.end > WRITER_SEGMENT);
}

/* Lost otherwise: pages of which redo has nothing but the image. */
TEST(test_why_images_are_kept)
{
	static const struct
	{
		uint8_t		rmid;
		uint8_t		info;
		int			reason;		/* SEGMENT_KEPT_COUNT: removed */
	}			cases[] = {
		{RMGR_BTREE, 0, SEGMENT_NOT_OPTIONAL},
		{RMGR_BTREE, 0xB0 | 0x09, SEGMENT_NOT_OPTIONAL},
		{RMGR_BTREE, OPTIONAL | WAL_INFO_CHECK_CONSISTENCY, SEGMENT_CONSISTENCY_CHECK},
		{RMGR_BTREE, WAL_INFO_CHECK_CONSISTENCY, SEGMENT_CONSISTENCY_CHECK},
		{128, OPTIONAL, SEGMENT_CUSTOM_RMGR},
		{255, OPTIONAL, SEGMENT_CUSTOM_RMGR},
		{WAL_RMGR_XLOG, 0xB0, SEGMENT_NOT_OPTIONAL},
		{WAL_RMGR_XLOG, OPTIONAL | 0xB0, SEGMENT_IMAGE_ONLY},
		{WAL_RMGR_XLOG, WAL_XLOG_FPI_FOR_HINT, SEGMENT_NOT_OPTIONAL},
		{WAL_RMGR_XLOG, WAL_XLOG_FPI_FOR_HINT | OPTIONAL, SEGMENT_KEPT_COUNT},
		{WAL_RMGR_HEAP, OPTIONAL, SEGMENT_KEPT_COUNT},
		{21, OPTIONAL, SEGMENT_KEPT_COUNT},
	};
	uint64_t	expected[SEGMENT_KEPT_COUNT + 1] = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		add_usual(cases[i].rmid, cases[i].info);
		expected[cases[i].reason]++;
	}
	end_segment();
	change();
	expect_same_but_images();
	for (int i = 0; i < SEGMENT_KEPT_COUNT; i++)
		if (segment.counts.kept[i] != expected[i])
			fail_msg("%s: %llu, not %llu", segment__kept_name(i),
					 (unsigned long long) segment.counts.kept[i],
					 (unsigned long long) expected[i]);
	assert_int_equal(segment.counts.images_removed, expected[SEGMENT_KEPT_COUNT]);
	assert_int_equal(segment.counts.hints_removed, 1);
}

/*
 * Lost otherwise: redo, which ends with an error at a hint with an image that is not to be
 * restored; and what pg_rewind must copy.
 */
TEST(test_hints_name_their_block)
{
	for (uint8_t info = 0x02; info <= 0x07; info++)
	{
		/* As it is, with a hole, compressed, and both. */
		if (!(info & 0x02))
			continue;
		begin_body();
		put_block(0, info, info == 0x02 ? WRITER_BLOCK : 700, 0);
		/* Parts of the header that servers write behind blocks. */
		PUT(uint8_t, 253);
		PUT(uint16_t, 5);
		PUT(uint8_t, 252);
		PUT(uint32_t, 4711);
		end_body(WAL_RMGR_XLOG, WAL_XLOG_FPI_FOR_HINT | OPTIONAL | 0x08);
	}
	/* Without an image that redo restores, it stays as it is. */
	begin_body();
	put_block(0, 0x00, WRITER_BLOCK, 0);
	end_body(WAL_RMGR_XLOG, WAL_XLOG_FPI_FOR_HINT | OPTIONAL);
	end_segment();
	change();
	expect_same_but_images();
	assert_int_equal(segment.counts.hints_removed, 4);
	assert_int_equal(segment.counts.images, 4);
}

/* Images of several blocks, some of which redo does not restore anyway, and compressed ones. */
TEST(test_many_images_of_a_record)
{
	begin_body();
	for (uint8_t id = 0; id < 33; id++)
		put_block(id, id % 3 == 2 ? 0x04 : id % 3 == 1 ? 0x03 : 0x02,
				  id % 3 == 0 ? WRITER_BLOCK : id % 3 == 1 ? 3000 : 77, id % 2 * 30);
	put_main_data(255);
	end_body(RMGR_BTREE, OPTIONAL);
	end_segment();
	change();
	expect_same_but_images();
	assert_int_equal(segment.counts.images, 22);
	assert_int_equal(segment.counts.images_removed, 22);
	assert_int_equal(segment.counts.image_bytes_removed, 11 * (WRITER_BLOCK + 3000));
	assert_int_equal(segment.counts.kept[SEGMENT_SPANS_SEGMENTS], 0);
}

/* The bit that marks an image as one to restore, and those of compression, by major. */
TEST(test_images_of_each_major)
{
	for (int major = 13; major <= 18; major++)
	{
		const struct wal_format *format = wal_format__of_major(major);
		uint8_t		compressed = format->image_compressed & (uint8_t) -format->image_compressed;

		writer.end = 0;
		writer.previous = 0;
		writer.magic = format->page_magic;
		begin_body();
		put_block(0, format->image_applies, WRITER_BLOCK, 10);
		put_block(1, format->image_applies | compressed, 500, 10);
		end_body(RMGR_BTREE, OPTIONAL);
		end_segment();
		change();
		expect_same_but_images();
		assert_int_equal(segment.counts.images_removed, 2);
	}
}

/* Records that begin and end anywhere on a page; also a header that is on two pages. */
TEST(test_records_anywhere)
{
	srandom(23);
	for (unsigned round = 0; round < 20; round++)
	{
		writer.end = 0;
		writer.previous = 0;
		while (writer.end < WRITER_SEGMENT)
		{
			begin_body();
			if (random() % 4 == 0)
			{
				put_block(0, random() % 2 == 0 ? 0x06 : 0x07, (uint16_t) (random() % 2000), 0);
				end_body(WAL_RMGR_XLOG, WAL_XLOG_FPI_FOR_HINT | OPTIONAL);
				continue;
			}
			if (random() % 3 == 0)
				put_main_data((uint8_t) random());
			else
			{
				put_block(0, random() % 4 > 0 ? 0x02 : 0x00, WRITER_BLOCK,
						  (uint16_t) (random() % 200));
				put_block(1, 0x06, (uint16_t) (random() % 3000), 0);
				put_main_data((uint8_t) (random() % 30));
			}
			end_body(random() % 5 > 0 ? RMGR_BTREE : WAL_RMGR_XLOG,
					 random() % 4 > 0 ? OPTIONAL | WAL_XLOG_FPI_FOR_HINT : 0x10);
		}
		change();
		expect_same_but_images();
		assert_true(segment.counts.images_removed > 50);
		assert_true(segment.counts.hints_removed > 10);
	}
}

/* Lost otherwise: a record of which one half has the CRC, and the other is changed. */
TEST(test_records_in_two_segments)
{
	size_t		begin;

	fill_up_to(WRITER_SEGMENT - 5000);
	begin = (size_t) (add_usual(RMGR_BTREE, OPTIONAL) - WRITER_START);
	assert_true(writer.end > WRITER_SEGMENT);
	change();
	assert_int_equal(edits.count, 0);
	assert_int_equal(segment.counts.kept[SEGMENT_SPANS_SEGMENTS], 1);
	assert_memory_equal(before + begin, after + begin, WRITER_SEGMENT - begin);

	/* The next segment, which has the other half, and a record as a whole. */
	add_usual(RMGR_BTREE, OPTIONAL);
	end_segment();
	change_segment(1);
	expect_same_but_images();
	assert_int_equal(segment.counts.kept[SEGMENT_SPANS_SEGMENTS], 1);
	assert_int_equal(segment.counts.images_removed, 1);
}

/* The middle of a record takes all of the segment. */
TEST(test_a_segment_within_a_record)
{
	static unsigned char body[2 * WRITER_SEGMENT];

	body[0] = 254;
	memcpy(body + 1, &(uint32_t) {sizeof(body) - 5}, 4);
	writer_add(&writer, 15, 0, body, sizeof(body));
	change();
	assert_int_equal(segment.counts.records, 0);
	assert_int_equal(segment.counts.kept[SEGMENT_SPANS_SEGMENTS], 1);
	assert_int_equal(edits.count, 0);
	change_segment(1);
	assert_int_equal(segment.counts.records, 0);
	assert_int_equal(segment.counts.kept[SEGMENT_SPANS_SEGMENTS], 1);
	assert_int_equal(edits.count, 0);
}

/* Lost otherwise: what would show that an archived segment is damaged, or what it was. */
TEST(test_what_does_not_decode_is_left)
{
	uint64_t	last;

	add_usual(RMGR_BTREE, OPTIONAL);
	last = add_usual(RMGR_BTREE, OPTIONAL);
	/* Zeros that do not follow the record that ends a segment. */
	expect_refused("size of 0");
	/* The same with old contents. */
	memset(writer.wal + writer.end, 0x55, WRITER_SEGMENT - writer.end);
	expect_refused("the record at");
	end_segment();
	assert_int_equal(scan(writer.wal), 0);
	writer.wal[last - WRITER_START + 300] ^= 1;
	expect_refused("the record at 0/");
	expect_refused("CRC");
	writer.wal[last - WRITER_START + 300] ^= 1;
	writer.wal[WRITER_PAGE + offsetof(struct wal_page_header, lsn)] ^= 1;
	expect_refused("of another position");
	writer.wal[WRITER_PAGE + offsetof(struct wal_page_header, lsn)] ^= 1;
	writer.wal[offsetof(struct wal_page_header, lsn) + 2] ^= 1;
	expect_refused("of another position");
}

/* A page that is missing, as in a file that was cut and filled up. */
TEST(test_a_hole_in_a_segment)
{
	add_usual(RMGR_BTREE, OPTIONAL);
	fill_segment();
	memset(writer.wal + WRITER_SEGMENT / 2, 0, WRITER_SEGMENT / 2);
	expect_refused("another version of PostgreSQL, or empty");
}

static long
read_error(void *context, uint64_t lsn, void *out, size_t bytes)
{
	return -EIO;
}

/* An error is none of the segment: it may be read later. */
TEST(test_errors_of_reading)
{
	end_segment();
	assert_int_equal(scan(writer.wal), 0);
	assert_int_equal(segment__scan(&segment, (struct wal_source) {read_error, NULL}, &edits,
								   message), -EIO);
	assert_non_null(strstr(message, "cannot read WAL at 0/00300000"));
}

/* Lost otherwise: files that are no segments, or segments of other servers. */
TEST(test_which_files_are_segments)
{
	struct wal_long_page_header good;
	struct wal_long_page_header header;

	assert_true(segment__is_name(NAME));
	assert_false(segment__is_name(NAME ".partial"));
	assert_false(segment__is_name(NAME ".00000028.backup"));
	assert_false(segment__is_name("00000002.history"));
	assert_false(segment__is_name("00000001000000000000000"));
	assert_false(segment__is_name("00000001000000000000000g"));

	end_segment();
	memcpy(&good, writer.wal, sizeof(good));
	assert_int_equal(segment__identify(&segment, NAME, &good, WRITER_SEGMENT, message), 0);
	assert_int_equal(segment.timeline, 1);
	assert_int_equal(segment__identify(&segment, NULL, &good, WRITER_SEGMENT, message), 0);
	assert_int_equal(segment.timeline, 1);
	assert_int_equal(segment__identify(&segment, NAME, &good, WRITER_SEGMENT - 1, message),
					 -EBADMSG);
	assert_non_null(strstr(message, "has 1048575 bytes, and its segments have 1048576"));
	assert_int_equal(segment__identify(&segment, NAME, &good, 10, message), -ENODATA);
	header = good;
	header.page.magic = 0xD099;
	assert_int_equal(segment__identify(&segment, NAME, &header, WRITER_SEGMENT, message),
					 -ENODATA);
	header = good;
	header.page.flags &= ~WAL_PAGE_LONG;
	assert_int_equal(segment__identify(&segment, NAME, &header, WRITER_SEGMENT, message),
					 -EBADMSG);
	header = good;
	header.segment_bytes = 3 * 1024 * 1024;
	assert_int_equal(segment__identify(&segment, NAME, &header, header.segment_bytes, message),
					 -EBADMSG);
	header = good;
	header.page_bytes = 0;
	assert_int_equal(segment__identify(&segment, NAME, &header, WRITER_SEGMENT, message),
					 -EBADMSG);
	assert_int_equal(segment__identify(&segment, "000000010000000000001000", &good,
									   WRITER_SEGMENT, message), -EBADMSG);
	assert_non_null(strstr(message, "no segment of 1048576 bytes has this name"));
}

/* A file is read in pieces: the changes are the same, wherever a piece begins and ends. */
TEST(test_changes_of_pieces)
{
	static unsigned char pieces[WRITER_SEGMENT];

	while (writer.end < 200000)
		add_usual(RMGR_BTREE, OPTIONAL);
	end_segment();
	change();
	assert_memory_not_equal(before, after, WRITER_SEGMENT);
	for (size_t piece = 1; piece < 40000; piece = piece * 3 + 1)
	{
		memcpy(pieces, before, WRITER_SEGMENT);
		for (size_t at = 0; at < WRITER_SEGMENT; at += piece)
			edits__apply(&edits, at, pieces + at,
						 piece < WRITER_SEGMENT - at ? piece : WRITER_SEGMENT - at);
		assert_memory_equal(pieces, after, WRITER_SEGMENT);
	}
}

UNIT_MAIN(NULL, NULL, set_up, tear_down)
