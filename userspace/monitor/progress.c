/*
 * progress.c
 *		How far a recovery is, how fast it proceeds, and how long it will take.
 *
 * The time left is what remains of WAL divided by the mean of two rates: that of the
 * whole recovery, and that of its last third, which has what the next WAL is likely to
 * be like.  How far the two are apart is the uncertainty, which is a tenth at least.
 */
#include "monitor/progress.h"

/* Least uncertainty of an estimate, as a share of it. */
#define LEAST_UNCERTAINTY	0.1

/* No estimate is made before, us. */
#define LEAST_ELAPSED_US	UINT64_C(500000)

void
progress__begin(struct progress *progress, uint64_t begin_us)
{
	*progress = (struct progress)
	{
		.begin_us = begin_us,.advanced_us = begin_us,.interval_us = PROGRESS_SAMPLE_US
	};
}

/* Redo has reached a position; 0 if that is not known. */
void
progress__update(struct progress *progress, uint64_t replay_lsn, uint64_t now_us)
{
	uint64_t	elapsed_us = now_us - progress->begin_us;
	uint64_t	last = progress->recent_count;
	const struct progress_position *newest = &progress->recent[(last - 1) % PROGRESS_RECENT];

	if (replay_lsn == 0)
		return;
	if (progress->begin_lsn == 0)
		progress->begin_lsn = progress->replay_lsn = replay_lsn;
	if (replay_lsn > progress->replay_lsn)
	{
		progress->replay_lsn = replay_lsn;
		progress->advanced_us = now_us;
	}
	if (last > 0 && elapsed_us - newest->elapsed_us < PROGRESS_RECENT_US)
		return;
	progress->recent[last % PROGRESS_RECENT] = (struct progress_position)
	{
		.elapsed_us = elapsed_us,.replayed = progress__replayed(progress)
	};
	progress->recent_count++;
}

/* Is it time for another sample? */
bool
progress__is_due(const struct progress *progress, uint64_t now_us)
{
	return progress->count == 0 || now_us - progress->begin_us >=
		progress->samples[progress->count - 1].elapsed_us + progress->interval_us;
}

/* Keep a sample.  If there is no room, every second one goes and the interval doubles. */
void
progress__add(struct progress *progress, const struct progress_sample *sample)
{
	if (progress->count == PROGRESS_SAMPLES)
	{
		for (unsigned i = 0; i < PROGRESS_SAMPLES / 2; i++)
			progress->samples[i] = progress->samples[2 * i + 1];
		progress->count = PROGRESS_SAMPLES / 2;
		progress->interval_us *= 2;
	}
	progress->samples[progress->count++] = *sample;
}

/* WAL replayed since the recovery was found, bytes. */
uint64_t
progress__replayed(const struct progress *progress)
{
	return progress->replay_lsn - progress->begin_lsn;
}

static double
rate_between(uint64_t bytes, uint64_t us)
{
	return us == 0 ? 0 : (double) bytes * 1e6 / (double) us;
}

/* The present rate: that of the last seconds, bytes per second. */
double
progress__rate(const struct progress *progress)
{
	unsigned	last = progress->recent_count;
	unsigned	first = last > PROGRESS_RECENT ? last - PROGRESS_RECENT : 0;
	const struct progress_position *from = &progress->recent[first % PROGRESS_RECENT];
	const struct progress_position *to = &progress->recent[(last - 1) % PROGRESS_RECENT];

	return last < 2 ? 0 :
		rate_between(to->replayed - from->replayed, to->elapsed_us - from->elapsed_us);
}

/* The rate of the recovery as a whole, bytes per second. */
double
progress__mean_rate(const struct progress *progress, uint64_t now_us)
{
	return rate_between(progress__replayed(progress), now_us - progress->begin_us);
}

/* The rate of the last third of the recovery, bytes per second. */
static double
last_third_rate(const struct progress *progress, uint64_t now_us)
{
	uint64_t	elapsed_us = now_us - progress->begin_us;
	struct progress_position from = {0};

	for (unsigned i = 0; i < progress->count &&
		 progress->samples[i].elapsed_us <= elapsed_us / 3 * 2; i++)
		from = (struct progress_position)
	{
		.elapsed_us = progress->samples[i].elapsed_us,.replayed = progress->samples[i].replayed
	};
	return rate_between(progress__replayed(progress) - from.replayed,
						elapsed_us - from.elapsed_us);
}

/*
 * How long redo takes to the end of WAL, end_lsn, 0 if that is unknown.  While WAL is
 * arriving, redo may have waited for it, and only the present rate counts.
 */
struct progress_estimate
progress__estimate(const struct progress *progress, uint64_t end_lsn, bool arriving,
				   uint64_t now_us)
{
	struct progress_estimate estimate = {0};
	double		slow = progress__mean_rate(progress, now_us);
	double		fast = last_third_rate(progress, now_us);
	double		remaining;

	if (end_lsn == 0 || progress->begin_lsn == 0)
		return estimate;
	remaining = end_lsn > progress->replay_lsn ? (double) (end_lsn - progress->replay_lsn) : 0;
	if (arriving)
		slow = fast = progress__rate(progress);
	if (remaining > 0 &&
		(now_us - progress->begin_us < LEAST_ELAPSED_US || slow <= 0 || fast <= 0))
		return estimate;
	estimate.known = true;
	if (remaining == 0)
		return estimate;
	if (slow > fast)
	{
		double		rate = slow;

		slow = fast;
		fast = rate;
	}
	estimate.seconds = remaining / ((slow + fast) / 2);
	estimate.min_seconds = remaining / fast;
	estimate.max_seconds = remaining / slow;
	if (estimate.min_seconds > estimate.seconds * (1 - LEAST_UNCERTAINTY))
		estimate.min_seconds = estimate.seconds * (1 - LEAST_UNCERTAINTY);
	if (estimate.max_seconds < estimate.seconds * (1 + LEAST_UNCERTAINTY))
		estimate.max_seconds = estimate.seconds * (1 + LEAST_UNCERTAINTY);
	return estimate;
}
