/*
 * stats.c
 *		Counters of the redoahead extension in shared memory, and the function
 *		behind the view pg_stat_redoahead.
 *
 * The startup process counts in private memory and copies the counters here
 * at intervals; anyone may read them, in recovery and after.  They start anew
 * with the server.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"

#include "lookahead.h"
#include "redoahead.h"

#define NCOUNTERS	(sizeof(RedoaheadCounters) / sizeof(uint64))

/* What the daemon says of itself in the ring. */
typedef struct DaemonCounters
{
	pg_atomic_uint64 taken;		/* references taken from the ring */
	pg_atomic_uint64 blocks_read;	/* blocks brought into the page cache */
	pg_atomic_uint64 blocks_failed; /* missing files, short reads, errors */
	pg_atomic_uint64 blocks_stale;	/* replayed before their turn came */
	pg_atomic_uint64 in_flight; /* blocks being read */
	pg_atomic_uint64 io_depth;	/* most blocks to be read at a time */
	pg_atomic_uint64 readahead_limit;	/* most blocks to be read ahead of redo */
	pg_atomic_uint64 busy_ns;	/* CPU time, ns */
} DaemonCounters;

typedef struct SharedStats
{
	pg_atomic_uint32 state;		/* a RedoaheadState */
	pg_atomic_uint32 pid;		/* the daemon's process id, 0 if none */
	pg_atomic_uint32 window;	/* references to look ahead, 0 while not attached */
	pg_atomic_uint64 replay_lsn;	/* record being replayed */
	pg_atomic_uint64 decode_lsn;	/* last record decoded */
	pg_atomic_uint64 counters[NCOUNTERS];	/* a RedoaheadCounters */
	DaemonCounters daemon;		/* sums over the daemons that were attached */
} SharedStats;

static SharedStats *shared;
static shmem_request_hook_type prev_shmem_request_hook;
static shmem_startup_hook_type prev_shmem_startup_hook;

static const char *const state_names[] = {
	[REDOAHEAD_OFF] = "off",
	[REDOAHEAD_DISCONNECTED] = "disconnected",
	[REDOAHEAD_CONNECTING] = "connecting",
	[REDOAHEAD_CONNECTED] = "connected",
	[REDOAHEAD_STALLED] = "stalled",
};

PG_FUNCTION_INFO_V1(pg_stat_redoahead);

static void
request_shmem(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(SharedStats)) + prefault__shmem_size() +
						   images__shmem_size());
}

static void
startup_shmem(void)
{
	bool		found;

	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("redoahead", sizeof(SharedStats), &found);
	if (!found)
	{
		pg_atomic_uint64 *daemon = (pg_atomic_uint64 *) &shared->daemon;

		pg_atomic_init_u32(&shared->state, REDOAHEAD_OFF);
		pg_atomic_init_u32(&shared->pid, 0);
		pg_atomic_init_u32(&shared->window, 0);
		pg_atomic_init_u64(&shared->replay_lsn, 0);
		pg_atomic_init_u64(&shared->decode_lsn, 0);
		for (int i = 0; i < NCOUNTERS; i++)
			pg_atomic_init_u64(&shared->counters[i], 0);
		for (int i = 0; i < sizeof(DaemonCounters) / sizeof(*daemon); i++)
			pg_atomic_init_u64(&daemon[i], 0);
	}
	prefault__shmem_init();
	images__shmem_init();
	LWLockRelease(AddinShmemInitLock);
}

/* Ask for shared memory; to be called when the library is preloaded. */
void
stats__init(void)
{
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = request_shmem;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup_shmem;
}

/*
 * Add what the daemon has counted since the last time.  The ring's counters
 * start at 0 with each connection, and the daemon isn't trusted to count up.
 */
static void
add_daemon(pg_atomic_uint64 *sum, uint64 now, uint64 *last)
{
	if (now > *last)
		pg_atomic_write_u64(sum, pg_atomic_read_u64(sum) + now - *last);
	*last = now;
}

/* Copy the startup process's counters to where everyone can read them. */
void
stats__publish(XLogRecPtr replay_lsn, XLogRecPtr decode_lsn)
{
	static struct redoahead_ring last;
	const struct redoahead_ring *ring = redoahead_emitter.ring;
	const uint64 *counters = (const uint64 *) &redoahead_counters;

	if (!shared)
		return;

	pg_atomic_write_u32(&shared->state, connection__state());
	pg_atomic_write_u32(&shared->pid, connection__pid());
	pg_atomic_write_u32(&shared->window, lookahead.window);
	pg_atomic_write_u64(&shared->replay_lsn, replay_lsn);
	pg_atomic_write_u64(&shared->decode_lsn, decode_lsn);
	for (int i = 0; i < NCOUNTERS; i++)
		pg_atomic_write_u64(&shared->counters[i], counters[i]);

	if (ring == NULL)
	{
		memset(&last, 0, sizeof(last));
		pg_atomic_write_u64(&shared->daemon.in_flight, 0);
		pg_atomic_write_u64(&shared->daemon.io_depth, 0);
		pg_atomic_write_u64(&shared->daemon.readahead_limit, 0);
		return;
	}
#define ADD(sum, field) \
	add_daemon(&shared->daemon.sum, \
			   __atomic_load_n(&ring->field, __ATOMIC_RELAXED), &last.field)
	ADD(taken, tail);
	ADD(blocks_read, blocks_read);
	ADD(blocks_failed, blocks_failed);
	ADD(blocks_stale, blocks_stale);
	ADD(busy_ns, busy_ns);
#undef ADD
#define COPY(field) \
	pg_atomic_write_u64(&shared->daemon.field, \
						__atomic_load_n(&ring->field, __ATOMIC_RELAXED))
	COPY(in_flight);
	COPY(io_depth);
	COPY(readahead_limit);
#undef COPY
}

/* The row of pg_stat_redoahead. */
Datum
pg_stat_redoahead(PG_FUNCTION_ARGS)
{
#define NCOLUMNS	26
	TupleDesc	desc;
	Datum		values[NCOLUMNS] = {0};
	bool		nulls[NCOLUMNS] = {0};
	RedoaheadCounters c;
	uint32		pid;
	uint32		window;
	uint64		lsn;
	int			n = 0;

	if (!shared)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("redoahead is not loaded"),
				 errhint("Add \"redoahead\" to \"shared_preload_libraries\" and restart the server.")));
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE ||
		desc->natts != NCOLUMNS)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("the SQL definition of pg_stat_redoahead() does not fit the library"),
				 errhint("Run DROP EXTENSION redoahead, then CREATE EXTENSION redoahead.")));

	for (int i = 0; i < NCOUNTERS; i++)
		((uint64 *) &c)[i] = pg_atomic_read_u64(&shared->counters[i]);
	pid = pg_atomic_read_u32(&shared->pid);
	window = pg_atomic_read_u32(&shared->window);

	values[n++] = CStringGetTextDatum(state_names[pg_atomic_read_u32(&shared->state)]);
	nulls[n] = (pid == 0);
	values[n++] = Int32GetDatum(pid);
	lsn = pg_atomic_read_u64(&shared->replay_lsn);
	nulls[n] = (lsn == 0);
	values[n++] = LSNGetDatum(lsn);
	lsn = pg_atomic_read_u64(&shared->decode_lsn);
	nulls[n] = (lsn == 0);
	values[n++] = LSNGetDatum(lsn);
	values[n++] = Int64GetDatum(c.offered);
	values[n++] = Int64GetDatum(c.emitted);
	values[n++] = Int64GetDatum(c.implied);
	values[n++] = Int64GetDatum(c.hit);
	values[n++] = Int64GetDatum(c.skip_rep);
	values[n++] = Int64GetDatum(c.skip_fpw);
	values[n++] = Int64GetDatum(c.skip_init);
	values[n++] = Int64GetDatum(c.skip_new);
	values[n++] = Int64GetDatum(c.dropped);
	values[n++] = Int64GetDatum(c.buffers_found);
	values[n++] = Int64GetDatum(c.wakeups);
	values[n++] = Int64GetDatum(c.connects);
	values[n++] = Int64GetDatum(c.disconnects);
	values[n++] = Int32GetDatum(window > 0 ? window : redoahead_lookahead);
	values[n++] = Int64GetDatum(pg_atomic_read_u64(&shared->daemon.taken));
	values[n++] = Int64GetDatum(pg_atomic_read_u64(&shared->daemon.blocks_read));
	values[n++] = Int64GetDatum(pg_atomic_read_u64(&shared->daemon.blocks_failed));
	values[n++] = Int64GetDatum(pg_atomic_read_u64(&shared->daemon.blocks_stale));
	values[n++] = Int64GetDatum(pg_atomic_read_u64(&shared->daemon.in_flight));
	values[n++] = Int64GetDatum(pg_atomic_read_u64(&shared->daemon.io_depth));
	values[n++] = Int64GetDatum(pg_atomic_read_u64(&shared->daemon.readahead_limit));
	values[n++] = Float8GetDatum(pg_atomic_read_u64(&shared->daemon.busy_ns) / 1e9);
	Assert(n == NCOLUMNS);

	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
