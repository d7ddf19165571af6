/*
 * test_control.c
 *		Which I/O depth and read-ahead limit the controller chooses for modelled
 *		devices.
 */
#include "control_fixture.h"

/* Lost otherwise: arrays of many disks would be used like one. */
TEST(goes_deeper_as_long_as_that_is_faster)
{
	begin(4096);
	work(array, 15, true, 0.05);
	assert_int_equal(control.settled, 4096);
	assert_int_equal(control.changes, 4);
	for (int i = 0; i < 4; i++)
	{
		assert_int_equal(control.log[i].reason, CONTROL_FASTER);
		assert_int_equal(control.log[i].limit, CONTROL_DEPTH);
		assert_int_equal(control.log[i].from, 256 << i);
		assert_int_equal(control.log[i].to, 512 << i);
		assert_in_range(control.log[i].rate_to, control.log[i].rate_from * 1.1,
						control.log[i].rate_from * 1.5);
	}
	assert_string_equal(control__reason_name(control.log[0].reason), "faster");
}

/* The bound need not be a power of two. */
TEST(never_exceeds_the_bound)
{
	uint64_t	first_pause;

	begin(700);
	work(array, 15, true, 0);
	assert_int_equal(control.settled, 700);
	begin(4);
	first_pause = control.next_pause[CONTROL_DEPTH];
	work(array, 15, true, 0);
	assert_int_equal(control.io_depth, 4);
	assert_int_equal(control.changes, 0);
	/* Only gaps were probed. */
	assert_int_equal(control.next_pause[CONTROL_DEPTH], first_pause);
}

/* Lost otherwise: redo's own reads would wait in a long queue for nothing. */
TEST(returns_from_a_depth_that_brings_nothing)
{
	const device_speed devices[] = {ssd, volume};

	for (int i = 0; i < 2; i++)
	{
		begin(1024);
		work(devices[i], 120, true, 0.05);
		assert_int_equal(control.settled, CONTROL_START_DEPTH);
		assert_int_equal(control.changes, 0);
		assert_true(control.failed_probes > 0);
	}
}

/* Lost otherwise: noise would raise the depth in the end, as one probe of many succeeds. */
TEST(probes_become_rare)
{
	uint64_t	failed;

	begin(1024);
	work(ssd, 10, true, 0.05);
	failed = control.failed_probes;
	assert_in_range(failed, 8, 18);
	work(ssd, 310, true, 0.05);
	assert_in_range(control.failed_probes, failed + 6, failed + 12);
}

/* Lost otherwise: what was measured in a bad time would last. */
TEST(finds_out_later_that_deeper_is_faster)
{
	begin(1024);
	work(ssd, 1, true, 0);
	assert_int_equal(control.settled, CONTROL_START_DEPTH);
	work(array, 60, true, 0.05);
	assert_int_equal(control.settled, 1024);
}

/* A depth that redo does not wait for is enough. */
TEST(does_not_go_deeper_while_redo_does_not_wait)
{
	begin(1024);
	work(array, 20, false, 0);
	assert_int_equal(control.io_depth, CONTROL_START_DEPTH);
	assert_int_equal(control.changes + control.failed_probes, 0);
}

/* While nothing is queued, the speed is redo's and means nothing. */
TEST(learns_nothing_from_an_idle_device)
{
	begin(1024);
	for (int i = 0; i < 10000; i++)
	{
		reads.blocks += 100;
		control__note(&control, now_us += ROUND_US, &reads, false, true);
	}
	assert_int_equal(control.io_depth, CONTROL_START_DEPTH);
	assert_int_equal(control.changes + control.failed_probes, 0);
}

TEST(a_fixed_depth_stays)
{
	begin(1024);
	control__init(&control, 256, READAHEAD, false);
	control__begin(&control, now_us);
	work(array, 10, true, 0);
	control__fit(&control, now_us, 100);
	assert_int_equal(control.io_depth, 256);
	control__pace(&control, now_us, true, 0);
	assert_int_equal(control.io_depth, CONTROL_PACED_MAX);
	work(disks, 10, true, 0);
	assert_int_equal(control.io_depth, CONTROL_PACED_MAX);
	assert_int_equal(control.readahead_limit, 100);
}

/* What was learned is kept for the next recovery, a probe that has not ended is not. */
TEST(the_next_recovery_begins_where_the_last_one_ended)
{
	begin(4096);
	while (control.settled < 512 || control.io_depth == control.settled)
		work(array, 0.01, true, 0);
	control__begin(&control, now_us);
	assert_int_equal(control.io_depth, 512);
	assert_int_equal(control.changes, 0);
}

/* Lost otherwise: queries, to reads that redo does not need yet. */
TEST(beside_queries_the_limits_begin_low)
{
	begin(4096);
	control__pace(&control, now_us, false, 0);
	assert_int_equal(control.readahead_limit, READAHEAD);
	control__pace(&control, now_us, true, 0);
	assert_int_equal(control.io_depth, CONTROL_PACED_MIN);
	assert_int_equal(control.readahead_limit, CONTROL_PACED_READAHEAD);
	assert_int_equal(control.changes, 1);
	assert_int_equal(control.log[0].reason, CONTROL_QUERIES);
	assert_string_equal(control__reason_name(control.log[0].reason), "queries");
	control__pace(&control, now_us, true, 5000);
	assert_int_equal(control.readahead_limit, CONTROL_PACED_READAHEAD + 5000);
	control__pace(&control, now_us, true, UINT64_MAX / 2);
	assert_int_equal(control.readahead_limit, READAHEAD);
	/* Memory bounds it, too. */
	control__fit(&control, now_us, 3000);
	control__pace(&control, now_us, true, 5000);
	assert_int_equal(control.readahead_limit, 3000);
	assert_int_equal(control.io_depth, CONTROL_PACED_MIN);
}

/* Lost otherwise: queries' reads, to replay; or replay, where they would hardly wait. */
TEST(beside_queries_reads_take_little_time)
{
	const struct
	{
		device_speed device;
		double		cached;
		unsigned	least;
		unsigned	most;
	}			cases[] = {
		{shared_ssd, 0, 16, 16}, {fast_volume, 0, 16, 16}, {volume, 0, 4, 5},
		{disks, 0, 3, 3}, {disks, 0.9, 3, 3}, {shared_ssd, 0.9, 16, 16}
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		begin_beside_queries(1024);
		cached = cases[i].cached;
		assert_int_equal(control.io_depth, CONTROL_PACED_MIN);
		work(cases[i].device, 20, true, 0.05);
		assert_in_range(control.io_depth, cases[i].least, cases[i].most);
		assert_int_equal(control__depth(&control), control.io_depth);
		assert_int_equal(control.settled, CONTROL_START_DEPTH);
		assert_int_equal(control.failed_probes, 0);
	}
}

/* The user's bound holds, however small it is. */
TEST(beside_queries_the_bound_holds)
{
	begin_beside_queries(2);
	work(shared_ssd, 20, true, 0);
	assert_int_equal(control.io_depth, 2);
	assert_int_equal(control.changes, 0);
}

/* Lost otherwise: queries' reads, in the queue that was filled while disks were fast. */
TEST(beside_queries_the_depth_rises_slowly_and_falls_at_once)
{
	begin_beside_queries(1024);
	work(disks, 5, true, 0.05);
	assert_int_equal(control.io_depth, 3);
	work(dense_disks, 0.2, true, 0.05);
	assert_in_range(control.io_depth, 4, 8);
	work(disks, 1, true, 0.05);
	assert_int_equal(control.io_depth, 3);
	/* Others begin to use the device. */
	begin_beside_queries(1024);
	work(shared_ssd, 5, true, 0.05);
	assert_int_equal(control.io_depth, 16);
	work(volume, 0.5, true, 0.05);
	assert_in_range(control.io_depth, 3, 5);
}

/* Lost otherwise: what a probe measured beside queries, or a depth that nobody chose. */
TEST(queries_that_come_and_go_end_a_probe)
{
	uint64_t	failed;

	begin(1024);
	while (control.io_depth == control.settled)
		work(ssd, 0.01, true, 0);
	assert_int_equal(control.io_depth, 512);
	failed = control.failed_probes;
	control__pace(&control, now_us, true, 0);
	assert_int_equal(control.io_depth, 3);
	/* The bound of a depth that is not in use. */
	control__fit(&control, now_us, 3200);
	assert_int_equal(control.io_depth, 3);
	work(shared_ssd, 2, true, 0.05);
	assert_int_equal(control.io_depth, 16);
	control__pace(&control, now_us, false, 0);
	assert_int_equal(control.io_depth, 100);
	assert_int_equal(control.failed_probes, failed);
	/* The next recovery knows the device. */
	control__begin(&control, now_us);
	control__pace(&control, now_us, true, 0);
	assert_int_equal(control.io_depth, 16);
}

/* Lost otherwise: what was learned before, and crash recovery, in which nobody reads. */
TEST(what_was_learned_without_queries_counts_without_them)
{
	begin(1024);
	work(array, 60, true, 0);
	control__pace(&control, now_us, true, 0);
	assert_int_equal(control.io_depth, CONTROL_PACED_MIN);
	control__pace(&control, now_us, false, 0);
	assert_int_equal(control.io_depth, 1024);
	assert_int_equal(control.readahead_limit, READAHEAD);
	control__pace(&control, now_us, true, 0);
	control__begin(&control, now_us);
	assert_int_equal(control.io_depth, 1024);
	assert_int_equal(control.readahead_limit, READAHEAD);
}

/* Lost otherwise: what is read ahead would be evicted before redo uses it. */
TEST(the_readahead_limit_follows_memory)
{
	begin(64);
	control__fit(&control, now_us, UINT64_MAX);
	assert_int_equal(control.readahead_limit, READAHEAD);
	assert_int_equal(control.changes, 0);
	control__fit(&control, now_us, 3000);
	assert_int_equal(control.readahead_limit, 3000);
	assert_int_equal(control.log[0].reason, CONTROL_LESS_MEMORY);
	assert_int_equal(control.log[0].limit, CONTROL_READAHEAD);
	control__fit(&control, now_us, 3400);	/* hardly worth it */
	control__fit(&control, now_us, 2600);
	assert_int_equal(control.readahead_limit, 3000);
	control__fit(&control, now_us, 2500);
	assert_int_equal(control.readahead_limit, 2500);
	control__fit(&control, now_us, 5000);
	assert_int_equal(control.readahead_limit, 5000);
	assert_int_equal(control.log[2].reason, CONTROL_MORE_MEMORY);
	control__fit(&control, now_us, 0);
	assert_int_equal(control.readahead_limit, CONTROL_MIN_READAHEAD);
	control__fit(&control, now_us, 1000000);
	assert_int_equal(control.readahead_limit, READAHEAD);
}

/* Lost otherwise: redo's writes would wait for reads that make them necessary. */
TEST(little_memory_bounds_the_depth)
{
	begin(1024);
	control__fit(&control, now_us, 3200);
	assert_int_equal(control.settled, 100);
	assert_int_equal(control.changes, 2);
	assert_int_equal(control.log[1].limit, CONTROL_DEPTH);
	/* Only what pays may be deeper, up to a bound. */
	work(ssd, 60, true, 0);
	assert_int_equal(control.settled, 100);
	begin(1024);
	control__fit(&control, now_us, 3200);
	work(array, 60, true, 0);
	assert_int_equal(control.settled, 800);
	/* More of it, and less, is nothing new. */
	control__fit(&control, now_us, 6400);
	control__fit(&control, now_us, 3200);
	assert_int_equal(control.settled, 800);
	control__fit(&control, now_us, 400);
	assert_int_equal(control.settled, 100);
	control__fit(&control, now_us, 80);
	assert_int_equal(control.io_depth, 32);
}

/* Lost otherwise: memory, to a depth that was being measured when there was more of it. */
TEST(less_memory_ends_a_probe_of_a_greater_depth)
{
	begin(1024);
	control__fit(&control, now_us, 2048);
	while (control.io_depth < 512)
		work(array, 0.01, true, 0);
	assert_int_equal(control.settled, 256);
	control__fit(&control, now_us, 1100);
	assert_int_equal(control.io_depth, 256);
	work(array, 60, true, 0);
	assert_in_range(control.settled, 256, 1100 / 4);
}

/* The user's bound holds, however small it is. */
TEST(a_small_readahead_limit_stays)
{
	control__init(&control, 1024, 1, true);
	control__begin(&control, now_us);
	control__fit(&control, now_us, UINT64_MAX);
	control__fit(&control, now_us, 0);
	assert_int_equal(control.readahead_limit, 1);
	assert_int_equal(control.changes, 0);
}

UNIT_MAIN(NULL, NULL, NULL, NULL)
