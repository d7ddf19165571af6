/*
 * test_walend.c
 *		Where does the WAL in a directory end?
 *
 * With a wrong answer, the time left of a recovery is wrong by as much.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

#include "wal/walend.h"

#define SEGMENT	WAL_SEGMENT_MIN_BYTES
#define PAGE	8192
#define PAGES	(SEGMENT / PAGE)
#define MAGIC	0xD118

static char directory[] = "/tmp/redoahead-walend.XXXXXX";
static struct wal_segments segments = {.dirfd = -1,.fd = -1};
static const struct wal_page_expected expected = {
	.segment_bytes = SEGMENT,.page_bytes = PAGE,.system_identifier = 7,.timeline = 1
};

static int
set_up(void **state)
{
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	return mkdtemp(directory) == NULL ||
		wal_segments__open(&segments, directory, SEGMENT, 1, NULL) < 0;
}

static int
tear_down(void **state)
{
	char		command[100];

	wal_segments__close(&segments);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command);
}

/* Make a segment file with the pages that a segment "written" of WAL would have. */
static void
make_segment(uint64_t segment, uint64_t written, unsigned pages)
{
	char		path[200];
	char		name[WAL_SEGMENT_NAME_LENGTH + 1];
	FILE	   *file;

	wal_segments__name(1, segment, SEGMENT, name);
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	for (unsigned i = 0; i < pages; i++)
	{
		struct wal_long_page_header header = {
			.page = {.magic = MAGIC,.timeline = 1,.lsn = written * SEGMENT + i * PAGE,
			.flags = i == 0 ? WAL_PAGE_LONG : 0},
			.system_identifier = 7,.segment_bytes = SEGMENT,.page_bytes = PAGE
		};

		assert_int_equal(fseek(file, i * PAGE, SEEK_SET), 0);
		assert_int_equal(fwrite(&header, i == 0 ? sizeof(header) : sizeof(header.page), 1, file), 1);
	}
	assert_int_equal(fclose(file), 0);
	assert_int_equal(truncate(path, SEGMENT), 0);
}

static void
expect_end(uint64_t lsn, uint64_t end)
{
	assert_int_equal(walend__find(&segments, expected, lsn), end);
}

/* For every number of segments and pages, and from every segment. */
TEST(end_is_behind_the_last_page)
{
	for (unsigned last = 3; last < 12; last++)
	{
		make_segment(last, last, 1);
		for (uint64_t from = 3; from <= last; from++)
			expect_end(from * SEGMENT, last * SEGMENT + PAGE);
		make_segment(last, last, 17);
		expect_end(3 * SEGMENT + 5 * PAGE + 100, last * SEGMENT + 17 * PAGE);
		make_segment(last, last, PAGES);
		expect_end(3 * SEGMENT, (last + 1) * SEGMENT);
		expect_end((last + 1) * SEGMENT - 1, (last + 1) * SEGMENT);
	}
}

/* Segments that wait for being overwritten have the pages of older WAL. */
TEST(recycled_segments_are_not_counted)
{
	make_segment(5, 5, PAGES);
	make_segment(6, 6, 3);
	for (unsigned i = 7; i < 12; i++)
		make_segment(i, i - 6, PAGES);
	expect_end(5 * SEGMENT, 6 * SEGMENT + 3 * PAGE);
	make_segment(6, 1, PAGES);
	expect_end(5 * SEGMENT, 6 * SEGMENT);
}

TEST(missing_begin_has_no_end)
{
	expect_end(5 * SEGMENT, 0);
	make_segment(5, 4, PAGES);
	expect_end(5 * SEGMENT, 0);
	make_segment(5, 5, 2);
	expect_end(5 * SEGMENT + 3 * PAGE, 0);
}

UNIT_MAIN(NULL, NULL, set_up, tear_down)
