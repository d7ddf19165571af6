/*
 * tracer.c
 *		Traces one recovery, from waiting for it to the report.
 *
 * Events are consumed twenty times a second.  Recovery is only observed: no
 * process is stopped, or signalled.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/processes.h"
#include "trace/disks.h"
#include "cluster/symbol.h"
#include "trace/tracer_internal.h"

/* Time between two consumptions of events, ms. */
#define CONSUME_MS		50

/* First major release of PostgreSQL whose records are followed, see bpf/record.bpf.h. */
#define FIRST_RECORDS	15

/* Slots of the table of blocks, at most: 13 bytes each. */
#define MAX_SLOTS		(8 * 1024 * 1024)

/* ---------- events ---------- */

static void
handle_event(void *context, const void *event, size_t size)
{
	struct tracer *tracer = context;

	/* Numbers of files stay valid. */
	if (tracer->discarding && *(const uint8_t *) event != TRACE_EVENT_FILE)
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
		classify__reference(&tracer->classify, &key, ref->block);
}

/* Consume all events and references. */
static void
consume(struct tracer *tracer)
{
	/* References first: they precede the reads that they are for. */
	tracer->classify.now_ns = clock__now_us() * 1000;
	tracer->classify.references_complete =
		references__consume(&tracer->references, handle_reference, tracer);
	probe__consume(tracer->probe);
	if (references__replay_lsn(&tracer->references) > tracer->now.replay_lsn)
		tracer->now.replay_lsn = references__replay_lsn(&tracer->references);
}

/* ---------- one recovery ---------- */

/* Follow the startup process that was found. */
static int
begin(struct tracer *tracer)
{
	uint64_t	error_context = 0;
	uint64_t	age_us = UINT64_MAX;
	int			err;

	tracer->startup_fd = (int) syscall(SYS_pidfd_open, tracer->startup, 0);
	if (tracer->startup_fd < 0)
		return -errno;
	tracer->begin_us = tracer->interval_begin_us = clock__now_us();
	(void) processes__age_us(tracer->startup, &age_us);
	/* The kernel's age of a process is up to 10 ms too high. */
	tracer->from_start = age_us <= tracer->begin_us - tracer->awaited_us;
	/* No other process from now on; reading the program takes a while. */
	probe__follow(tracer->probe, tracer->startup, 0);
	if (tracer->config->cluster->major < FIRST_RECORDS)
		log_info("resource managers are not known: they are followed in PostgreSQL %d and later",
				 FIRST_RECORDS);
	else
	{
		err = symbol__find(&tracer->reader, tracer->startup, &error_context);
		if (err < 0)
			log_info("resource managers are not known: the program of process %d cannot be read: %s",
					 (int) tracer->startup, strerror(-err));
	}
	tracer->records_followed = error_context != 0;
	probe__follow(tracer->probe, tracer->startup, error_context);
	/* What the devices did since the server was awaited belongs to it, else not. */
	if (!tracer->from_start)
		probe__devices(tracer->probe, &tracer->devices);
	tracer->classify.startup = tracer->startup;
	tracer->classify.tally = &tracer->now;
	tally__begin(&tracer->now, tracer->begin_us * 1000);
	tally__begin(&tracer->total, tracer->begin_us * 1000);
	log_info("tracing the startup process (PID %d)%s, attached by %s", (int) tracer->startup,
			 tracer->from_start ? "" : " in the middle of its work",
			 probe__method(tracer->probe));
	return 0;
}

/* How did the recovery end? */
static enum findings_outcome
outcome_of(struct tracer *tracer, bool ended)
{
	if (!ended)
		return FINDINGS_STOPPED;
	if (controlfile__read(&tracer->control, tracer->config->cluster) == 0 &&
		tracer->control.state == CONTROLFILE_IN_PRODUCTION)
		return FINDINGS_COMPLETED;
	log_warning("the startup process (PID %d) ended before recovery was complete; "
				"see the server's log", (int) tracer->startup);
	return FINDINGS_INTERRUPTED;
}

/*
 * Follow the startup process until it ends or the trace is stopped, and report.
 * -EAGAIN if it had ended before.
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
		log_warning("the startup process (PID %d) ended before it could be followed; "
					"waiting for the next recovery", (int) tracer->startup);
		return -EAGAIN;
	}
	if (err < 0)
		log_error("the startup process (PID %d) cannot be followed: %s; run as root",
				  (int) tracer->startup, strerror(-err));
	while (err == 0 && !ended && !tracer->stop &&
		   (config->count == 0 || tracer->intervals < config->count))
	{
		ended = tracer__wait_ms(tracer, CONSUME_MS);
		tracer__find_daemons(tracer, clock__now_us());
		consume(tracer);
		if (config->interval_us > 0 &&
			clock__now_us() - tracer->interval_begin_us >= config->interval_us)
			err = tracer__end_interval(tracer, true);
	}
	if (err < 0)
		return err;

	probe__detach(tracer->probe);
	consume(tracer);
	outcome = outcome_of(tracer, ended);
	if (outcome == FINDINGS_COMPLETED)
		classify__end(&tracer->classify);
	err = tracer__end_interval(tracer, false);
	return err < 0 ? err : tracer__report(tracer, &tracer->total, false, outcome,
										  clock__now_us() - tracer->begin_us);
}

/* ---------- the trace ---------- */

/* Read the cluster's parameters, and attach the BPF programs. */
static int
prepare(struct tracer *tracer)
{
	const struct trace_config *config = tracer->config;
	struct controlfile *control = &tracer->control;
	struct probe_settings settings;
	dev_t		disks[TRACE_DISKS];
	int			err;

	err = controlfile__read(control, config->cluster);
	if (err < 0)
	{
		log_error("invalid global/pg_control in \"%s\": %s; give the directory of an intact "
				  "cluster with -D", config->cluster->path, strerror(-err));
		return err;
	}
	tracer->layout = (struct relpath_layout) {
		.block_size = control->block_size,
		.segment_blocks = control->segment_blocks,
		.wal_segment_bytes = control->wal_segment_bytes,
		.long_member_names = config->cluster->major >= RELPATH_FIRST_LONG_MEMBERS,
	};
	err = files__create(&tracer->files, config->cluster->path, control->segment_blocks);
	if (err == 0)
		err = classify__create(&tracer->classify, tracer->files, control->block_size, MAX_SLOTS);
	if (err < 0)
	{
		log_error("cannot start: %s; give this process more memory", strerror(-err));
		return err;
	}
	settings = (struct probe_settings) {
		.cluster = config->cluster,
		.block_size = control->block_size,
		.buffer_bytes = config->buffer_bytes,
		.method = config->attach_method,
		.disks = disks,
		.disk_count = disks__of_cluster(config->cluster->dirfd, disks, TRACE_DISKS),
		.handler = handle_event,
		.context = tracer,
	};
	return probe__open(&tracer->probe, &settings);
}

/* Trace one recovery.  Returns 0 if it was reported, or if there was none. */
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
	tracer->startup_fd = -1;
	/* Before there is anything of the kernel in memory. */
	err = symbol__start(&tracer->reader, "error_context_stack");
	if (err < 0)
		log_error("cannot start: %s; give this process more memory", strerror(-err));
	else
		err = prepare(tracer);
	if (err < 0)
		goto cleanup;
	log_info("waiting for recovery of \"%s\"", config->cluster->path);
	do
	{
		tracer__wait_for_recovery(tracer);
		if (tracer->stop)
		{
			log_info("stopped before recovery began");
			break;
		}
		err = follow(tracer);
	} while (err == -EAGAIN);

cleanup:
	probe__close(tracer->probe);
	references__close(&tracer->references);
	classify__destroy(&tracer->classify);
	files__destroy(tracer->files);
	tally__destroy(&tracer->now);
	tally__destroy(&tracer->total);
	confined__end(&tracer->reader);
	if (tracer->startup_fd >= 0)
		close(tracer->startup_fd);
	free(tracer);
	return err;
}
