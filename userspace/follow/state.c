/*
 * state.c
 *		Reports what `redoahead follow` does: in the statistics file, to the monitor, and in
 *		the log.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/lsn.h"
#include "follow/follow_internal.h"
#include "report/summary.h"

/* Update the counters that the engine does not count. */
static void
update_counters(struct follow *follow)
{
	struct counters *counters = engine__counters(follow->engine);

	counters->cpu_us = clock__cpu_us() - follow->begin_cpu_us;
	counters->elapsed_us = clock__now_us() - follow->begin_us;
}

/* Write the statistics file, if there is one.  There must be an engine. */
void
state__write_statistics(struct follow *follow, bool connected)
{
	struct counters *counters = engine__counters(follow->engine);
	struct counters total = follow->ended;
	struct statistics statistics = {
		.backend = follow->backend->name,
		.control = engine__control(follow->engine),
		.begin_us = follow->begin_us,
		.connected = connected,
		.recoveries = follow->recoveries,
		.engine = engine__state(follow->engine),
		.replay_lsn = follow->position.lsn,
		.recovery = counters,
		.total = &total,
	};

	update_counters(follow);
	counters__add(&total, counters);
	outputs__write_statistics(&follow->outputs, &statistics, clock__now_us());
}

/* What the monitor needs to know. */
static void
make_snapshot(struct follow *follow, struct monitor_snapshot *snapshot)
{
	const struct control *control = engine__control(follow->engine);
	struct counters *counters = engine__counters(follow->engine);

	update_counters(follow);
	*snapshot = (struct monitor_snapshot)
	{
		.recoveries = follow->recoveries,
			.begin_us = follow->begin_us,
			.replay_lsn = follow->position.lsn,
			.primary_lsn = follow->position.query.primary_lsn,
			.exact = position__is_exact(&follow->position),
			.decode_lsn = follow->stream.reader.next_lsn,
			.backend = follow->backend->name,
			.engine = engine__state(follow->engine),
			.io_depth = control__depth(control),
			.readahead_limit = control->readahead_limit,
			.recovery = *counters,
			.total = follow->ended,
	};
	counters__add(&snapshot->total, counters);
}

/* Let the monitor know, if it is time. */
void
state__publish(struct follow *follow, uint64_t now_us)
{
	struct monitor_snapshot snapshot;

	if (now_us - follow->monitor_us < MONITOR_PUBLISH_US)
		return;
	follow->monitor_us = now_us;
	make_snapshot(follow, &snapshot);
	monitor__publish(follow->monitor, &snapshot);
}

/* Report what was done for a recovery. */
void
state__report(struct follow *follow)
{
	struct monitor_snapshot snapshot;

	state__write_statistics(follow, false);
	make_snapshot(follow, &snapshot);
	counters__add(&follow->ended, engine__counters(follow->engine));
	log_info("%" PRIu64 " records decoded, up to %X/%08X", follow->stream.records,
			 (unsigned) (follow->stream.reader.next_lsn >> 32),
			 (unsigned) follow->stream.reader.next_lsn);
	summary__log(engine__counters(follow->engine));
	monitor__end(follow->monitor, &snapshot, engine__relations(follow->engine), !follow->stop);
}

/* Let the monitor watch the data directory while a server runs on it, and no longer. */
void
state__attach(struct follow *follow, bool runs)
{
	ino_t		inode = runs ? follow->cluster.inode : 0;

	if (inode == follow->attached)
		return;
	follow->attached = inode;
	monitor__attach(follow->monitor, runs ? &follow->cluster : NULL);
}
