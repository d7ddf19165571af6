/*
 * test_whole.c
 *		Is a segment that lacks WAL found out, and one that ends early on purpose not?
 *
 * With a wrong answer, recovery ends where WAL ended when the segment was fetched ahead; or
 * segments that the server has switched are never fetched ahead.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

#include "wal/whole.h"
#include "wal_writer.h"

static char path[] = "/tmp/redoahead-whole.XXXXXX";
static struct wal_writer writer;

static int
set_up(void **state)
{
	int			fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	writer_begin(&writer, 2);
	return fd < 0 || close(fd) < 0;
}

static int
tear_down(void **state)
{
	free(writer.wal);
	return unlink(path);
}

/* Write the first segment of the WAL, of which only so many bytes have been written. */
static void
make_file(size_t written)
{
	FILE	   *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(writer.wal, 1, written, file), written);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(truncate(path, WRITER_SEGMENT), 0);
}

/* Wherever the last record ends, and whatever it is like. */
TEST(full_segment_is_whole)
{
	static const uint32_t sizes[] = {8, 92, 1001, 20000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (uint32_t more = 0; more < 64; more += 8)
		{
			free(writer.wal);
			writer_begin(&writer, 2);
			writer_add_data(&writer, 15, 0, 40 + more);
			while (writer.end < WRITER_SEGMENT)
				writer_add_data(&writer, 15, 0, sizes[i]);
			make_file(WRITER_SEGMENT);
			assert_true(whole__is(path));
		}
}

/*
 * The end of WAL between two records, in a record, and between two pages.  In the last record,
 * which goes on in the next segment, it could only be between pages, too.
 */
TEST(part_of_a_segment_is_not)
{
	size_t		ends[WRITER_SEGMENT / 500];
	unsigned	count = 0;

	while (writer.end < WRITER_SEGMENT)
	{
		ends[count++] = writer.end;
		writer_add_data(&writer, 15, 0, count % 50 == 0 ? 20000 : 1000);
	}
	for (unsigned i = 0; i < count; i++)
	{
		make_file(ends[i]);
		assert_false(whole__is(path));
		if (i + 1 < count)
		{
			make_file(ends[i] + 500);
			assert_false(whole__is(path));
		}
	}
	for (size_t page = WRITER_PAGE; page < WRITER_SEGMENT; page += WRITER_PAGE)
	{
		make_file(page);
		assert_false(whole__is(path));
	}
}

/* Behind the WAL come pages of an older segment, as in a file that was recycled. */
TEST(older_pages_do_not_count)
{
	struct wal_writer older;

	writer_begin(&older, 3);
	while (older.end < 2 * WRITER_SEGMENT)
		writer_add_data(&older, 15, 0, 92);
	for (unsigned i = 0; i < 100; i++)
		writer_add_data(&writer, 15, 0, 300);
	memcpy(writer.wal + writer.end, older.wal + WRITER_SEGMENT + writer.end,
		   WRITER_SEGMENT - writer.end);
	make_file(WRITER_SEGMENT);
	assert_false(whole__is(path));
	free(older.wal);
}

/* A switch may stand anywhere, also at the end of a page, into which its header does not fit. */
TEST(switch_makes_a_segment_whole)
{
	for (uint32_t bytes = WRITER_PAGE - 200; bytes < WRITER_PAGE + 40; bytes += 8)
	{
		free(writer.wal);
		writer_begin(&writer, 2);
		writer_add_data(&writer, 15, 0, bytes);
		make_file(writer.end);
		assert_false(whole__is(path));
		writer_add_data(&writer, WAL_RMGR_XLOG, WAL_XLOG_SWITCH, 0);
		make_file(writer.end);
		assert_true(whole__is(path));
	}
}

TEST(what_is_no_segment_is_not_whole)
{
	assert_false(whole__is(path));
	assert_false(whole__is("/nonexistent/file"));
	make_file(0);
	assert_false(whole__is(path));
}

UNIT_MAIN(NULL, NULL, set_up, tear_down)
