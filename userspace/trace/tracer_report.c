/*
 * tracer_report.c
 *		Puts together what a trace has found out, and reports it.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/tracer_internal.h"
#include "trace/names.h"
#include "trace/rows.h"
#include "base/clock.h"
#include "base/log.h"

static void
subtract_device(struct tally_device *device, const struct trace_device *now,
				const struct trace_device *before)
{
	_Static_assert(TALLY_SLOTS == TRACE_SLOTS, "histograms of both sides are the same");

	device->requests = now->requests - before->requests;
	device->bytes = now->bytes - before->bytes;
	device->busy_ns = now->busy_ns - before->busy_ns;
	for (int i = 0; i < TALLY_SLOTS; i++)
		device->slots[i] = now->slots[i] - before->slots[i];
}

/* Take what the devices did in this interval into its counts. */
static void
count_devices(struct tracer *tracer)
{
	struct probe_devices now;

	probe__devices(tracer->probe, &now);
	subtract_device(&tracer->now.reads, &now.reads, &tracer->devices.reads);
	subtract_device(&tracer->now.writes, &now.writes, &tracer->devices.writes);
	tracer->devices = now;
}

/* Report an interval or the whole. */
int
tracer__report(struct tracer *tracer, const struct tally *tally, bool interval,
	   enum findings_outcome outcome, uint64_t elapsed_us)
{
	const struct trace_config *config = tracer->config;
	struct findings findings = {
		.interval = interval,
		.outcome = outcome,
		.pgdata = config->cluster->path,
		.major = config->cluster->major,
		.block_size = tracer->control.block_size,
		.startup = tracer->startup,
		.daemon_count = tracer->seen_count,
		.from_start = tracer->from_start,
		.elapsed_ns = elapsed_us * 1000,
		.cpu_ns = clock__cpu_us() * 1000,
		.lost = {
			.events = probe__lost_events(tracer->probe),
			.references = tracer->references.lost,
			.files = probe__lost_files(tracer->probe),
			.blocks = tracer->classify.blocks.forgotten,
		},
		.point_count = ATTACH_POINT_COUNT,
		.tally = tally,
	};
	struct findings_row *rows;
	int			err;

	_Static_assert(ATTACH_POINT_COUNT <= FINDINGS_POINTS, "all points can be told");
	memcpy(findings.daemons, tracer->seen, sizeof(findings.daemons));
	memcpy(findings.pending, tracer->classify.pending, sizeof(findings.pending));
	for (int point = 0; point < ATTACH_POINT_COUNT; point++)
	{
		findings.points[point] = attach__point_name(point);
		findings.ways[point] = probe__way(tracer->probe, point);
	}
	if (!tracer->references_seen)
		findings.ways[ATTACH_REFERENCES] = "none";
	rows = rows__make(tracer->files, tally, config->cluster->dirfd, &findings.row_count);
	findings.rows = rows;
	if (config->names && !interval && outcome != FINDINGS_INTERRUPTED && findings.row_count > 0)
		names__find(config->cluster, rows, findings.row_count, outcome == FINDINGS_COMPLETED,
					tracer->signal_fd);
	err = config->json ? findings__json(&findings, config->output) :
		findings__text(&findings, config->output);
	free(rows);
	if (err < 0)
		log_error("the report cannot be written: %s; make room for it", strerror(-err));
	return err;
}

/* An interval is over: report it, if that is wanted, and begin the next one. */
int
tracer__end_interval(struct tracer *tracer, bool tell)
{
	uint64_t	now_us = clock__now_us();
	int			err = 0;

	count_devices(tracer);
	if (tell)
	{
		err = tracer__report(tracer, &tracer->now, true, FINDINGS_RUNNING,
					 now_us - tracer->interval_begin_us);
		tracer->reports++;
	}
	if (err == 0)
		err = tally__merge(&tracer->total, &tracer->now);
	tally__begin(&tracer->now, now_us * 1000);
	tracer->interval_begin_us = now_us;
	return err;
}
