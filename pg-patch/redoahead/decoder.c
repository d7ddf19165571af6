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
 * A run begins when the startup process has looked ahead itself as far as it may, or
 * half as far where the decode buffer is the limit: the decoder reads on from there, and
 * its records are taken when redo has come to the end of those.  Each must link to the
 * last one replayed.  When the run ends, for whatever reason, the startup process reads
 * on after the record that it has replayed last: an error in the WAL, or its end, is for
 * it to find.  It waits for the decoder at most STALL_TIMEOUT_MS.
 */
#include "postgres.h"

#include <time.h>

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "access/xlogutils.h"
#include "miscadmin.h"
#include "storage/s_lock.h"
#include "utils/ps_status.h"
#include "utils/wait_event.h"

#include "cpu_prefetch.h"
#include "decoder.h"
#include "settings.h"
#include "submit.h"
#include "worker.h"

/*
 * The decoder sleeps for a millisecond when it has looked ahead as far as it may.  Redo
 * must not come to the end of what is decoded by then.
 */
#define MIN_DISTANCE		4096
#define MIN_BUFFER_SIZE		(4 * 1024 * 1024)

/*
 * Records that redo takes from the startup process itself between two runs.  That doubles
 * after each run that gave less, or whose decoder did not respond.
 */
#define RECORDS_BEFORE_NEXT		1024
#define MAX_RECORDS_BEFORE_NEXT	(1024 * 1024 * 1024)

/* How often to check for a record before sleeping, and how long to sleep, us. */
#define SPINS				200
#define SLEEP_US			20

/* Time to wait for a record, ms. */
#define STALL_TIMEOUT_MS	250

/* Which record is prefetched into the CPU's cache, and how much of it, cache lines. */
#define RECORDS_AHEAD		8
#define RECORD_LINES		6

/* The run, as the startup process sees it. */
static struct
{
	bool		active;			/* begun, and not over */
	bool		taking;			/* records are taken from it */
	bool		impossible;		/* it could not be started */
	bool		stalled;		/* the decoder did not respond */
	uint64		taken;			/* records that were taken */
	uint64		handed;			/* as last read */
	uint64		wait_until;		/* records that redo must have come to before the next run */
	uint32		next_wait;		/* how many more after this run */
	XLogSegNo	segment;		/* in the process title */
} run = {.next_wait = RECORDS_BEFORE_NEXT};

/*
 * May a run begin now?  Only on the last timeline: before that, which file has the next
 * WAL depends on the history, and reading on after the run could miss it.
 */
static bool
may_begin(const Prefetcher *p, const XLogReaderState *reader)
{
	return !run.impossible && p->records >= run.wait_until && p->distance > 0 &&
		AmStartupProcess() && IsUnderPostmaster && InRecovery && !ArchiveRecoveryRequested &&
		reader->seg.ws_tli == recoveryTargetTLI && reader->latestPageTLI == recoveryTargetTLI &&
		decoder__is_usable() &&
		pg_atomic_read_u32(&decoder->busy) == 0;
}

/* Log, once, why no run begins. */
static void
log_refusal(const Prefetcher *p, size_t buffer_size)
{
	static bool logged;

	if (logged || !decoder__is_usable())
		return;
	logged = true;
	if (p->distance < MIN_DISTANCE)
		ereport(LOG,
				(errmsg("redoahead: a look-ahead of %d block references is too short for the decoder, which needs %d; the startup process decodes WAL itself",
						p->distance, MIN_DISTANCE),
				 errhint("You might need to increase \"%s\", or there is too little memory.",
						 "redoahead.lookahead")));
	else if (buffer_size < MIN_BUFFER_SIZE)
		ereport(LOG,
				(errmsg("redoahead: the decode buffer is too small for the decoder, which needs %d kB; the startup process decodes WAL itself",
						MIN_BUFFER_SIZE / 1024),
				 errhint("You might need to increase \"%s\", or there is too little memory.",
						 "redoahead.decode_buffer_size")));
	else
		ereport(LOG,
				(errmsg("redoahead: too little memory is reserved for the decoder; the startup process decodes WAL itself"),
				 errhint("You might need to restart the server after \"%s\" or \"%s\" was increased.",
						 "redoahead.lookahead", "redoahead.decode_buffer_size")));
}

/* Begin a run after a record. */
static void
begin(Prefetcher *p, const DecodedXLogRecord *last, TimeLineID timeline)
{
	Decoder    *d = decoder;
	size_t		buffer_size = prefetcher__decode_buffer_size(p);
	uint32		blocks = prefetcher__recent_blocks(p, p->distance);
	PrefetchCounters counters;

	/* What the last decoder has counted before it was not busy any more. */
	pg_read_barrier();
	counters = d->prefetcher.counters;

	run.wait_until = p->records + run.next_wait;
	if (p->distance < MIN_DISTANCE || buffer_size < MIN_BUFFER_SIZE ||
		!decoder__allocate(p->distance, buffer_size, blocks))
	{
		log_refusal(p, buffer_size);
		return;
	}

	prefetcher__add_counters(&p->counters, &counters);
	d->begin_lsn = last->next_lsn;
	d->previous_lsn = last->lsn;
	d->timeline = timeline;
	d->prefetcher.slru = p->slru;
	pg_atomic_write_u32(&d->busy, 1);

	run.active = worker__start("redoahead decoder", "redoahead_decoder_main");
	run.taking = run.stalled = false;
	run.taken = run.handed = 0;
	run.segment = 0;
	if (!run.active)
	{
		pg_atomic_write_u32(&d->busy, 0);
		run.impossible = true;
		ereport(LOG,
				(errmsg("redoahead: no background worker slot for the decoder; the startup process decodes WAL itself"),
				 errhint("You might need to increase \"%s\".", "max_worker_processes")));
		return;
	}
	ereport(DEBUG1,
			(errmsg_internal("redoahead: the decoder begins %u block references ahead of redo",
							 lookahead__length(&p->lookahead))));
}

/* Of the last run, if there was one, no record is used any more. */
static void
release_run(void)
{
	if (decoder->buffer)
		decoder__leave(DECODER_STARTUP_LEFT);
}

/*
 * Stop the run; what it has decoded is not taken any more.  A record that is being
 * replayed stays where it is, until decoder__take() is called.
 */
void
decoder__stop(Prefetcher *p)
{
	if (!run.active)
		return;
	pg_atomic_write_u32(&decoder->stop, 1);
	ereport(DEBUG1,
			(errmsg_internal("redoahead: took %llu records from the decoder; the startup process is %u block references ahead",
							 (unsigned long long) run.taken, lookahead__length(&p->lookahead))));
	if (run.stalled || run.taken < run.next_wait)
		run.next_wait = Min(2 * run.next_wait, MAX_RECORDS_BEFORE_NEXT);
	run.wait_until = p->records + run.next_wait;
	if (!run.taking)
		release_run();
	run.active = run.taking = false;
}

/* Has the decoder ended with so few records that it is better to look ahead again? */
static bool
has_ended_early(void)
{
	if (pg_atomic_read_u32(&decoder->ended) == 0)
		return false;
	pg_read_barrier();
	return pg_atomic_read_u64(&decoder->handed) < RECORDS_BEFORE_NEXT;
}

/*
 * Does the decoder read on after the last record that the reader has decoded?  A run begins
 * here, once the startup process has looked ahead.  See hand_over() in XLogPrefetchRoutine.
 */
bool
decoder__hand_over(Prefetcher *p, const XLogReaderState *reader)
{
	if (run.active)
	{
		if (has_ended_early())
			decoder__stop(p);
		return run.active;
	}
	/* This is the beginning of looking ahead. */
	if (reader->decode_queue_head == reader->decode_queue_tail)
		decoder__configured(p);
	if (may_begin(p, reader))
		begin(p, reader->decode_queue_tail, reader->seg.ws_tli);
	return run.active;
}

/* Looking ahead begins anew; it has come far when redo comes to the next record. */
void
decoder__configured(const Prefetcher *p)
{
	run.wait_until = Max(run.wait_until, p->records + 1);
}

/* Reading begins elsewhere, or has ended. */
void
decoder__reset(Prefetcher *p)
{
	if (run.active && !run.taking)
		decoder__stop(p);
}

/* Recovery has ended. */
void
decoder__shutdown(Prefetcher *p)
{
	decoder__stop(p);
	if (decoder)
		release_run();
}

static uint64
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64) ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Has the decoder handed over another record?  Waits for it. */
static bool
has_record(void)
{
	Decoder    *d = decoder;
	uint64		begun = 0;
	bool		ended = false;

	for (int i = 0; run.taken == run.handed && !ended && !run.stalled; i++)
	{
		/* What it handed over before it ended is visible after that. */
		ended = pg_atomic_read_u32(&d->ended) != 0 || pg_atomic_read_u32(&d->busy) == 0;
		pg_read_barrier();
		run.handed = pg_atomic_read_u64(&d->handed);
		pg_read_barrier();
		if (run.taken != run.handed)
			break;
		if (i < SPINS)
		{
			pg_spin_delay();
			continue;
		}
		if (begun == 0)
			begun = now_ms();
		run.stalled = now_ms() - begun > STALL_TIMEOUT_MS;
		pgstat_report_wait_start(PG_WAIT_EXTENSION);
		pg_usleep(SLEEP_US);
		pgstat_report_wait_end();
	}
	if (run.taken != run.handed)
		return true;
	if (run.stalled && d->pid == 0)
		ereport(LOG,
				(errmsg("redoahead: the decoder has not started after %d ms; the startup process decodes WAL itself",
						STALL_TIMEOUT_MS)));
	else if (run.stalled)
		ereport(LOG,
				(errmsg("redoahead: decoder (PID %d) has not responded for %d ms; the startup process decodes WAL itself",
						d->pid, STALL_TIMEOUT_MS)));
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
	if (run.taken + RECORDS_AHEAD < run.handed)
	{
		const char *record = (const char *) d->records[(run.taken + RECORDS_AHEAD) & d->mask];

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
	DecodedXLogRecord *record;

	if (likely(run.taking))
		release_record(d, reader->ReadRecPtr);
	if (likely(run.active && has_record()))
	{
		record = d->records[run.taken & d->mask];
		if (likely(record->header.xl_prev == reader->ReadRecPtr))
		{
			prefetch_records(d);
			show_segment(record->lsn);
			run.taken++;
			if (unlikely(!run.taking))
			{
				run.taking = true;
				ereport(DEBUG1,
						(errmsg_internal("redoahead: taking records from the decoder (PID %d)",
										 d->pid)));
			}
			return record;
		}
	}
	decoder__stop(p);
	/* Also if it was stopped before. */
	release_run();
	return NULL;
}

/* Whose references lead redo: the decoder's while records are taken from it. */
Prefetcher *
decoder__replaying(Prefetcher *p)
{
	return run.taking ? &decoder->prefetcher : p;
}

/*
 * The start of the last record that was decoded, by whomever.  Without a daemon only the
 * server knows that, but it is not before the one that is replayed.
 */
XLogRecPtr
decoder__decode_lsn(const Prefetcher *p)
{
	XLogRecPtr	lsn = Max(p->lookahead.decode_lsn, p->lookahead.replay_lsn);

	/* The decoder may be writing it; a stale value is harmless. */
	return run.active ? Max(lsn, decoder->prefetcher.lookahead.decode_lsn) : lsn;
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
	for (; tail != head && emit__has_room(e); tail++)
	{
		const struct redoahead_ref *ref = &box->refs[tail & box->mask];

		if (!emit__put(e, ref))
			break;
		submit__count(&p->counters, ref);
	}
	pg_memory_barrier();
	pg_atomic_write_u32(&box->tail, tail);
}
