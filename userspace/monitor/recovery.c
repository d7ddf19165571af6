/*
 * recovery.c
 *		What is known of one recovery: what the command knows, put together with what
 *		the server's processes, pg_control and pg_wal show.
 *
 * Redo of crash recovery ends where the WAL in pg_wal does.  While a primary sends WAL,
 * and for now, it ends at what has been received.  What an archive has is not known, so
 * then there is no end, unless pg_wal has more than the segment that redo is in.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/controlfile.h"
#include "cluster/recoverystart.h"
#include "monitor/cost.h"
#include "monitor/recovery.h"
#include "wal/walend.h"

/* Time between two reads of the titles of the server's processes, us. */
#define SERVER_US	500000

/*
 * Redo that waits, but not for a query, is paused or delayed if for so long, us, there has been
 * so much WAL for it, bytes: more than most records have, of which a part may have been received.
 */
#define PAUSE_US	1000000
#define PAUSE_BYTES	(1024 * 1024)

/* Time between two scans for the end of the WAL of an archive recovery, us. */
#define SCAN_US		10000000

/* Time spent on decoding at each update, which comes each 50 ms, us: idle CPUs have it. */
#define FORECAST_US	40000

void
recovery__begin(struct recovery *recovery, const struct monitor_snapshot *snapshot)
{
	uint64_t	now_us = clock__now_us();

	*recovery = (struct recovery) {.snapshot = *snapshot};
	recovery->begin_time = (double) clock__read_us(CLOCK_REALTIME) / 1e6 -
		(double) (now_us - snapshot->begin_us) / 1e6;
	progress__begin(&recovery->progress, snapshot->begin_us);
}

/*
 * What a server is at; "found" is whether the command has found a recovery, "replayed"
 * whether it has seen redo by the present startup process.
 */
enum phase
recovery__phase(const struct cluster *cluster, const struct activity_server *server, bool found,
				bool replayed)
{
	struct controlfile control;
	bool		read = controlfile__read(&control, cluster) == 0;

	/*
	 * The server writes that it shuts down before that checkpoint, too.  One that was killed
	 * while it shut down has that until redo begins.
	 */
	if (server->startup > 0 &&
		(server->checkpoint ||
		 (replayed && read && control.state == CONTROLFILE_SHUTTING_DOWN)))
		return PHASE_CHECKPOINT;
	if (!found)
		return PHASE_WAITING;
	if (!read || control.state != CONTROLFILE_IN_ARCHIVE_RECOVERY)
		return PHASE_CRASH_RECOVERY;
	return server->streaming ? PHASE_STREAMING : PHASE_ARCHIVE_RECOVERY;
}

/* Its name, as in the status document. */
const char *
recovery__phase_name(enum phase phase)
{
	static const char *const names[] = {
		[PHASE_WAITING] = "waiting",
		[PHASE_CRASH_RECOVERY] = "crash recovery",
		[PHASE_ARCHIVE_RECOVERY] = "archive recovery",
		[PHASE_STREAMING] = "streaming",
		[PHASE_CHECKPOINT] = "end-of-recovery checkpoint",
	};

	return names[phase];
}

/*
 * Find where the WAL in pg_wal ends that follows the position of redo.  Returns 0 if that is
 * not known.  In crash recovery, begin the forecast.
 */
static uint64_t
scan_wal(struct recovery *recovery, const struct cluster *cluster)
{
	uint32_t	timeline = recovery->server.timeline;
	uint64_t	lsn = recovery->progress.replay_lsn;
	struct wal_segments segments;
	struct controlfile control;
	struct recoverystart start;
	char		directory[PATH_MAX];
	uint64_t	end;

	if (recoverystart__read(&start, &control, cluster) < 0 ||
		snprintf(directory, sizeof(directory), "/proc/self/fd/%d/pg_wal", cluster->dirfd) >=
		(int) sizeof(directory))
		return 0;
	if (timeline == 0)
		timeline = start.timeline;
	/* A restartpoint moves it. */
	if (recovery->phase == PHASE_CRASH_RECOVERY && start.lsn <= recovery->progress.begin_lsn)
		recovery->start_lsn = start.lsn;
	if (wal_segments__open(&segments, directory, control.wal_segment_bytes, timeline, NULL) < 0)
		return 0;
	/* In an archive's recovery, it has as much of the archive as was fetched ahead. */
	segments.no_spool = true;
	end = walend__find(&segments, (struct wal_page_expected)
					   {
						   .system_identifier = control.system_identifier,
							   .segment_bytes = control.wal_segment_bytes,
							   .page_bytes = control.wal_page_bytes
					   }, lsn);
	wal_segments__close(&segments);
	/* An archive's WAL comes segment by segment: its end is not that of the WAL. */
	if (control.state == CONTROLFILE_IN_ARCHIVE_RECOVERY &&
		end < lsn + 2 * (uint64_t) control.wal_segment_bytes)
		return 0;
	if (recovery->phase == PHASE_CRASH_RECOVERY && end > lsn)
		forecast__begin(&recovery->forecast, cluster, &control, timeline,
						recovery->progress.begin_lsn, end);
	return end;
}

/* Scan for the end of WAL if it is time. */
static void
update_end(struct recovery *recovery, const struct cluster *cluster, uint64_t now_us)
{
	uint64_t	lsn = recovery->progress.replay_lsn;

	if (lsn == 0 || recovery->phase == PHASE_STREAMING || recovery->phase == PHASE_CHECKPOINT)
		return;
	/* Crash recovery adds no WAL. */
	if (recovery->scan_us != 0 && (now_us - recovery->scan_us < SCAN_US ||
								   (recovery->phase == PHASE_CRASH_RECOVERY && recovery->scanned_lsn >= lsn)))
		return;
	recovery->scan_us = now_us;
	forecast__end(&recovery->forecast);
	recovery->scanned_lsn = scan_wal(recovery, cluster);
	recovery->replays_all = recovery->phase == PHASE_CRASH_RECOVERY;
}

/*
 * The end of WAL as far as it is known, or 0, as before the position of redo is known.
 * *source is where that is known from, NULL if it is not.
 */
uint64_t
recovery__end_lsn(const struct recovery *recovery, const char **source)
{
	uint64_t	received_lsn = recovery->server.received_lsn;
	uint64_t	replay_lsn = recovery->progress.replay_lsn;

	*source = NULL;
	if (replay_lsn == 0)
		return 0;
	if (recovery->phase == PHASE_STREAMING && received_lsn != 0)
	{
		*source = "received";
		/* Redo's position is read more often. */
		return received_lsn > replay_lsn ? received_lsn : replay_lsn;
	}
	/*
	 * All WAL of crash recovery was scanned.  If it ends with a switch to the next segment,
	 * the end of that record is beyond the last page.
	 */
	if (recovery->scanned_lsn < replay_lsn &&
		(recovery->scanned_lsn == 0 ||
		 (recovery->phase != PHASE_CRASH_RECOVERY && recovery->phase != PHASE_CHECKPOINT)))
		return 0;
	*source = "scan";
	return recovery->scanned_lsn > replay_lsn ? recovery->scanned_lsn : replay_lsn;
}

/*
 * Share of the referenced blocks that were submitted, or resident, before redo came to
 * them; below 0 if there were none.
 */
double
recovery__coverage(const struct counters *counters)
{
	uint64_t	in_time = counters->blocks_requested + counters->blocks_resident;
	uint64_t	all = in_time + counters->blocks_stale + counters->refs_dropped;

	return all == 0 ? -1 : (double) in_time / (double) all;
}

/*
 * Has there been WAL for redo for some time?  Looking ahead may wait for restore_command, with
 * decoded WAL left; and a position that is not exact may be that of a segment.
 */
static bool
has_wal(struct recovery *recovery, uint64_t now_us)
{
	uint64_t	replay_lsn = recovery->progress.replay_lsn;
	const char *source;
	uint64_t	end_lsn = recovery__end_lsn(recovery, &source);

	if (end_lsn < recovery->snapshot.decode_lsn)
		end_lsn = recovery->snapshot.decode_lsn;
	if (replay_lsn == 0 || !recovery->snapshot.exact || recovery->server.fetching ||
		end_lsn < replay_lsn + PAUSE_BYTES)
		recovery->unused_us = 0;
	else if (recovery->unused_us == 0)
		recovery->unused_us = now_us;
	return recovery->unused_us != 0 && now_us - recovery->unused_us >= PAUSE_US;
}

/* Take a sample of what the startup process does. */
static void
update_limits(struct recovery *recovery, uint64_t now_us)
{
	const struct engine_state *engine = &recovery->snapshot.engine;
	struct activity_work work;

	if (recovery->server.startup <= 0 ||
		activity__read_work(recovery->server.startup, &work) < 0)
		return;
	limits__add(&recovery->limits, &work, &(struct limits_context)
				{
					.saturated = engine->limited,
						.all_wal = recovery->phase == PHASE_CRASH_RECOVERY,
						.waiting = recovery->server.waiting,
						.has_wal = has_wal(recovery, now_us),
						.checkpoint = recovery->phase == PHASE_CHECKPOINT
				}, now_us);
}

/* The work between two positions of redo. */
static struct forecast_work
work_between(const struct forecast *forecast, uint64_t from_lsn, uint64_t to_lsn)
{
	struct forecast_work from = forecast__before(forecast, from_lsn);
	struct forecast_work to = forecast__before(forecast, to_lsn);

	return (struct forecast_work) {to.records - from.records, to.blocks - from.blocks};
}

/* What redo took so far, sample by sample. */
static struct cost
cost_so_far(const struct recovery *recovery)
{
	const struct progress *progress = &recovery->progress;
	uint64_t	from_lsn = progress->begin_lsn;
	uint64_t	from_us = 0;
	struct cost cost = {0};

	for (unsigned i = 0; i <= progress->count; i++)
	{
		bool		is_sample = i < progress->count;
		uint64_t	lsn = is_sample ? progress->begin_lsn + progress->samples[i].replayed :
			progress->replay_lsn;
		uint64_t	us = is_sample ? progress->samples[i].elapsed_us :
			recovery->now_us - progress->begin_us;

		/* Before redo advances for the first time, its position may not be known. */
		if (lsn > progress->begin_lsn)
			cost__add(&cost, work_between(&recovery->forecast, from_lsn, lsn),
					  (double) (us - from_us) / 1e6);
		from_lsn = lsn;
		from_us = us;
	}
	return cost;
}

/* The time left: by the work that was forecast, where it was, otherwise by WAL. */
static struct progress_estimate
estimate_time_left(const struct recovery *recovery)
{
	const struct progress *progress = &recovery->progress;
	const struct forecast *forecast = &recovery->forecast;
	enum limit	limit = limits__present(&recovery->limits);
	const char *source;

	/* How long the checkpoint takes is not known, nor how long a query or a pause. */
	if (recovery->phase == PHASE_CHECKPOINT || limit == LIMIT_LOCK_CONFLICT || limit == LIMIT_PAUSE)
		return (struct progress_estimate) {0};
	if (recovery->phase == PHASE_CRASH_RECOVERY && forecast->begin_lsn != 0 &&
		!progress__has_stalled(progress, recovery->now_us) &&
		recovery->now_us - progress->begin_us >= PROGRESS_LEAST_US &&
		forecast->reader.next_lsn > progress->replay_lsn &&
		progress->replay_lsn < forecast->end_lsn)
	{
		struct cost cost = cost_so_far(recovery);
		struct forecast_work left = work_between(forecast, progress->replay_lsn,
												 forecast->end_lsn);

		if (cost.work.records > 0)
		{
			double		fitted = cost__fitted(&cost, left);

			return progress__between(fitted, fitted, cost__usual(&cost, left));
		}
	}
	return progress__estimate(progress, recovery__end_lsn(recovery, &source),
							  recovery->phase == PHASE_STREAMING, recovery->now_us);
}

/*
 * The recovery has ended.  If the server has got through crash recovery, redo came to the
 * end of what was decoded, also if its position was not seen since.  The cluster may be NULL.
 */
void
recovery__end(struct recovery *recovery, const struct cluster *cluster)
{
	struct controlfile control;

	if (recovery->scanned_lsn != 0 && recovery->replays_all && cluster != NULL &&
		controlfile__read(&control, cluster) == 0 &&
		(control.state == CONTROLFILE_SHUTTING_DOWN ||
		 control.state == CONTROLFILE_IN_PRODUCTION) &&
		recovery->snapshot.decode_lsn <= recovery->scanned_lsn)
		progress__update(&recovery->progress, recovery->snapshot.decode_lsn, recovery->now_us);
	forecast__end(&recovery->forecast);
}

/*
 * Bring all up to date with a new snapshot.  To be called several times a second.  The
 * cluster may be NULL if it is not there any more.
 */
void
recovery__update(struct recovery *recovery, const struct monitor_snapshot *snapshot,
				 const struct cluster *cluster, uint64_t now_us)
{
	struct progress *progress = &recovery->progress;
	uint64_t	received_lsn = recovery->server.received_lsn;

	recovery->snapshot = *snapshot;
	recovery->now_us = now_us;
	if (cluster != NULL && now_us - recovery->server_us >= SERVER_US)
	{
		recovery->server_us = now_us;
		(void) activity__read_server(cluster, &recovery->server);
		/* When it is promoted, it has received what it had. */
		if (recovery->server.received_lsn == 0)
			recovery->server.received_lsn = received_lsn;
		recovery->phase = recovery__phase(cluster, &recovery->server, true,
										  snapshot->replay_lsn != 0);
	}
	progress__update(progress, snapshot->replay_lsn, now_us);
	/* Redo has gone on since its position was seen last. */
	if (recovery->phase == PHASE_CHECKPOINT && recovery->replays_all &&
		recovery->scanned_lsn > progress->replay_lsn)
		progress__update(progress, recovery->scanned_lsn, now_us);
	if (cluster != NULL)
		update_end(recovery, cluster, now_us);
	update_limits(recovery, now_us);
	forecast__decode(&recovery->forecast, progress->replay_lsn, now_us + FORECAST_US);
	recovery->estimate = estimate_time_left(recovery);
	if (progress__is_due(progress, now_us))
		progress__add(progress, &(struct progress_sample)
					  {
						  .elapsed_us = now_us - progress->begin_us,
							  .replayed = progress__replayed(progress),
							  .rate = progress__rate(progress),
							  .in_flight = snapshot->engine.in_flight,
							  .coverage = recovery__coverage(&snapshot->recovery),
							  .time_left = recovery->estimate.known ? recovery->estimate.seconds : -1
					  });
}
