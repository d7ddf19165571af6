/*
 * recovery.h
 *		What is known of one recovery.
 */
#ifndef REDOAHEAD_MONITOR_RECOVERY_H
#define REDOAHEAD_MONITOR_RECOVERY_H

#include "cluster/activity.h"
#include "monitor/forecast.h"
#include "monitor/limits.h"
#include "monitor/monitor.h"
#include "monitor/progress.h"

/* Phases of a server. */
enum phase
{
	PHASE_WAITING,				/* no recovery */
	PHASE_CRASH_RECOVERY,		/* of the WAL in pg_wal */
	PHASE_ARCHIVE_RECOVERY,		/* of what an archive, or pg_wal, has */
	PHASE_STREAMING,			/* of what a primary sends */
	PHASE_CHECKPOINT			/* redo is complete, the end-of-recovery checkpoint is not */
};

struct recovery
{
	struct monitor_snapshot snapshot;	/* newest */
	double		begin_time;		/* when it was found, Unix time, s */
	uint64_t	now_us;			/* time of the last update, us */
	enum phase	phase;			/* at that time */
	struct activity_server server;	/* the server's processes, lately */
	uint64_t	server_us;		/* time of that, us */
	uint64_t	start_lsn;		/* where redo began, if it is known from pg_control, or 0 */
	uint64_t	scanned_lsn;	/* end of the WAL in pg_wal, 0: unknown */
	bool		replays_all;	/* redo goes to there: in crash recovery */
	uint64_t	scan_us;		/* time of the last scan for it, us; 0: never */
	uint64_t	unused_us;		/* since when there is WAL that redo does not use, us; 0: there is none */
	struct progress progress;
	struct limits limits;
	struct forecast forecast;	/* of the work that is left, in crash recovery */
	struct progress_estimate estimate;	/* of the time left */
};

void		recovery__begin(struct recovery *recovery, const struct monitor_snapshot *snapshot);
void		recovery__end(struct recovery *recovery, const struct cluster *cluster);
void		recovery__update(struct recovery *recovery, const struct monitor_snapshot *snapshot,
							 const struct cluster *cluster, uint64_t now_us);
uint64_t	recovery__end_lsn(const struct recovery *recovery, const char **source);
double		recovery__coverage(const struct counters *counters);
enum phase	recovery__phase(const struct cluster *cluster, const struct activity_server *server,
							bool found, bool replayed);
const char *recovery__phase_name(enum phase phase);

#endif							/* REDOAHEAD_MONITOR_RECOVERY_H */
