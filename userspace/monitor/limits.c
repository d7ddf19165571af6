/*
 * limits.c
 *		What limits redo, and for how long each of it did.
 *
 * Between two samples the startup process has run for as long as the scheduler has
 * counted.  The rest of the time it has waited, and its state at the second sample shows
 * for what: for a device if it cannot be interrupted, or if there is nothing else to wait
 * for, otherwise for a query, for WAL, or, if there is WAL, for the end of a pause.
 */
#include "monitor/limits.h"

/* Time after which a sample counts for half, us. */
#define HALF_LIFE_US	2e6

static void
add(struct limits *limits, enum limit limit, uint64_t us)
{
	limits->total_us[limit] += us;
	limits->recent_us[limit] += (double) us;
}

/* Take a sample of the startup process.  To be called several times a second. */
void
limits__add(struct limits *limits, const struct activity_work *work,
			const struct limits_context *context, uint64_t now_us)
{
	uint64_t	elapsed_us = now_us - limits->last_us;
	uint64_t	ran_us = work->run_us + work->queued_us - limits->last.run_us - limits->last.queued_us;
	bool		first = limits->last_us == 0 || work->run_us < limits->last.run_us;
	bool		counted = work->run_us != 0;

	limits->last = *work;
	limits->last_us = now_us;
	if (first || elapsed_us == 0)
		return;
	for (int i = 0; i < LIMIT_COUNT; i++)
		limits->recent_us[i] *= HALF_LIFE_US / (HALF_LIFE_US + (double) elapsed_us);
	if (context->checkpoint)
	{
		add(limits, LIMIT_CHECKPOINT, elapsed_us);
		return;
	}
	/* Where the kernel does not count, the state stands for the whole time. */
	if (ran_us > elapsed_us || (!counted && work->state == 'R'))
		ran_us = elapsed_us;
	add(limits, LIMIT_CPU, ran_us);
	/* By a signal or a debugger. */
	if (work->state == 'T' || work->state == 't')
		return;
	/* If it runs now, short waits of which nobody has seen the end were for a device. */
	if (work->state == 'D' || work->state == 'R' || context->all_wal)
		add(limits, context->saturated ? LIMIT_DEVICE_THROUGHPUT : LIMIT_DEVICE_LATENCY,
			elapsed_us - ran_us);
	else
		add(limits, context->waiting ? LIMIT_LOCK_CONFLICT :
			context->has_wal ? LIMIT_PAUSE : LIMIT_WAL_SUPPLY, elapsed_us - ran_us);
}

/* What has limited redo for the longest part of the last seconds. */
enum limit
limits__present(const struct limits *limits)
{
	enum limit	most = LIMIT_NONE;

	for (int i = 0; i < LIMIT_COUNT; i++)
		if (limits->recent_us[i] > (most == LIMIT_NONE ? 0 : limits->recent_us[most]))
			most = i;
	return most;
}

/* Its name, as in the status document; NULL for LIMIT_NONE. */
const char *
limits__name(enum limit limit)
{
	static const char *const names[LIMIT_COUNT + 1] = {
		[LIMIT_CPU] = "cpu",
		[LIMIT_DEVICE_LATENCY] = "device latency",
		[LIMIT_DEVICE_THROUGHPUT] = "device throughput",
		[LIMIT_WAL_SUPPLY] = "wal supply",
		[LIMIT_LOCK_CONFLICT] = "lock conflict",
		[LIMIT_PAUSE] = "pause or delay",
		[LIMIT_CHECKPOINT] = "checkpoint",
	};

	return names[limit];
}
