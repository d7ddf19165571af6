/*
 * test_control.c
 *		What depth and window the controller finds for modelled devices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control_devices.h"

/* Lost otherwise: arrays of many disks would be used like one. */
static void
test_goes_deeper_as_long_as_it_is_faster(void **state)
{
	(void) state;
	begin(64, 1024);
	work(array, 60, true, 0.1);
	assert_int_equal(control.settled, 1024);
	assert_int_equal(control.log[0].reason, CONTROL_START);
	assert_int_equal(control.log[0].from, 64);
	assert_int_equal(control.log[0].to, 128);
}

/* Lost otherwise: the same, when what was learnt at first was wrong. */
static void
test_finds_out_later_that_deeper_is_faster(void **state)
{
	const struct control_change *last;

	(void) state;
	begin(64, 1024);
	work(volume, 1, true, 0);
	assert_true(control.settled <= 64);
	work(array, 60, true, 0.1);
	assert_int_equal(control.settled, 1024);
	last = &control.log[(control.changes - 1) % CONTROL_LOG];
	assert_int_equal(last->reason, CONTROL_FASTER);
	assert_in_range(last->rate_to, last->rate_from * 1.08, last->rate_from * 1.6);
}

/* Lost otherwise: the first minute of a recovery. */
static void
test_a_bad_start_is_mended_within_two_seconds(void **state)
{
	(void) state;
	begin(4, 1024);
	work(spindles, 2, true, 0.05);
	assert_true(control.settled >= 128);
	begin(4, 1024);
	work(ssd, 0.5, true, 0.05);
	assert_in_range(control.settled, 64, 256);
}

/* Lost otherwise: redo's own reads would stand in a long line for nothing. */
static void
test_does_not_queue_what_is_limited_anyway(void **state)
{
	(void) state;
	begin(256, 1024);
	work(volume, 120, true, 0.02);
	assert_int_equal(control.settled, CONTROL_MIN_DEPTH);
	assert_int_equal(control.log[control.changes - 1].reason, CONTROL_AS_FAST);
}

static void
test_stays_deep_enough(void **state)
{
	(void) state;
	begin(256, 1024);
	work(ssd, 60, true, 0.05);
	assert_in_range(control.settled, 64, 128);
	assert_true(control.failed_trials > 0);
}

/* Reads and writes share it: fastest with 64 in flight. */
static double
shared(unsigned depth)
{
	return depth < 64 ? 9000 + depth * 110 : 16000.0 * 80 / (depth + 16);
}

/*
 * Lost otherwise: under memory pressure, bursts of writes would be taken for what
 * another depth brings.
 */
static void
test_bursts_are_not_mistaken_for_a_better_depth(void **state)
{
	unsigned	well = 0;
	unsigned	looks = 0;

	(void) state;
	srand(1);
	begin(256, 1024);
	for (double seconds = 0; seconds < 300;)
	{
		/* The device has less left for reads while it writes. */
		double		calm = 0.05 + 0.3 * rand() / RAND_MAX;
		double		burst = 0.05 + 0.3 * rand() / RAND_MAX;

		work(shared, calm, true, 0.05);
		part = 0.4;
		work(shared, burst, true, 0.05);
		part = 1;
		seconds += calm + burst;
		if (seconds > 60)
		{
			looks++;
			well += control.settled >= 32 && control.settled <= 128;
		}
	}
	assert_true(well * 10 >= looks * 9);
}

/* Deep enough is what redo does not wait for. */
static void
test_does_not_go_deeper_while_redo_does_not_wait(void **state)
{
	(void) state;
	begin(64, 1024);
	work(array, 20, false, 0);
	assert_true(control.settled <= 64);
}

/* When nothing waits, the speed is redo's, and says nothing. */
static void
test_learns_nothing_from_an_idle_device(void **state)
{
	(void) state;
	begin(256, 1024);
	for (int i = 0; i < 10000; i++)
		control__note(&control, now_us += ROUND_US, blocks += 100, false, true);
	assert_int_equal(control.settled, 256);
	assert_int_equal(control.io_depth, 256);
	assert_int_equal(control.changes + control.failed_trials, 0);
}

static void
test_a_fixed_depth_stays(void **state)
{
	(void) state;
	begin(256, 1024);
	control__init(&control, 256, 1024, 65536, false);
	work(array, 10, true, 0);
	assert_int_equal(control.io_depth, 256);
}

/* What was learned is kept for the next recovery, a trial under way is not. */
static void
test_the_next_recovery_begins_where_the_last_one_ended(void **state)
{
	(void) state;
	begin(64, 1024);
	work(array, 20, true, 0);
	while (control.step != 1)
		work(array, 0.01, true, 0);
	assert_int_not_equal(control.io_depth, control.settled);
	control__begin(&control, now_us);
	assert_int_equal(control.io_depth, control.settled);
	assert_true(control.settled > 64);
	assert_int_equal(control.changes, 0);
}

/* Lost otherwise: what is read ahead would be evicted before redo uses it. */
static void
test_the_window_follows_memory(void **state)
{
	(void) state;
	begin(64, 1024);
	control__fit(&control, now_us, UINT64_MAX);
	assert_int_equal(control.readahead_limit, 65536);
	assert_int_equal(control.changes, 0);
	control__fit(&control, now_us, 3000);
	assert_int_equal(control.readahead_limit, 3000);
	assert_int_equal(control.log[0].reason, CONTROL_LESS_MEMORY);
	control__fit(&control, now_us, 3100);	/* hardly worth it */
	assert_int_equal(control.readahead_limit, 3000);
	control__fit(&control, now_us, 2900);
	assert_int_equal(control.readahead_limit, 3000);
	control__fit(&control, now_us, 2600);
	assert_int_equal(control.readahead_limit, 2600);
	control__fit(&control, now_us, 5000);
	assert_int_equal(control.readahead_limit, 5000);
	assert_int_equal(control.io_depth, 64);
	control__fit(&control, now_us, 200);
	assert_int_equal(control.readahead_limit, 200);
	assert_int_equal(control.io_depth, 50);
	assert_int_equal(control.settled, 50);
	assert_int_equal(control.changes, 5);
	assert_int_equal(control.log[4].reason, CONTROL_LESS_MEMORY);
	assert_true(control.log[4].io_depth);
	control__fit(&control, now_us, 0);
	assert_int_equal(control.readahead_limit, CONTROL_MIN_READAHEAD);
	assert_int_equal(control.io_depth, 32);
	control__fit(&control, now_us, 1000000);
	assert_int_equal(control.readahead_limit, 65536);
	assert_int_equal(control.changes, 8);
	assert_int_equal(control.log[7].reason, CONTROL_MORE_MEMORY);
}

/* Lost otherwise: redo's writes would wait behind sweeps that make them necessary. */
static void
test_short_memory_bounds_the_depth(void **state)
{
	(void) state;
	begin(256, 1024);
	control__fit(&control, now_us, 400);
	assert_int_equal(control.io_depth, 32);
	work(array, 60, true, 0.1);
	assert_in_range(control.settled, 64, 100);
	control__fit(&control, now_us, UINT64_MAX);
	work(array, 60, true, 0.1);
	assert_true(control.settled >= 512);
}

/* Lost otherwise: on one device writes get less of it for reads that gain nothing. */
static void
test_short_memory_asks_for_proof_of_depth(void **state)
{
	(void) state;
	begin(256, 1024);
	control__fit(&control, now_us, 3200);
	assert_int_equal(control.settled, 100);
	work(ssd, 60, true, 0.1);
	assert_true(control.settled <= 100);
	begin(256, 1024);
	control__fit(&control, now_us, 3200);
	work(array, 60, true, 0.1);
	assert_in_range(control.settled, 512, 800);
	/* More of it, and less, is nothing new. */
	control__fit(&control, now_us, 6400);
	control__fit(&control, now_us, 3200);
	assert_in_range(control.settled, 512, 800);
}

/* Lost otherwise: a bound of the user's own. */
static void
test_short_memory_does_not_change_a_fixed_depth(void **state)
{
	(void) state;
	now_us = 1000000;
	control__init(&control, 256, 256, 65536, false);
	control__begin(&control, now_us);
	control__fit(&control, now_us, 100);
	assert_int_equal(control.io_depth, 256);
}

/* Never more than was asked for, however little that is. */
static void
test_a_small_window_stays_small(void **state)
{
	(void) state;
	control__init(&control, 256, 1024, 1, true);
	control__begin(&control, now_us);
	control__fit(&control, now_us, UINT64_MAX);
	control__fit(&control, now_us, 0);
	assert_int_equal(control.readahead_limit, 1);
}

/* One percent for each doubling: nothing to gain, and little may be lost. */
static double
slope(unsigned depth)
{
	double		rate = 10000;

	for (; depth > 8; depth /= 2)
		rate *= 1.01;
	return rate;
}

/* Lost otherwise: many small losses would add up. */
static void
test_halvings_do_not_add_up(void **state)
{
	(void) state;
	begin(256, 1024);
	work(slope, 300, true, 0);
	assert_in_range(control.settled, 32, 64);
}

/* Lost otherwise: a burst's trial would stay in force through quiet hours. */
static void
test_a_trial_ends_when_nothing_can_be_measured(void **state)
{
	(void) state;
	begin(64, 1024);
	while (control.step != 1)
		work(array, 0.01, true, 0);
	for (int i = 0; i < 2000; i++)
		control__note(&control, now_us += ROUND_US, blocks, false, false);
	assert_int_equal(control.io_depth, control.settled);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goes_deeper_as_long_as_it_is_faster),
		cmocka_unit_test(test_finds_out_later_that_deeper_is_faster),
		cmocka_unit_test(test_a_bad_start_is_mended_within_two_seconds),
		cmocka_unit_test(test_does_not_queue_what_is_limited_anyway),
		cmocka_unit_test(test_stays_deep_enough),
		cmocka_unit_test(test_bursts_are_not_mistaken_for_a_better_depth),
		cmocka_unit_test(test_does_not_go_deeper_while_redo_does_not_wait),
		cmocka_unit_test(test_learns_nothing_from_an_idle_device),
		cmocka_unit_test(test_a_fixed_depth_stays),
		cmocka_unit_test(test_the_next_recovery_begins_where_the_last_one_ended),
		cmocka_unit_test(test_the_window_follows_memory),
		cmocka_unit_test(test_short_memory_bounds_the_depth),
		cmocka_unit_test(test_short_memory_asks_for_proof_of_depth),
		cmocka_unit_test(test_short_memory_does_not_change_a_fixed_depth),
		cmocka_unit_test(test_a_small_window_stays_small),
		cmocka_unit_test(test_halvings_do_not_add_up),
		cmocka_unit_test(test_a_trial_ends_when_nothing_can_be_measured),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
