/*
 * status.c
 *		Reports the daemon's progress to the server, the statistics file and the
 *		timeline.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/textfile.h"
#include "daemon/daemon_internal.h"
#include "report/statistics.h"

/* Update the counters that are measured, not counted. */
void
status__update_times(struct daemon *daemon)
{
	struct counters *counters = engine__counters(daemon->engine);

	counters->cpu_us = clock__cpu_us() - daemon->session.begin_cpu_us;
	counters->elapsed_us = clock__now_us() - daemon->session.begin_us;
}

/* Write the statistics file, if there is one. */
void
status__write_statistics(struct daemon *daemon)
{
	const char *path = daemon->options->statistics;
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
	int			err;

	daemon->statistics_us = clock__now_us();
	if (path == NULL)
		return;
	if (daemon->session.connected)
	{
		status__update_times(daemon);
		statistics.recovery = engine__counters(daemon->engine);
		statistics.engine = engine__state(daemon->engine);
		statistics.replay_lsn = ring__replay_lsn(&daemon->session.ring);
		counters__add(&total, statistics.recovery);
	}
	err = statistics__write(path, &statistics);
	if (err < 0 && !daemon->statistics_failed)
		log_warning("statistics file \"%s\" cannot be written: %s; give another one with --stats",
					path, strerror(-err));
	daemon->statistics_failed = err < 0;
}

/* Open the block log and the timeline anew.  The statistics file is replaced each time. */
void
status__reopen(struct daemon *daemon)
{
	const struct daemon_options *options = daemon->options;
	struct stat st;

	if (daemon->block_log != NULL)
		textfile__reopen(daemon->block_log, options->block_log, "--block-log");
	if (daemon->timeline != NULL)
	{
		textfile__reopen(daemon->timeline, options->timeline, "--timeline");
		if (fstat(fileno(daemon->timeline), &st) == 0 && st.st_size == 0)
			timeline__begin(daemon->timeline);
	}
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
		.io_depth = control->settled,
		.readahead_limit = control->readahead_limit,
	};

	daemon->session.publish_us = now_us;
	ring__publish(&daemon->session.ring, &progress);
}

/* Add a sample to the timeline. */
void
status__add_sample(struct daemon *daemon, uint64_t replay_lsn, uint64_t now_us)
{
	const struct control *control = engine__control(daemon->engine);
	struct timeline_sample sample = {
		.at_us = now_us - daemon->session.begin_us,
		.replay_lsn = replay_lsn,
		.engine = engine__state(daemon->engine),
		.io_depth = control->io_depth,
		.readahead_limit = control->readahead_limit,
		.blocks_read = engine__counters(daemon->engine)->blocks_read,
	};

	daemon->session.sample_us = now_us;
	timeline__add(daemon->timeline, &sample);
}
