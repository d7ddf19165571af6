/*
 * test_engine_residency.c
 *		What the engine does about residency: reads evicted blocks again, and under
 *		memory pressure does not submit resident blocks and releases used ones.
 */
#include "engine_fixture.h"

/* Rounds with redo at an LSN, in which all that is submitted completes. */
static void
run_often(uint64_t replay_lsn, int rounds)
{
	for (int i = 0; i < rounds; i++)
	{
		fake.allowed = MAX_REQUESTS;
		run(replay_lsn);
	}
}

/* Blocks 0 to count - 1 of LSN 1000 and up, all read. */
static void
read_all(unsigned count)
{
	for (uint32_t i = 0; i < count; i++)
		offer(i, 1000 + i);
	run_often(1, 100);
	assert_int_equal(engine__counters(engine)->blocks_read, count);
}

/* Lost otherwise: redo would read on its own, block by block, what was evicted. */
TEST(evicted_blocks_are_read_again_when_redo_waits)
{
	unsigned	before;

	start(64, 4096);
	read_all(2000);
	before = fake.count;
	for (unsigned i = 0; i < 2000; i++)
		fake.gone[i] = i % 2 == 0;
	run_often(1100, 20);		/* redo counts as stalled */
	/* As far as redo will come soon, each once. */
	assert_int_equal(fake.count - before, 128);
	for (unsigned n = before; n < fake.count; n++)
	{
		assert_in_range(fake.submitted[n].block, 100, 355);
		assert_int_equal(fake.submitted[n].block % 2, 0);
	}
	assert_int_equal(engine__counters(engine)->blocks_reread, 128);
	assert_int_equal(engine__counters(engine)->blocks_read, 2000);
	finish_and_account(2000);
}

/* The same, with few blocks in flight. */
TEST(a_small_depth_checks_as_many_at_first)
{
	unsigned	before;

	start(2, 4096);
	read_all(150);
	before = fake.count;
	for (unsigned i = 0; i < 150; i++)
		fake.gone[i] = true;
	run_often(1001, 40);
	assert_int_equal(fake.count - before, 32);
	finish_and_account(150);
}

/* Lost otherwise: CPU time, while nothing is evicted. */
TEST(residency_is_not_checked_while_redo_proceeds)
{
	unsigned	checks;

	start(64, 4096);
	read_all(2000);
	checks = fake.checks;
	for (uint64_t lsn = 1001; lsn < 3000; lsn += 10)
		run(lsn);
	assert_int_equal(fake.checks, checks);
	assert_int_equal(engine__counters(engine)->blocks_revalidated, fake.checks);
	assert_int_equal(engine__counters(engine)->blocks_reread, 0);
	finish_and_account(2000);
}

/* Lost otherwise: a system call for each block on kernels without cachestat. */
TEST(without_cachestat_nothing_is_checked)
{
	start(64, 4096);
	fake.no_cachestat = true;
	read_all(2000);
	for (uint64_t lsn = 1001; lsn < 2000; lsn += 100)
		run_often(lsn, 20);
	assert_int_equal(fake.checks, 1);
	finish_and_account(2000);
}

/* So much memory is unused from now on, which the engine reads in its next round. */
static void
read_memory(uint64_t unused_bytes, uint64_t replay_lsn)
{
	fake_free = unused_bytes;
	fake_now_us += 1000000;
	run(replay_lsn);
}

/* Start with memory that bounds the read-ahead limit: a part of it holds 2048 blocks. */
static void
start_with_little_memory(void)
{
	fake_available = (uint64_t) 8 * 4096 * BLOCK_BYTES;
	start(64, 1 << 20);
	run(1);						/* memory is read now */
}

/*
 * Lost otherwise: memory for what the kernel reads ahead when a page is read that it is
 * about to reclaim.
 */
TEST(under_memory_pressure_resident_blocks_are_not_submitted)
{
	start_with_little_memory();
	for (unsigned i = 0; i < 200; i++)
		fake.gone[i * 2] = i % 4 == 0;
	for (uint32_t i = 0; i < 200; i++)
		offer(i * 2, 1000 + i);		/* none joins another */
	run_often(1, 20);
	/* Maybe more than once, because redo is stalled. */
	assert_true(fake.count >= 50);
	for (unsigned n = 0; n < fake.count; n++)
		assert_true(fake.gone[fake.submitted[n].block]);
	assert_int_equal(engine__counters(engine)->blocks_read, 50);
	assert_int_equal(engine__counters(engine)->blocks_resident, 150);
	finish_and_account(200);
}

/* Under memory pressure, read 200 blocks, every fourth of which is resident. */
static void
read_under_memory_pressure(void)
{
	start_with_little_memory();
	for (uint32_t i = 0; i < 200; i++)
	{
		fake.gone[i * 2] = i % 4 != 0;
		offer(i * 2, 1000 + i);
	}
	run_often(1, 20);
	memset(fake.gone, 0, sizeof(fake.gone));	/* all are resident now */
}

/*
 * Lost otherwise: half of a small page cache, for blocks that are in shared buffers.
 * Those that redo has not reached must stay, and those that others have read.
 */
TEST(when_memory_is_full_used_blocks_are_released)
{
	read_under_memory_pressure();
	read_memory(0, 1);
	assert_int_equal(fake.releases, 0);
	run_often(1000 + 104, 100);
	/* Only some blocks later. */
	assert_int_equal(fake.releases, 30);
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(fake.released[i * 2], i < 40 && i % 4 != 0);
	assert_int_equal(engine__counters(engine)->blocks_released, 10);
	finish_and_account(200);
}

/* Lost otherwise: blocks that sessions of a hot standby will read. */
TEST(what_queries_may_use_is_not_released)
{
	read_under_memory_pressure();
	engine__share(engine, true);
	read_memory(0, 1);
	run_often(1000 + 104, 100);
	assert_int_equal(fake.releases, 0);
	finish_and_account(200);
}

TEST(while_memory_is_unused_nothing_is_released)
{
	read_under_memory_pressure();
	read_memory(UINT64_MAX, 1);
	run(1000 + 200);
	assert_int_equal(fake.releases, 0);
	finish_and_account(200);
}

/* Lost otherwise: the same, on kernels without cachestat. */
TEST(blocks_of_unknown_residency_are_not_released)
{
	start_with_little_memory();
	fake.no_cachestat = true;
	read_memory(0, 1);
	for (uint32_t i = 0; i < 200; i++)
		offer(i * 2, 1000 + i);
	run_often(1, 20);
	run(1000 + 200);
	assert_int_equal(engine__counters(engine)->blocks_read, 200);
	assert_int_equal(fake.releases, 0);
	finish_and_account(200);
}

/* Lost otherwise: what others have read of blocks that are joined. */
TEST(blocks_resident_in_part_are_not_released)
{
	start_with_little_memory();
	for (uint32_t i = 0; i < 100; i++)
		offer(2000 + i, 100);	/* those that redo needs next */
	for (uint32_t i = 0; i < 4; i++)
	{
		fake.gone[8 + i] = true;
		fake.gone[16 + i] = i != 2;
		offer(8 + i, 1000);
		offer(16 + i, 1000);
	}
	run_often(1, 20);
	for (uint32_t i = 0; i < 100; i++)
		offer(2000 + i, 3000);
	read_memory(0, 1);
	run_often(4000, 100);
	for (uint32_t i = 0; i < 4; i++)
	{
		assert_true(fake.released[8 + i]);
		assert_false(fake.released[16 + i]);
	}
	assert_int_equal(fake.releases, 4);
	finish_and_account(208);
}

UNIT_MAIN(make_files, remove_files, NULL, stop)
