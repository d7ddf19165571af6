/*
 * test_forecast.c
 *		How much work has redo with WAL that is not even?
 *
 * With a wrong answer, the time left is wrong for most of a recovery.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#include "base/clock.h"
#include "monitor/forecast.h"
#include "wal_writer.h"

#define SEGMENTS	8
#define BLOCKS		20000

static char directory[] = "/tmp/redoahead-forecast.XXXXXX";
static struct wal_writer writer;
static struct forecast forecast;
static struct cluster cluster = {.dirfd = -1};
static const struct controlfile control = {
	.block_size = WRITER_BLOCK,.wal_page_bytes = WRITER_PAGE,.wal_segment_bytes = WRITER_SEGMENT,
	.system_identifier = WRITER_IDENTIFIER
};

static int
set_up(void **state)
{
	char		path[100];

	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	if (mkdtemp(directory) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/pg_wal", directory);
	writer_begin(&writer, SEGMENTS);
	cluster.dirfd = open(directory, O_RDONLY | O_DIRECTORY);
	return mkdir(path, 0700);
}

static int
tear_down(void **state)
{
	char		command[100];

	forecast__end(&forecast);
	close(cluster.dirfd);
	free(writer.wal);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command);
}

/* A record that changes a block. */
static void
change_block(uint32_t block)
{
	uint32_t	body[5] = {0, 1663, 5, 16384, block};

	writer_add(&writer, 11, 0, body, sizeof(body));
}

/* Write the segments, and begin. */
static void
begin(void)
{
	char		name[WAL_SEGMENT_NAME_LENGTH + 1];
	char		path[200];

	for (size_t at = 0; at < writer.end; at += WRITER_SEGMENT)
	{
		FILE	   *file;

		wal_segments__name(1, (WRITER_START + at) / WRITER_SEGMENT, WRITER_SEGMENT, name);
		snprintf(path, sizeof(path), "%s/pg_wal/%s", directory, name);
		file = fopen(path, "w");
		assert_non_null(file);
		assert_int_equal(fwrite(writer.wal + at, WRITER_SEGMENT, 1, file), 1);
		assert_int_equal(fclose(file), 0);
	}
	forecast__begin(&forecast, &cluster, &control, 1, WRITER_START + WAL_PAGE_LONG_BYTES,
					writer_lsn(&writer));
}

static void
decode_all(void)
{
	while (forecast.decoding)
		forecast__decode(&forecast, writer_lsn(&writer), clock__now_us() + 1000);
}

/* Blocks are new in the first half, and the same in the second. */
TEST(blocks_are_read_once)
{
	uint64_t	middle;
	struct forecast_work half;
	struct forecast_work all;

	for (uint32_t i = 0; i < BLOCKS; i++)
		change_block(i);
	middle = writer_lsn(&writer);
	for (uint32_t i = 0; i < BLOCKS; i++)
		change_block(i);
	begin();
	decode_all();
	half = forecast__before(&forecast, middle);
	all = forecast__before(&forecast, writer_lsn(&writer));
	/* Also where the set of bits has collisions. */
	assert_float_equal(half.blocks, BLOCKS, BLOCKS * 0.02);
	assert_float_equal(all.blocks, BLOCKS, BLOCKS * 0.02);
	assert_float_equal(all.records - half.records, BLOCKS, BLOCKS * 0.02);
}

/* Much WAL: some of the blocks stand for all. */
TEST(blocks_are_sampled)
{
	const uint64_t much = UINT64_C(1) << 32;

	for (uint32_t i = 0; i < 2 * BLOCKS; i++)
		change_block(i % BLOCKS);
	begin();
	assert_int_equal(forecast.sample, 1);
	forecast__end(&forecast);
	forecast__begin(&forecast, &cluster, &control, 1, WRITER_START + WAL_PAGE_LONG_BYTES,
					WRITER_START + much);
	decode_all();
	/* A bit for 16 bytes, and no more than half a megabyte of them. */
	assert_int_equal(forecast.sample * (forecast.seen_mask + 1) * 16, much);
	assert_int_equal(forecast.seen_mask + 1, 4 * 1024 * 1024);
	assert_float_equal(forecast.sum.blocks, BLOCKS, BLOCKS * 0.15);
	assert_float_equal(forecast.sum.records, 2 * BLOCKS, 0);
}

/* What is not decoded counts like the later half of what is. */
TEST(what_is_not_decoded_is_extrapolated)
{
	struct forecast_work all;

	for (uint32_t i = 0; i < 2 * BLOCKS; i++)
		change_block(i);
	begin();
	while (forecast.intervals < FORECAST_INTERVALS / 4)
		forecast__decode(&forecast, WRITER_START, clock__now_us());
	assert_true(forecast.intervals < FORECAST_INTERVALS);
	all = forecast__before(&forecast, writer_lsn(&writer));
	assert_float_equal(all.blocks, 2 * BLOCKS, 2 * BLOCKS * 0.02);
}

/* A record that has a compressed image of a block. */
static void
add_image(uint8_t rmid, uint8_t info, uint8_t image_info, uint32_t block)
{
	struct __attribute__((packed))
	{
		uint8_t		id;
		uint8_t		flags;
		uint16_t	data_bytes;
		uint16_t	image_bytes;
		uint16_t	hole_offset;
		uint8_t		image_info;
		uint32_t	relation[3];
		uint32_t	block;
		unsigned char image[40];
	}			body = {
		.flags = 0x10,.image_bytes = sizeof(body.image),.image_info = image_info | 0x04,
		.relation = {1663, 5, 16384},.block = block
	};

	writer_add(&writer, rmid, info, &body, sizeof(body));
}

/* Lost otherwise: the time left of a recovery from an archive without images. */
TEST(images_that_are_not_restored_take_no_time)
{
	const uint8_t applies = wal_format__of_major(18)->image_applies;
	uint64_t	first;
	uint64_t	second;
	struct forecast_work all;

	for (uint32_t i = 0; i < BLOCKS; i++)
		add_image(11, 0, applies, i);
	first = writer_lsn(&writer);
	for (uint32_t i = 0; i < BLOCKS; i++)
		add_image(11, 0, 0, i + BLOCKS);
	second = writer_lsn(&writer);
	/* Hints without an image do nothing. */
	for (uint32_t i = 0; i < BLOCKS; i++)
		add_image(WAL_RMGR_XLOG, WAL_XLOG_FPI_FOR_HINT, 0, i + 2 * BLOCKS);
	begin();
	decode_all();
	all = forecast__before(&forecast, first);
	assert_float_equal(all.records, 3 * BLOCKS, BLOCKS * 0.05);
	assert_float_equal(all.blocks, BLOCKS, BLOCKS * 0.05);
	all = forecast__before(&forecast, second);
	assert_float_equal(all.records, 4 * BLOCKS, BLOCKS * 0.05);
	assert_float_equal(all.blocks, 2 * BLOCKS, BLOCKS * 0.05);
	all = forecast__before(&forecast, writer_lsn(&writer));
	assert_float_equal(all.records, 5 * BLOCKS, BLOCKS * 0.05);
	assert_float_equal(all.blocks, 2 * BLOCKS, BLOCKS * 0.05);
}

/* Damaged or missing WAL: nothing is known of the rest. */
TEST(damaged_wal)
{
	for (uint32_t i = 0; i < BLOCKS; i++)
		change_block(i);
	memset(writer.wal + 100000, 0xFF, 1000);
	begin();
	decode_all();
	assert_true(forecast.intervals < FORECAST_INTERVALS / 4);
	forecast__end(&forecast);
	forecast__begin(&forecast, &cluster, &control, 7, WRITER_START, writer_lsn(&writer));
	decode_all();
	assert_int_equal(forecast.intervals, 0);
	assert_float_equal(forecast__before(&forecast, writer_lsn(&writer)).records, 0, 0);
}

UNIT_MAIN(NULL, NULL, set_up, tear_down)
