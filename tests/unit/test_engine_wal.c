/*
 * test_engine_wal.c
 *		How far an engine reads WAL ahead of decoding.
 */
#include "engine_fixture.h"
#include "wal/page.h"

#define SEGMENT_BYTES	(16u << 20)
#define SEGMENT_BLOCKS	(SEGMENT_BYTES / BLOCK_BYTES)
#define FIRST			7		/* segment where decoding is */

/* Make a segment; its pages are of the position of segment "of". */
static void
make_segment(unsigned segment, unsigned of)
{
	char		path[128];
	int			fd;

	snprintf(path, sizeof(path), "%s/pg_wal/0000000100000000%08X", directory, segment);
	fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, SEGMENT_BYTES), 0);
	for (uint32_t at = 0; at < SEGMENT_BYTES; at += BLOCK_BYTES)
	{
		struct wal_page_header header = {.lsn = (uint64_t) of * SEGMENT_BYTES + at};

		assert_int_equal(pwrite(fd, &header, sizeof(header), at), sizeof(header));
	}
	close(fd);
}

/* WAL of so many segments, and of as many again that were recycled as follow. */
static void
make_wal(unsigned current, unsigned recycled)
{
	char		path[128];

	snprintf(path, sizeof(path), "%s/pg_wal", directory);
	mkdir(path, 0700);
	for (unsigned i = 0; i < current; i++)
		make_segment(FIRST + i, FIRST + i);
	for (unsigned i = 0; i < recycled; i++)
		make_segment(FIRST + current + i, FIRST + i);
}

/* Segments that are read while decoding stays in the first. */
static double
segments_read(void)
{
	struct relpath_layout layout = {
		.block_size = BLOCK_BYTES,.segment_blocks = 131072,.wal_segment_bytes = SEGMENT_BYTES,
		.timeline = 1
	};
	uint64_t	blocks;

	start(64, 65536);
	engine__begin(engine, &layout, true);
	for (int i = 0; i < 1000; i++)
	{
		fake_now_us += ROUND_US;
		assert_true(engine__run(engine, 0, (uint64_t) FIRST * SEGMENT_BYTES + 100, 0, 0) >= 0);
	}
	blocks = engine__counters(engine)->wal_blocks_read;
	finish_and_account(0);
	return (double) blocks / SEGMENT_BLOCKS;
}

/* Lost otherwise: WAL without full-page images is decoded too late, and its blocks read too late. */
TEST(test_reads_far_ahead)
{
	make_wal(10, 0);
	assert_float_equal(segments_read(), 8, 0.1);
}

/* Lost otherwise: the disks read old WAL while redo waits for blocks. */
TEST(test_reads_few_recycled_segments)
{
	make_wal(3, 7);
	assert_float_equal(segments_read(), 3.5, 0.1);
}

UNIT_MAIN(make_files, remove_files, NULL, stop)
