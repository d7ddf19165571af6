/*
 * values.c
 *		Takes the values of a status document, which may hold anything.
 *
 * What the document cannot do without must be there: its version, the daemon, the phase.
 * Any other member that is missing, of another type or out of range is unknown.  Texts
 * are reduced to printable ASCII, because they are written to terminals.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status_document.h"
#include "report/json.h"
#include "status/values.h"

static const char *const phase_names[VALUES_PHASE_COUNT] = {
	"waiting", "crash recovery", "archive recovery", "streaming", "end-of-recovery checkpoint"
};

static const char *const history_names[VALUES_HISTORY_COUNT] = {
	"bytes_per_second", "blocks_in_flight", "coverage"
};

/* The name of a phase in the document. */
const char *
values__phase_name(enum values_phase phase)
{
	return phase_names[phase];
}

/* The number that a value is, NAN if it is none from 0 on. */
static double
number_of(struct json_object *value)
{
	double		number;

	if (!json_object_is_type(value, json_type_int) && !json_object_is_type(value, json_type_double))
		return NAN;
	number = json_object_get_double(value);
	return isfinite(number) && number >= 0 ? number : NAN;
}

/* The text that a member is, cut to the room that it has. */
static void
take_text(struct json_object *object, const char *name, char *text, size_t size)
{
	struct json_object *member = json__member(object, name);
	const char *value = json_object_is_type(member, json_type_string) ?
		json_object_get_string(member) : "";
	size_t		length = 0;

	for (; value[length] != '\0' && length < size - 1; length++)
		text[length] = value[length] >= ' ' && value[length] <= '~' ? value[length] : '?';
	text[length] = '\0';
}

/* The LSN that a member is; anything else is unknown. */
static void
take_lsn(struct json_object *object, const char *name, char *lsn)
{
	unsigned	high;
	unsigned	low;
	int			length = 0;

	take_text(object, name, lsn, VALUES_LSN_BYTES);
	if (sscanf(lsn, "%8X/%8X%n", &high, &low, &length) != 2 || lsn[length] != '\0')
		lsn[0] = '\0';
}

static void
take_history(struct values_recovery *recovery, struct json_object *history)
{
	size_t		count = 0;

	for (int i = 0; i < VALUES_HISTORY_COUNT; i++)
	{
		struct json_object *values = json__member(history, history_names[i]);

		if (json_object_is_type(values, json_type_array) &&
			json_object_array_length(values) > count)
			count = json_object_array_length(values);
	}
	recovery->sample_count = count > VALUES_MAX_SAMPLES ? VALUES_MAX_SAMPLES : (unsigned) count;
	for (int i = 0; i < VALUES_HISTORY_COUNT; i++)
	{
		struct json_object *values = json__member(history, history_names[i]);

		for (unsigned at = 0; at < recovery->sample_count; at++)
			recovery->history[i][at] = json_object_is_type(values, json_type_array) ?
				number_of(json_object_array_get_idx(values, count - recovery->sample_count + at)) :
				NAN;
	}
}

/* Take a recovery; false if there is none. */
static bool
take_recovery(struct values_recovery *recovery, struct json_object *object)
{
	const struct
	{
		const char *name;		/* of the member */
		double	   *number;		/* receives it */
	}			numbers[] = {
		{"elapsed_seconds", &recovery->elapsed}, {"replayed_bytes", &recovery->replayed},
		{"remaining_bytes", &recovery->remaining}, {"progress", &recovery->progress},
		{"bytes_per_second", &recovery->rate}, {"mean_bytes_per_second", &recovery->mean_rate},
		{"time_left_seconds", &recovery->left}, {"time_left_min_seconds", &recovery->left_min},
		{"time_left_max_seconds", &recovery->left_max}, {"stalled_seconds", &recovery->stalled},
		{"lookahead_bytes", &recovery->lookahead}, {"blocks_queued", &recovery->queued},
		{"blocks_in_flight", &recovery->in_flight}, {"blocks_ahead", &recovery->ahead},
		{"io_depth", &recovery->io_depth}, {"coverage", &recovery->coverage},
	};

	if (!json_object_is_type(object, json_type_object))
		return false;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		*numbers[i].number = number_of(json__member(object, numbers[i].name));
	if (recovery->progress > 1)
		recovery->progress = NAN;
	if (recovery->coverage > 1)
		recovery->coverage = NAN;
	take_lsn(object, "redo_start_lsn", recovery->redo_start_lsn);
	take_lsn(object, "replay_lsn", recovery->replay_lsn);
	take_lsn(object, "end_lsn", recovery->end_lsn);
	take_lsn(object, "primary_lsn", recovery->primary_lsn);
	take_text(object, "end_source", recovery->end_source, sizeof(recovery->end_source));
	take_text(object, "limit", recovery->limit, sizeof(recovery->limit));
	take_history(recovery, json__member(object, "history"));
	return true;
}

static bool
take_phase(struct values *document, struct json_object *json)
{
	char		phase[32];

	take_text(json, "phase", phase, sizeof(phase));
	for (int i = 0; i < VALUES_PHASE_COUNT; i++)
		if (strcmp(phase, phase_names[i]) == 0)
		{
			document->phase = (enum values_phase) i;
			return true;
		}
	return false;
}

/*
 * Take the values of a document.  Returns 0, or with the reason in the message
 * -EPROTONOSUPPORT for another version, -EBADMSG for what is no status document.
 */
int
values__parse(struct values *document, struct json_object *json, char *message, size_t size)
{
	struct json_object *version = json__member(json, "version");

	memset(document, 0, sizeof(*document));
	if (!json_object_is_type(version, json_type_int))
	{
		snprintf(message, size, "the status document has no version; is this the socket of a daemon?");
		return -EBADMSG;
	}
	if (json_object_get_int64(version) != STATUS_DOCUMENT_VERSION)
	{
		snprintf(message, size, "the status document is of version %lld, this program knows %d; "
				 "use the redoahead of the daemon, or restart the daemon",
				 (long long) json_object_get_int64(version), STATUS_DOCUMENT_VERSION);
		return -EPROTONOSUPPORT;
	}
	if (!take_phase(document, json) || !(number_of(json__member(json, "pid")) > 0) ||
		!json_object_is_type(json__member(json, "data_directory"), json_type_string))
	{
		snprintf(message, size, "the status document has no known phase, no pid, or no "
				 "data_directory; use the redoahead of the daemon");
		return -EBADMSG;
	}
	take_text(json, "command", document->command, sizeof(document->command));
	take_text(json, "data_directory", document->data_directory, sizeof(document->data_directory));
	take_text(json, "refused", document->refused, sizeof(document->refused));
	document->server_major = number_of(json__member(json, "server_major"));
	document->recoveries = number_of(json__member(json, "recoveries"));
	document->has_recovery = take_recovery(&document->recovery, json__member(json, "recovery"));
	/* That of redo is not that of the checkpoint. */
	if (document->phase == VALUES_CHECKPOINT)
		document->recovery.left = NAN;
	document->has_last = take_recovery(&document->last, json__member(json, "last_recovery"));
	return 0;
}

/*
 * Has redo nothing to do: it has ended, waits for WAL that has not come, or is paused or
 * delayed?  A crash recovery has all of its WAL.
 */
bool
values__is_idle(const struct values *document)
{
	const struct values_recovery *recovery = &document->recovery;

	return document->phase == VALUES_WAITING || document->phase == VALUES_CHECKPOINT ||
		(document->has_recovery &&
		 (recovery->remaining == 0 || (document->phase != VALUES_CRASH_RECOVERY &&
									   (strcmp(recovery->limit, "wal supply") == 0 ||
										strcmp(recovery->limit, "pause or delay") == 0))));
}
