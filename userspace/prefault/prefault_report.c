/*
 * prefault_report.c
 *		What `redoahead prefault` prints: blocks, progress, a summary.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/lsn.h"
#include "cluster/relpath.h"
#include "prefault/prefault_report.h"
#include "report/json.h"

/* A line for a block, in pg_waldump's words. */
void
prefault_report__block(const struct redoahead_ref *ref)
{
	printf("lsn: " LSN_FORMAT ", ", LSN_ARGS(ref->lsn));
	if (ref->kind == REDOAHEAD_KIND_SLRU)
		printf("slru %s page %" PRIu32, relpath__slru_directory(ref->rel), ref->block);
	else
	{
		printf("rel %" PRIu32 "/%" PRIu32 "/%" PRIu32, ref->spc, ref->db, ref->rel);
		if (ref->fork != REDOAHEAD_FORK_MAIN)
			printf(" fork %s", relpath__fork_name(ref->fork));
		printf(" blk %" PRIu32, ref->block);
	}
	puts(ref->flags & REDOAHEAD_REF_IMPLIED ? " implied" : "");
}

/* A line for a person who waits. */
void
prefault_report__progress(const struct prefault_summary *summary, uint64_t done_bytes,
						  uint64_t all_bytes, uint64_t now_us)
{
	double		elapsed_s = (double) (now_us - summary->begin_us) / 1e6;
	double		part = all_bytes > 0 ? (double) done_bytes / (double) all_bytes : 1;

	if (part > 1)
		part = 1;
	log_info("%.0f of %.0f MB of WAL (%.0f %%), %" PRIu64 " blocks, %.0f s left",
			 (double) done_bytes / 1e6, (double) all_bytes / 1e6, part * 100, summary->blocks,
			 part > 0 ? elapsed_s * (1 - part) / part : 0);
}

static void
print_json(const struct prefault_summary *summary, bool dry_run, uint64_t elapsed_us)
{
	struct json_object *object = json_object_new_object();
	struct json_object *failed;

	json__count(object, "records", summary->records);
	json__count(object, "wal_bytes", summary->wal_bytes);
	json__count(object, "blocks", summary->blocks);
	json__flag(object, "dry_run", dry_run);
	json__flag(object, "stopped", summary->stopped);
	json__count(object, "blocks_read", summary->counters.blocks_read);
	json__count(object, "blocks_resident", summary->counters.blocks_resident);
	json__count(object, "blocks_stale", summary->counters.blocks_stale);
	json__count(object, "requests", summary->counters.requests);
	failed = json__object(object, "blocks_failed");
	for (int i = 0; i < FAIL_REASON_COUNT; i++)
		json__count(failed, counters__fail_name(i), summary->counters.blocks_failed[i]);
	json__seconds(object, "elapsed_seconds", elapsed_us, JSON_MICROSECONDS);
	json__seconds(object, "cpu_seconds", clock__cpu_us(), JSON_MICROSECONDS);
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
	json_object_put(object);
}

/* The end: for a person on standard error, or as JSON on standard output. */
void
prefault_report__summary(const struct prefault_summary *summary, bool json, bool dry_run)
{
	uint64_t	elapsed_us = clock__now_us() - summary->begin_us;
	const struct counters *counters = &summary->counters;

	if (json)
		print_json(summary, dry_run, elapsed_us);
	if (dry_run)
		log_info("%" PRIu64 " records, %" PRIu64 " blocks", summary->records, summary->blocks);
	else
		log_info("%s%" PRIu64 " records, %" PRIu64 " blocks: %" PRIu64 " read, %" PRIu64
				 " failed, %" PRIu64 " left out for want of memory; CPU %.3f s, elapsed %.3f s",
				 summary->stopped ? "stopped by a signal: " : "", summary->records,
				 summary->blocks, counters->blocks_read + counters->blocks_resident,
				 counters__failed(counters), counters->blocks_stale,
				 (double) clock__cpu_us() / 1e6, (double) elapsed_us / 1e6);
}
