/*
 * lesslog_report.c
 *		What `redoahead lesslog` prints: a summary.
 *
 * A server runs the command for each segment, and its log has what the command prints on
 * standard error; so the summary is there with --verbose only.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "lesslog/lesslog_report.h"
#include "report/json.h"
#include "wal/segments.h"

static void
print_json(const struct lesslog_summary *summary, uint64_t elapsed_us)
{
	const struct segment *segment = &summary->segment;
	const struct segment_counts *counts = &segment->counts;
	struct json_object *object = json_object_new_object();
	char		name[WAL_SEGMENT_NAME_LENGTH + 1];
	struct json_object *kept;

	if (summary->is_segment)
		wal_segments__name(segment->timeline, segment->lsn / segment->segment_bytes,
						   segment->segment_bytes, name);
	json__text(object, "file", summary->file);
	json__text(object, "segment", summary->is_segment ? name : NULL);
	json__count(object, "bytes_in", summary->bytes_in);
	json__count(object, "bytes_out", summary->bytes_out);
	json__count(object, "records", counts->records);
	json__count(object, "images", counts->images);
	json__count(object, "images_removed", counts->images_removed);
	json__count(object, "image_bytes_removed", counts->image_bytes_removed);
	json__count(object, "hints_removed", counts->hints_removed);
	kept = json__object(object, "kept");
	for (int i = 0; i < SEGMENT_KEPT_COUNT; i++)
		json__count(kept, segment__kept_name(i), counts->kept[i]);
	json__text(object, "unchanged_reason",
			   summary->unchanged[0] != '\0' ? summary->unchanged : NULL);
	json__flag(object, "already_archived", summary->already_archived);
	json__seconds(object, "elapsed_seconds", elapsed_us, JSON_MICROSECONDS);
	json__seconds(object, "cpu_seconds", clock__cpu_us(), JSON_MICROSECONDS);
	puts(json_object_to_json_string_ext(object,
										JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}

/* The end: as JSON on standard output, and for a person on standard error. */
void
lesslog_report__summary(const struct lesslog_summary *summary, bool json)
{
	uint64_t	elapsed_us = clock__now_us() - summary->begin_us;
	const struct segment_counts *counts = &summary->segment.counts;

	if (json)
		print_json(summary, elapsed_us);
	log_debug("\"%s\"%s: %" PRIu64 " bytes became %" PRIu64 "; %" PRIu64 " records, %" PRIu64
			  " of %" PRIu64 " images removed; CPU %.3f s, elapsed %.3f s", summary->file,
			  summary->already_archived ? " was archived before" : "", summary->bytes_in,
			  summary->bytes_out, counts->records, counts->images_removed, counts->images,
			  (double) clock__cpu_us() / 1e6, (double) elapsed_us / 1e6);
}
