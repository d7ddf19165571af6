/*
 * limits.h
 *		What limits redo, and for how long each of it did.
 */
#ifndef REDOAHEAD_MONITOR_LIMITS_H
#define REDOAHEAD_MONITOR_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/activity.h"

enum limit
{
	LIMIT_CPU,					/* redo runs, or waits for a CPU */
	LIMIT_DEVICE_LATENCY,		/* it waits for a device that could take more requests */
	LIMIT_DEVICE_THROUGHPUT,	/* it waits for a device that has as many as it should */
	LIMIT_WAL_SUPPLY,			/* it waits for WAL */
	LIMIT_LOCK_CONFLICT,		/* it waits for a query */
	LIMIT_PAUSE,				/* it waits for none of these: it is paused or delayed, as a rule */
	LIMIT_CHECKPOINT,			/* redo is complete, the checkpoint is not */
	LIMIT_COUNT,
	LIMIT_NONE = LIMIT_COUNT	/* not known */
};

struct limits
{
	struct activity_work last;	/* of the startup process */
	uint64_t	last_us;		/* time of that, us; 0: there is none */
	uint64_t	total_us[LIMIT_COUNT];	/* by limit, us */
	double		recent_us[LIMIT_COUNT]; /* the same; the past counts less and less */
};

/* What else is to be known for a sample. */
struct limits_context
{
	bool		saturated;		/* as many blocks are in flight as may be, and more wait */
	bool		all_wal;		/* all WAL is there, so redo does not wait for it */
	bool		waiting;		/* the startup process waits for a query */
	bool		has_wal;		/* there has been WAL for redo for some time */
	bool		checkpoint;		/* redo is complete */
};

void		limits__add(struct limits *limits, const struct activity_work *work,
						const struct limits_context *context, uint64_t now_us);
enum limit	limits__present(const struct limits *limits);
const char *limits__name(enum limit limit);

#endif							/* REDOAHEAD_MONITOR_LIMITS_H */
