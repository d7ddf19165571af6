/*
 * test_limits.c
 *		What limits redo?
 *
 * With a wrong answer, a user buys CPUs where a disk is missing.
 */
#include "unit.h"

#include "monitor/limits.h"

static struct limits limits;
static uint64_t now_us;
static uint64_t run_us;

/* For a second, the process runs for a share of the time, and is otherwise in a state. */
static void
work(double share, char state, struct limits_context context)
{
	for (int i = 0; i < 20; i++)
	{
		now_us += 50000;
		run_us += (uint64_t) (50000 * share);
		limits__add(&limits, &(struct activity_work)
					{
						.state = state,.run_us = run_us
					}, &context, now_us);
	}
}

static int
set_up(void **state)
{
	limits = (struct limits) {0};
	now_us = run_us = 1000000;
	work(0, 'S', (struct limits_context) {0});
	limits = (struct limits) {.last = limits.last,.last_us = limits.last_us};
	return 0;
}

TEST(nothing_is_known_at_first)
{
	assert_int_equal(limits__present(&limits), LIMIT_NONE);
	assert_null(limits__name(LIMIT_NONE));
}

TEST(cpu)
{
	work(0.9, 'R', (struct limits_context) {0});
	assert_int_equal(limits__present(&limits), LIMIT_CPU);
	assert_float_equal((double) limits.total_us[LIMIT_CPU], 900000, 1000);
	assert_float_equal((double) limits.total_us[LIMIT_DEVICE_LATENCY], 100000, 1000);
}

TEST(device)
{
	work(0.2, 'D', (struct limits_context) {0});
	assert_int_equal(limits__present(&limits), LIMIT_DEVICE_LATENCY);
	work(0.2, 'D', (struct limits_context) {.saturated = true});
	work(0.2, 'D', (struct limits_context) {.saturated = true});
	assert_int_equal(limits__present(&limits), LIMIT_DEVICE_THROUGHPUT);
}

TEST(other_waits)
{
	work(0.1, 'S', (struct limits_context) {0});
	assert_int_equal(limits__present(&limits), LIMIT_WAL_SUPPLY);
	work(0, 'S', (struct limits_context) {.has_wal = true});
	work(0, 'S', (struct limits_context) {.has_wal = true});
	assert_int_equal(limits__present(&limits), LIMIT_PAUSE);
	for (int i = 0; i < 3; i++)
		work(0, 'S', (struct limits_context) {.waiting = true,.has_wal = true});
	assert_int_equal(limits__present(&limits), LIMIT_LOCK_CONFLICT);
	for (int i = 0; i < 5; i++)
		work(1, 'R', (struct limits_context) {.checkpoint = true});
	assert_int_equal(limits__present(&limits), LIMIT_CHECKPOINT);
}

/* All time is counted for one limit or another. */
TEST(sum_is_the_time)
{
	uint64_t	sum = 0;

	work(0.5, 'D', (struct limits_context) {0});
	work(2, 'R', (struct limits_context) {0});
	work(0, 'S', (struct limits_context) {.waiting = true});
	for (int i = 0; i < LIMIT_COUNT; i++)
		sum += limits.total_us[i];
	assert_int_equal(sum, 3000000);
}

UNIT_MAIN(NULL, NULL, set_up, NULL)
