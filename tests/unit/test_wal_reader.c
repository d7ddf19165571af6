/*
 * test_wal_reader.c
 *		Is each record found that a server wrote, and nothing after the last one?
 */
#include "unit.h"

#include "common/redoahead_abi.h"
#include "wal_writer.h"

static struct wal_writer writer;
static struct wal_reader reader;

static int
set_up(void **state)
{
	writer_begin(&writer, 4);
	writer_open_reader(&writer, &reader);
	return 0;
}

static int
tear_down(void **state)
{
	wal_reader__destroy(&reader);
	free(writer.wal);
	return 0;
}

static void
expect_record(uint64_t lsn)
{
	if (wal_reader__next(&reader) != WAL_READER_RECORD)
		fail_msg("no record: %s", reader.message);
	assert_int_equal(reader.record.lsn, lsn);
}

static void
expect_end(const char *reason)
{
	assert_int_equal(wal_reader__next(&reader), WAL_READER_END);
	if (strstr(reader.message, reason) == NULL)
		fail_msg("the reason is \"%s\", not \"%s\"", reader.message, reason);
}

/* Sizes such that records end anywhere, span two pages, many pages, and segments. */
TEST(test_records_of_all_sizes)
{
	uint64_t	lsns[4000];
	uint32_t	sizes[4000];
	unsigned	count = 0;

	srandom(5);
	while (writer.end < 3 * WRITER_SEGMENT)
	{
		sizes[count] = count % 500 == 499 ? 100000 : (uint32_t) random() % 2000;
		lsns[count] = writer_add_data(&writer, 15, 0, sizes[count]);
		count++;
	}
	for (unsigned i = 0; i < count; i++)
	{
		const unsigned char *data;

		expect_record(lsns[i]);
		assert_int_equal(reader.record.data_len, sizes[i]);
		assert_int_equal(reader.record.xid, 700);
		assert_int_equal(reader.record.rmid, 15);
		data = reader.record.data;
		for (uint32_t at = 0; at < sizes[i]; at++)
			assert_int_equal(data[at], (unsigned char) (at * 7 + sizes[i]));
	}
	expect_end("");
}

/* What is written later is read later; how far it had come does not matter. */
TEST(test_wal_that_is_being_written)
{
	uint64_t	lsn = writer_add_data(&writer, 15, 0, 100);
	unsigned char *whole;
	size_t		begin;
	uint64_t	second;

	expect_record(lsn);
	expect_end("size of 0");
	begin = writer.end;
	second = writer_add_data(&writer, 15, 0, 3 * WRITER_PAGE);
	whole = malloc(writer.room);
	memcpy(whole, writer.wal, writer.room);
	for (size_t written = begin; written < writer.end; written += 100)
	{
		memcpy(writer.wal, whole, writer.room);
		memset(writer.wal + written, 0, writer.end - written);
		expect_end("");
	}
	memcpy(writer.wal, whole, writer.room);
	free(whole);
	expect_record(second);
	expect_record(writer_add_data(&writer, 15, 0, 10));
}

/* Old contents of a recycled segment look like WAL, but are none. */
TEST(test_recycled_segment_ends_wal)
{
	struct wal_writer old;

	writer_begin(&old, 4);
	while (old.end < 2 * WRITER_SEGMENT)
		writer_add_data(&old, 15, 0, 120);
	/* Segment 1 of the old WAL is at segment 2 of the new one. */
	memcpy(writer.wal + 2 * WRITER_SEGMENT, old.wal + WRITER_SEGMENT, WRITER_SEGMENT);
	while (writer.end < 2 * WRITER_SEGMENT)
		expect_record(writer_add_data(&writer, 15, 0, 120));
	expect_end("");
	free(old.wal);
}

/* The rest of a page has old records of the same place: a later crash recovery's. */
TEST(test_records_of_another_history)
{
	uint64_t	first = writer_add_data(&writer, 15, 0, 100);
	uint64_t	second = writer_add_data(&writer, 15, 0, 100);
	struct wal_record_header header;

	writer_add_data(&writer, 15, 0, 100);
	/* The second record is replaced by one that points elsewhere. */
	memcpy(&header, writer.wal + (second - WRITER_START), sizeof(header));
	header.previous = first - 8;
	memcpy(writer.wal + (second - WRITER_START), &header, sizeof(header));
	writer_seal(writer.wal + (second - WRITER_START), header.total_bytes);
	expect_record(first);
	expect_end("does not follow that at");
}

TEST(test_any_flipped_bit_ends_wal)
{
	uint64_t	lsns[3];

	for (int i = 0; i < 3; i++)
		lsns[i] = writer_add_data(&writer, 15, 0, 40);
	for (uint64_t at = lsns[1]; at < lsns[2]; at++)
	{
		unsigned char *byte = writer.wal + (at - WRITER_START);

		/* Padding of the header, and after the record, is not defined. */
		if ((at - lsns[1] >= 18 && at - lsns[1] < 20) || at - lsns[1] >= 24 + 2 + 40)
			continue;
		*byte ^= 0x10;
		wal_reader__begin(&reader, WRITER_START);
		expect_record(lsns[0]);
		expect_end("");
		*byte ^= 0x10;
	}
}

TEST(test_page_headers)
{
	static const struct
	{
		size_t		offset;			/* in the second page */
		unsigned char value;
		const char *reason;
	}			cases[] = {
		{offsetof(struct wal_page_header, magic), 0x17, "another version"},
		{offsetof(struct wal_page_header, flags), 0x10, "unknown flags"},
		{offsetof(struct wal_page_header, flags), WAL_PAGE_LONG, "wrong kind"},
		{offsetof(struct wal_page_header, timeline), 0, "older timeline"},
		{offsetof(struct wal_page_header, lsn) + 2, 0x77, "another position"},
	};

	while (writer.end < 2 * WRITER_PAGE)
		writer_add_data(&writer, 15, 0, 92);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		unsigned char *byte = writer.wal + WRITER_PAGE + cases[i].offset;
		unsigned char before = *byte;
		int			result;

		wal_reader__begin(&reader, WRITER_START);
		*byte = cases[i].value;
		do
			result = wal_reader__next(&reader);
		while (result == WAL_READER_RECORD);
		assert_int_equal(result, WAL_READER_END);
		if (strstr(reader.message, cases[i].reason) == NULL)
			fail_msg("the reason is \"%s\", not \"%s\"", reader.message, cases[i].reason);
		*byte = before;
	}
}

TEST(test_another_cluster)
{
	uint64_t	identifier = 1;

	writer_add_data(&writer, 15, 0, 92);
	memcpy(writer.wal + offsetof(struct wal_long_page_header, system_identifier), &identifier,
		   sizeof(identifier));
	expect_end("another cluster");
}

/* The long header of a segment is verified when reading begins in the middle of it, too. */
TEST(test_long_header_of_the_segment)
{
	static const struct
	{
		size_t		offset;			/* in the long header */
		unsigned char value;
		const char *reason;
	}			cases[] = {
		{offsetof(struct wal_long_page_header, system_identifier), 1, "another cluster"},
		{offsetof(struct wal_long_page_header, segment_bytes) + 3, 1, "segments of another size"},
		{offsetof(struct wal_long_page_header, page_bytes) + 1, 64, "pages of another size"},
		{offsetof(struct wal_page_header, lsn) + 2, 0x77, "another position"},
		{offsetof(struct wal_page_header, magic), 0x17, "version of PostgreSQL"},
	};
	uint64_t	lsn = 0;

	while (writer.end < WRITER_SEGMENT + 3 * WRITER_PAGE)
		lsn = writer_add_data(&writer, 15, 0, 92);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		unsigned char *byte = writer.wal + WRITER_SEGMENT + cases[i].offset;
		unsigned char before = *byte;

		*byte = cases[i].value;
		wal_reader__begin(&reader, lsn);
		expect_end(cases[i].reason);
		assert_non_null(strstr(reader.message, "the page at 0/00400000 "));
		assert_int_equal(wal_reader__find(&reader, lsn), WAL_READER_END);
		/* The file was replaced by the right one. */
		*byte = before;
		wal_reader__begin(&reader, lsn);
		expect_record(lsn);
	}
}

/* Reads of the start of the second segment. */
static unsigned header_reads;

static long
count_header_reads(void *context, uint64_t lsn, void *out, size_t bytes)
{
	header_reads += lsn == WRITER_START + WRITER_SEGMENT;
	return writer_read(context, lsn, out, bytes);
}

/* What follows in the segment is verified by this one reading of the header. */
TEST(test_long_header_is_read_once)
{
	uint64_t	lsn = 0;

	while (writer.end < WRITER_SEGMENT + 3 * WRITER_PAGE)
		lsn = writer_add_data(&writer, 15, 0, 92);
	while (writer.end < 2 * WRITER_SEGMENT)
		writer_add_data(&writer, 15, 0, 2000);
	reader.options.source.read = count_header_reads;
	header_reads = 0;
	wal_reader__begin(&reader, lsn);
	for (unsigned i = 0; i < 400; i++)
		assert_int_equal(wal_reader__next(&reader), WAL_READER_RECORD);
	assert_int_equal(header_reads, 1);
	/* Likewise where reading began before it. */
	wal_reader__begin(&reader, WRITER_START);
	header_reads = 0;
	while (wal_reader__next(&reader) == WAL_READER_RECORD && reader.record.lsn < lsn + 500000)
		;
	assert_int_equal(header_reads, 1);
}

/* The first page of a segment is missing: what follows cannot be verified. */
TEST(test_segment_without_a_first_page)
{
	uint64_t	lsn = 0;

	while (writer.end < WRITER_SEGMENT + 3 * WRITER_PAGE)
		lsn = writer_add_data(&writer, 15, 0, 92);
	memset(writer.wal + WRITER_SEGMENT, 0, WRITER_PAGE);
	wal_reader__begin(&reader, lsn);
	expect_end("the page at 0/00400000 has the magic number 0000");
}

/* Nothing follows in the segment; reading goes on in the next one. */
TEST(test_switch_of_segments)
{
	expect_record(writer_add_data(&writer, 15, 0, 92));
	expect_record(writer_add_data(&writer, WAL_RMGR_XLOG, WAL_XLOG_SWITCH, 0));
	assert_int_equal(reader.record.end_lsn, WRITER_START + WRITER_SEGMENT);
	writer.end = WRITER_SEGMENT;
	expect_record(writer_add_data(&writer, 15, 0, 92));
}

/* A record that was not complete when the server crashed is overwritten. */
TEST(test_record_that_was_overwritten)
{
	static const unsigned char body[3 * WRITER_PAGE];
	uint64_t	last = writer_add_data(&writer, 15, 0, 92);
	size_t		page;

	writer_add_part(&writer, 15, 0, body, sizeof(body), WRITER_PAGE);
	page = (writer.end + WRITER_PAGE - 1) / WRITER_PAGE * WRITER_PAGE;
	expect_record(last);
	expect_end("");
	writer.end = page;
	writer.previous = last;
	writer.flags = wal_format__of_major(18)->page_overwrites;
	expect_record(writer_add_data(&writer, WAL_RMGR_XLOG, 0xD0, 16));
	expect_record(writer_add_data(&writer, 15, 0, 92));
}

/* From any position, the first record after it is found. */
TEST(test_find)
{
	uint64_t	lsns[300];

	for (unsigned i = 0; i < 300; i++)
		lsns[i] = writer_add_data(&writer, 15, 0, i % 50 == 0 ? 20000 : i * 3);
	for (unsigned i = 0; i < 300; i++)
	{
		if (wal_reader__find(&reader, lsns[i]) != WAL_READER_RECORD)
			fail_msg("record %u not found: %s", i, reader.message);
		expect_record(lsns[i]);
		if (i == 299)
			break;
		assert_int_equal(wal_reader__find(&reader, lsns[i] + 1), WAL_READER_RECORD);
		expect_record(lsns[i + 1]);
	}
}

/* The beginning of a segment is in the middle of a record. */
TEST(test_find_behind_the_start_of_a_segment)
{
	while (writer.end < WRITER_SEGMENT - 5000)
		writer_add_data(&writer, 15, 0, 92);
	writer_add_data(&writer, 15, 0, 30000);
	assert_true(writer.end > WRITER_SEGMENT);
	assert_int_equal(wal_reader__find(&reader, WRITER_START + WRITER_SEGMENT), WAL_READER_RECORD);
	expect_record(writer_add_data(&writer, 15, 0, 92));
}

UNIT_MAIN(NULL, NULL, set_up, tear_down)
