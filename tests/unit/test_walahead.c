/*
 * test_walahead.c
 *		Which WAL is read ahead.
 */
#include <string.h>

#include "engine/walahead.h"
#include "unit.h"

#define MB	(UINT64_C(1) << 20)

static struct relpath_layout layout;
static uint64_t next;			/* all before this LSN has been submitted */
static uint64_t limit;			/* read-ahead limit, bytes */

static void
begin(uint32_t timeline)
{
	layout = (struct relpath_layout)
	{
		.block_size = 8192,.wal_segment_bytes = 16 * MB,.timeline = timeline
	};
	limit = UINT64_MAX;
	next = 0;
}

/* Take the next part, if there is one. */
static bool
take(uint64_t decode_lsn, uint64_t known_lsn, struct block_run *run)
{
	if (!walahead__next(&next, &layout, limit, decode_lsn, known_lsn, run))
		return false;
	assert_int_equal(next, run->lsn);
	next += run->blocks * 8192;
	return true;
}

/* Take all that may be read, while WAL is known up to a position; returns how many bytes. */
static uint64_t
take_known(uint64_t decode_lsn, uint64_t known_lsn)
{
	struct block_run run;
	uint64_t	blocks = 0;

	while (take(decode_lsn, known_lsn, &run))
	{
		assert_int_equal(run.key.kind, RELPATH_KIND_WAL);
		assert_true(run.block + run.blocks <= 2048);
		blocks += run.blocks;
	}
	return blocks * 8192;
}

/* The same where all is known to be WAL. */
static uint64_t
take_all(uint64_t decode_lsn)
{
	return take_known(decode_lsn, UINT64_MAX);
}

/* Lost otherwise: decoding would wait for each piece of WAL. */
TEST(test_keeps_ahead_of_decoding)
{
	begin(1);
	assert_int_equal(take_all(0), 0);	/* nothing is known yet */
	assert_in_range(take_all(100 * MB + 5), 128 * MB, 128 * MB + 128 * 1024);
	assert_int_equal(take_all(100 * MB + 5), 0);
	assert_int_equal(take_all(101 * MB + 5), 1 * MB);
}

/* Lost otherwise: the disks read recycled segments while redo waits for blocks. */
TEST(test_waits_until_wal_is_known)
{
	begin(1);
	assert_int_equal(take_known(100 * MB, 0), 8 * MB);
	assert_int_equal(take_known(100 * MB, 90 * MB), 0);
	assert_int_equal(take_known(100 * MB, 110 * MB), 10 * MB);
	assert_int_equal(take_known(111 * MB, 110 * MB), 1 * MB);
	assert_int_equal(take_known(111 * MB, UINT64_MAX), 120 * MB);
}

TEST(test_names_the_segments)
{
	struct block_run run;
	char		path[RELPATH_BYTES];

	begin(3);
	assert_true(take((UINT64_C(2) << 32) + 255 * 16 * MB + 16 * MB - 10, 0, &run));
	relpath__format(&run.key, &layout, path);
	assert_string_equal(path, "pg_wal/0000000300000002000000FF");
	assert_int_equal(run.block, 2032);
	assert_true(take((UINT64_C(2) << 32) + 255 * 16 * MB + 16 * MB - 10, 0, &run));
	relpath__format(&run.key, &layout, path);
	assert_string_equal(path, "pg_wal/000000030000000300000000");
	assert_int_equal(run.block, 0);
}

/* A second recovery, or a faulty server, may be anywhere. */
TEST(test_follows_jumps)
{
	begin(1);
	take_all(100 * MB);
	assert_int_equal(take_all(500 * MB), 128 * MB);
	assert_int_equal(take_all(3 * MB), 128 * MB);
	assert_int_equal(take_all(UINT64_MAX), 0);
	assert_int_equal(take_all(UINT64_MAX - 1 * MB), 0);
	assert_int_equal(take_all(700 * MB), 128 * MB);
}

/* Lost otherwise: a standby would read old segments that are about to be overwritten. */
TEST(test_does_not_read_wal_from_elsewhere)
{
	begin(0);
	assert_int_equal(take_all(100 * MB), 0);
}

/* Lost otherwise: with little memory, WAL is evicted before it is decoded. */
TEST(test_little_memory_holds_little_wal)
{
	begin(1);
	limit = 32 * MB;
	assert_int_equal(take_all(100 * MB), 8 * MB);
	limit = 0;
	assert_int_equal(take_all(200 * MB), MB / 4);
	limit = UINT64_MAX;
	assert_int_equal(take_all(300 * MB), 128 * MB);
}

UNIT_MAIN(NULL, NULL, NULL, NULL)
