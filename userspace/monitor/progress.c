/*
 * progress.c
 *		How far a recovery is, how fast it proceeds, and how long it will take.
 *
 * Where nothing is known of the WAL to come, the time left is the mean of two estimates: by
 * the rate of the whole recovery, and by that of its last third, which the WAL to come is
 * likely to resemble.  How far they are apart is the uncertainty, at least a tenth.
 */
#include <math.h>

#include "monitor/progress.h"

/* Least uncertainty of an estimate, as a share of it. */
#define LEAST_UNCERTAINTY	0.1

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
	{
		progress->begin_lsn = progress->replay_lsn = replay_lsn;
		progress->advanced_us = now_us;
	}
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

/* The sample at which the last third of the recovery began; all zero if there is none. */
static struct progress_sample
last_third(const struct progress *progress, uint64_t now_us)
{
	uint64_t	begin_us = (now_us - progress->begin_us) / 3 * 2;
	struct progress_sample from = {0};

	for (unsigned i = 0; i < progress->count && progress->samples[i].elapsed_us <= begin_us; i++)
		from = progress->samples[i];
	return from;
}

/* Has redo not been seen to advance for the last third of the recovery? */
bool
progress__has_stalled(const struct progress *progress, uint64_t now_us)
{
	return now_us - progress->advanced_us > (now_us - progress->begin_us) / 3;
}

/* An estimate, s.  How far two ways to make it are apart shows how uncertain it is. */
struct progress_estimate
progress__between(double seconds, double one, double other)
{
	return (struct progress_estimate)
	{
		.known = true,
			.seconds = seconds,
			.min_seconds = fmin(fmin(one, other), seconds * (1 - LEAST_UNCERTAINTY)),
			.max_seconds = fmax(fmax(one, other), seconds * (1 + LEAST_UNCERTAINTY)),
	};
}

/* The mean of two estimates, s. */
static struct progress_estimate
mean(double one, double other)
{
	return progress__between((one + other) / 2, one, other);
}

/*
 * How long redo takes to the end of WAL, end_lsn, 0 if that is unknown.  While WAL is
 * arriving, redo may have waited for it, and only the present rate counts.
 */
struct progress_estimate
progress__estimate(const struct progress *progress, uint64_t end_lsn, bool arriving,
				   uint64_t now_us)
{
	struct progress_estimate unknown = {0};
	struct progress_sample third = last_third(progress, now_us);
	double		whole = progress__mean_rate(progress, now_us);
	double		lately = rate_between(progress__replayed(progress) - third.replayed,
									  now_us - progress->begin_us - third.elapsed_us);
	double		remaining;

	if (end_lsn == 0 || progress->begin_lsn == 0)
		return unknown;
	remaining = end_lsn > progress->replay_lsn ? (double) (end_lsn - progress->replay_lsn) : 0;
	if (remaining == 0)
		return mean(0, 0);
	if (arriving)
		whole = lately = progress__rate(progress);
	if (now_us - progress->begin_us < PROGRESS_LEAST_US || whole <= 0 || lately <= 0)
		return unknown;
	return mean(remaining / whole, remaining / lately);
}
