/*
 * findings_json.c
 *		What a trace found, for programs: one JSON object on one line.
 *
 * Times are in seconds, sizes in bytes, everything else in blocks, calls or
 * requests, as the name indicates.  A share of nothing is null.  The man page lists
 * the members.
 */
#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "report/findings.h"

static void
add_count(struct json_object *object, const char *name, uint64_t value)
{
	json_object_object_add(object, name, json_object_new_uint64(value));
}

static void
add_text(struct json_object *object, const char *name, const char *value)
{
	json_object_object_add(object, name, json_object_new_string(value));
}

static void
add_flag(struct json_object *object, const char *name, bool value)
{
	json_object_object_add(object, name, json_object_new_boolean(value));
}

/* Seconds from nanoseconds, with nine digits and no more. */
static struct json_object *
seconds(uint64_t ns)
{
	char		text[32];

	snprintf(text, sizeof(text), "%llu.%09llu", (unsigned long long) (ns / 1000000000),
			 (unsigned long long) (ns % 1000000000));
	return json_object_new_double_s((double) ns / 1e9, text);
}

static void
add_seconds(struct json_object *object, const char *name, uint64_t ns)
{
	json_object_object_add(object, name, seconds(ns));
}

static void
add_share(struct json_object *object, const char *name, uint64_t part, uint64_t whole)
{
	double		share = findings__share(part, whole);
	char		text[32];

	snprintf(text, sizeof(text), "%.6f", share);
	json_object_object_add(object, name, share < 0 ? NULL : json_object_new_double_s(share, text));
}

static void
add_lsn(struct json_object *object, const char *name, uint64_t lsn)
{
	char		text[32];

	snprintf(text, sizeof(text), "%X/%08X", (unsigned) (lsn >> 32), (unsigned) lsn);
	json_object_object_add(object, name, lsn == 0 ? NULL : json_object_new_string(text));
}

/* What was traced, and how. */
static void
add_head(struct json_object *object, const struct findings *findings)
{
	struct json_object *daemons = json_object_new_array();
	struct json_object *lost = json_object_new_object();

	add_text(object, "report", findings->interval ? "interval" : "final");
	add_text(object, "outcome", findings__outcome_name(findings->outcome));
	add_text(object, "data_directory", findings->pgdata);
	add_count(object, "major", (uint64_t) findings->major);
	add_count(object, "block_size", findings->block_size);
	add_count(object, "startup_pid", (uint64_t) findings->startup);
	for (unsigned i = 0; i < findings->daemon_count; i++)
		json_object_array_add(daemons, json_object_new_int(findings->daemons[i]));
	json_object_object_add(object, "daemon_pids", daemons);
	add_flag(object, "from_start", findings->from_start);
	add_seconds(object, "seconds", findings->elapsed_ns);
	add_seconds(object, "cpu_seconds", findings->cpu_ns);
	add_lsn(object, "replay_lsn", findings->tally->replay_lsn);
	add_text(object, "attach_method", findings->attach_method);
	add_flag(object, "records_followed", findings->records_followed);
	add_flag(object, "references_followed", findings->references_followed);
	add_count(lost, "events", findings->lost.events);
	add_count(lost, "references", findings->lost.references);
	add_count(lost, "files", findings->lost.files);
	add_count(lost, "blocks", findings->lost.blocks);
	json_object_object_add(object, "lost", lost);
}

/* The shares of the whole. */
static void
add_shares(struct json_object *object, const struct tally *tally)
{
	struct tally_prefetcher sum = tally__prefetched(tally);
	uint64_t	timely = tally__read(tally, TALLY_TIMELY);
	uint64_t	late = tally__read(tally, TALLY_LATE);
	uint64_t	missed = tally__read(tally, TALLY_MISSED);
	uint64_t	read = tally__read_all(tally);
	uint64_t	wasted = tally__wasted(&sum);

	add_share(object, "coverage", timely + late, read);
	add_share(object, "timeliness", timely, timely + late);
	add_share(object, "late", late, read);
	add_share(object, "missed", missed, read);
	add_share(object, "accuracy", sum.used, sum.used + wasted);
	add_share(object, "wasted", wasted, sum.prefetched);
}

static void
add_prefetcher(struct json_object *object, const struct tally_prefetcher *prefetcher,
			   uint64_t pending)
{
	add_count(object, "prefetched", prefetcher->prefetched);
	add_count(object, "used", prefetcher->used);
	add_count(object, "wasted", tally__wasted(prefetcher));
	add_count(object, "pending", pending);
	for (int waste = 0; waste < TALLY_WASTES; waste++)
		add_count(object, tally__waste_name(waste), prefetcher->wasted[waste]);
}

static struct json_object *
blocks_object(const struct findings *findings)
{
	const struct tally *tally = findings->tally;
	struct tally_prefetcher sum = tally__prefetched(tally);
	struct json_object *object = json_object_new_object();
	struct json_object *causes = json_object_new_object();

	add_count(object, "read", tally__read_all(tally));
	for (int class = 0; class < TALLY_CLASSES; class++)
		add_count(object, tally__class_name(class), tally__read(tally, class));
	for (int class = 0; class < TALLY_MISSED; class++)
	{
		struct json_object *sources = json_object_new_object();

		for (int source = 0; source < TALLY_SOURCES; source++)
			add_count(sources, tally__source_name(source), tally->blocks[class][source]);
		json_object_object_add(object, class == TALLY_TIMELY ? "timely_by" : "late_by", sources);
	}
	for (int cause = 0; cause < TALLY_CAUSES; cause++)
		add_count(causes, tally__cause_name(cause), tally->missed[cause]);
	json_object_object_add(object, "missed_by", causes);
	add_prefetcher(object, &sum,
				   findings->pending[TALLY_DAEMON] + findings->pending[TALLY_SERVER]);
	return object;
}

static struct json_object *
sources_array(const struct findings *findings)
{
	struct json_object *array = json_object_new_array();

	for (int source = 0; source < TALLY_PREFETCHERS; source++)
	{
		struct json_object *object = json_object_new_object();

		add_text(object, "source", tally__source_name(source));
		add_prefetcher(object, &findings->tally->prefetchers[source], findings->pending[source]);
		json_object_array_add(array, object);
	}
	return array;
}

static struct json_object *
wait_object(const struct tally *tally)
{
	struct json_object *object = json_object_new_object();

	for (int class = 0; class < TALLY_CLASSES; class++)
		add_seconds(object, tally__class_name(class), tally->wait_ns[class]);
	add_seconds(object, "wal", tally->wal_wait_ns);
	return object;
}

static struct json_object *
wal_object(const struct tally *tally)
{
	struct json_object *object = json_object_new_object();

	add_count(object, "reads", tally->wal_calls[TALLY_TIMELY] + tally->wal_calls[TALLY_LATE] +
			  tally->wal_calls[TALLY_MISSED]);
	add_count(object, "bytes", tally->wal_bytes);
	add_count(object, "late", tally->wal_calls[TALLY_LATE]);
	add_count(object, "missed", tally->wal_calls[TALLY_MISSED]);
	add_seconds(object, "wait_seconds", tally->wal_wait_ns);
	return object;
}

static struct json_object *
device_object(const struct tally *tally)
{
	struct json_object *object = json_object_new_object();

	add_count(object, "reads", tally->reads.requests);
	add_count(object, "read_bytes", tally->reads.bytes);
	add_seconds(object, "read_seconds", tally->reads.busy_ns);
	add_count(object, "writes", tally->writes.requests);
	add_count(object, "write_bytes", tally->writes.bytes);
	add_seconds(object, "write_seconds", tally->writes.busy_ns);
	return object;
}

/* The bounds of a slot. */
static struct json_object *
slot_object(unsigned slot)
{
	struct json_object *object = json_object_new_object();

	add_seconds(object, "from", slot == 0 ? 0 : UINT64_C(1) << slot);
	add_seconds(object, "to", UINT64_C(2) << slot);
	return object;
}

static struct json_object *
histograms_object(const struct tally *tally)
{
	struct json_object *object = json_object_new_object();
	struct json_object *waits = json_object_new_array();
	struct json_object *reads = json_object_new_array();

	for (unsigned i = 0; i < TRACE_SLOTS; i++)
	{
		struct json_object *slot;

		if (tally->wait_slots[TALLY_TIMELY][i] + tally->wait_slots[TALLY_LATE][i] +
			tally->wait_slots[TALLY_MISSED][i] > 0)
		{
			slot = slot_object(i);
			for (int class = 0; class < TALLY_CLASSES; class++)
				add_count(slot, tally__class_name(class), tally->wait_slots[class][i]);
			json_object_array_add(waits, slot);
		}
		if (tally->reads.slots[i] > 0)
		{
			slot = slot_object(i);
			add_count(slot, "count", tally->reads.slots[i]);
			json_object_array_add(reads, slot);
		}
	}
	json_object_object_add(object, "redo_wait", waits);
	json_object_object_add(object, "device_read_latency", reads);
	return object;
}

/* What redo read, in a row. */
static void
add_row_reads(struct json_object *object, const struct tally_row *row)
{
	add_count(object, "read", tally__row_read(row));
	for (int class = 0; class < TALLY_CLASSES; class++)
		add_count(object, tally__class_name(class), row->read[class]);
	add_seconds(object, "wait_seconds", row->wait_ns);
}

static struct json_object *
relation_object(const struct findings_row *row)
{
	struct json_object *object = json_object_new_object();
	bool		slru = row->key.kind == REDOAHEAD_KIND_SLRU;

	add_text(object, "path", row->path);
	add_text(object, "kind", slru ? "slru" : "relation");
	if (!slru)
	{
		add_count(object, "tablespace", row->key.spc);
		add_count(object, "database", row->key.db);
		add_count(object, "relfilenumber", row->key.rel);
	}
	json_object_object_add(object, "name",
						   row->name[0] == '\0' ? NULL : json_object_new_string(row->name));
	json_object_object_add(object, "database_name", row->database[0] == '\0' ? NULL :
						   json_object_new_string(row->database));
	add_text(object, "fork", slru ? "" : relpath__fork_name(row->key.fork));
	add_flag(object, "dropped", row->dropped);
	add_row_reads(object, &row->counts);
	add_count(object, "prefetched", row->counts.prefetched);
	add_count(object, "used", row->counts.used);
	add_count(object, "wasted", row->counts.wasted);
	return object;
}

static void
add_rmgr(struct json_object *array, const char *name, const struct tally_row *row)
{
	struct json_object *object;

	if (tally__row_read(row) == 0)
		return;
	object = json_object_new_object();
	add_text(object, "name", name);
	add_row_reads(object, row);
	json_object_array_add(array, object);
}

static struct json_object *
rmgrs_array(const struct tally *tally)
{
	struct json_object *array = json_object_new_array();
	char		buffer[16];

	for (unsigned rmid = 0; rmid < TALLY_RMGRS; rmid++)
		add_rmgr(array, findings__rmgr_name(rmid, buffer), &tally->rmgrs[rmid]);
	add_rmgr(array, "unknown", &tally->no_rmgr);
	return array;
}

static struct json_object *
timeline_array(const struct tally *tally)
{
	struct json_object *array = json_object_new_array();

	for (uint32_t i = 0; i < tally->sample_count; i++)
	{
		const struct tally_sample *sample = &tally->samples[i];
		struct json_object *object = json_object_new_object();
		uint64_t	read = 0;

		add_seconds(object, "seconds", i * tally->sample_ns);
		add_seconds(object, "width_seconds", tally->sample_ns);
		add_lsn(object, "replay_lsn", sample->lsn);
		for (int class = 0; class < TALLY_CLASSES; class++)
			read += sample->read[class];
		add_count(object, "read", read);
		for (int class = 0; class < TALLY_CLASSES; class++)
			add_count(object, tally__class_name(class), sample->read[class]);
		add_count(object, "prefetched", sample->prefetched);
		add_seconds(object, "wait_seconds", sample->wait_ns);
		json_object_array_add(array, object);
	}
	return array;
}

/* Write all, as one line. */
int
findings__json(const struct findings *findings, FILE *file)
{
	const struct tally *tally = findings->tally;
	struct json_object *object = json_object_new_object();
	struct json_object *relations = json_object_new_array();
	int			err;

	add_head(object, findings);
	add_shares(object, tally);
	json_object_object_add(object, "blocks", blocks_object(findings));
	json_object_object_add(object, "sources", sources_array(findings));
	add_count(object, "reads", tally->calls[TALLY_TIMELY] + tally->calls[TALLY_LATE] +
			  tally->calls[TALLY_MISSED]);
	add_count(object, "bytes_read", tally->bytes);
	json_object_object_add(object, "wait_seconds", wait_object(tally));
	json_object_object_add(object, "wal", wal_object(tally));
	json_object_object_add(object, "device", device_object(tally));
	json_object_object_add(object, "histograms", histograms_object(tally));
	for (uint32_t i = 0; i < findings->row_count; i++)
		json_object_array_add(relations, relation_object(&findings->rows[i]));
	json_object_object_add(object, "relations", relations);
	json_object_object_add(object, "resource_managers", rmgrs_array(tally));
	json_object_object_add(object, "timeline", timeline_array(tally));

	err = fprintf(file, "%s\n", json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
																  JSON_C_TO_STRING_NOSLASHESCAPE)) < 0 ||
		fflush(file) != 0 ? -EIO : 0;
	json_object_put(object);
	return err;
}
