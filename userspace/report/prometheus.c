/*
 * prometheus.c
 *		Writes the status document as metrics for Prometheus: text format 0.0.4.
 *
 * One table has all families of metrics.  A member that is null or missing is unknown,
 * and has no sample; a family without a sample is not written.  A member of another type
 * than expected is left out, too, but reported to the caller: the document is not ours.
 *
 * Counters are those of all recoveries since the daemon started, so that they never
 * decrease while it runs.  Gauges of a recovery exist while it lasts.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "report/json.h"
#include "report/prometheus.h"

/* How a member becomes samples. */
enum form
{
	FORM_NUMBER,				/* one sample: the number */
	FORM_LSN,					/* one sample: the LSN in bytes */
	FORM_STATES,				/* one for each state: 1 for the one that the text names, 0 for others */
	FORM_PARTS,					/* one for each member of the object */
	FORM_KNOWN,					/* 1 if the member is known, otherwise 0 */
	FORM_BUILD					/* 1, with members of the document as labels */
};

/* A family of metrics. */
struct family
{
	const char *name;			/* without "redoahead_" */
	const char *type;			/* gauge or counter */
	enum form	form;
	const char *part;			/* object of the document that has the member, NULL: the document */
	const char *member;			/* member's name */
	const char *label;			/* FORM_STATES and FORM_PARTS: the label's name */
	const char *const *states;	/* what the label may be, NULL at the end; see write_parts() */
	const char *help;			/* meaning; has neither backslashes nor line feeds */
};

static const char *const phases[] = {
	"waiting", "crash recovery", "archive recovery", "streaming", "end-of-recovery checkpoint", NULL
};

static const char *const limits[] = {
	"cpu", "device latency", "device throughput", "wal supply", "lock conflict", "pause or delay",
	"checkpoint", NULL
};

static const char *const backends[] = {"io_uring", "fadvise", NULL};

/* Members of the document, of the present or the last recovery, and of the counters. */
#define DOCUMENT(name, form, member, help) \
	{name, "gauge", form, NULL, member, NULL, NULL, help}
#define RECOVERY(name, form, member, help) \
	{"recovery_" name, "gauge", form, "recovery", member, NULL, NULL, help}
#define LAST(name, member, help) \
	{"last_recovery_" name, "gauge", FORM_NUMBER, "last_recovery", member, NULL, NULL, help}
#define TOTAL(member, help) \
	{member "_total", "counter", FORM_NUMBER, "total", member, NULL, NULL, help}
#define STATES(name, part, states, help) \
	{name, "gauge", FORM_STATES, part, name, name, states, help}

/* The first is what is known of a daemon that does not respond. */
static const struct family families[] = {
	DOCUMENT("up", FORM_KNOWN, "pid", "1 if the daemon responds, 0 if there is none"),
	DOCUMENT("build_info", FORM_BUILD, "program_version",
			 "Always 1; version, command (serve or follow) and major version of the server are labels"),
	DOCUMENT("status_timestamp_seconds", FORM_NUMBER, "time",
			 "Unix time at which the daemon reported the metrics"),
	DOCUMENT("uptime_seconds", FORM_NUMBER, "uptime_seconds", "Time since the daemon started"),
	DOCUMENT("server_refused", FORM_KNOWN, "refused",
			 "1 if the daemon cannot serve the server, otherwise 0"),
	STATES("backend", NULL, backends, "How blocks are read; 1 for the one in use"),
	STATES("phase", NULL, phases, "What the server does; 1 for the present phase"),
	{"recoveries_total", "counter", FORM_NUMBER, NULL, "recoveries", NULL, NULL,
	"Recoveries found"},

	RECOVERY("begin_timestamp_seconds", FORM_NUMBER, "begin_time",
			 "Unix time at which the recovery was found"),
	RECOVERY("elapsed_seconds", FORM_NUMBER, "elapsed_seconds", "Time since then"),
	RECOVERY("redo_start_lsn_bytes", FORM_LSN, "redo_start_lsn", "LSN at which redo began"),
	RECOVERY("replay_lsn_bytes", FORM_LSN, "replay_lsn", "LSN that redo has reached"),
	RECOVERY("decode_lsn_bytes", FORM_LSN, "decode_lsn", "LSN up to which WAL has been decoded"),
	RECOVERY("end_lsn_bytes", FORM_LSN, "end_lsn", "LSN at which WAL ends, as far as is known"),
	RECOVERY("received_lsn_bytes", FORM_LSN, "received_lsn",
			 "LSN up to which WAL has been received from the primary"),
	RECOVERY("primary_lsn_bytes", FORM_LSN, "primary_lsn",
			 "LSN up to which the primary has written WAL, as last reported"),
	RECOVERY("replayed_bytes", FORM_NUMBER, "replayed_bytes", "WAL replayed"),
	RECOVERY("remaining_bytes", FORM_NUMBER, "remaining_bytes", "WAL still to replay"),
	RECOVERY("progress_ratio", FORM_NUMBER, "progress", "Share of the WAL that has been replayed"),
	RECOVERY("bytes_per_second", FORM_NUMBER, "bytes_per_second",
			 "WAL replayed per second, in the last seconds"),
	RECOVERY("mean_bytes_per_second", FORM_NUMBER, "mean_bytes_per_second",
			 "WAL replayed per second, in the whole recovery"),
	RECOVERY("time_left_seconds", FORM_NUMBER, "time_left_seconds",
			 "Time until the WAL has been replayed, as estimated"),
	RECOVERY("time_left_min_seconds", FORM_NUMBER, "time_left_min_seconds",
			 "Least time until then, as estimated"),
	RECOVERY("time_left_max_seconds", FORM_NUMBER, "time_left_max_seconds",
			 "Most time until then, as estimated"),
	RECOVERY("stalled_seconds", FORM_NUMBER, "stalled_seconds",
			 "Time since the replay LSN last advanced"),
	STATES("limit", "recovery", limits, "What limits redo now; all 0 if that is unknown"),
	{"recovery_limit_seconds", "gauge", FORM_PARTS, "recovery", "limit_seconds", "limit", limits,
	"Time for which each limit has limited redo, in this recovery"},
	RECOVERY("lookahead_bytes", FORM_NUMBER, "lookahead_bytes",
			 "Decode LSN minus replay LSN"),
	RECOVERY("blocks_queued", FORM_NUMBER, "blocks_queued", "Blocks that wait to be submitted"),
	RECOVERY("blocks_in_flight", FORM_NUMBER, "blocks_in_flight", "Blocks requested and not yet read"),
	RECOVERY("blocks_ahead", FORM_NUMBER, "blocks_ahead",
			 "Blocks in flight or read that redo has not reached"),
	RECOVERY("io_depth_blocks", FORM_NUMBER, "io_depth", "Most blocks in flight now"),
	RECOVERY("gap_bytes", FORM_NUMBER, "gap_bytes",
			 "Longest gap between two blocks that requests read, too"),
	RECOVERY("readahead_limit_blocks", FORM_NUMBER, "readahead_limit",
			 "Most blocks read ahead of redo now"),
	RECOVERY("coverage_ratio", FORM_NUMBER, "coverage",
			 "Share of the referenced blocks that were submitted before redo reached them"),

	LAST("begin_timestamp_seconds", "begin_time", "Unix time at which the last recovery was found"),
	LAST("elapsed_seconds", "elapsed_seconds", "Time that it took"),
	LAST("replayed_bytes", "replayed_bytes", "WAL replayed in it"),
	LAST("coverage_ratio", "coverage",
		 "Share of its referenced blocks that were submitted before redo reached them"),

	TOTAL("refs_taken", "References taken from the ring or from WAL"),
	TOTAL("refs_implied", "Of those, to blocks that no record names"),
	TOTAL("refs_dropped", "References dropped by the server, because the ring was full"),
	TOTAL("refs_out_of_order", "References whose LSN is below the newest one"),
	TOTAL("refs_duplicate", "References to a block that the sweep has already"),
	{"refs_invalid_total", "counter", FORM_PARTS, "total", "refs_invalid_by_reason", "reason", NULL,
	"References refused, by reason"},
	TOTAL("sweeps", "Times that queued blocks were sorted"),
	TOTAL("requests", "Reads submitted"),
	TOTAL("requests_joined", "Of those, reads of several blocks"),
	TOTAL("blocks_requested", "Blocks in all requests, without gaps"),
	TOTAL("blocks_read", "Blocks brought into the page cache"),
	TOTAL("gap_blocks_read", "Blocks in gaps between these, brought in by the same requests"),
	TOTAL("blocks_resident", "Blocks not requested, because they were resident"),
	TOTAL("blocks_revalidated", "Blocks whose residency was checked again while redo waited"),
	TOTAL("blocks_reread", "Of those, blocks evicted and read again"),
	TOTAL("blocks_released", "Blocks dropped from the page cache after redo had used them"),
	TOTAL("wal_blocks_read", "Blocks of WAL, read ahead of decoding"),
	TOTAL("blocks_stale", "Blocks replayed before they were submitted"),
	TOTAL("blocks_abandoned", "Blocks not read when a recovery ended"),
	{"blocks_failed_total", "counter", FORM_PARTS, "total", "blocks_failed_by_reason", "reason", NULL,
	"Blocks not read, by reason; missing_file and beyond_eof are normal"},
	{"blocks_in_flight_max", "gauge", FORM_NUMBER, "total", "blocks_in_flight_max", NULL, NULL,
	"Most blocks in flight since the daemon started"},
	TOTAL("latency_seconds", "Time from request to completion, summed over blocks"),
	TOTAL("files_opened", "Data files opened"),
	TOTAL("files_evicted", "Data files closed to make room, or not used for minutes"),
	TOTAL("files_dropped", "Data files closed because they were unlinked"),
	TOTAL("sleeps", "Times that the daemon slept until it was woken"),
	TOTAL("cpu_seconds", "CPU time of the daemon in recoveries"),
	TOTAL("elapsed_seconds", "Time in recoveries"),
};

/* What is written, where, and how far that is. */
struct writer
{
	FILE	   *file;			/* where to */
	struct json_object *document;	/* what is written */
	const char *directory;		/* data directory */
	const struct family *family;	/* the present one */
	bool		begun;			/* its HELP and TYPE have been written */
	int			err;			/* 0, or -EINVAL: a member has the wrong type */
};

/*
 * A label's value.  Readers refuse what is not UTF-8, so that becomes U+FFFD, as control
 * characters do, for people read it, too.
 */
static void
write_label(struct writer *writer, const char *name, const char *value)
{
	FILE	   *file = writer->file;
	unsigned	length;

	fprintf(file, "%s=\"", name);
	while (*value != '\0')
	{
		const char *character = utf8__next(&value, &length);

		if (*character == '\n')
			fputs("\\n", file);
		else if (*character == '\\' || *character == '"')
			fprintf(file, "\\%c", *character);
		else if (utf8__is_control(character))
			fputs(UTF8_REPLACEMENT, file);
		else
			fwrite(character, 1, length, file);
	}
	fputc('"', file);
}

/* Begin a sample: all up to the label that the caller may add. */
static void
begin_sample(struct writer *writer)
{
	const struct family *family = writer->family;

	if (!writer->begun)
		fprintf(writer->file, "# HELP redoahead_%s %s.\n# TYPE redoahead_%s %s\n",
				family->name, family->help, family->name, family->type);
	writer->begun = true;
	fprintf(writer->file, "redoahead_%s{", family->name);
	write_label(writer, "data_directory", writer->directory);
}

/* A sample; label_value may be NULL. */
static void
write_sample(struct writer *writer, const char *label_value, const char *value)
{
	begin_sample(writer);
	if (label_value != NULL)
	{
		fputc(',', writer->file);
		write_label(writer, writer->family->label, label_value);
	}
	fprintf(writer->file, "} %s\n", value);
}

/* A number, in JSON's form, which is one that Prometheus reads. */
static void
write_number(struct writer *writer, const char *label_value, struct json_object *value)
{
	if (json_object_is_type(value, json_type_int) ||
		(json_object_is_type(value, json_type_double) && isfinite(json_object_get_double(value))))
		write_sample(writer, label_value, json_object_get_string(value));
	else if (value != NULL && !json_object_is_type(value, json_type_double))
		writer->err = -EINVAL;
}

static void
write_lsn(struct writer *writer, struct json_object *value)
{
	char		bytes[32];
	char		rest;
	unsigned	high;
	unsigned	low;

	if (value == NULL)
		return;
	if (!json_object_is_type(value, json_type_string) ||
		sscanf(json_object_get_string(value), "%8x/%8x%c", &high, &low, &rest) != 2)
	{
		writer->err = -EINVAL;
		return;
	}
	snprintf(bytes, sizeof(bytes), "%" PRIu64, (uint64_t) high << 32 | low);
	write_sample(writer, NULL, bytes);
}

/* A state that this version does not know is one more, so that the sum is always 1. */
static void
write_states(struct writer *writer, struct json_object *value)
{
	const char *present = value != NULL ? json_object_get_string(value) : "";
	bool		known = value == NULL;

	if (value != NULL && !json_object_is_type(value, json_type_string))
	{
		writer->err = -EINVAL;
		return;
	}
	for (const char *const *state = writer->family->states; *state != NULL; state++)
	{
		bool		is_present = strcmp(present, *state) == 0;

		write_sample(writer, *state, is_present ? "1" : "0");
		known |= is_present;
	}
	if (!known)
		write_sample(writer, present, "1");
}

/*
 * The members of an object: their names are the label's values.  If there are states,
 * these are what the names mean: they have spaces where names have underscores.
 */
static void
write_parts(struct writer *writer, struct json_object *object)
{
	if (object != NULL && !json_object_is_type(object, json_type_object))
	{
		writer->err = -EINVAL;
		return;
	}
	if (object == NULL)
		return;
	json_object_object_foreach(object, name, value)
	{
		char		label_value[64];

		snprintf(label_value, sizeof(label_value), "%s", name);
		if (writer->family->states != NULL)
			for (char *c = label_value; *c != '\0'; c++)
				if (*c == '_')
					*c = ' ';
		write_number(writer, label_value, value);
	}
}

/* What the daemon is.  An unknown member has an empty label, which is none for Prometheus. */
static void
write_build(struct writer *writer)
{
	static const struct
	{
		const char *label;		/* label's name */
		const char *member;		/* member of the document */
	}			labels[] = {
		{"version", "program_version"}, {"command", "command"}, {"server_major", "server_major"}
	};

	begin_sample(writer);
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
	{
		struct json_object *value = json__member(writer->document, labels[i].member);

		fputc(',', writer->file);
		write_label(writer, labels[i].label, value != NULL ? json_object_get_string(value) : "");
	}
	fputs("} 1\n", writer->file);
}

static void
write_family(struct writer *writer, const struct family *family)
{
	struct json_object *part = writer->document;
	struct json_object *value;

	if (family->part != NULL)
		part = json__member(writer->document, family->part);
	if (part != NULL && !json_object_is_type(part, json_type_object))
		writer->err = -EINVAL;
	value = json__member(part, family->member);
	writer->family = family;
	writer->begun = false;
	switch (family->form)
	{
		case FORM_NUMBER:
			write_number(writer, NULL, value);
			break;
		case FORM_LSN:
			write_lsn(writer, value);
			break;
		case FORM_STATES:
			write_states(writer, value);
			break;
		case FORM_PARTS:
			write_parts(writer, value);
			break;
		case FORM_KNOWN:
			write_sample(writer, NULL, value != NULL ? "1" : "0");
			break;
		case FORM_BUILD:
			write_build(writer);
			break;
	}
}

/*
 * Write a status document.  One without a process ID is that of a daemon that does not
 * respond: redoahead_up is all that is known.  Returns 0; -EINVAL if it is not a status
 * document, or if some of its members were left out because they have the wrong type;
 * or another -errno if the stream could not be written.
 */
int
prometheus__write(FILE *file, struct json_object *document)
{
	struct json_object *directory = json__member(document, "data_directory");
	struct writer writer = {.file = file,.document = document};
	bool		up = json__member(document, "pid") != NULL;

	if (!json_object_is_type(directory, json_type_string))
		return -EINVAL;
	writer.directory = json_object_get_string(directory);
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (up || i == 0)
			write_family(&writer, &families[i]);
	if (fflush(file) != 0)
		return -errno;
	return ferror(file) ? -EIO : writer.err;
}
