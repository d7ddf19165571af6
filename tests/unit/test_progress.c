/*
 * test_progress.c
 *		How fast does a recovery proceed, and how long will it take?
 *
 * With a wrong answer, a user waits for a recovery that the status says is done, or
 * ends one that would have been.
 */
#include "unit.h"

#include "monitor/progress.h"

#define S		UINT64_C(1000000)
#define MB		UINT64_C(1000000)
#define BEGIN	UINT64_C(0x10000000)

static struct progress progress;

/* Replay at a rate from one time to another, s, with a sample when it is due. */
static void
replay(double from, double to, double bytes_per_second)
{
	uint64_t	at = progress.replay_lsn == 0 ? BEGIN : progress.replay_lsn;

	for (uint64_t us = (uint64_t) (from * 1e6); us <= (uint64_t) (to * 1e6); us += 50000)
	{
		progress__update(&progress, at + (uint64_t) (((double) us / 1e6 - from) * bytes_per_second),
						 5 * S + us);
		if (progress__is_due(&progress, 5 * S + us))
			progress__add(&progress, &(struct progress_sample)
						  {
							  .elapsed_us = us,.replayed = progress__replayed(&progress)
						  });
	}
}

static int
set_up(void **state)
{
	progress__begin(&progress, 5 * S);
	return 0;
}

/* Lost otherwise: alerts that mean something; a server first syncs its files, for minutes. */
TEST(no_stall_before_the_first_position)
{
	progress__update(&progress, 0, 600 * S);
	progress__update(&progress, BEGIN, 605 * S);
	assert_int_equal(progress.advanced_us, 605 * S);
}

TEST(steady_recovery)
{
	struct progress_estimate estimate;

	replay(0, 20, 10 * MB);
	assert_int_equal(progress__replayed(&progress), 200 * MB);
	assert_float_equal(progress__rate(&progress), 10e6, 1e5);
	assert_float_equal(progress__mean_rate(&progress, 25 * S), 10e6, 1e5);
	estimate = progress__estimate(&progress, BEGIN + 500 * MB, false, 25 * S);
	assert_true(estimate.known);
	assert_float_equal(estimate.seconds, 30, 0.3);
	/* It is never surer than to a tenth. */
	assert_float_equal(estimate.min_seconds, 27, 0.3);
	assert_float_equal(estimate.max_seconds, 33, 0.3);
}

/* A recovery that slows down: the range reaches from the one rate to the other. */
TEST(recovery_that_slows_down)
{
	struct progress_estimate estimate;

	replay(0, 20, 30 * MB);
	replay(20, 30, 10 * MB);
	estimate = progress__estimate(&progress, BEGIN + 1000 * MB, false, 35 * S);
	assert_true(estimate.known);
	assert_float_equal(estimate.min_seconds, 300 / (700. / 30), 0.5);
	assert_float_equal(estimate.max_seconds, 30, 2);
	assert_true(estimate.seconds > estimate.min_seconds && estimate.seconds < estimate.max_seconds);
}

/* Redo may have waited for WAL for hours. */
TEST(present_rate_while_wal_arrives)
{
	struct progress_estimate estimate;

	replay(0, 100, 0);
	replay(100, 110, 20 * MB);
	estimate = progress__estimate(&progress, BEGIN + 400 * MB, true, 115 * S);
	assert_true(estimate.known);
	assert_float_equal(estimate.seconds, 10, 0.5);
}

TEST(unknown)
{
	assert_false(progress__estimate(&progress, BEGIN + MB, false, 6 * S).known);
	replay(0, 10, 0);
	/* Redo is stalled. */
	assert_false(progress__estimate(&progress, BEGIN + MB, false, 15 * S).known);
	assert_int_equal(progress.advanced_us, 5 * S);
	/* The end is not known, or is reached. */
	assert_false(progress__estimate(&progress, 0, false, 15 * S).known);
	assert_true(progress__estimate(&progress, BEGIN, false, 15 * S).known);
	assert_float_equal(progress__estimate(&progress, BEGIN, false, 15 * S).seconds, 0, 0);
}

/* The samples are those of the whole recovery, however long it is. */
TEST(samples_thin_out)
{
	replay(0, 1000, MB);
	assert_true(progress.count > PROGRESS_SAMPLES / 2 && progress.count <= PROGRESS_SAMPLES);
	assert_true(progress.samples[0].elapsed_us < 10 * S);
	assert_true(progress.samples[progress.count - 1].elapsed_us > 990 * S);
	for (unsigned i = 1; i < progress.count; i++)
		assert_true(progress.samples[i].elapsed_us > progress.samples[i - 1].elapsed_us &&
					progress.samples[i].elapsed_us - progress.samples[i - 1].elapsed_us <=
					progress.interval_us + PROGRESS_SAMPLE_US);
}

/* While redo does not advance, no time left is known. */
TEST(stalled)
{
	progress__begin(&progress, 1000000);
	progress__update(&progress, 100, 1000000);
	progress__update(&progress, 200, 3000000);
	assert_false(progress__has_stalled(&progress, 3900000));
	assert_true(progress__has_stalled(&progress, 4100000));
	progress__update(&progress, 300, 4100000);
	assert_false(progress__has_stalled(&progress, 4100000));
}

UNIT_MAIN(NULL, NULL, set_up, NULL)
