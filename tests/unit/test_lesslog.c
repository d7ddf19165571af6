/*
 * test_lesslog.c
 *		Are exactly those images removed from a segment that redo can do without, and is
 *		all else as it was?
 *
 * That servers, stock and patched, replay the result is shown by black box tests.
 */
#include "lesslog_fixture.h"

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
	for (int major = 13; major <= 19; major++)
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
