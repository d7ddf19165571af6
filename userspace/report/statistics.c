/*
 * statistics.c
 *		Writes the daemon's counters to a file as JSON.
 *
 * The file is replaced atomically.
 * Times are in seconds, everything else in blocks, references, requests or
 * files, as the name indicates.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/statistics.h"

/* Counters with a plain name, in file order. */
static const struct
{
	const char *name;			/* member name */
	size_t		offset;			/* in struct counters */
}			plain_counters[] = {
	{"refs_taken", offsetof(struct counters, refs_taken)},
	{"refs_implied", offsetof(struct counters, refs_implied)},
	{"refs_out_of_order", offsetof(struct counters, refs_out_of_order)},
	{"refs_duplicate", offsetof(struct counters, refs_duplicate)},
	{"sweeps", offsetof(struct counters, sweeps)},
	{"blocks_stale", offsetof(struct counters, blocks_stale)},
	{"requests", offsetof(struct counters, requests)},
	{"requests_joined", offsetof(struct counters, requests_joined)},
	{"blocks_requested", offsetof(struct counters, blocks_requested)},
	{"blocks_read", offsetof(struct counters, blocks_read)},
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
add_count(struct json_object *object, const char *name, uint64_t value)
{
	json_object_object_add(object, name, json_object_new_uint64(value));
}

/* Seconds from microseconds, with six digits and no more. */
static void
add_seconds(struct json_object *object, const char *name, uint64_t us)
{
	char		text[32];

	snprintf(text, sizeof(text), "%llu.%06llu",
			 (unsigned long long) (us / 1000000), (unsigned long long) (us % 1000000));
	json_object_object_add(object, name,
						   json_object_new_double_s((double) us / 1e6, text));
}

static struct json_object *
counters_object(const struct counters *counters)
{
	struct json_object *object = json_object_new_object();
	struct json_object *failed = json_object_new_object();
	struct json_object *invalid = json_object_new_object();

	for (size_t i = 0; i < sizeof(plain_counters) / sizeof(plain_counters[0]); i++)
		add_count(object, plain_counters[i].name,
				  *(const uint64_t *) ((const char *) counters + plain_counters[i].offset));

	add_count(object, "blocks_failed", counters__failed(counters));
	for (int i = 0; i < FAIL_REASON_COUNT; i++)
		add_count(failed, counters__fail_name(i), counters->blocks_failed[i]);
	json_object_object_add(object, "blocks_failed_by_reason", failed);

	add_count(object, "refs_invalid", counters__invalid(counters));
	for (int i = 0; i < INVALID_REASON_COUNT; i++)
		add_count(invalid, relpath__invalid_name(i), counters->refs_invalid[i]);
	json_object_object_add(object, "refs_invalid_by_reason", invalid);

	add_seconds(object, "latency_seconds", counters->latency_us);
	add_seconds(object, "cpu_seconds", counters->cpu_us);
	add_seconds(object, "elapsed_seconds", counters->elapsed_us);
	return object;
}

/* One entry of the controller's record. */
static struct json_object *
change_object(const struct control_change *change, uint64_t begin_us)
{
	struct json_object *object = json_object_new_object();

	add_seconds(object, "seconds", change->at_us - begin_us);
	json_object_object_add(object, "limit",
						   json_object_new_string(change->io_depth ? "io_depth" : "readahead_limit"));
	add_count(object, "from_blocks", change->from);
	add_count(object, "to_blocks", change->to);
	json_object_object_add(object, "reason",
						   json_object_new_string(control__reason_name(change->reason)));
	if (change->reason == CONTROL_FASTER)
	{
		add_count(object, "blocks_per_second_before", change->rate_from);
		add_count(object, "blocks_per_second_after", change->rate_to);
	}
	return object;
}

/* The limits, and why they changed; begin_us is when the recovery began. */
static struct json_object *
control_object(const struct control *control, uint64_t begin_us)
{
	struct json_object *object = json_object_new_object();
	struct json_object *log = json_object_new_array();
	uint64_t	first = control->changes > CONTROL_LOG ? control->changes - CONTROL_LOG : 0;

	add_count(object, "io_depth", control->settled);
	add_count(object, "readahead_limit", control->readahead_limit);
	add_count(object, "changes", control->changes);
	add_count(object, "failed_probes", control->failed_probes);
	for (uint64_t i = first; i < control->changes; i++)
		json_object_array_add(log, change_object(&control->log[i % CONTROL_LOG], begin_us));
	json_object_object_add(object, "last_changes", log);
	return object;
}

static struct json_object *
statistics_object(const struct statistics *statistics)
{
	struct json_object *object = json_object_new_object();
	char		lsn[32];

	snprintf(lsn, sizeof(lsn), "%X/%08X",
			 (unsigned) (statistics->replay_lsn >> 32), (unsigned) statistics->replay_lsn);
	add_count(object, "pid", (uint64_t) getpid());
	json_object_object_add(object, "backend", json_object_new_string(statistics->backend));
	json_object_object_add(object, "connected", json_object_new_boolean(statistics->connected));
	add_count(object, "recoveries", statistics->recoveries);
	add_count(object, "blocks_in_flight", statistics->engine.in_flight);
	add_count(object, "files_open", statistics->engine.open_files);
	json_object_object_add(object, "replay_lsn", json_object_new_string(lsn));
	json_object_object_add(object, "control", control_object(statistics->control, statistics->begin_us));
	json_object_object_add(object, "recovery", counters_object(statistics->recovery));
	json_object_object_add(object, "total", counters_object(statistics->total));
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

	if (asprintf(&scratch, "%s.tmp", path) < 0)
		return -ENOMEM;
	file = fopen(scratch, "we");
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
