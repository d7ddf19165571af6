/*
 * document.c
 *		The status document: what the monitor knows, as JSON.
 *
 * redoahead-status(1) describes its members.  Numbers are in bytes, blocks and seconds; what is
 * unknown is null.
 */
#include <math.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status_document.h"
#include "base/version.h"
#include "monitor/document.h"
#include "report/json.h"
#include "report/statistics.h"

static void
add_seconds(struct json_object *object, const char *name, uint64_t us)
{
	json__seconds(object, name, us, JSON_MICROSECONDS);
}

/* A position; 0 is null. */
static void
add_lsn(struct json_object *object, const char *name, uint64_t lsn)
{
	if (lsn == 0)
		json__text(object, name, NULL);
	else
		json__lsn(object, name, lsn);
}

static void
add_progress(struct json_object *object, const struct recovery *recovery)
{
	const struct progress *progress = &recovery->progress;
	const struct progress_estimate *left = &recovery->estimate;
	const char *source;
	uint64_t	end_lsn = recovery__end_lsn(recovery, &source);
	uint64_t	remaining = end_lsn > progress->replay_lsn ? end_lsn - progress->replay_lsn : 0;
	uint64_t	start_lsn = recovery->start_lsn != 0 ? recovery->start_lsn : progress->begin_lsn;
	double		done = (double) (progress->replay_lsn - start_lsn);

	add_seconds(object, "elapsed_seconds", recovery->now_us - progress->begin_us);
	add_lsn(object, "redo_start_lsn", start_lsn);
	add_lsn(object, "replay_lsn", progress->replay_lsn);
	add_lsn(object, "decode_lsn", recovery->snapshot.decode_lsn);
	add_lsn(object, "end_lsn", end_lsn);
	json__text(object, "end_source", source);
	add_lsn(object, "received_lsn", recovery->server.received_lsn);
	add_lsn(object, "primary_lsn", recovery->snapshot.primary_lsn);
	json__count(object, "replayed_bytes", progress__replayed(progress));
	json__number(object, "remaining_bytes", source == NULL ? -1 : (double) remaining, 0);
	json__number(object, "progress", source == NULL || done + (double) remaining == 0 ? -1 :
				 done / (done + (double) remaining), 4);
	json__number(object, "bytes_per_second", progress__rate(progress), 0);
	json__number(object, "mean_bytes_per_second",
				 progress__mean_rate(progress, recovery->now_us), 0);
	json__number(object, "time_left_seconds", left->known ? left->seconds : -1, 1);
	json__number(object, "time_left_min_seconds", left->known ? left->min_seconds : -1, 1);
	json__number(object, "time_left_max_seconds", left->known ? left->max_seconds : -1, 1);
	if (progress->begin_lsn != 0 && recovery->snapshot.exact)
		add_seconds(object, "stalled_seconds", recovery->now_us - progress->advanced_us);
	else
		json__text(object, "stalled_seconds", NULL);
}

static void
add_limits(struct json_object *object, const struct limits *limits)
{
	static const char *const names[LIMIT_COUNT] = {
		[LIMIT_CPU] = "cpu",
		[LIMIT_DEVICE_LATENCY] = "device_latency",
		[LIMIT_DEVICE_THROUGHPUT] = "device_throughput",
		[LIMIT_WAL_SUPPLY] = "wal_supply",
		[LIMIT_LOCK_CONFLICT] = "lock_conflict",
		[LIMIT_PAUSE] = "pause_or_delay",
		[LIMIT_CHECKPOINT] = "checkpoint",
	};
	struct json_object *seconds;

	json__text(object, "limit", limits__name(limits__present(limits)));
	seconds = json__object(object, "limit_seconds");
	for (int i = 0; i < LIMIT_COUNT; i++)
		add_seconds(seconds, names[i], limits->total_us[i]);
}

static void
add_engine(struct json_object *object, const struct monitor_snapshot *snapshot,
		   uint64_t replay_lsn)
{
	json__number(object, "lookahead_bytes", replay_lsn == 0 ? NAN :
				 snapshot->decode_lsn > replay_lsn ? (double) (snapshot->decode_lsn - replay_lsn) : 0, 0);
	json__count(object, "blocks_queued", snapshot->engine.queued);
	json__count(object, "blocks_in_flight", snapshot->engine.in_flight);
	json__count(object, "blocks_ahead", snapshot->engine.ahead);
	json__count(object, "io_depth", snapshot->io_depth);
	json__count(object, "gap_bytes", snapshot->gap_bytes);
	json__count(object, "readahead_limit", snapshot->readahead_limit);
	json__number(object, "coverage", recovery__coverage(&snapshot->recovery), 6);
	statistics__add_counters(json__object(object, "counters"), &snapshot->recovery);
}

/* Append a number to an array; below 0, null. */
static void
append(struct json_object *array, double value, int digits)
{
	json_object_array_add(array, json__new_number(value, digits));
}

static void
add_history(struct json_object *object, const struct progress *progress)
{
	struct json_object *history = json__object(object, "history");
	struct json_object *elapsed;
	struct json_object *replayed;
	struct json_object *rate;
	struct json_object *in_flight;
	struct json_object *coverage;
	struct json_object *time_left;

	add_seconds(history, "interval_seconds", progress->interval_us);
	elapsed = json__array(history, "elapsed_seconds");
	replayed = json__array(history, "replayed_bytes");
	rate = json__array(history, "bytes_per_second");
	in_flight = json__array(history, "blocks_in_flight");
	coverage = json__array(history, "coverage");
	time_left = json__array(history, "time_left_seconds");
	for (unsigned i = 0; i < progress->count; i++)
	{
		const struct progress_sample *sample = &progress->samples[i];

		append(elapsed, (double) sample->elapsed_us / 1e6, 3);
		append(replayed, (double) sample->replayed, 0);
		append(rate, sample->rate, 0);
		append(in_flight, sample->in_flight, 0);
		append(coverage, sample->coverage, 6);
		append(time_left, sample->time_left, 1);
	}
}

/* A recovery, or null. */
static void
add_recovery(struct json_object *parent, const char *name, const struct recovery *recovery)
{
	struct json_object *object;

	if (recovery == NULL)
	{
		json__text(parent, name, NULL);
		return;
	}
	object = json__object(parent, name);
	json__number(object, "begin_time", recovery->begin_time, 3);
	add_progress(object, recovery);
	add_limits(object, &recovery->limits);
	add_engine(object, &recovery->snapshot, recovery->progress.replay_lsn);
	add_history(object, &recovery->progress);
}

/* The document; to be released with json_object_put(). */
struct json_object *
document__create(const struct document *document)
{
	struct json_object *object = json_object_new_object();

	json__count(object, "version", STATUS_DOCUMENT_VERSION);
	json__text(object, "program_version", REDOAHEAD_VERSION);
	json__text(object, "command", document->command);
	json__count(object, "pid", (uint64_t) getpid());
	json__number(object, "time", (double) clock__read_us(CLOCK_REALTIME) / 1e6, 3);
	add_seconds(object, "uptime_seconds", document->uptime_us);
	json__text(object, "data_directory", document->pgdata);
	json__number(object, "server_major", document->major == 0 ? -1 : document->major, 0);
	json__text(object, "backend", document->snapshot->backend);
	json__text(object, "phase", recovery__phase_name(document->phase));
	json__text(object, "refused", document->refused);
	json__count(object, "recoveries", document->snapshot->recoveries);
	add_recovery(object, "recovery", document->present);
	add_recovery(object, "last_recovery", document->last);
	statistics__add_counters(json__object(object, "total"), &document->snapshot->total);
	return object;
}
