/*
 * decoder.c
 *		Takes decoded records from another process: the startup process's half.
 *
 * Reading, checking and decoding WAL and looking ahead in it take a fifth to a
 * quarter of the startup process's time.  In crash recovery all WAL is there from
 * the beginning, so a background worker, the decoder, does all that while the startup
 * process replays.  They share memory at the same address, in which the decoder puts
 * decoded records, the queue of references and the recent-block cache; a queue of
 * pointers to the records leads from one to the other.  What is to be submitted to
 * the daemon also goes to the startup process, which keeps the connection.
 *
 * A run begins while the startup process goes on by itself, and when the decoder has
 * come as far, records are taken from it.  Each must link to the last one replayed.
 * When the run ends, for whatever reason, the startup process reads on after the
 * record that it has replayed last: an error in the WAL, or its end, is for it to
 * find.  It waits for the decoder at most STALL_TIMEOUT_MS.
 */
#include "postgres.h"

#include <time.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "access/xlogutils.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/s_lock.h"
#include "utils/ps_status.h"
#include "utils/wait_event.h"

#include "decoder.h"
#include "settings.h"

/*
 * The decoder sleeps for a millisecond when it has looked ahead as far as it may.  Redo
 * must not come to the end of what is decoded by then.
 */
#define MIN_DISTANCE		4096
#define MIN_BUFFER_SIZE		(4 * 1024 * 1024)

/*
 * Records that the startup process reads itself before the first run, and the next.  That
 * doubles after each run that gave less, or that was left.
 */
#define RECORDS_BEFORE_FIRST	3
#define RECORDS_BEFORE_NEXT		1024
#define MAX_RECORDS_BEFORE_NEXT	(1024 * 1024 * 1024)

/* How often to look for a record before sleeping, and how long to sleep, us. */
#define SPINS				200
#define SLEEP_US			20

/* Time to wait for a record, ms. */
#define STALL_TIMEOUT_MS	250

/* Which record is prefetched into the CPU's cache, and how much of it, cache lines. */
#define RECORDS_AHEAD		8
#define RECORD_LINES		6
#define CACHE_LINE			64

/* The run, as the startup process sees it. */
static struct
{
	bool		active;			/* begun, and not over */
	bool		taking;			/* records are taken from it */
	bool		impossible;		/* it could not be started */
	int			pid;			/* of the decoder that records are taken from */
	uint64		next;			/* the record to look at next, from 0 on */
	uint64		taken;			/* records that were replayed */
	uint64		handed;			/* as last read */
	uint32		wait;			/* records to read before the next run */
	uint32		next_wait;		/* the same after this run */
	XLogSegNo	segment;		/* in the process title */
} run = {.wait = RECORDS_BEFORE_FIRST,.next_wait = RECORDS_BEFORE_NEXT};

/*
 * May a run begin now?  Only on the last timeline: before that, which file has the next
 * WAL depends on the history, and reading on after the run could miss it.
 */
static bool
may_begin(Prefetcher *p, const XLogReaderState *reader)
{
	if (run.impossible || p->distance < MIN_DISTANCE || !AmStartupProcess() ||
		!IsUnderPostmaster || !InRecovery || ArchiveRecoveryRequested ||
		reader->seg.ws_tli != recoveryTargetTLI || !decoder__is_usable())
		return false;
	if (run.wait > 0)
	{
		run.wait--;
		return false;
	}
	return pg_atomic_read_u32(&decoder->busy) == 0;
}

/* Begin a run after the record that was returned last. */
static void
begin(Prefetcher *p, const XLogReaderState *reader)
{
	BackgroundWorker worker = {
		.bgw_name = "redoahead decoder",
		.bgw_type = "redoahead decoder",
		.bgw_flags = BGWORKER_SHMEM_ACCESS,
		.bgw_start_time = BgWorkerStart_PostmasterStart,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_library_name = "redoahead",
		.bgw_function_name = "redoahead_decoder_main",
	};
	Decoder    *d = decoder;
	size_t		buffer_size = prefetcher__decode_buffer_size(p);
	uint32		blocks = prefetcher__recent_blocks(p, p->distance);
	PrefetchCounters counters = d->prefetcher.counters;

	run.wait = run.next_wait;
	if (buffer_size < MIN_BUFFER_SIZE ||
		!decoder__allocate(p->distance, buffer_size, blocks))
		return;

	prefetcher__add_counters(&p->counters, &counters);
	d->begin_lsn = reader->EndRecPtr;
	d->previous_lsn = reader->ReadRecPtr;
	d->timeline = reader->seg.ws_tli;
	pg_atomic_write_u32(&d->busy, 1);

	run.active = RegisterDynamicBackgroundWorker(&worker, NULL);
	run.taking = false;
	run.next = run.taken = run.handed = 0;
	run.segment = 0;
	if (!run.active)
	{
		pg_atomic_write_u32(&d->busy, 0);
		run.impossible = true;
		ereport(LOG,
				(errmsg("redoahead: no background worker slot for the decoder; the startup process decodes WAL itself"),
				 errhint("You might need to increase \"%s\".", "max_worker_processes")));
	}
}

/* Try less often. */
static void
back_off(void)
{
	run.next_wait = Min(2 * run.next_wait, MAX_RECORDS_BEFORE_NEXT);
}

/*
 * Stop the run; what it has decoded is not taken any more.  The record that is being
 * replayed stays where it is, until decoder__take() is called.
 */
void
decoder__stop(void)
{
	if (!run.active)
		return;
	pg_atomic_write_u32(&decoder->stop, 1);
	ereport(DEBUG1,
			(errmsg_internal("redoahead: took %llu records from the decoder",
							 (unsigned long long) run.taken)));
	run.active = run.taking = false;
	if (run.taken < run.next_wait)
		back_off();
	run.wait = run.next_wait;
}

/* No record of the last run is used any more: whoever comes last frees the memory. */
static void
release_run(void)
{
	pg_atomic_write_u32(&decoder->unused, 1);
	pg_memory_barrier();
	if (pg_atomic_read_u32(&decoder->busy) == 0)
		decoder__release_memory();
}

/* Reading begins elsewhere, or has ended. */
void
decoder__reset(void)
{
	if (run.active && !run.taking)
		decoder__stop();
	run.wait = Max(run.wait, RECORDS_BEFORE_FIRST);
}

/* Recovery has ended. */
void
decoder__shutdown(void)
{
	decoder__stop();
	if (decoder && decoder->buffer)
		release_run();
}

static uint64
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64) ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Has the decoder handed over another record?  Waits for it once redo depends on it. */
static bool
has_record(void)
{
	Decoder    *d = decoder;
	uint64		begun = 0;
	bool		ended = false;
	bool		stalled = false;

	if (run.next != run.handed)
		return true;
	for (int i = 0; !ended && !stalled; i++)
	{
		/* What it handed over before it ended is visible after that. */
		ended = pg_atomic_read_u32(&d->ended) != 0 || pg_atomic_read_u32(&d->busy) == 0;
		pg_read_barrier();
		run.handed = pg_atomic_read_u64(&d->handed);
		pg_read_barrier();
		if (run.next != run.handed || !run.taking)
			break;
		if (i < SPINS)
		{
			pg_spin_delay();
			continue;
		}
		if (begun == 0)
			begun = now_ms();
		stalled = now_ms() - begun > STALL_TIMEOUT_MS;
		pgstat_report_wait_start(PG_WAIT_EXTENSION);
		pg_usleep(SLEEP_US);
		pgstat_report_wait_end();
	}
	if (run.next != run.handed)
		return true;
	if (stalled)
	{
		if (run.taken >= run.next_wait)
			back_off();
		ereport(LOG,
				(errmsg("redoahead: decoder (PID %d) has not responded for %d ms; the startup process decodes WAL itself",
						run.pid, STALL_TIMEOUT_MS)));
	}
	if (stalled || ended)
		decoder__stop();
	return false;
}

/* Show which segment redo is in, as the server does when it opens it. */
static void
show_segment(XLogRecPtr lsn)
{
	XLogSegNo	segment;
	char		name[MAXFNAMELEN];
	char		title[MAXFNAMELEN + 16];

	XLByteToSeg(lsn, segment, wal_segment_size);
	if (likely(segment == run.segment))
		return;
	run.segment = segment;
	XLogFileName(name, decoder->timeline, segment, wal_segment_size);
	snprintf(title, sizeof(title), "recovering %s", name);
	set_ps_display(title);
}

/* Decoded records are in another CPU's cache: fetch those that come next. */
static inline void
prefetch_records(const Decoder *d)
{
	if (run.next + RECORDS_AHEAD < run.handed)
	{
		const char *record = (const char *) d->records[(run.next + RECORDS_AHEAD) & d->mask];

		for (int i = 0; i < RECORD_LINES; i++)
			__builtin_prefetch(record + i * CACHE_LINE);
	}
}

/* The decoder may overwrite the record at the LSN, and those before it. */
static inline void
release_record(Decoder *d, XLogRecPtr lsn)
{
	/* After all that redo has read of them. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	pg_atomic_write_u64(&d->replayed_lsn, lsn);
}

/*
 * The record that follows the one that was returned last, if the decoder has it.  See
 * take_record() in XLogPrefetchRoutine.
 */
DecodedXLogRecord *
decoder__take(Prefetcher *p, XLogReaderState *reader)
{
	Decoder    *d = decoder;

	if (likely(run.taking))
		release_record(d, reader->ReadRecPtr);
	else if (!run.active)
	{
		/* If it was stopped. */
		if (d->buffer && !pg_atomic_read_u32(&d->unused))
			release_run();
		if (may_begin(p, reader))
			begin(p, reader);
		return NULL;
	}

	while (has_record())
	{
		DecodedXLogRecord *record = d->records[run.next & d->mask];

		if (likely(record->header.xl_prev == reader->ReadRecPtr))
		{
			prefetch_records(d);
			show_segment(record->lsn);
			run.next++;
			run.taken++;
			if (unlikely(!run.taking))
			{
				run.taking = true;
				run.pid = d->pid;
				ereport(DEBUG1,
						(errmsg_internal("redoahead: taking records from the decoder (PID %d)",
										 run.pid)));
			}
			return record;
		}
		if (run.taking || record->lsn > reader->ReadRecPtr)
		{
			decoder__stop();
			break;
		}
		/* The startup process has been here before. */
		run.next++;
		release_record(d, record->lsn);
	}
	if (!run.active)
		release_run();
	return NULL;
}

/* Whose references lead redo: the decoder's while records are taken from it. */
Prefetcher *
decoder__replaying(Prefetcher *p)
{
	return run.taking ? &decoder->prefetcher : p;
}

/* Put into the ring what the decoder has found, as far as there is room. */
void
decoder__submit(Prefetcher *p)
{
	Emitter    *e = &p->connection.emitter;
	Outbox	   *box;
	uint32		tail;
	uint32		head;

	if (!run.active)
		return;
	box = &decoder->outbox;
	tail = pg_atomic_read_u32(&box->tail);
	head = pg_atomic_read_u32(&box->published);
	if (tail == head)
		return;
	pg_read_barrier();
	while (tail != head && emit__has_room(e) &&
		   emit__put(e, &box->refs[tail & box->mask]) == EMIT_OK)
		tail++;
	pg_memory_barrier();
	pg_atomic_write_u32(&box->tail, tail);
}
