/*
 * test_wal_segments.c
 *		Which file of a directory has the WAL of a position, and which timelines do
 *		history files have?
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#include "wal/page.h"
#include "wal/segments.h"

#define SEGMENT	WAL_SEGMENT_MIN_BYTES

static char directory[] = "/tmp/redoahead-segments.XXXXXX";
static struct wal_segments segments = {.dirfd = -1,.fd = -1};

static int
set_up(void **state)
{
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	return mkdtemp(directory) == NULL;
}

static int
tear_down(void **state)
{
	char		command[100];

	wal_segments__close(&segments);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command);
}

/* Make a file with a text, filled up with zeros to a size. */
static void
make_file(const char *name, const char *text, off_t size)
{
	char		path[200];
	FILE	   *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	if (size > 0)
		assert_int_equal(truncate(path, size), 0);
}

static void
expect_text(uint64_t lsn, const char *text)
{
	char		got[64] = "";

	assert_true(wal_segments__read(&segments, lsn, got, strlen(text)) == (long) strlen(text));
	assert_string_equal(got, text);
}

static void
open_it(uint32_t timeline, const char *decompress)
{
	if (wal_segments__open(&segments, directory, SEGMENT, timeline, decompress) < 0)
		fail_msg("%s", segments.message);
}

TEST(test_names)
{
	char		name[WAL_SEGMENT_NAME_LENGTH + 1];
	uint32_t	timeline;
	uint64_t	segment;

	wal_segments__name(10, 4096 + 255, SEGMENT, name);
	assert_string_equal(name, "0000000A00000001000000FF");
	assert_true(wal_segments__parse(name, SEGMENT, &timeline, &segment));
	assert_int_equal(timeline, 10);
	assert_int_equal(segment, 4096 + 255);
	assert_true(wal_segments__parse("000000010000000000000003.zst", SEGMENT, &timeline, &segment));
	assert_false(wal_segments__parse("000000010000000000001000", SEGMENT, &timeline, &segment));
	assert_false(wal_segments__parse("000000000000000000000003", SEGMENT, &timeline, &segment));
	assert_false(wal_segments__parse("00000001000000000000003", SEGMENT, &timeline, &segment));
	assert_false(wal_segments__parse("00000001000000000000000x", SEGMENT, &timeline, &segment));
	assert_false(wal_segments__parse("00000001.history", SEGMENT, &timeline, &segment));
	assert_false(wal_segments__parse("", SEGMENT, &timeline, &segment));
}

TEST(test_read_segment_by_segment)
{
	char		space[16];

	make_file("000000010000000000000003", "three", SEGMENT);
	make_file("000000010000000000000004", "four", SEGMENT);
	make_file("000000010000000000000005", "short", 0);
	open_it(1, NULL);
	expect_text(UINT64_C(3) * SEGMENT, "three");
	expect_text(UINT64_C(4) * SEGMENT, "four");
	expect_text(UINT64_C(3) * SEGMENT + 2, "ree");
	/* Not beyond the end of a segment, or of the file. */
	assert_int_equal(wal_segments__read(&segments, UINT64_C(4) * SEGMENT - 5, space, 16), 5);
	assert_int_equal(wal_segments__read(&segments, UINT64_C(5) * SEGMENT, space, 16), 5);
	assert_int_equal(wal_segments__read(&segments, UINT64_C(6) * SEGMENT, space, 16), 0);
}

/* Lost otherwise: the time left of an archive's recovery, whose end is not that of the spool. */
TEST(test_the_spool_is_read_unless_it_is_not_to_be)
{
	char		path[200];
	char		byte;

	snprintf(path, sizeof(path), "%s/" WAL_SPOOL_NAME, directory);
	assert_int_equal(mkdir(path, 0700), 0);
	make_file(WAL_SPOOL_NAME "/000000010000000000000003", "fetched", SEGMENT);
	open_it(1, NULL);
	expect_text(UINT64_C(3) * SEGMENT, "fetched");
	wal_segments__forget(&segments);
	segments.no_spool = true;
	assert_int_equal(wal_segments__read(&segments, UINT64_C(3) * SEGMENT, &byte, 1), 0);
}

/* The newest timeline's file, but none from before its time. */
TEST(test_timelines)
{
	make_file("00000005.history", "# a comment\n1\t0/480000\tno reason\n\n3\t0/680010\tpromoted\n", 0);
	make_file("000000010000000000000003", "1-3", SEGMENT);
	make_file("000000010000000000000004", "1-4", SEGMENT);
	make_file("000000030000000000000003", "3-3", SEGMENT);
	make_file("000000030000000000000004", "3-4", SEGMENT);
	make_file("000000020000000000000005", "2-5", SEGMENT);
	make_file("000000050000000000000006", "5-6", SEGMENT);
	open_it(5, NULL);
	assert_int_equal(segments.history.count, 3);
	expect_text(UINT64_C(3) * SEGMENT, "1-3");
	expect_text(UINT64_C(4) * SEGMENT, "3-4");
	expect_text(UINT64_C(6) * SEGMENT, "5-6");
	/* Timeline 2 is not an ancestor. */
	assert_int_equal(wal_segments__read(&segments, UINT64_C(5) * SEGMENT, (char[1]) {0}, 1), 0);
}

/*
 * Lost otherwise: prefetching, after WAL of a primary that went on when its standby had been
 * promoted was taken for that of the new one, whose segment was not there yet.
 */
TEST(test_a_timeline_ends_where_the_next_one_begins)
{
	char		space[16];

	make_file("00000005.history", "1\t0/480000\n", 0);
	make_file("000000010000000000000004", "1-4", SEGMENT);
	make_file("000000010000000000000005", "1-5", SEGMENT);
	open_it(5, NULL);
	expect_text(UINT64_C(4) * SEGMENT, "1-4");
	assert_int_equal(wal_segments__read(&segments, 0x480000 - 5, space, 16), 5);
	assert_int_equal(wal_segments__read(&segments, 0x480000, space, 16), 0);
	assert_int_equal(wal_segments__read(&segments, UINT64_C(5) * SEGMENT, space, 16), 0);
	/* Where WAL ends does not concern the file that is open. */
	expect_text(UINT64_C(4) * SEGMENT, "1-4");
	assert_int_equal(wal_segments__end(&segments, UINT64_C(4) * SEGMENT), UINT64_C(5) * SEGMENT);
	assert_int_equal(wal_segments__read(&segments, 0x480000, space, 16), 0);
	make_file("000000050000000000000004", "5-4", SEGMENT);
	wal_segments__forget(&segments);
	expect_text(UINT64_C(4) * SEGMENT, "5-4");
	assert_int_equal(wal_segments__read(&segments, 0x480000, space, 16), 16);
}

/* After recovery to a time before a promotion, what was promoted then has no WAL. */
TEST(test_a_timeline_that_begins_before_an_older_one)
{
	make_file("00000005.history", "1\t0/680000\n2\t0/480000\n", 0);
	make_file("000000010000000000000003", "1-3", SEGMENT);
	make_file("000000020000000000000006", "2-6", SEGMENT);
	make_file("000000050000000000000005", "5-5", SEGMENT);
	open_it(5, NULL);
	assert_int_equal(segments.history.count, 3);
	expect_text(UINT64_C(3) * SEGMENT, "1-3");
	expect_text(UINT64_C(5) * SEGMENT, "5-5");
	assert_int_equal(wal_segments__read(&segments, UINT64_C(6) * SEGMENT, (char[1]) {0}, 1), 0);
}

TEST(test_history_files_that_are_wrong)
{
	static const char *const wrong[] = {
		"1\t0/480000\n1\t0/580000\n",	/* the same again */
		"3\t0/480000\n2\t0/580000\n",	/* backwards */
		"5\t0/480000\n",		/* itself */
		"7\t0/480000\n",		/* a later one */
		"one\t0/480000\n", "1 480000\n", "1\n", "garbage",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
	{
		make_file("00000005.history", wrong[i], 0);
		assert_int_equal(wal_segments__open(&segments, directory, SEGMENT, 5, NULL), -EBADMSG);
		assert_non_null(strstr(segments.message, "history of timeline 5"));
	}
}

static void
expect_descendant(uint32_t timeline, uint64_t lsn, uint32_t expected, uint64_t expected_begin)
{
	uint64_t	begin = 0;

	assert_int_equal(wal_segments__descendant(&segments, timeline, lsn, &begin), expected);
	assert_int_equal(begin, expected_begin);
}

/* The newest timeline that goes on from ours; a newer one of another branch does not count. */
TEST(test_descendant)
{
	open_it(2, NULL);
	expect_descendant(2, 0, 0, 0);
	make_file("00000002.history", "1\t0/480000\n", 0);
	make_file("00000003.history", "1\t0/480000\n2\t0/580000\n", 0);
	make_file("00000005.history", "1\t0/480000\n2\t0/680000\n", 0);
	make_file("00000004.history", "1\t0/480000\n2\t0/580000\n3\t0/880000\n", 0);
	/* Siblings of 2, and files that are incomplete or no history files. */
	make_file("00000007.history", "1\t0/780000\n", 0);
	make_file("0000000A.history", "1\t0/480000\n3\t0/780000\n", 0);
	make_file("0000000B.history", "1\t0/480000\n2\t0/7800", 0);
	make_file("0000000C.history", "garbage", 0);
	make_file("0000000D.history.tmp", "2\t0/780000\n", 0);
	make_file("0000000e.history", "2\t0/780000\n", 0);
	expect_descendant(2, 0, 5, 0x680000);
	expect_descendant(2, 0x680000, 5, 0x680000);
	expect_descendant(2, 0x680001, 0, 0);
	expect_descendant(3, 0x580000, 10, 0x780000);
	expect_descendant(3, 0x780001, 4, 0x880000);
	expect_descendant(5, 0, 0, 0);
}

TEST(test_decompression)
{
	char		space[16];

	make_file("000000010000000000000003.00000028.backup", "no segment", 0);
	make_file("000000010000000000000003.tr", "guerr", SEGMENT);
	make_file("000000010000000000000004", "plain", SEGMENT);
	make_file("000000010000000000000005.tr", "short", 0);
	open_it(1, "tr a-z n-za-m");
	expect_text(UINT64_C(3) * SEGMENT, "three");
	expect_text(UINT64_C(4) * SEGMENT, "plain");
	assert_int_equal(wal_segments__read(&segments, UINT64_C(5) * SEGMENT, space, 16), -EIO);
	assert_non_null(strstr(segments.message, "made no segment of 1048576 bytes"));
	segments.decompress = "exit 3";
	assert_int_equal(wal_segments__read(&segments, UINT64_C(3) * SEGMENT, space, 16), -EIO);
	assert_non_null(strstr(segments.message, "failed with status 3"));
	segments.decompress = "kill -9 $$";
	assert_int_equal(wal_segments__read(&segments, UINT64_C(5) * SEGMENT, space, 16), -EIO);
	assert_non_null(strstr(segments.message, "ended by signal 9"));
}

/* Files that belong to a segment, or are not complete, are not taken for one. */
TEST(test_names_that_are_no_compressed_segments)
{
	static const char *const names[] = {
		"000000010000000000000003.00000028.backup", "000000010000000000000003.00000028.backup.tr",
		"000000010000000000000003.partial", "000000010000000000000003.partial.tr",
		"000000010000000000000003.tr.tmp", "000000010000000000000003.tmp",
		"000000010000000000000003.redoahead-tmp",
		"000000010000000000000003.lock", "000000010000000000000003.history",
		"000000010000000000000003.", "000000010000000000000003-tr", "000000010000000000000003tr"
	};
	char		space[16];

	open_it(1, "tr a-z n-za-m");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		make_file(names[i], "guerr", SEGMENT);
		wal_segments__forget(&segments);
		if (wal_segments__read(&segments, UINT64_C(3) * SEGMENT, space, 16) != 0)
			fail_msg("%s is taken for a segment", names[i]);
		assert_int_equal(wal_segments__end(&segments, UINT64_C(3) * SEGMENT), UINT64_C(3) * SEGMENT);
	}
	make_file("000000010000000000000003.tr", "guerr", SEGMENT);
	wal_segments__forget(&segments);
	expect_text(UINT64_C(3) * SEGMENT, "three");
}

/* Of a file that cannot be used there may be another one, whichever is found first. */
TEST(test_several_compressed_files)
{
	make_file("000000010000000000000003.a", "short", 0);
	make_file("000000010000000000000003.b", "guerr", SEGMENT);
	make_file("000000010000000000000004.a", "sbhe", SEGMENT);
	make_file("000000010000000000000004.b", "short", 0);
	open_it(1, "tr a-z n-za-m");
	expect_text(UINT64_C(3) * SEGMENT, "three");
	expect_text(UINT64_C(4) * SEGMENT, "four");
	assert_string_equal(segments.message, "");
}

/* Neither a segment that is found nor one that is missing lists the directory again. */
TEST(test_directory_is_listed_once)
{
	make_file("000000010000000000000003.tr", "guerr", SEGMENT);
	open_it(1, "tr a-z n-za-m");
	assert_int_equal(wal_segments__end(&segments, UINT64_C(3) * SEGMENT), UINT64_C(4) * SEGMENT);
	make_file("000000010000000000000004.tr", "sbhe", SEGMENT);
	make_file("000000010000000000000005.rot", "svir", SEGMENT);
	expect_text(UINT64_C(4) * SEGMENT, "four");
	assert_int_equal(wal_segments__end(&segments, UINT64_C(3) * SEGMENT), UINT64_C(5) * SEGMENT);
	wal_segments__forget(&segments);
	assert_int_equal(wal_segments__end(&segments, UINT64_C(3) * SEGMENT), UINT64_C(6) * SEGMENT);
	expect_text(UINT64_C(5) * SEGMENT, "five");
}

TEST(test_no_directory)
{
	assert_int_equal(wal_segments__open(&segments, "/nowhere", SEGMENT, 1, NULL), -ENOENT);
	assert_non_null(strstr(segments.message, "/nowhere"));
}

UNIT_MAIN(NULL, NULL, set_up, tear_down)
