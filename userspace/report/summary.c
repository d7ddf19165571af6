/*
 * summary.c
 *		Logs what the daemon did in a recovery that has ended.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "report/summary.h"

/* Log the counters. */
static void
log_work(const struct counters *counters, bool complete)
{
	char		failed[256] = "";
	size_t		length = 0;

	for (int i = 0; i < FAIL_REASON_COUNT; i++)
		if (counters->blocks_failed[i] > 0)
			length += (size_t) snprintf(failed + length, sizeof(failed) - length,
										"%s%s %" PRIu64, length > 0 ? ", " : " (",
										counters__fail_name(i), counters->blocks_failed[i]);
	if (length > 0)
		snprintf(failed + length, sizeof(failed) - length, ")");

	log_info("%s: %" PRIu64 " references taken, %" PRIu64 " invalid, %" PRIu64
			 " dropped by the server; blocks: %" PRIu64 " read, %" PRIu64 " failed%s, %" PRIu64
			 " stale; %" PRIu64 " requests, %" PRIu64 " joined; CPU %.3f s, elapsed %.3f s",
			 complete ? "recovery ended" : "recovery no longer served",
			 counters->refs_taken, counters__invalid(counters), counters->refs_dropped,
			 counters->blocks_read, counters__failed(counters), failed, counters->blocks_stale,
			 counters->requests, counters->requests_joined,
			 (double) counters->cpu_us / 1e6, (double) counters->elapsed_us / 1e6);
}

/* Log a recovery. */
void
summary__log(const struct counters *counters, bool complete)
{
	log_work(counters, complete);
	if (counters->blocks_resident > 0)
		log_info("%" PRIu64 " blocks were resident and not submitted",
				 counters->blocks_resident);
	if (counters->blocks_reread > 0)
		log_info("%" PRIu64 " blocks were evicted from the page cache before redo used them, and "
				 "were read again", counters->blocks_reread);
}
