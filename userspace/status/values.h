/*
 * values.h
 *		The values of a status document.
 */
#ifndef REDOAHEAD_STATUS_VALUES_H
#define REDOAHEAD_STATUS_VALUES_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

/* Most samples of a history that are used. */
#define VALUES_MAX_SAMPLES	240

/* Room for a text; for an LSN; bytes. */
#define VALUES_TEXT_BYTES		256
#define VALUES_LSN_BYTES		20

enum values_phase
{
	VALUES_WAITING,			/* for a recovery */
	VALUES_CRASH_RECOVERY,
	VALUES_ARCHIVE_RECOVERY,
	VALUES_STREAMING,
	VALUES_CHECKPOINT,		/* end-of-recovery checkpoint */
	VALUES_PHASE_COUNT
};

/* What of a recovery has a history. */
enum values_history
{
	VALUES_RATE,				/* bytes per second */
	VALUES_IN_FLIGHT,			/* blocks */
	VALUES_COVERAGE,			/* 0 to 1 */
	VALUES_HISTORY_COUNT
};

/* One recovery.  Numbers that are not known are NAN, texts are empty. */
struct values_recovery
{
	double		elapsed;		/* since it was found, s */
	char		redo_start_lsn[VALUES_LSN_BYTES];
	char		replay_lsn[VALUES_LSN_BYTES];
	char		end_lsn[VALUES_LSN_BYTES];
	char		primary_lsn[VALUES_LSN_BYTES];	/* of the primary, if this is a standby */
	char		end_source[16]; /* how the end is known */
	char		limit[32];		/* what limits redo */
	double		replayed;		/* WAL, bytes */
	double		remaining;		/* WAL, bytes */
	double		progress;		/* 0 to 1 */
	double		rate;			/* now, bytes per second */
	double		mean_rate;		/* bytes per second */
	double		left;			/* time, s */
	double		left_min;		/* at least, s */
	double		left_max;		/* at most, s */
	double		stalled;		/* time since redo last advanced, s */
	double		lookahead;		/* WAL, bytes */
	double		queued;			/* blocks that wait to be submitted */
	double		in_flight;		/* blocks */
	double		ahead;			/* blocks that were read and redo has not come to */
	double		io_depth;		/* blocks that may be in flight */
	double		coverage;		/* share of the blocks submitted in time, 0 to 1 */
	unsigned	sample_count;	/* samples of each history */
	double		history[VALUES_HISTORY_COUNT][VALUES_MAX_SAMPLES];	/* oldest first */
};

struct values
{
	enum values_phase phase;
	char		command[16];	/* serve or follow */
	char		data_directory[VALUES_TEXT_BYTES];	/* printable */
	double		server_major;
	char		refused[VALUES_TEXT_BYTES]; /* why a server is not served, empty: none */
	double		recoveries;		/* found so far */
	bool		has_recovery;	/* there is one now */
	bool		has_last;		/* one has ended */
	struct values_recovery recovery;	/* the present one */
	struct values_recovery last;	/* the last one that ended */
};

int			values__parse(struct values *document, struct json_object *json,
							char *message, size_t size);
bool		values__is_idle(const struct values *document);
const char *values__phase_name(enum values_phase phase);

#endif							/* REDOAHEAD_STATUS_VALUES_H */
