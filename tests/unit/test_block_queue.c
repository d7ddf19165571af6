/*
 * test_block_queue.c
 *		The order in which blocks are submitted, how they join, and when they are removed.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/block_queue.h"
#include "unit.h"

static struct block_queue queue;

static int
make_queue(void **state)
{
	return block_queue__create(&queue, 64);
}

static int
free_queue(void **state)
{
	block_queue__destroy(&queue);
	return 0;
}

static void
add(uint32_t rel, uint32_t segment, uint32_t block, uint64_t lsn)
{
	struct relpath_key key = {.spc = 1663,.db = 5,.rel = rel,.segment = segment};

	assert_true(block_queue__room(&queue) > 0);
	block_queue__add(&queue, &key, block, lsn);
}

/* The next run is of these blocks, and is submitted. */
static void
take(uint32_t rel, uint32_t segment, uint32_t block, uint32_t blocks, uint64_t lsn, unsigned duplicates)
{
	struct block_run run;

	assert_true(block_queue__next(&queue, 16, 0, &run));
	assert_int_equal(run.key.rel, rel);
	assert_int_equal(run.key.segment, segment);
	assert_int_equal(run.block, block);
	assert_int_equal(run.blocks, blocks);
	assert_int_equal(run.lsn, lsn);
	assert_int_equal(block_queue__finish(&queue, &run, BLOCK_SUBMITTED), duplicates);
}

static bool
sweep_is_done(void)
{
	struct block_run run;

	return !block_queue__next(&queue, 16, 0, &run);
}

/* Lost otherwise: disks would seek to and fro, with a request for each block. */
TEST(test_orders_and_joins)
{
	add(2, 0, 7, 10);
	add(1, 0, 5, 11);
	add(1, 0, 3, 12);
	add(1, 0, 4, 13);
	add(1, 0, 999, 14);
	add(1, 1, 0, 15);
	assert_int_equal(block_queue__begin_sweep(&queue, 100), 6);
	take(1, 0, 3, 3, 13, 0);
	take(1, 0, 999, 1, 14, 0);	/* not joined across files */
	take(1, 1, 0, 1, 15, 0);
	take(2, 0, 7, 1, 10, 0);
	assert_true(sweep_is_done());
	assert_int_equal(queue.queued, 0);
	assert_int_equal(queue.ahead, 6);
}

/* Lost otherwise: a request for each block, or blocks that nobody needs counted as read. */
TEST(test_gaps_are_read_up_to_a_length)
{
	struct block_run run;

	add(1, 0, 10, 1);
	add(1, 0, 13, 2);
	add(1, 0, 13, 3);
	add(1, 0, 14, 4);
	add(1, 0, 18, 5);
	add(1, 0, 21, 6);
	add(1, 1, 21, 7);
	block_queue__begin_sweep(&queue, 100);
	assert_true(block_queue__next(&queue, 16, 2, &run));
	assert_int_equal(run.block, 10);
	assert_int_equal(run.blocks, 5);
	assert_int_equal(run.needed, 1 << 0 | 1 << 3 | 1 << 4);
	assert_int_equal(run.lsn, 4);
	assert_int_equal(block_run__needed(&run, 3), 1);
	assert_int_equal(block_run__needed(&run, 4), 2);
	assert_int_equal(block_queue__finish(&queue, &run, BLOCK_SUBMITTED), 1);
	assert_int_equal(queue.ahead, 3);
	assert_true(block_queue__next(&queue, 3, 2, &run));
	assert_int_equal(run.block, 18);
	assert_int_equal(run.blocks, 1);	/* 4 with the next one */
	assert_true(block_queue__next(&queue, 4, 2, &run));
	assert_int_equal(run.blocks, 4);
	assert_int_equal(block_queue__finish(&queue, &run, BLOCK_REFUSED), 0);
	take(1, 1, 21, 1, 7, 0);
	assert_true(sweep_is_done());
	assert_int_equal(queue.queued, 0);
	assert_int_equal(queue.ahead, 4);
}

TEST(test_gaps_up_to_the_longest_run)
{
	struct block_run run;

	for (uint32_t i = 0; i < 50; i++)
		add(1, 0, i * 63, i);
	block_queue__begin_sweep(&queue, 100);
	for (uint32_t i = 0; i < 50; i += 2)
	{
		assert_true(block_queue__next(&queue, BLOCK_RUN_MAX, UINT32_MAX / 2, &run));
		assert_int_equal(run.blocks, 64);
		assert_int_equal(run.needed, UINT64_C(1) << 63 | 1);
		assert_int_equal(block_run__needed(&run, 63), 1);
		assert_int_equal(block_run__needed(&run, 64), 2);
		assert_int_equal(block_queue__finish(&queue, &run, BLOCK_SUBMITTED), 0);
	}
	assert_true(sweep_is_done());
}

TEST(test_runs_are_bounded)
{
	for (uint32_t i = 0; i < 40; i++)
		add(1, 0, 39 - i, i);
	block_queue__begin_sweep(&queue, 100);
	take(1, 0, 0, 16, 39, 0);
	take(1, 0, 16, 16, 23, 0);
	take(1, 0, 32, 8, 7, 0);
}

/* Lost otherwise: a block could wait forever while others keep coming. */
TEST(test_what_comes_later_waits_for_the_next_sweep)
{
	add(1, 0, 50, 1);
	block_queue__begin_sweep(&queue, 100);
	add(1, 0, 60, 2);
	take(1, 0, 50, 1, 1, 0);
	assert_true(sweep_is_done());
	assert_int_equal(block_queue__begin_sweep(&queue, 100), 1);
	take(1, 0, 60, 1, 2, 0);
}

/* Lost otherwise: more would be read ahead than memory can hold. */
TEST(test_a_sweep_takes_the_oldest)
{
	for (uint32_t i = 0; i < 10; i++)
		add(1, 0, 100 - 2 * i, i);
	assert_int_equal(block_queue__begin_sweep(&queue, 3), 3);
	take(1, 0, 96, 1, 2, 0);
	take(1, 0, 98, 1, 1, 0);
	take(1, 0, 100, 1, 0, 0);
	assert_true(sweep_is_done());
	assert_int_equal(queue.ahead, 3);
	assert_int_equal(queue.queued, 7);
}

/* Lost otherwise: redo would wait until a sweep reaches its next block. */
TEST(test_the_deadline_queue_goes_first)
{
	struct block_run run;

	for (uint32_t i = 0; i < 10; i++)
		add(1, 0, 100 - 2 * i, i);
	block_queue__begin_sweep(&queue, 100);
	for (uint32_t i = 0; i < 2; i++)
	{
		assert_true(block_queue__next_deadline(&queue, 2, &run));
		assert_int_equal(run.block, 100 - 2 * i);
		assert_int_equal(block_queue__finish(&queue, &run, BLOCK_SUBMITTED), 0);
	}
	assert_false(block_queue__next_deadline(&queue, 2, &run));

	/* Redo proceeds: so does the deadline queue, and the sweep skips its blocks. */
	assert_false(block_queue__retire(&queue, 1, &run));
	assert_true(block_queue__next_deadline(&queue, 2, &run));
	assert_int_equal(run.block, 96);
	block_queue__finish(&queue, &run, BLOCK_SUBMITTED);
	for (uint32_t i = 9; i >= 3; i--)
		take(1, 0, 100 - 2 * i, 1, i, 0);
	assert_true(sweep_is_done());
	assert_int_equal(queue.ahead, 9);
}

/* Take the next run, of which this became. */
static void
take_as(enum block_outcome outcome)
{
	struct block_run run;

	assert_true(block_queue__next(&queue, 16, 0, &run));
	block_queue__finish(&queue, &run, outcome);
}

/* A run that could not be read holds no memory. */
TEST(test_what_failed_is_not_ahead)
{
	struct block_run run;

	add(1, 0, 1, 1);
	add(1, 0, 2, 1);
	block_queue__begin_sweep(&queue, 100);
	take_as(BLOCK_REFUSED);
	assert_int_equal(queue.ahead, 0);
	assert_int_equal(queue.queued, 0);
	assert_false(block_queue__retire(&queue, 2, &run));
	assert_int_equal(queue.ahead, 0);
}

/* Only what was submitted and redo has not reached may have to be read again. */
TEST(test_submitted_blocks_are_found_by_position)
{
	struct block_run run;

	for (uint32_t i = 0; i < 5; i++)
		add(1, 0, 2 * i, i);
	block_queue__begin_sweep(&queue, 4);
	take(1, 0, 0, 1, 0, 0);
	take(1, 0, 2, 1, 1, 0);
	take_as(BLOCK_SUBMITTED);
	take_as(BLOCK_REFUSED);
	assert_false(block_queue__retire(&queue, 1, &run));
	for (uint64_t position = 0; position < 6; position++)
		assert_int_equal(block_queue__submitted(&queue, position, &run),
						 position == 1 || position == 2);
	assert_true(block_queue__submitted(&queue, 2, &run));
	assert_int_equal(run.block, 4);
	assert_int_equal(run.blocks, 1);
	assert_true(run.evicted);
}

/* Lost otherwise: blocks that redo will read, or of other processes, would be released. */
TEST(test_what_was_absent_is_returned_when_redo_has_used_it)
{
	enum
	{
		END = 16 + BLOCK_QUEUE_MIN_ENTRIES
	};
	struct block_run run;

	for (uint32_t i = 0; i < 5; i++)
		add(1, 0, 2 * i, i);
	block_queue__begin_sweep(&queue, 100);
	take_as(BLOCK_READ_ABSENT);
	take_as(BLOCK_SUBMITTED);	/* another process has read it */
	take_as(BLOCK_READ_ABSENT);
	take(1, 0, 6, 1, 3, 0);		/* another process may have */
	take_as(BLOCK_READ_ABSENT);
	assert_false(block_queue__used(&queue, 0, &run));
	assert_false(block_queue__retire(&queue, 4, &run));
	assert_false(block_queue__used(&queue, 4, &run));
	assert_true(block_queue__used(&queue, 3, &run));
	assert_int_equal(run.block, 0);
	assert_int_equal(run.blocks, 1);
	assert_false(block_queue__used(&queue, 3, &run));
	assert_true(block_queue__used(&queue, 0, &run));
	assert_int_equal(run.block, 4);
	assert_false(block_queue__used(&queue, 0, &run));
	assert_false(block_queue__retire(&queue, 5, &run));
	assert_true(block_queue__used(&queue, 0, &run));

	/* Not called for long: those that are left are returned, and no other block. */
	for (uint32_t i = 10; i < END; i++)
	{
		add(1, 0, 2 * i, i);
		block_queue__begin_sweep(&queue, 100);
		take_as(BLOCK_READ_ABSENT);
		assert_false(block_queue__retire(&queue, i + 1, &run));
	}
	for (uint32_t i = END - BLOCK_QUEUE_MIN_ENTRIES; i < END; i++)
	{
		assert_true(block_queue__used(&queue, 0, &run));
		assert_int_equal(run.block, 2 * i);
	}
	assert_false(block_queue__used(&queue, 0, &run));
}

/* Every block is returned exactly once, in any mix of deadlines, sweeps and redo. */
TEST(test_random_traffic_loses_nothing)
{
	enum
	{
		BLOCKS = 20000
	};
	static uint8_t returned[BLOCKS];
	uint32_t	added = 0;
	uint64_t	replay = 0;
	struct block_run run;

	srand(1);
	memset(returned, 0, sizeof(returned));
	while (replay < BLOCKS)
	{
		for (unsigned n = (unsigned) rand() % 40; n > 0 && added < BLOCKS && block_queue__room(&queue) > 0; n--)
		{
			/* Each block is named by one record; some are out of LSN order. */
			add(1, 0, added * 7919 % BLOCKS, rand() % 8 > 0 || added < replay + 10 ? added : added - 5);
			added++;
		}
		for (unsigned n = (unsigned) rand() % 10; n > 0; n--)
		{
			if (!(rand() % 4 == 0 && block_queue__next_deadline(&queue, 4, &run)) &&
				!block_queue__next(&queue, 16, (uint32_t) rand() % 8, &run))
			{
				block_queue__begin_sweep(&queue, 1 + (unsigned) rand() % 50);
				continue;
			}
			for (uint32_t i = 0; i < run.blocks; i++)
				returned[run.block + i] += run.needed >> i & 1;
			assert_int_equal(block_queue__finish(&queue, &run, rand() % 8 > 0 ? BLOCK_SUBMITTED : BLOCK_REFUSED), 0);
		}
		replay += (unsigned) rand() % 20;
		if (replay > added)
			replay = added;
		while (block_queue__retire(&queue, replay, &run))
			returned[run.block]++;
	}
	for (int i = 0; i < BLOCKS; i++)
		assert_int_equal(returned[i], 1);
	assert_int_equal(queue.queued, 0);
	assert_int_equal(queue.ahead, 0);
}

UNIT_MAIN(NULL, NULL, make_queue, free_queue)
