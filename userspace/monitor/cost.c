/*
 * cost.c
 *		What a record and a block cost redo, from the time that it took for both.
 *
 * Each interval of a recovery has a number of records and of blocks and a time.  The two
 * costs are those of least squares, pulled weakly towards the usual ratio between them (ridge
 * regression; Hoerl and Kennard, 1970): while all intervals are alike, only the sum of
 * both costs is known, and the ratio decides.  An interval weighs as much as the inverse of
 * its usual cost, so that for all intervals together, costs and times agree: with equal
 * weights, those in which redo was fast and did more would count for too much.
 */
#include "monitor/cost.h"

/*
 * What a block that redo did not use before costs, in records: it takes a buffer, whose memory
 * it may be the first to use, and is read or copied.  12 us and 0.5 us with pgbench.
 */
#define BLOCK_RECORDS	25.0

/* Weight of that ratio, as a share of what the intervals weigh. */
#define RATIO_WEIGHT	0.1

static double
usual_records(struct forecast_work work)
{
	return work.records + BLOCK_RECORDS * work.blocks;
}

/*
 * Redo took so many seconds for this work.  If there was none, its position was not seen to
 * change, and the time belongs to the next work.
 */
void
cost__add(struct cost *cost, struct forecast_work work, double seconds)
{
	double		records = usual_records(work);

	cost->idle_seconds += seconds;
	if (records <= 0)
		return;
	seconds = cost->idle_seconds;
	cost->idle_seconds = 0;
	cost->seconds += seconds;
	cost->work.records += work.records;
	cost->work.blocks += work.blocks;
	cost->records2 += work.records * work.records / records;
	cost->records_blocks += work.records * work.blocks / records;
	cost->records_seconds += work.records * seconds / records;
	cost->blocks2 += work.blocks * work.blocks / records;
	cost->blocks_seconds += work.blocks * seconds / records;
}

/* Seconds of a record, if a block takes BLOCK_RECORDS times as long. */
static double
usual_record(const struct cost *cost)
{
	double		records = usual_records(cost->work);

	return records > 0 ? cost->seconds / records : 0;
}

/* The seconds of some work, if the ratio between the costs is as usual. */
double
cost__usual(const struct cost *cost, struct forecast_work work)
{
	return usual_record(cost) * usual_records(work);
}

/* The seconds of some work, by the costs of least squares. */
double
cost__fitted(const struct cost *cost, struct forecast_work work)
{
	double		record = usual_record(cost);
	double		block = BLOCK_RECORDS * record;

	/* The normal equations of two factors: of the usual cost of a record, and of a block. */
	double		rr = cost->records2 * record * record;
	double		rb = cost->records_blocks * record * block;
	double		bb = cost->blocks2 * block * block;
	double		weight = RATIO_WEIGHT * (rr + 2 * rb + bb);
	double		rs = cost->records_seconds * record + weight;
	double		bs = cost->blocks_seconds * block + weight;
	double		determinant = (rr + weight) * (bb + weight) - rb * rb;
	double		records;
	double		blocks;

	if (determinant <= 0)
		return cost__usual(cost, work);
	records = (rs * (bb + weight) - bs * rb) / determinant;
	blocks = (bs * (rr + weight) - rs * rb) / determinant;
	/* Neither can cost less than nothing. */
	if (records < 0)
	{
		records = 0;
		blocks = bs / (bb + weight);
	}
	else if (blocks < 0)
	{
		blocks = 0;
		records = rs / (rr + weight);
	}
	return records * record * work.records + blocks * block * work.blocks;
}
