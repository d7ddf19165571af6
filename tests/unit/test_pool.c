/*
 * test_pool.c
 *		The order in which blocks are asked for, joining, and letting go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/pool.h"

static struct pool pool;

static int
make_pool(void **state)
{
	(void) state;
	return pool__create(&pool, 64);
}

static int
free_pool(void **state)
{
	(void) state;
	pool__destroy(&pool);
	return 0;
}

static void
add(uint32_t rel, uint32_t segment, uint32_t block, uint64_t lsn)
{
	struct relpath_key key = {.spc = 1663,.db = 5,.rel = rel,.segment = segment};

	assert_true(pool__room(&pool) > 0);
	pool__add(&pool, &key, block, lsn);
}

/* The next run is of these blocks, and is asked for. */
static void
take(uint32_t rel, uint32_t segment, uint32_t block, uint32_t blocks, uint64_t lsn, unsigned again)
{
	struct pool_run run;

	assert_true(pool__next(&pool, 16, &run));
	assert_int_equal(run.key.rel, rel);
	assert_int_equal(run.key.segment, segment);
	assert_int_equal(run.block, block);
	assert_int_equal(run.blocks, blocks);
	assert_int_equal(run.lsn, lsn);
	assert_int_equal(pool__take(&pool, &run, POOL_ASKED), again);
}

static bool
sweep_is_done(void)
{
	struct pool_run run;

	return !pool__next(&pool, 16, &run);
}

/* Lost otherwise: disks would seek to and fro, with a request for each block. */
static void
test_orders_and_joins(void **state)
{
	(void) state;
	add(2, 0, 7, 10);
	add(1, 0, 5, 11);
	add(1, 0, 3, 12);
	add(1, 0, 4, 13);
	add(1, 0, 999, 14);
	add(1, 1, 0, 15);
	assert_int_equal(pool__begin_sweep(&pool, 100), 6);
	take(1, 0, 3, 3, 13, 0);
	take(1, 0, 999, 1, 14, 0);	/* not joined across files */
	take(1, 1, 0, 1, 15, 0);
	take(2, 0, 7, 1, 10, 0);
	assert_true(sweep_is_done());
	assert_int_equal(pool.waiting, 0);
	assert_int_equal(pool.ahead, 6);
}

static void
test_a_block_named_twice_is_read_once(void **state)
{
	(void) state;
	add(1, 0, 5, 10);
	add(1, 0, 5, 20);
	add(1, 0, 6, 20);
	add(1, 0, 6, 40);
	pool__begin_sweep(&pool, 100);
	take(1, 0, 5, 2, 40, 2);
	assert_true(sweep_is_done());
	assert_int_equal(pool.ahead, 2);
}

static void
test_runs_are_bounded(void **state)
{
	(void) state;
	for (uint32_t i = 0; i < 40; i++)
		add(1, 0, 39 - i, i);
	pool__begin_sweep(&pool, 100);
	take(1, 0, 0, 16, 39, 0);
	take(1, 0, 16, 16, 23, 0);
	take(1, 0, 32, 8, 7, 0);
}

/* Lost otherwise: a block could wait forever while others keep coming. */
static void
test_what_comes_later_waits_for_the_next_sweep(void **state)
{
	(void) state;
	add(1, 0, 50, 1);
	pool__begin_sweep(&pool, 100);
	add(1, 0, 60, 2);
	take(1, 0, 50, 1, 1, 0);
	assert_true(sweep_is_done());
	assert_int_equal(pool__begin_sweep(&pool, 100), 1);
	take(1, 0, 60, 1, 2, 0);
}

/* Lost otherwise: more would be read ahead than memory can hold. */
static void
test_a_sweep_takes_the_oldest(void **state)
{
	(void) state;
	for (uint32_t i = 0; i < 10; i++)
		add(1, 0, 100 - 2 * i, i);
	assert_int_equal(pool__begin_sweep(&pool, 3), 3);
	take(1, 0, 96, 1, 2, 0);
	take(1, 0, 98, 1, 1, 0);
	take(1, 0, 100, 1, 0, 0);
	assert_true(sweep_is_done());
	assert_int_equal(pool.ahead, 3);
	assert_int_equal(pool.waiting, 7);
}

/* Lost otherwise: redo would wait for a sweep to come round to its next block. */
static void
test_the_express_lane_goes_first(void **state)
{
	struct pool_run run;

	(void) state;
	for (uint32_t i = 0; i < 10; i++)
		add(1, 0, 100 - 2 * i, i);
	pool__begin_sweep(&pool, 100);
	for (uint32_t i = 0; i < 2; i++)
	{
		assert_true(pool__express(&pool, 2, &run));
		assert_int_equal(run.block, 100 - 2 * i);
		assert_int_equal(pool__take(&pool, &run, POOL_ASKED), 0);
	}
	assert_false(pool__express(&pool, 2, &run));

	/* Redo goes on: so does the lane, and the sweep leaves those out. */
	assert_false(pool__retire(&pool, 1, &run));
	assert_true(pool__express(&pool, 2, &run));
	assert_int_equal(run.block, 96);
	pool__take(&pool, &run, POOL_ASKED);
	for (uint32_t i = 9; i >= 3; i--)
		take(1, 0, 100 - 2 * i, 1, i, 0);
	assert_true(sweep_is_done());
	assert_int_equal(pool.ahead, 9);
}

/* Lost otherwise: blocks would be read that nobody needs any more. */
static void
test_what_was_replayed_is_given_up(void **state)
{
	struct pool_run missed;

	(void) state;
	add(1, 0, 1, 99);
	add(1, 0, 3, 99);
	add(1, 0, 5, 100);
	pool__begin_sweep(&pool, 100);
	take(1, 0, 1, 1, 99, 0);
	assert_true(pool__retire(&pool, 100, &missed));
	assert_int_equal(missed.block, 3);
	assert_false(pool__retire(&pool, 100, &missed));
	assert_int_equal(pool.ahead, 0);
	assert_int_equal(pool.waiting, 1);
	take(1, 0, 5, 1, 100, 0);
	assert_true(sweep_is_done());
}

/* A run that could not be read holds no memory. */
static void
test_what_failed_is_not_ahead(void **state)
{
	struct pool_run run;

	(void) state;
	add(1, 0, 1, 1);
	add(1, 0, 2, 1);
	pool__begin_sweep(&pool, 100);
	assert_true(pool__next(&pool, 16, &run));
	pool__take(&pool, &run, POOL_REFUSED);
	assert_int_equal(pool.ahead, 0);
	assert_int_equal(pool.waiting, 0);
	assert_false(pool__retire(&pool, 2, &run));
	assert_int_equal(pool.ahead, 0);
}

/* Take the next run, which was there already. */
static void
find(void)
{
	struct pool_run run;

	assert_true(pool__next(&pool, 16, &run));
	pool__take(&pool, &run, POOL_FOUND);
}

/* Lost otherwise: what leaves memory before redo comes would be found missing by redo. */
static void
test_what_was_there_is_always_looked_at_again(void **state)
{
	struct pool_run run;

	(void) state;
	for (uint32_t i = 0; i < 32; i++)
		add(1, 0, 2 * i, i);
	pool__begin_sweep(&pool, 100);
	for (uint32_t i = 0; i < 32; i++)
		if (i == 5 || i == 7)
			find();
		else
			take(1, 0, 2 * i, 1, i, 0);
	assert_int_equal(pool.ahead, 32);
	assert_int_equal(pool__lsn_ahead(&pool, 31), 31);
	assert_true(pool__lsn_ahead(&pool, 32) == UINT64_MAX);
	for (uint32_t i = 0; i < 32; i++)
		if (i % 16 == 0 || i == 5 || i == 7)
		{
			assert_false(i > 0 && pool__look(&pool, i - 1, 16, &run));
			assert_true(pool__look(&pool, i, 16, &run));
			assert_int_equal(run.block, 2 * i);
			assert_true(run.again);
			assert_int_equal(run.found, i == 5 || i == 7);
		}
	assert_false(pool__look(&pool, 100, 16, &run));
	assert_false(pool__retire(&pool, 100, &run));
	assert_int_equal(pool.ahead, 0);
}

/* Take the next run, which was absent. */
static void
read_absent(void)
{
	struct pool_run run;

	assert_true(pool__next(&pool, 16, &run));
	pool__take(&pool, &run, POOL_ABSENT);
}

/* Lost otherwise: what redo will read would be let go of, or what is not ours. */
static void
test_what_was_absent_is_told_when_redo_has_used_it(void **state)
{
	struct pool_run run;

	(void) state;
	for (uint32_t i = 0; i < 5; i++)
		add(1, 0, 2 * i, i);
	pool__begin_sweep(&pool, 100);
	read_absent();
	find();						/* somebody else has brought it */
	read_absent();
	take(1, 0, 6, 1, 3, 0);		/* somebody else may have */
	read_absent();
	assert_false(pool__used(&pool, 0, 64, &run));
	assert_false(pool__retire(&pool, 4, &run));
	assert_false(pool__used(&pool, 4, 64, &run));
	assert_true(pool__used(&pool, 3, 64, &run));
	assert_int_equal(run.block, 0);
	assert_int_equal(run.blocks, 1);
	assert_false(pool__used(&pool, 3, 64, &run));
	assert_true(pool__used(&pool, 0, 64, &run));
	assert_int_equal(run.block, 4);
	assert_false(pool__used(&pool, 0, 64, &run));
	assert_false(pool__retire(&pool, 5, &run));
	assert_true(pool__used(&pool, 0, 64, &run));

	/* Too long ago. */
	add(1, 0, 10, 5);
	add(1, 0, 12, 6);
	pool__begin_sweep(&pool, 100);
	read_absent();
	assert_true(pool__retire(&pool, 7, &run));	/* the other was not asked for */
	assert_int_equal(run.block, 12);
	assert_false(pool__used(&pool, 0, 1, &run));
	assert_false(pool__used(&pool, 0, 64, &run));

	/* Nobody asks for long: what is left of them is told, and no other block. */
	for (uint32_t i = 10; i < 80; i++)
	{
		add(1, 0, 2 * i, i);
		pool__begin_sweep(&pool, 100);
		read_absent();
		assert_false(pool__retire(&pool, i + 1, &run));
	}
	for (uint32_t i = 80 - 64; i < 80; i++)
	{
		assert_true(pool__used(&pool, 0, 64, &run));
		assert_int_equal(run.block, 2 * i);
	}
	assert_false(pool__used(&pool, 0, 64, &run));
}

/* Every block is told exactly once, however lanes, sweeps and redo mix. */
static void
test_random_traffic_loses_nothing(void **state)
{
	enum
	{
		BLOCKS = 20000
	};
	static uint8_t told[BLOCKS];
	uint32_t	added = 0;
	uint64_t	replay = 0;
	struct pool_run run;

	(void) state;
	srand(1);
	memset(told, 0, sizeof(told));
	while (replay < BLOCKS)
	{
		for (unsigned n = (unsigned) rand() % 40; n > 0 && added < BLOCKS && pool__room(&pool) > 0; n--)
		{
			/* Each block is named by one record, in an order of its own. */
			add(1, 0, added * 7919 % BLOCKS, added);
			added++;
		}
		for (unsigned n = (unsigned) rand() % 10; n > 0; n--)
		{
			if (!(rand() % 4 == 0 && pool__express(&pool, 4, &run)) && !pool__next(&pool, 16, &run))
			{
				pool__begin_sweep(&pool, 1 + (unsigned) rand() % 50);
				continue;
			}
			for (uint32_t i = 0; i < run.blocks; i++)
				told[run.block + i]++;
			assert_int_equal(pool__take(&pool, &run, rand() % 8 > 0 ? POOL_ASKED : POOL_REFUSED), 0);
		}
		replay += (unsigned) rand() % 20;
		if (replay > added)
			replay = added;
		while (pool__retire(&pool, replay, &run))
			told[run.block]++;
	}
	for (int i = 0; i < BLOCKS; i++)
		assert_int_equal(told[i], 1);
	assert_int_equal(pool.waiting, 0);
	assert_int_equal(pool.ahead, 0);
}

#define POOL_TEST(test) cmocka_unit_test_setup_teardown(test, make_pool, free_pool)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		POOL_TEST(test_orders_and_joins),
		POOL_TEST(test_a_block_named_twice_is_read_once),
		POOL_TEST(test_runs_are_bounded),
		POOL_TEST(test_what_comes_later_waits_for_the_next_sweep),
		POOL_TEST(test_a_sweep_takes_the_oldest),
		POOL_TEST(test_the_express_lane_goes_first),
		POOL_TEST(test_what_was_replayed_is_given_up),
		POOL_TEST(test_what_failed_is_not_ahead),
		POOL_TEST(test_what_was_there_is_always_looked_at_again),
		POOL_TEST(test_what_was_absent_is_told_when_redo_has_used_it),
		POOL_TEST(test_random_traffic_loses_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
