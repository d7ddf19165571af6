/*
 * tracer.c
 *		Follows a recovery to its end, and has it reported.
 *
 * Events are fetched twenty times a second.  The recovery is only looked
 * at: no process is stopped, signalled or asked anything.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cluster/processes.h"
#include "trace/tracer_internal.h"
#include "base/clock.h"
#include "base/log.h"

/* Time between two fetches of events, ms. */
#define FETCH_MS		50

/* Most blocks that are kept in mind: 16 bytes each. */
#define MAX_BLOCKS		(8 * 1024 * 1024)

/* ---------- what is told ---------- */

static void
handle_event(void *context, const void *event, size_t size)
{
	struct tracer *tracer = context;

	/* Numbers of files stay valid; all else is over. */
	if (tracer->waiting && *(const uint8_t *) event != TRACE_EVENT_FILE)
		return;
	classify__event(&tracer->classify, event, size);
}

static void
handle_reference(void *context, const struct redoahead_ref *ref)
{
	struct tracer *tracer = context;
	enum invalid_reason reason;
	struct relpath_key key;
	uint32_t	block;

	if (relpath__resolve(ref, &tracer->layout, &key, &block, &reason) == 0)
		classify__reference(&tracer->classify, &key, block);
}

/* Fetch all that has been seen. */
static void
fetch(struct tracer *tracer)
{
	/* References first: they precede the reads that they are for. */
	tracer->classify.references_complete =
		references__take(&tracer->references, handle_reference, tracer);
	tracer->classify.now_ns = clock__now_us() * 1000;
	tracer->classify.failed += references__take_failed(&tracer->references);
	probe__consume(tracer->probe);
	if (references__replay_lsn(&tracer->references) > tracer->now.replay_lsn)
		tracer->now.replay_lsn = references__replay_lsn(&tracer->references);
}

/* ---------- following ---------- */

/* Follow the startup process that was found. */
static int
begin(struct tracer *tracer)
{
	uint64_t	age_us = UINT64_MAX;

	tracer->startup_fd = (int) syscall(SYS_pidfd_open, tracer->startup, 0);
	if (tracer->startup_fd < 0)
		return -errno;
	tracer->begin_us = tracer->interval_begin_us = clock__now_us();
	(void) processes__age_us(tracer->startup, &age_us);
	/* The kernel makes processes older than they are, by up to 10 ms. */
	tracer->from_start = age_us <= tracer->begin_us - tracer->attached_us;
	probe__follow(tracer->probe, tracer->startup);
	/* What came before it was noticed was seen, too. */
	if (!tracer->from_start)
		probe__devices(tracer->probe, &tracer->devices);
	tracer->classify.startup = tracer->startup;
	tracer->classify.tally = &tracer->now;
	tally__begin(&tracer->now, tracer->begin_us * 1000);
	tally__begin(&tracer->total, tracer->begin_us * 1000);
	log_info("tracing the startup process (PID %d)%s: reads by %s, page cache by %s, devices by %s",
			 (int) tracer->startup, tracer->from_start ? "" : " in the middle of its work",
			 probe__way(tracer->probe, ATTACH_CALLS), probe__way(tracer->probe, ATTACH_INSERTIONS),
			 probe__way(tracer->probe, ATTACH_DEVICE));
	return 0;
}

/* How did it end? */
static enum findings_outcome
outcome_of(struct tracer *tracer, bool ended)
{
	if (!ended)
		return FINDINGS_STOPPED;
	if (controlfile__read(&tracer->control, tracer->config->cluster) == 0 &&
		tracer->control.state == CONTROLFILE_IN_PRODUCTION)
		return FINDINGS_COMPLETED;
	log_warning("the startup process (PID %d) has gone before recovery was complete; "
				"see the server's log", (int) tracer->startup);
	return FINDINGS_INTERRUPTED;
}

/*
 * Follow the startup process until it ends, or we are to stop.  -EAGAIN if it had
 * gone before that.
 */
static int
follow(struct tracer *tracer)
{
	const struct trace_config *config = tracer->config;
	enum findings_outcome outcome;
	bool		ended = false;
	int			err;

	err = begin(tracer);
	if (err == -ESRCH)
	{
		log_warning("the startup process (PID %d) had gone before it could be followed; "
					"waiting for the next recovery", (int) tracer->startup);
		return -EAGAIN;
	}
	if (err < 0)
		log_error("the startup process (PID %d) cannot be followed: %s; run as root, on Linux "
				  "5.15 or later", (int) tracer->startup, strerror(-err));
	while (err == 0 && !ended && !tracer->stop &&
		   (config->count == 0 || tracer->reports < config->count))
	{
		ended = tracer__wait_ms(tracer, FETCH_MS);
		tracer__look_for_daemons(tracer, clock__now_us());
		fetch(tracer);
		if (config->interval_us > 0 &&
			clock__now_us() - tracer->interval_begin_us >= config->interval_us)
			err = tracer__end_interval(tracer, true);
	}
	if (err < 0)
		return err;

	probe__detach(tracer->probe);
	fetch(tracer);
	outcome = outcome_of(tracer, ended);
	if (outcome == FINDINGS_COMPLETED)
		classify__end(&tracer->classify);
	err = tracer__end_interval(tracer, false);
	return err < 0 ? err : tracer__report(tracer, &tracer->total, false, outcome,
								  clock__now_us() - tracer->begin_us);
}

/* Learn about the cluster, and load all that will be needed. */
static int
prepare(struct tracer *tracer)
{
	const struct trace_config *config = tracer->config;
	int			err;

	err = controlfile__read(&tracer->control, config->cluster);
	if (err < 0)
	{
		log_error("global/pg_control of \"%s\" cannot be understood: %s; give the directory of a "
				  "sound cluster with -D", config->cluster->path,
				  err == -EINVAL ? "its sizes are not where they should be" : strerror(-err));
		return err;
	}
	tracer->layout = (struct relpath_layout) {
		.block_size = tracer->control.block_size,
		.segment_blocks = tracer->control.segment_blocks,
		.wal_segment_bytes = tracer->control.wal_segment_bytes,
	};
	err = files__create(&tracer->files, config->cluster->path);
	if (err == 0)
		err = classify__create(&tracer->classify, tracer->files,
							   tracer->control.block_size, MAX_BLOCKS);
	if (err < 0)
	{
		log_error("cannot start: %s; give this process more memory",
				  strerror(-err));
		return err;
	}
	return probe__open(&tracer->probe, config->attach, config->cluster,
					   tracer->control.block_size, config->buffer_bytes, handle_event, tracer);
}

/* Trace one recovery.  Returns 0 if it was reported, or there was none to report. */
int
tracer__run(const struct trace_config *config)
{
	struct tracer *tracer = calloc(1, sizeof(*tracer));
	int			err;

	if (tracer == NULL)
	{
		log_error("cannot start: %s; give this process more memory", strerror(ENOMEM));
		return -ENOMEM;
	}
	tracer->config = config;
	tracer->signal_fd = config->signal_fd;
	tracer->startup_fd = -1;
	err = prepare(tracer);
	if (err < 0)
		goto cleanup;
	log_info("waiting for recovery of \"%s\"", config->cluster->path);
	do
	{
		err = tracer__wait_for_recovery(tracer);
		if (err == 0 && tracer->stop)
			log_info("stopped before there was a recovery");
		else if (err == 0)
			err = follow(tracer);
	} while (err == -EAGAIN);

cleanup:
	probe__close(tracer->probe);
	references__close(&tracer->references);
	classify__destroy(&tracer->classify);
	files__destroy(tracer->files);
	tally__destroy(&tracer->now);
	tally__destroy(&tracer->total);
	if (tracer->startup_fd >= 0)
		close(tracer->startup_fd);
	free(tracer);
	return err;
}
