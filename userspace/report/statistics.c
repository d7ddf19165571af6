/*
 * statistics.c
 *		Writes the daemon's counters to a file as JSON.
 *
 * The file is replaced atomically.
 * Times are in seconds, everything else in blocks, references, requests or
 * files, as the name indicates.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/json.h"
#include "report/statistics.h"

/* Counters with a plain name, in file order. */
static const struct
{
	const char *name;			/* member name */
	size_t		offset;			/* in struct counters */
}			plain_counters[] = {
	{"refs_taken", offsetof(struct counters, refs_taken)},
	{"refs_implied", offsetof(struct counters, refs_implied)},
	{"refs_dropped", offsetof(struct counters, refs_dropped)},
	{"refs_out_of_order", offsetof(struct counters, refs_out_of_order)},
	{"refs_duplicate", offsetof(struct counters, refs_duplicate)},
	{"sweeps", offsetof(struct counters, sweeps)},
	{"blocks_stale", offsetof(struct counters, blocks_stale)},
	{"requests", offsetof(struct counters, requests)},
	{"requests_joined", offsetof(struct counters, requests_joined)},
	{"blocks_requested", offsetof(struct counters, blocks_requested)},
	{"blocks_read", offsetof(struct counters, blocks_read)},
	{"gap_blocks_read", offsetof(struct counters, gap_blocks_read)},
	{"blocks_resident", offsetof(struct counters, blocks_resident)},
	{"blocks_revalidated", offsetof(struct counters, blocks_revalidated)},
	{"blocks_reread", offsetof(struct counters, blocks_reread)},
	{"blocks_released", offsetof(struct counters, blocks_released)},
	{"wal_blocks_read", offsetof(struct counters, wal_blocks_read)},
	{"blocks_abandoned", offsetof(struct counters, blocks_abandoned)},
	{"blocks_in_flight_max", offsetof(struct counters, in_flight_max)},
	{"files_opened", offsetof(struct counters, files_opened)},
	{"files_evicted", offsetof(struct counters, files_evicted)},
	{"files_dropped", offsetof(struct counters, files_dropped)},
	{"sleeps", offsetof(struct counters, sleeps)},
};

static void
add_seconds(struct json_object *object, const char *name, uint64_t us)
{
	json__seconds(object, name, us, JSON_MICROSECONDS);
}

/* Add a member for each counter. */
void
statistics__add_counters(struct json_object *object, const struct counters *counters)
{
	struct json_object *failed;
	struct json_object *invalid;

	for (size_t i = 0; i < sizeof(plain_counters) / sizeof(plain_counters[0]); i++)
		json__count(object, plain_counters[i].name,
					*(const uint64_t *) ((const char *) counters + plain_counters[i].offset));

	json__count(object, "blocks_failed", counters__failed(counters));
	failed = json__object(object, "blocks_failed_by_reason");
	for (int i = 0; i < FAIL_REASON_COUNT; i++)
		json__count(failed, counters__fail_name(i), counters->blocks_failed[i]);

	json__count(object, "refs_invalid", counters__invalid(counters));
	invalid = json__object(object, "refs_invalid_by_reason");
	for (int i = 0; i < INVALID_REASON_COUNT; i++)
		json__count(invalid, relpath__invalid_name(i), counters->refs_invalid[i]);

	add_seconds(object, "latency_seconds", counters->latency_us);
	add_seconds(object, "cpu_seconds", counters->cpu_us);
	add_seconds(object, "elapsed_seconds", counters->elapsed_us);
}

/* One entry of the controller's record. */
static void
add_change(struct json_object *object, const struct control_change *change, uint64_t begin_us)
{
	add_seconds(object, "seconds", change->at_us - begin_us);
	json__text(object, "limit", control__limit_name(change->limit));
	json__count(object, "from", change->from);
	json__count(object, "to", change->to);
	json__text(object, "reason", control__reason_name(change->reason));
	if (change->reason == CONTROL_FASTER)
	{
		json__count(object, "blocks_per_second_before", change->rate_from);
		json__count(object, "blocks_per_second_after", change->rate_to);
	}
}

/* The limits, and why they changed; begin_us is when the recovery began. */
static void
add_control(struct json_object *object, const struct control *control, uint64_t begin_us)
{
	struct json_object *log;
	uint64_t	first = control->changes > CONTROL_LOG ? control->changes - CONTROL_LOG : 0;

	json__count(object, "io_depth", control__depth(control));
	json__count(object, "gap_bytes", control->settled_gap);
	json__count(object, "readahead_limit", control->readahead_limit);
	json__count(object, "changes", control->changes);
	json__count(object, "failed_probes", control->failed_probes);
	log = json__array(object, "last_changes");
	for (uint64_t i = first; i < control->changes; i++)
		add_change(json__element(log), &control->log[i % CONTROL_LOG], begin_us);
}

static struct json_object *
statistics_object(const struct statistics *statistics)
{
	struct json_object *object = json_object_new_object();

	json__count(object, "pid", (uint64_t) getpid());
	json__text(object, "backend", statistics->backend);
	json__flag(object, "connected", statistics->connected);
	json__count(object, "recoveries", statistics->recoveries);
	json__count(object, "blocks_in_flight", statistics->engine.in_flight);
	json__count(object, "files_open", statistics->engine.open_files);
	json__lsn(object, "replay_lsn", statistics->replay_lsn);
	add_control(json__object(object, "control"), statistics->control, statistics->begin_us);
	statistics__add_counters(json__object(object, "recovery"), statistics->recovery);
	statistics__add_counters(json__object(object, "total"), statistics->total);
	return object;
}

/* Write the file; returns 0 or -errno. */
int
statistics__write(const char *path, const struct statistics *statistics)
{
	struct json_object *object;
	char	   *scratch;
	FILE	   *file;
	int			err = 0;

	/* The name is nobody else's, and no link that another user has put there is followed. */
	if (asprintf(&scratch, "%s.%d.tmp", path, (int) getpid()) < 0)
		return -ENOMEM;
	unlink(scratch);
	file = fopen(scratch, "wxe");
	if (file == NULL)
	{
		err = -errno;
		free(scratch);
		return err;
	}

	object = statistics_object(statistics);
	if (fprintf(file, "%s\n", json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY |
															  JSON_C_TO_STRING_SPACED)) < 0)
		err = -EIO;
	json_object_put(object);

	if (fclose(file) != 0)
		err = -errno;
	if (err == 0 && rename(scratch, path) < 0)
		err = -errno;
	if (err < 0)
		unlink(scratch);
	free(scratch);
	return err;
}
