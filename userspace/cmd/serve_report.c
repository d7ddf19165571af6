/*
 * serve_report.c
 *		Tells the server, the statistics file and the timeline how far the daemon is.
 */
#include <string.h>

#include "cmd/serve_state.h"
#include "base/clock.h"
#include "base/log.h"
#include "report/stats.h"

/* Bring the counters that are measured, not counted, up to date. */
void
serve__update_times(struct serve *serve)
{
	struct counters *counters = engine__counters(serve->config->engine);

	counters->cpu_us = clock__cpu_us() - serve->begin_cpu_us;
	counters->elapsed_us = clock__now_us() - serve->begin_us;
}

/* Write the statistics file, if there is to be one. */
void
serve__write_stats(struct serve *serve)
{
	const struct serve_config *config = serve->config;
	struct counters total = serve->ended;
	struct stats stats = {
		.backend = config->engine_options->backend->name,
		.control = engine__control(config->engine),
		.begin_us = serve->begin_us,
		.connected = serve->connected,
		.recoveries = serve->recoveries,
		.recovery = &serve->last,
		.total = &total,
	};
	int			err;

	serve->stats_us = clock__now_us();
	if (config->stats_path == NULL)
		return;
	if (serve->connected)
	{
		serve__update_times(serve);
		stats.recovery = engine__counters(config->engine);
		stats.in_flight = engine__in_flight(config->engine);
		stats.open_files = engine__open_files(config->engine);
		stats.replay_lsn = ring__replay_lsn(&serve->ring);
		counters__add(&total, stats.recovery);
	}
	err = stats__write(config->stats_path, &stats);
	if (err < 0 && !serve->stats_failed)
		log_warning("statistics file \"%s\" cannot be written: %s; give another one with --stats",
					config->stats_path, strerror(-err));
	serve->stats_failed = err < 0;
}

/* Tell the server how far we are. */
void
serve__publish(struct serve *serve, uint64_t now_us)
{
	const struct counters *counters = engine__counters(serve->config->engine);
	struct ring_progress progress = {
		.blocks_read = counters->blocks_read,
		.blocks_failed = counters__failed(counters),
		.blocks_stale = counters->blocks_stale,
		.in_flight = engine__in_flight(serve->config->engine),
		.busy_ns = (clock__cpu_us() - serve->begin_cpu_us) * 1000,
		.io_depth = engine__control(serve->config->engine)->settled,
		.readahead_limit = engine__control(serve->config->engine)->readahead_limit,
	};

	serve->publish_us = now_us;
	ring__publish(&serve->ring, &progress);
}

/* Add a moment to the timeline. */
void
serve__add_sample(struct serve *serve, uint64_t replay_lsn, uint64_t now_us)
{
	const struct engine *engine = serve->config->engine;
	const struct control *control = engine__control(engine);
	struct timeline_sample sample = {
		.at_us = now_us - serve->begin_us,
		.replay_lsn = replay_lsn,
		.queued = engine__waiting(engine),
		.in_flight = engine__in_flight(engine),
		.ahead = engine__ahead(engine),
		.io_depth = control->io_depth,
		.readahead_limit = control->readahead_limit,
		.blocks_read = engine__counters(serve->config->engine)->blocks_read,
	};

	serve->sample_us = now_us;
	timeline__add(serve->config->timeline, &sample);
}
