/*
 * test_cost.c
 *		Are the costs of records and blocks found from the time of a recovery?
 *
 * With wrong ones, the time left is wrong where WAL is not even.
 */
#include "unit.h"

#include "monitor/cost.h"

/* A recovery whose blocks become fewer, by true costs, us. */
static struct cost
recovery(double record_us, double block_us, unsigned intervals)
{
	struct cost cost = {0};

	for (unsigned i = 0; i < intervals; i++)
	{
		struct forecast_work work = {100000, 40000.0 / (i + 1)};

		cost__add(&cost, work, (work.records * record_us + work.blocks * block_us) / 1e6);
	}
	return cost;
}

/* What is left has no blocks, while the first intervals had many. */
TEST(blocks_that_become_fewer)
{
	static const struct forecast_work left = {10000000, 0};
	struct cost cost = recovery(0.5, 12.5, 10);

	assert_float_equal(cost__usual(&cost, left), 5, 0.01);
	assert_float_equal(cost__fitted(&cost, left), 5, 0.01);
	/* With blocks that cost four times as much, the ratio alone gives three times as much. */
	cost = recovery(0.5, 50, 10);
	assert_true(cost__usual(&cost, left) > 15);
	assert_true(cost__fitted(&cost, left) < cost__usual(&cost, left) * 0.95);
	assert_true(cost__fitted(&cost, left) > 5);
}

/* From intervals that are all alike, the time of more of them follows, whatever costs it. */
TEST(even_wal)
{
	static const struct forecast_work interval = {100000, 1000};
	struct cost cost = {0};

	for (int i = 0; i < 10; i++)
		cost__add(&cost, interval, 0.5);
	assert_float_equal(cost__usual(&cost, interval), 0.5, 0.001);
	assert_float_equal(cost__fitted(&cost, interval), 0.5, 0.001);
}

/* Redo is ten times as fast in every other interval: the mean counts. */
TEST(fast_and_slow)
{
	struct cost cost = {0};

	for (int i = 0; i < 10; i++)
		cost__add(&cost, (struct forecast_work) {i % 2 == 0 ? 100000 : 10000, 0}, 0.5);
	assert_float_equal(cost__fitted(&cost, cost.work), 5, 0.001);
}

/* Where redo is, is seen in every fourth interval only, as from a process title. */
TEST(position_by_segment)
{
	struct cost cost = {0};

	for (int i = 1; i <= 12; i++)
		cost__add(&cost, (struct forecast_work) {i % 4 == 0 ? 100000 : 0, 0}, 0.5);
	assert_float_equal(cost__fitted(&cost, cost.work), 6, 0.001);
	/* What it does since is not known. */
	cost__add(&cost, (struct forecast_work) {0, 0}, 100);
	assert_float_equal(cost__fitted(&cost, cost.work), 6, 0.001);
}

/* Nothing costs less than nothing, also if the times fit to nothing at all. */
TEST(never_negative)
{
	static const struct forecast_work records = {1000, 0};
	static const struct forecast_work blocks = {0, 1000};
	struct cost cost = {0};

	cost__add(&cost, (struct forecast_work) {100000, 0}, 0.001);
	cost__add(&cost, (struct forecast_work) {100, 10000}, 10);
	assert_true(cost__fitted(&cost, records) >= 0);
	cost = (struct cost) {0};
	cost__add(&cost, (struct forecast_work) {100000, 0}, 10);
	cost__add(&cost, (struct forecast_work) {200, 10000}, 0);
	assert_true(cost__fitted(&cost, blocks) >= 0);
	/* Without any work, nothing is known. */
	cost = (struct cost) {0};
	cost__add(&cost, (struct forecast_work) {0, 0}, 1);
	assert_float_equal(cost__fitted(&cost, records), 0, 0);
}

UNIT_MAIN(NULL, NULL, NULL, NULL)
