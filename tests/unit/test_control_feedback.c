/*
 * test_control_feedback.c
 *		What the controller makes of blocks that came late or were evicted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control_devices.h"

#define FEED_US		20000		/* between two calls of control__feed */

/* So many seconds in which redo waits, for a device, or does not, and evictions are seen. */
static void
live(device_speed device, double seconds, bool waits, unsigned evicted_permille)
{
	uint64_t	end_us = now_us + (uint64_t) (seconds * 1e6);

	while (now_us < end_us)
	{
		uint64_t	before = blocks;
		struct control_feedback seen = {.elapsed_us = FEED_US,.waited_us = waits ? FEED_US / 2 : 0};

		work(device, FEED_US / 1e6, false, 0);
		seen.read = blocks - before;
		seen.evicted = seen.read * evicted_permille / 1000;
		seen.depth_full = control.depth < control.window;
		seen.window_full = !seen.depth_full;
		control__feed(&control, now_us, &seen);
	}
}

/* Lost otherwise: what the first two seconds of redo are for. */
static void
test_feedback_mends_the_worst_start(void **state)
{
	const device_speed devices[] = {ssd, spindles};

	(void) state;
	for (int i = 0; i < 2; i++)
	{
		now_us = 1000000;
		blocks = 0;
		control__init(&control, 4, 1024, 64, 65536, true);
		control__begin(&control, now_us);
		live(devices[i], 0.5, true, 0);
		assert_true(control.settled >= 128);
		assert_int_equal(control.log[0].reason, CONTROL_LATE);
		assert_false(control.log[0].depth);
		assert_int_equal(control.log[0].from, 64);
		assert_true(control.log[1].depth);
		assert_int_equal(control.log[1].to, 8);
		assert_int_equal(control.window, 65536);
	}
}

/* A fast device that a small window holds up. */
static double
held_up(unsigned depth)
{
	double		share = control.window >= 65536 ? 1 : control.window >= 8192 ? 0.8 : 0.6;

	return 2 * ssd(depth) * share;
}

/* Lost otherwise: what came with a larger window would be taken for the depth's merit. */
static void
test_a_window_that_grows_does_not_speak_for_the_depth(void **state)
{
	struct control_feedback seen = {
		.elapsed_us = FEED_US,.waited_us = FEED_US / 2,.window_full = true
	};

	(void) state;
	control__init(&control, 256, 1024, 1024, 65536, true);
	control__begin(&control, now_us);
	while (control.window < 65536)
	{
		work(held_up, 0.03, false, 0);
		control__feed(&control, now_us, &seen);
		assert_int_equal(control.depth, 256);
	}
	/* Now it can be measured. */
	work(array, 10, true, 0);
	assert_int_equal(control.settled, 1024);
}

/* A window that is full is the cause, whatever the depth is. */
static void
test_a_full_window_grows_while_redo_waits(void **state)
{
	const struct control_feedback full = {
		.elapsed_us = FEED_US,.waited_us = FEED_US,.window_full = true
	};
	struct control_feedback calm = full;

	(void) state;
	control__init(&control, 256, 1024, 8192, 65536, true);
	control__begin(&control, now_us);
	calm.waited_us = 0;
	control__feed(&control, now_us, &calm);
	assert_int_equal(control.window, 8192);
	control__feed(&control, now_us, &full);
	assert_int_equal(control.window, 16384);
	control__fit(&control, now_us, 20000);
	control__feed(&control, now_us, &full);
	assert_int_equal(control.window, 20000);	/* memory has the last word */
	control__feed(&control, now_us, &full);
	control__fit(&control, now_us, UINT64_MAX);
	assert_int_equal(control.window, 65536);
	assert_int_equal(control.depth, 256);
}

/* Lost otherwise: a record that is full of changes that are none. */
static void
test_bounds_are_no_changes(void **state)
{
	(void) state;
	begin(64, 64);
	live(ssd, 1, true, 0);
	assert_int_equal(control.depth, 64);
	assert_int_equal(control.changes, 0);
}

/* Few blocks that came late are no reason, and many are, however short the waits were. */
static void
test_late_blocks_count_beside_time(void **state)
{
	struct control_feedback seen = {
		.elapsed_us = FEED_US,.waited_us = 100,.read = 1000,.late = 5,.window_full = true
	};

	(void) state;
	control__init(&control, 256, 1024, 4096, 65536, true);
	control__begin(&control, now_us);
	control__feed(&control, now_us, &seen);
	assert_int_equal(control.window, 4096);
	seen.late = 10;
	control__feed(&control, now_us, &seen);
	assert_int_equal(control.window, 8192);
}

/* Lost otherwise: memory that is not what it seems to be. */
static void
test_evictions_shrink_the_window(void **state)
{
	unsigned	window;

	(void) state;
	begin(256, 1024);
	live(ssd, 0.1, false, 0);
	assert_int_equal(control.window, 65536);
	live(ssd, 0.1, false, 100);
	/* Once: what comes next was asked for with the large window. */
	assert_int_equal(control.window, 49152);
	assert_int_equal(control.log[(control.changes - 1) % CONTROL_LOG].reason, CONTROL_EVICTED);
	live(ssd, 5, false, 100);
	window = control.window;
	assert_true(window < 49152 / 2);
	/* It grows again, slowly, and only while redo waits. */
	live(ssd, 20, false, 0);
	assert_int_equal(control.window, window);
	live(ssd, 1, true, 0);
	assert_true(control.window <= window + window / 4 + 1);
	live(ssd, 600, true, 0);
	assert_true(control.window > window);
	control__init(&control, 256, 1024, 65536, 65536, true);
	control__begin(&control, now_us);
	live(ssd, 3600, false, 100);
	assert_int_equal(control.window, CONTROL_MIN_WINDOW);
}

/* Of few blocks, a few evictions say nothing. */
static void
test_few_evictions_say_nothing(void **state)
{
	const struct control_feedback seen = {
		.elapsed_us = FEED_US,.read = 100,.evicted = 15
	};

	(void) state;
	begin(256, 1024);
	control__feed(&control, now_us, &seen);
	assert_int_equal(control.window, 65536);
}

/* What trials have found is not overruled. */
static void
test_late_blocks_do_not_undo_a_trial(void **state)
{
	(void) state;
	begin(128, 1024);
	work(volume, 120, true, 0.02);
	assert_int_equal(control.settled, CONTROL_MIN_DEPTH);
	live(volume, 2, true, 0);
	assert_true(control.settled <= 2 * CONTROL_MIN_DEPTH);
}

/* Nor is a greater depth that doubling has found. */
static void
test_late_blocks_do_not_lower_the_depth(void **state)
{
	(void) state;
	begin(64, 1024);
	work(array, 10, true, 0);
	assert_int_equal(control.settled, 1024);
	live(array, 0.1, true, 0);
	assert_int_equal(control.settled, 1024);
}

/* Lost otherwise: where memory is short, redo that waits is no proof that deeper is better. */
static void
test_late_blocks_go_no_deeper_than_short_memory_begins(void **state)
{
	const struct control_feedback seen = {
		.elapsed_us = FEED_US,.waited_us = FEED_US,.depth_full = true
	};

	(void) state;
	begin(8, 1024);
	control__fit(&control, now_us, 3200);
	for (int i = 0; i < 10; i++)
		control__feed(&control, now_us, &seen);
	assert_int_equal(control.settled, 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_feedback_mends_the_worst_start),
		cmocka_unit_test(test_a_window_that_grows_does_not_speak_for_the_depth),
		cmocka_unit_test(test_a_full_window_grows_while_redo_waits),
		cmocka_unit_test(test_bounds_are_no_changes),
		cmocka_unit_test(test_late_blocks_count_beside_time),
		cmocka_unit_test(test_evictions_shrink_the_window),
		cmocka_unit_test(test_few_evictions_say_nothing),
		cmocka_unit_test(test_late_blocks_do_not_undo_a_trial),
		cmocka_unit_test(test_late_blocks_do_not_lower_the_depth),
		cmocka_unit_test(test_late_blocks_go_no_deeper_than_short_memory_begins),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
