/*
 * status.c
 *		Reports the daemon's progress to the server, in the statistics file, and to the
 *		monitor.
 */
#include "base/clock.h"
#include "daemon/daemon_internal.h"

/* Update the counters that the engine does not count. */
void
status__update_counters(struct daemon *daemon)
{
	struct counters *counters = engine__counters(daemon->engine);

	counters->refs_dropped = ring__dropped(&daemon->session.ring);
	counters->cpu_us = clock__cpu_us() - daemon->session.begin_cpu_us;
	counters->elapsed_us = clock__now_us() - daemon->session.begin_us;
}

/* Write the statistics file, if there is one. */
void
status__write_statistics(struct daemon *daemon)
{
	struct counters total = daemon->ended;
	struct statistics statistics = {
		.backend = daemon->backend->name,
		.control = engine__control(daemon->engine),
		.begin_us = daemon->session.begin_us,
		.connected = daemon->session.connected,
		.recoveries = daemon->recoveries,
		.recovery = &daemon->last,
		.total = &total,
	};

	if (daemon->session.connected)
	{
		status__update_counters(daemon);
		statistics.recovery = engine__counters(daemon->engine);
		statistics.engine = engine__state(daemon->engine);
		statistics.replay_lsn = ring__replay_lsn(&daemon->session.ring);
		counters__add(&total, statistics.recovery);
	}
	outputs__write_statistics(&daemon->outputs, &statistics, clock__now_us());
}

/* Publish the progress in the ring. */
void
status__publish(struct daemon *daemon, uint64_t now_us)
{
	const struct counters *counters = engine__counters(daemon->engine);
	const struct control *control = engine__control(daemon->engine);
	struct ring_progress progress = {
		.blocks_read = counters->blocks_read,
		.blocks_failed = counters__failed(counters),
		.blocks_stale = counters->blocks_stale,
		.in_flight = engine__state(daemon->engine).in_flight,
		.busy_ns = (clock__cpu_us() - daemon->session.begin_cpu_us) * 1000,
		.io_depth = control__depth(control),
		.readahead_limit = control->readahead_limit,
	};

	daemon->session.publish_us = now_us;
	ring__publish(&daemon->session.ring, &progress);
}

/* What the monitor needs to know of the connected recovery. */
void
status__snapshot(struct daemon *daemon, struct monitor_snapshot *snapshot)
{
	struct session *session = &daemon->session;
	const struct control *control = engine__control(daemon->engine);
	uint64_t	replay_lsn = ring__replay_lsn(&session->ring);

	status__update_counters(daemon);
	*snapshot = (struct monitor_snapshot)
	{
		.recoveries = daemon->recoveries,
			.begin_us = session->begin_us,
			.replay_lsn = replay_lsn,
			.exact = true,
			.decode_lsn = session__decode_lsn(session, replay_lsn),
			.backend = daemon->backend->name,
			.engine = engine__state(daemon->engine),
			.io_depth = control__depth(control),
			.readahead_limit = control->readahead_limit,
			.recovery = *engine__counters(daemon->engine),
			.total = daemon->ended,
	};
	counters__add(&snapshot->total, &snapshot->recovery);
}
