/*
 * tracer_report.c
 *		Collects what a trace has found, and has it reported.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "trace/names.h"
#include "trace/tracer_internal.h"

static void
subtract_device(struct trace_device *interval, const struct trace_device *now,
				const struct trace_device *before)
{
	interval->requests = now->requests - before->requests;
	interval->bytes = now->bytes - before->bytes;
	interval->busy_ns = now->busy_ns - before->busy_ns;
	for (int i = 0; i < TRACE_SLOTS; i++)
		interval->slots[i] = now->slots[i] - before->slots[i];
}

/* Add what the devices did in this interval to its counts. */
static void
count_devices(struct tracer *tracer)
{
	struct probe_devices now;

	probe__devices(tracer->probe, &now);
	subtract_device(&tracer->now.reads, &now.reads, &tracer->devices.reads);
	subtract_device(&tracer->now.writes, &now.writes, &tracer->devices.writes);
	tracer->devices = now;
}

static int
compare_rows(const void *left, const void *right)
{
	const struct tally_row *a = &((const struct findings_row *) left)->counts;
	const struct tally_row *b = &((const struct findings_row *) right)->counts;
	uint64_t	read_a = tally__row_read(a);
	uint64_t	read_b = tally__row_read(b);

	if (read_a != read_b)
		return read_a < read_b ? 1 : -1;
	return a->prefetched < b->prefetched ? 1 : a->prefetched > b->prefetched ? -1 : 0;
}

/* Does the file of a row not exist?  Of a tablespace that was not found that is not known. */
static bool
is_dropped(int dirfd, const struct findings_row *row)
{
	return (row->key.kind == REDOAHEAD_KIND_SLRU || row->key.spc != 0) &&
		faccessat(dirfd, row->path, F_OK, 0) < 0 && errno == ENOENT;
}

/* Collect the rows with anything to report, most read first; NULL if there is no memory. */
static struct findings_row *
collect_rows(const struct tracer *tracer, const struct tally *tally, uint32_t *count)
{
	uint32_t	all = files__row_count(tracer->files);
	struct findings_row *rows = calloc(all == 0 ? 1 : all, sizeof(*rows));

	*count = 0;
	if (rows == NULL)
		return NULL;
	for (uint32_t i = 0; i < all && i < tally->row_count; i++)
	{
		struct findings_row *row = &rows[*count];

		if (tally__row_is_empty(&tally->rows[i]))
			continue;
		row->key = *files__row_key(tracer->files, i);
		row->counts = tally->rows[i];
		files__row_path(tracer->files, i, row->path);
		row->dropped = is_dropped(tracer->config->cluster->dirfd, row);
		(*count)++;
	}
	qsort(rows, *count, sizeof(*rows), compare_rows);
	return rows;
}

/* Report an interval or the whole trace. */
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
		.daemon_count = tracer->reported_count,
		.from_start = tracer->from_start,
		.elapsed_ns = elapsed_us * 1000,
		.cpu_ns = clock__cpu_us() * 1000,
		.lost = {
			.events = probe__lost_events(tracer->probe),
			.references = tracer->references.lost,
			.files = probe__lost_files(tracer->probe) + tracer->classify.lost_files,
			.blocks = tracer->classify.lost_blocks,
		},
		.attach_method = probe__method(tracer->probe),
		.records_followed = tracer->records_followed,
		.references_followed = tracer->references_followed,
		.tally = tally,
	};
	struct findings_row *rows;
	int			err;

	memcpy(findings.daemons, tracer->reported, sizeof(findings.daemons));
	memcpy(findings.pending, tracer->classify.pending, sizeof(findings.pending));
	rows = collect_rows(tracer, tally, &findings.row_count);
	findings.rows = rows;
	if (config->names && !interval && outcome != FINDINGS_INTERRUPTED && findings.row_count > 0)
		names__find(config->cluster, rows, findings.row_count, outcome == FINDINGS_COMPLETED,
					config->signal_fd);
	err = config->report(&findings, config->output);
	free(rows);
	if (err < 0)
		log_error("the report cannot be written: %s; make room for it", strerror(-err));
	return err;
}

/* End an interval, with a report if that is wanted, and begin the next one. */
int
tracer__end_interval(struct tracer *tracer, bool report)
{
	uint64_t	now_us = clock__now_us();
	int			err = 0;

	count_devices(tracer);
	if (report)
	{
		err = tracer__report(tracer, &tracer->now, true, FINDINGS_RUNNING,
							 now_us - tracer->interval_begin_us);
		tracer->intervals++;
	}
	if (err == 0)
		err = tally__merge(&tracer->total, &tracer->now);
	tally__begin(&tracer->now, now_us * 1000);
	tracer->interval_begin_us = now_us;
	return err;
}
