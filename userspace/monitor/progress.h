/*
 * progress.h
 *		How far a recovery is, how fast it proceeds, and how long it will take.
 */
#ifndef REDOAHEAD_MONITOR_PROGRESS_H
#define REDOAHEAD_MONITOR_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Samples kept of a recovery; then every second one is dropped. */
#define PROGRESS_SAMPLES	240

/* Time between two samples at first, us. */
#define PROGRESS_SAMPLE_US	UINT64_C(500000)

/* Positions kept for the present rate, a quarter of a second apart. */
#define PROGRESS_RECENT		16

/* Time between them, us. */
#define PROGRESS_RECENT_US	UINT64_C(250000)

/* No estimate is made before, us. */
#define PROGRESS_LEAST_US	UINT64_C(500000)

/* One sample. */
struct progress_sample
{
	uint64_t	elapsed_us;		/* since the recovery was found, us */
	uint64_t	replayed;		/* WAL replayed since then, bytes */
	double		rate;			/* at that time, bytes per second */
	unsigned	in_flight;		/* blocks in flight */
	double		coverage;		/* share of the blocks submitted in time, below 0: none yet */
	double		time_left;		/* as estimated then, s; below 0: unknown */
};

/* A position of redo. */
struct progress_position
{
	uint64_t	elapsed_us;		/* since the recovery was found, us */
	uint64_t	replayed;		/* WAL replayed since then, bytes */
};

/* How long a recovery will still take, s. */
struct progress_estimate
{
	bool		known;			/* the rest is, and redo proceeds */
	double		seconds;		/* most likely */
	double		min_seconds;	/* by the shorter of two ways to estimate it, at most 90 % */
	double		max_seconds;	/* by the longer one, at least 110 % */
};

struct progress
{
	uint64_t	begin_us;		/* time at which the recovery was found, us */
	uint64_t	begin_lsn;		/* position of redo then, 0: not known yet */
	uint64_t	replay_lsn;		/* now */
	uint64_t	advanced_us;	/* time at which it advanced last, us */
	uint64_t	interval_us;	/* time between two samples, us */
	unsigned	count;			/* samples */
	struct progress_sample samples[PROGRESS_SAMPLES];
	unsigned	recent_count;	/* positions ever kept */
	struct progress_position recent[PROGRESS_RECENT];	/* the last ones, in a circle */
};

void		progress__begin(struct progress *progress, uint64_t begin_us);
void		progress__update(struct progress *progress, uint64_t replay_lsn, uint64_t now_us);
bool		progress__is_due(const struct progress *progress, uint64_t now_us);
void		progress__add(struct progress *progress, const struct progress_sample *sample);
uint64_t	progress__replayed(const struct progress *progress);
double		progress__rate(const struct progress *progress);
double		progress__mean_rate(const struct progress *progress, uint64_t now_us);
bool		progress__has_stalled(const struct progress *progress, uint64_t now_us);
struct progress_estimate progress__between(double seconds, double one, double other);
struct progress_estimate progress__estimate(const struct progress *progress, uint64_t end_lsn,
											bool arriving, uint64_t now_us);

#endif							/* REDOAHEAD_MONITOR_PROGRESS_H */
