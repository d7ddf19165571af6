/*
 * findings_json.c
 *		What a trace found, for programs: one JSON object on one line.
 *
 * Times are in seconds, sizes in bytes, everything else in blocks, calls or
 * requests, as the name indicates.  A share of nothing is null.  The man page lists
 * the members.
 */
#include <errno.h>
#include <string.h>

#include "report/findings.h"
#include "report/json.h"

static void
add_seconds(struct json_object *object, const char *name, uint64_t ns)
{
	json__seconds(object, name, ns, JSON_NANOSECONDS);
}

static void
add_share(struct json_object *object, const char *name, uint64_t part, uint64_t whole)
{
	double		share = findings__share(part, whole);
	char		text[32];

	snprintf(text, sizeof(text), "%.6f", share);
	json_object_object_add(object, name, share < 0 ? NULL : json_object_new_double_s(share, text));
}

/* An LSN; null if it is not known. */
static void
add_lsn(struct json_object *object, const char *name, uint64_t lsn)
{
	if (lsn == 0)
		json__text(object, name, NULL);
	else
		json__lsn(object, name, lsn);
}

/* The blocks of each class. */
static void
add_classes(struct json_object *object, const uint64_t blocks[TALLY_CLASSES])
{
	for (int class = 0; class < TALLY_CLASSES; class++)
		json__count(object, tally__class_names[class], blocks[class]);
}

/* What was traced, and how. */
static void
add_head(struct json_object *object, const struct findings *findings)
{
	struct json_object *daemons;
	struct json_object *lost;

	json__text(object, "report", findings->interval ? "interval" : "final");
	json__text(object, "outcome", findings__outcome_names[findings->outcome]);
	json__text(object, "data_directory", findings->pgdata);
	json__count(object, "major", (uint64_t) findings->major);
	json__count(object, "block_size", findings->block_size);
	json__count(object, "startup_pid", (uint64_t) findings->startup);
	daemons = json__array(object, "daemon_pids");
	for (unsigned i = 0; i < findings->daemon_count; i++)
		json_object_array_add(daemons, json_object_new_int(findings->daemons[i]));
	json__flag(object, "from_start", findings->from_start);
	add_seconds(object, "seconds", findings->elapsed_ns);
	add_seconds(object, "cpu_seconds", findings->cpu_ns);
	add_lsn(object, "replay_lsn", findings->tally->replay_lsn);
	json__text(object, "attach_method", findings->attach_method);
	json__flag(object, "records_followed", findings->records_followed);
	json__flag(object, "references_followed", findings->references_followed);
	lost = json__object(object, "lost");
	json__count(lost, "events", findings->lost.events);
	json__count(lost, "references", findings->lost.references);
	json__count(lost, "files", findings->lost.files);
	json__count(lost, "blocks", findings->lost.blocks);
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
	add_share(object, "wasted", wasted, sum.used + wasted);
}

static void
add_prefetcher(struct json_object *object, const struct tally_prefetcher *prefetcher,
			   uint64_t pending)
{
	json__count(object, "prefetched", prefetcher->prefetched);
	json__count(object, "used", prefetcher->used);
	json__count(object, "wasted", tally__wasted(prefetcher));
	json__count(object, "pending", pending);
	for (int waste = 0; waste < TALLY_WASTES; waste++)
		json__count(object, tally__waste_names[waste], prefetcher->wasted[waste]);
}

static void
add_blocks(struct json_object *object, const struct findings *findings)
{
	const struct tally *tally = findings->tally;
	struct tally_prefetcher sum = tally__prefetched(tally);
	struct json_object *causes;

	json__count(object, "read", tally__read_all(tally));
	for (int class = 0; class < TALLY_CLASSES; class++)
		json__count(object, tally__class_names[class], tally__read(tally, class));
	for (int class = 0; class < TALLY_MISSED; class++)
	{
		struct json_object *sources =
			json__object(object, class == TALLY_TIMELY ? "timely_by" : "late_by");

		for (int source = 0; source < TALLY_SOURCES; source++)
			json__count(sources, tally__source_names[source], tally->blocks[class][source]);
	}
	causes = json__object(object, "missed_by");
	for (int cause = 0; cause < TALLY_CAUSES; cause++)
		json__count(causes, tally__cause_names[cause], tally->missed[cause]);
	add_prefetcher(object, &sum,
				   findings->pending[TALLY_DAEMON] + findings->pending[TALLY_SERVER]);
}

static void
add_sources(struct json_object *array, const struct findings *findings)
{
	for (int source = 0; source < TALLY_PREFETCHERS; source++)
	{
		struct json_object *object = json__element(array);

		json__text(object, "source", tally__source_names[source]);
		add_prefetcher(object, &findings->tally->prefetchers[source], findings->pending[source]);
	}
}

static void
add_waits(struct json_object *object, const struct tally *tally)
{
	for (int class = 0; class < TALLY_CLASSES; class++)
		add_seconds(object, tally__class_names[class], tally->wait_ns[class]);
	add_seconds(object, "wal", tally->wal_wait_ns);
}

/* The sum of a count by class. */
static uint64_t
sum_of(const uint64_t by_class[TALLY_CLASSES])
{
	return by_class[TALLY_TIMELY] + by_class[TALLY_LATE] + by_class[TALLY_MISSED];
}

static void
add_wal(struct json_object *object, const struct tally *tally)
{
	json__count(object, "reads", sum_of(tally->wal_calls));
	json__count(object, "bytes", tally->wal_bytes);
	json__count(object, "late", tally->wal_calls[TALLY_LATE]);
	json__count(object, "missed", tally->wal_calls[TALLY_MISSED]);
	add_seconds(object, "wait_seconds", tally->wal_wait_ns);
}

static void
add_device(struct json_object *object, const struct tally *tally)
{
	json__count(object, "reads", tally->reads.requests);
	json__count(object, "read_bytes", tally->reads.bytes);
	add_seconds(object, "read_seconds", tally->reads.busy_ns);
	json__count(object, "writes", tally->writes.requests);
	json__count(object, "write_bytes", tally->writes.bytes);
	add_seconds(object, "write_seconds", tally->writes.busy_ns);
}

/* A slot of a histogram, with its bounds. */
static struct json_object *
add_slot(struct json_object *histogram, unsigned slot)
{
	struct json_object *object = json__element(histogram);

	add_seconds(object, "from", slot == 0 ? 0 : UINT64_C(1) << slot);
	add_seconds(object, "to", UINT64_C(2) << slot);
	return object;
}

static void
add_histograms(struct json_object *object, const struct tally *tally)
{
	struct json_object *waits = json__array(object, "redo_wait");
	struct json_object *reads = json__array(object, "device_read_latency");

	for (unsigned i = 0; i < TRACE_SLOTS; i++)
	{
		uint64_t	slot[TALLY_CLASSES];

		for (int class = 0; class < TALLY_CLASSES; class++)
			slot[class] = tally->wait_slots[class][i];
		if (sum_of(slot) > 0)
			add_classes(add_slot(waits, i), slot);
		if (tally->reads.slots[i] > 0)
			json__count(add_slot(reads, i), "count", tally->reads.slots[i]);
	}
}

/* What redo read, in a row. */
static void
add_row_reads(struct json_object *object, const struct tally_row *row)
{
	json__count(object, "read", tally__row_read(row));
	add_classes(object, row->read);
	add_seconds(object, "wait_seconds", row->wait_ns);
}

static void
add_relation(struct json_object *object, const struct findings_row *row)
{
	bool		slru = row->key.kind == REDOAHEAD_KIND_SLRU;

	json__text(object, "path", row->path);
	json__text(object, "kind", slru ? "slru" : "relation");
	if (!slru)
	{
		json__count(object, "tablespace", row->key.spc);
		json__count(object, "database", row->key.db);
		json__count(object, "relfilenumber", row->key.rel);
	}
	json__text(object, "name", row->name[0] == '\0' ? NULL : row->name);
	json__text(object, "database_name", row->database[0] == '\0' ? NULL : row->database);
	json__text(object, "fork", slru ? "" : relpath__fork_name(row->key.fork));
	json__flag(object, "dropped", row->dropped);
	add_row_reads(object, &row->counts);
	json__count(object, "prefetched", row->counts.prefetched);
	json__count(object, "used", row->counts.used);
	json__count(object, "wasted", row->counts.wasted);
}

static void
add_rmgr(struct json_object *array, const char *name, const struct tally_row *row)
{
	struct json_object *object;

	if (tally__row_read(row) == 0)
		return;
	object = json__element(array);
	json__text(object, "name", name);
	add_row_reads(object, row);
}

static void
add_rmgrs(struct json_object *array, const struct tally *tally)
{
	char		buffer[16];

	for (unsigned rmid = 0; rmid < TALLY_RMGRS; rmid++)
		add_rmgr(array, findings__rmgr_name(rmid, buffer), &tally->rmgrs[rmid]);
	add_rmgr(array, "unknown", &tally->no_rmgr);
}

static void
add_timeline(struct json_object *array, const struct tally *tally)
{
	for (uint32_t i = 0; i < tally->sample_count; i++)
	{
		const struct tally_sample *sample = &tally->samples[i];
		struct json_object *object = json__element(array);

		add_seconds(object, "seconds", i * tally->sample_ns);
		add_seconds(object, "width_seconds", tally->sample_ns);
		add_lsn(object, "replay_lsn", sample->lsn);
		json__count(object, "read", sum_of(sample->read));
		add_classes(object, sample->read);
		json__count(object, "prefetched", sample->prefetched);
		add_seconds(object, "wait_seconds", sample->wait_ns);
	}
}

/* Write all, as one line. */
int
findings__json(const struct findings *findings, FILE *file)
{
	const struct tally *tally = findings->tally;
	struct json_object *object = json_object_new_object();
	struct json_object *relations;
	const char *text;
	int			err;

	add_head(object, findings);
	add_shares(object, tally);
	add_blocks(json__object(object, "blocks"), findings);
	add_sources(json__array(object, "sources"), findings);
	json__count(object, "reads", sum_of(tally->calls));
	json__count(object, "bytes_read", tally->bytes);
	add_waits(json__object(object, "wait_seconds"), tally);
	add_wal(json__object(object, "wal"), tally);
	add_device(json__object(object, "device"), tally);
	add_histograms(json__object(object, "histograms"), tally);
	relations = json__array(object, "relations");
	for (uint32_t i = 0; i < findings->row_count; i++)
		add_relation(json__element(relations), &findings->rows[i]);
	add_rmgrs(json__array(object, "resource_managers"), tally);
	add_timeline(json__array(object, "timeline"), tally);

	text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
										  JSON_C_TO_STRING_NOSLASHESCAPE);
	err = fprintf(file, "%s\n", text) < 0 || fflush(file) != 0 ? -EIO : 0;
	json_object_put(object);
	return err;
}
