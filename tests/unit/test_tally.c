/*
 * test_tally.c
 *		Counts of intervals, their sum, and the timeline.
 */
#include "trace/tally.h"
#include "unit.h"

/* Lost otherwise: the report of an interval, and the sum of all. */
TEST(test_intervals)
{
	struct tally total = {0};
	struct tally now = {0};

	tally__begin(&total, 1000);
	for (uint64_t begin_ns = 1000; begin_ns <= 5000; begin_ns += 4000)
	{
		tally__begin(&now, begin_ns);
		assert_int_equal(tally__prefetched(&now).prefetched, 0);
		assert_int_equal(tally__row(&now, 3)->prefetched, 0);
		now.prefetchers[TALLY_DAEMON].prefetched = 2;
		now.prefetchers[TALLY_SERVER].used = 1;
		now.blocks[TALLY_TIMELY][TALLY_DAEMON] = 4;
		now.replay_lsn = begin_ns;
		tally__row(&now, 3)->prefetched = 2;
		tally__sample(&now, begin_ns)->prefetched = 2;
		assert_int_equal(tally__merge(&total, &now), 0);
	}
	assert_int_equal(tally__prefetched(&total).prefetched, 4);
	assert_int_equal(tally__prefetched(&total).used, 2);
	assert_int_equal(tally__read_all(&total), 8);
	assert_int_equal(tally__row(&total, 3)->prefetched, 4);
	assert_int_equal(total.samples[0].prefetched, 4);
	assert_int_equal(total.replay_lsn, 5000);
	tally__destroy(&now);
	tally__destroy(&total);
}

/* Lost otherwise: the timeline of a long recovery. */
TEST(test_long_timeline)
{
	struct tally tally = {0};
	uint64_t	sum = 0;

	tally__begin(&tally, 1000);
	for (uint64_t second = 0; second < 3600; second++)
		tally__sample(&tally, 1000 + second * 1000000000)->prefetched++;
	assert_in_range(tally.sample_count, TALLY_SAMPLES / 2, TALLY_SAMPLES);
	assert_true(tally.sample_count * tally.sample_ns >= UINT64_C(3600) * 1000000000);
	for (uint32_t i = 0; i < tally.sample_count; i++)
		sum += tally.samples[i].prefetched;
	assert_int_equal(sum, 3600);
}

/* Lost otherwise: the bounds of a histogram. */
TEST(test_slots)
{
	assert_int_equal(tally__slot(0), 0);
	assert_int_equal(tally__slot(1), 0);
	assert_int_equal(tally__slot(2), 1);
	assert_int_equal(tally__slot(1023), 9);
	assert_int_equal(tally__slot(1024), 10);
	assert_int_equal(tally__slot(UINT64_MAX), TRACE_SLOTS - 1);
}

UNIT_MAIN(NULL, NULL, NULL, NULL)
