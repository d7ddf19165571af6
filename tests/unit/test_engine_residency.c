/*
 * test_engine_residency.c
 *		What the engine does about what is in the page cache: looks again for what it
 *		has read, and where memory is short asks for nothing that is there and lets go
 *		of what redo has used.
 */
#include "engine_fixture.h"

/* Blocks 0 to count - 1 of LSN 1000 and up, all read. */
static void
read_all(unsigned count)
{
	for (uint32_t i = 0; i < count; i++)
		offer(i, 1000 + i);
	for (int i = 0; i < 100; i++)
	{
		fake.allowed = MAX_REQUESTS;
		run(1);
	}
	assert_int_equal(engine__counters(engine)->blocks_read, count);
}

/* Lost otherwise: redo would read on its own, block by block, what was evicted. */
static void
what_is_evicted_is_read_again_before_redo_comes(void **state)
{
	unsigned	before;

	(void) state;
	start(64, 4096);
	read_all(2000);
	before = fake.count;
	for (unsigned i = 0; i < 2000; i++)
		fake.gone[i] = i % 2 == 0;
	fake.allowed = MAX_REQUESTS;
	run(1100);
	for (int i = 0; i < 20; i++)
		run(1100);
	/* As far as redo will come soon, but not all of it. */
	for (unsigned i = 100; i < 300; i++)
	{
		unsigned	submitted = 0;

		for (unsigned n = before; n < fake.count; n++)
			submitted += fake.submitted[n].block == i;
		assert_int_equal(submitted > 0, fake.gone[i]);
	}
	assert_true(fake.count - before < 500);
	assert_int_equal(engine__counters(engine)->blocks_reread, fake.count - before);
	finish_and_account(2000);
}

/* Lost otherwise: CPU time, while nothing is evicted. */
static void
few_blocks_are_looked_for_while_all_are_there(void **state)
{
	(void) state;
	start(64, 4096);
	read_all(2000);
	for (uint64_t lsn = 1000; lsn < 3000; lsn += 10)
		run(lsn);
	assert_in_range(fake.looks, 20, 100);
	assert_int_equal(engine__counters(engine)->blocks_rechecked, fake.looks);
	assert_int_equal(engine__counters(engine)->blocks_reread, 0);
	finish_and_account(2000);
}

/* Lost otherwise: a system call for each block on kernels that know nothing of it. */
static void
where_nothing_tells_nothing_is_looked_for(void **state)
{
	(void) state;
	start(64, 4096);
	fake.no_cachestat = true;
	read_all(2000);
	for (uint64_t lsn = 1000; lsn < 3000; lsn += 10)
		run(lsn);
	assert_int_equal(fake.looks, 1);
	finish_and_account(2000);
}

/* As many rounds as it takes until all that was submitted for is there, with redo at an LSN. */
static void
run_often(uint64_t replay_lsn, int rounds)
{
	for (int i = 0; i < rounds; i++)
	{
		fake.allowed = MAX_REQUESTS;
		run(replay_lsn);
	}
}

/* So much memory is unused from now on, which the engine reads in its next round. */
static void
read_memory(uint64_t unused_bytes, uint64_t replay_lsn)
{
	fake_free = unused_bytes;
	fake_now_us += 1000000;
	run(replay_lsn);
}

/* Start with memory that bounds the read-ahead limit: a part of it holds 4096 blocks. */
static void
start_with_little_memory(void)
{
	fake_available = (uint64_t) 8 * 4096 * BLOCK_BYTES;
	start(64, 1 << 20);
	run(1);						/* memory is read now */
}

/*
 * Lost otherwise: memory, where it is short, for what the kernel reads ahead when it is
 * submitted for a page that it was about to reclaim.
 */
static void
where_memory_is_short_what_is_there_is_not_asked_for(void **state)
{
	(void) state;
	start_with_little_memory();
	for (unsigned i = 0; i < 200; i++)
		fake.gone[i * 2] = i % 4 == 0;
	for (uint32_t i = 0; i < 200; i++)
		offer(i * 2, 1000 + i);		/* none joins another */
	run_often(1, 20);
	/* Maybe more than once, if redo seems to stand still. */
	assert_true(fake.count >= 50);
	for (unsigned n = 0; n < fake.count; n++)
		assert_true(fake.gone[fake.submitted[n].block]);
	assert_int_equal(engine__counters(engine)->blocks_read, 50);
	assert_int_equal(engine__counters(engine)->blocks_resident, 150);
	finish_and_account(200);
}

/* Where memory is short, read what is absent of 200 blocks, every fourth of which is there. */
static void
read_where_memory_is_short(void)
{
	start_with_little_memory();
	for (uint32_t i = 0; i < 200; i++)
	{
		fake.gone[i * 2] = i % 4 != 0;
		offer(i * 2, 1000 + i);
	}
	run_often(1, 20);
	memset(fake.gone, 0, sizeof(fake.gone));	/* all is there now */
}

/*
 * Lost otherwise: half of the page cache, where that is small, for what redo has in shared
 * buffers.  What it has not come to must stay, and what somebody else has brought.
 */
static void
where_memory_is_full_what_redo_has_used_is_let_go_of(void **state)
{
	(void) state;
	read_where_memory_is_short();
	read_memory(0, 1);
	assert_int_equal(fake.releases, 0);
	run_often(1000 + 104, 100);
	/* A little later only. */
	assert_int_equal(fake.releases, 30);
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(fake.released[i * 2], i < 40 && i % 4 != 0);
	assert_int_equal(engine__counters(engine)->blocks_released, 10);
	finish_and_account(200);
}

/* Lost otherwise: what sessions of a hot standby will read, though there is room for it. */
static void
while_memory_is_unused_nothing_is_let_go_of(void **state)
{
	(void) state;
	read_where_memory_is_short();
	read_memory(UINT64_MAX, 1);
	run(1000 + 200);
	assert_int_equal(fake.releases, 0);
	finish_and_account(200);
}

/* Lost otherwise: the same, on kernels that do not tell what was there before. */
static void
what_may_have_been_there_is_not_let_go_of(void **state)
{
	(void) state;
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

/* Lost otherwise: what somebody else has brought of blocks that are read at a time. */
static void
what_was_there_in_part_is_not_let_go_of(void **state)
{
	(void) state;
	start_with_little_memory();
	for (uint32_t i = 0; i < 100; i++)
		offer(2000 + i, 100);	/* for the deadline queue */
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
	read_memory(0, 4000);
	run_often(4000, 100);
	for (uint32_t i = 0; i < 4; i++)
	{
		assert_true(fake.released[8 + i]);
		assert_false(fake.released[16 + i]);
	}
	assert_int_equal(fake.releases, 4);
	finish_and_account(208);
}

static unsigned
times_submitted(uint32_t block)
{
	unsigned	times = 0;

	for (unsigned n = 0; n < fake.count; n++)
		times += fake.submitted[n].block == block;
	return times;
}

/* Lost otherwise: what is there but old leaves just before redo comes, which then reads it. */
static void
what_was_found_late_is_looked_for_again(void **state)
{
	(void) state;
	start_with_little_memory();
	for (uint32_t i = 0; i < 1024; i++)
	{
		fake.gone[2 * i] = true;
		offer(2 * i, 1000 + i);
	}
	offer(3, 1900);				/* late, there, and redo is far away */
	run_often(1, 100);
	assert_int_equal(engine__counters(engine)->blocks_resident, 1);
	for (uint32_t i = 0; i < 1024; i++)
		fake.gone[2 * i] = false;
	fake.gone[3] = true;
	run(1500);
	assert_int_equal(times_submitted(3), 0);
	for (uint64_t lsn = 1500; lsn < 1900; lsn++)
	{
		fake.allowed = MAX_REQUESTS;
		run(lsn);
	}
	assert_int_equal(times_submitted(3), 1);
	finish_and_account(1025);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_is_evicted_is_read_again_before_redo_comes, stop),
		cmocka_unit_test_teardown(few_blocks_are_looked_for_while_all_are_there, stop),
		cmocka_unit_test_teardown(where_nothing_tells_nothing_is_looked_for, stop),
		cmocka_unit_test_teardown(where_memory_is_short_what_is_there_is_not_asked_for, stop),
		cmocka_unit_test_teardown(where_memory_is_full_what_redo_has_used_is_let_go_of, stop),
		cmocka_unit_test_teardown(while_memory_is_unused_nothing_is_let_go_of, stop),
		cmocka_unit_test_teardown(what_may_have_been_there_is_not_let_go_of, stop),
		cmocka_unit_test_teardown(what_was_there_in_part_is_not_let_go_of, stop),
		cmocka_unit_test_teardown(what_was_found_late_is_looked_for_again, stop),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
