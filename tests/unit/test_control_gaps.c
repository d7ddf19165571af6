/*
 * test_control_gaps.c
 *		Where the controller lets requests read gaps between blocks.
 */
#include "control_fixture.h"

/* Lost otherwise: a volume whose requests are counted would be as slow as with stock. */
TEST(reads_gaps_as_long_as_that_is_faster)
{
	begin(1024);
	gap_gain = 1.3;
	work(volume, 30, true, 0.05);
	assert_int_equal(control.settled_gap, CONTROL_MAX_GAP);
	assert_int_equal(control.settled, CONTROL_START_DEPTH);
	assert_int_equal(control.changes, 2);
	for (int i = 0; i < 2; i++)
	{
		assert_int_equal(control.log[i].limit, CONTROL_GAP);
		assert_int_equal(control.log[i].from, i == 0 ? 0 : CONTROL_FIRST_GAP << (i - 1));
		assert_int_equal(control.log[i].to, CONTROL_FIRST_GAP << i);
	}
	assert_string_equal(control__limit_name(control.log[0].limit), "gap_bytes");
	/* Queries would wait for them. */
	control__pace(&control, now_us, true, 0);
	assert_int_equal(control.gap_bytes, 0);
	assert_int_equal(control.log[2].limit, CONTROL_GAP);
	assert_int_equal(control.log[2].reason, CONTROL_QUERIES);
	assert_int_equal(control.log[2].to, 0);
	control__pace(&control, now_us, false, 0);
	assert_int_equal(control.gap_bytes, 0);
	work(volume, 10, true, 0.05);
	assert_int_equal(control.gap_bytes, CONTROL_MAX_GAP);
	/* The blocks of the next recovery may be far apart. */
	control__begin(&control, now_us);
	assert_int_equal(control.gap_bytes, 0);
}

/* Lost otherwise: time, to gaps that were probed when blocks happened to be in the page cache. */
TEST(gaps_have_to_be_faster_than_before_and_after)
{
	begin(1024);
	while (control.gap_bytes == 0)
		work(volume, 0.01, true, 0);
	work(ssd, 0.2, true, 0);
	assert_int_equal(control.settled_gap, 0);
	assert_in_range(control.failed_probes, 1, 2);
	/* Nor is a probe kept in which there was no gap. */
	begin(1024);
	gap_gain = 2;
	no_gaps = true;
	work(volume, 10, true, 0);
	assert_int_equal(control.settled_gap, 0);
}

/* Lost otherwise: time, to blocks that nobody needs, where bytes are what a device counts. */
TEST(reads_no_gaps_that_bring_nothing)
{
	static const double gains[] = {0.7, 1, 1.05};

	for (int i = 0; i < 3; i++)
	{
		begin(1024);
		gap_gain = gains[i];
		work(volume, 60, true, 0.02);
		assert_int_equal(control.settled_gap, 0);
		assert_in_range(control.failed_probes, 4, 12);
	}
}

/* Gaps and the depth do not hinder each other. */
TEST(an_array_may_get_gaps_and_depth)
{
	begin(4096);
	gap_gain = 1.2;
	work(array, 30, true, 0.02);
	assert_int_equal(control.settled_gap, CONTROL_MAX_GAP);
	assert_int_equal(control.settled, 4096);
}

/* Lost otherwise: memory that redo's blocks need. */
TEST(little_memory_has_no_room_for_gaps)
{
	begin(1024);
	control__fit(&control, now_us, 3200);
	gap_gain = 1.5;
	work(volume, 30, true, 0);
	assert_int_equal(control.settled_gap, 0);
	/* What was kept before, and what is probed, ends. */
	begin(1024);
	gap_gain = 1.5;
	work(volume, 30, true, 0);
	assert_int_equal(control.settled_gap, CONTROL_MAX_GAP);
	control__fit(&control, now_us, 30000);
	assert_int_equal(control.gap_bytes, 0);
	assert_int_equal(control.log[control.changes - 1].limit, CONTROL_GAP);
	assert_int_equal(control.log[control.changes - 1].to, 0);
	begin(1024);
	while (control.gap_bytes == 0)
		work(volume, 0.01, true, 0);
	control__fit(&control, now_us, 30000);
	assert_int_equal(control.gap_bytes, 0);
	assert_int_equal(control.probed, CONTROL_NONE);
}

UNIT_MAIN(NULL, NULL, NULL, NULL)
