/*
 * monitor.c
 *		Starts and stops prefetching as daemons come and go.
 *
 * The connection's state machine is not here, but in connection.c.
 */
#include "postgres.h"

#include <time.h>

#include "access/xlogprefetcher.h"
#include "access/xlogrecovery.h"

#include "decoder.h"
#include "monitor.h"
#include "settings.h"
#include "stats.h"
#include "submit.h"

/* Time between two checks of the connection, and of available memory, in ms. */
#define CHECK_INTERVAL_MS	10
#define MEMORY_INTERVAL_MS	1000

/* A daemon takes references from now on. */
static void
start_prefetching(Prefetcher *p)
{
	p->kernel_failed = false;
	prefault__start(&p->prefault);
	XLogPrefetchReconfigure();
}

/* A daemon has been connected. */
static void
log_connection(const Prefetcher *p)
{
	int			distance = prefetcher__distance(p);

	ereport(LOG,
			(errmsg("redoahead: connected to daemon (PID %u), looking ahead %d block references",
					p->connection.daemon_pid, distance),
			 distance < redoahead_lookahead ?
			 errdetail("redoahead.lookahead is %d, for which the server's memory cgroup, or the machine, has too little memory.",
					   redoahead_lookahead) : 0));
}

/* The daemon has gone, or does not respond.  The queue stays: see submit__to_kernel(). */
static void
stop_prefetching(Prefetcher *p)
{
	XLogPrefetchReconfigure();
	decoder__stop(p);
	p->distance = 0;
	prefetcher__forget(p);
	p->kernel_next = p->lookahead.replaying;
	memset(p->kernel_lsns, 0, sizeof(p->kernel_lsns));
}

/*
 * Check the connection, if it is time to.  Cheap enough to be called every few
 * records: nearly always it only finds that it is too early.
 */
void
monitor__check(Prefetcher *p)
{
	struct timespec ts;
	uint64		now;

	/* A coarse clock costs a few ns. */
	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	now = (uint64) ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
	if (now < p->next_check && !connection__is_urgent(&p->connection))
		return;
	p->next_check = now + CHECK_INTERVAL_MS;
	if (p->connection.emitter.ring != NULL)
		__atomic_store_n(&p->connection.emitter.ring->hot_standby,
						 HotStandbyActive(), __ATOMIC_RELAXED);

	/* What the daemon has counted is lost with the ring. */
	stats__publish(p);

	if (connection__may_connect(&p->connection, now))
	{
		/* It reads files of /proc and of cgroups. */
		if (now >= p->next_memory)
		{
			p->next_memory = now + MEMORY_INTERVAL_MS;
			prefetcher__limit_memory(p);
		}
		/* The new ring gets what is in the queue, too. */
		p->connection.refs = Min(prefetcher__distance(p) + lookahead__length(&p->lookahead),
								 REDOAHEAD_MAX_CAPACITY);
	}
	switch (connection__poll(&p->connection, now))
	{
		case CONNECTION_EVENT_NONE:
			return;
		case CONNECTION_EVENT_CONNECTED:
			log_connection(p);
			start_prefetching(p);
			submit__queue(p);
			break;
		case CONNECTION_EVENT_RESPONDING:
			start_prefetching(p);
			break;
		case CONNECTION_EVENT_STALLED:
		case CONNECTION_EVENT_LOST:
			stop_prefetching(p);
			break;
	}
	stats__publish(p);
}
