/*
 * stats.c
 *		Counters of the redoahead extension in shared memory, and the function
 *		behind the view pg_stat_redoahead.
 *
 * The startup process adds up what it and the decoder count, and copies that to
 * shared memory at intervals; anyone may read it, during recovery and afterwards.
 * Counters are reset when the server starts.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "port/atomics.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"

#include "decoder.h"
#include "settings.h"
#include "stats.h"

/* The counters of a Prefetcher, then those of its connection. */
#define NPREFETCH_COUNTERS	(sizeof(PrefetchCounters) / sizeof(uint64))
#define NCOUNTERS			(NPREFETCH_COUNTERS + 3)

/* What the daemon reports in the ring. */
typedef struct DaemonCounters
{
	pg_atomic_uint64 taken;		/* references taken from the ring */
	pg_atomic_uint64 blocks_read;	/* blocks brought into the page cache */
	pg_atomic_uint64 blocks_failed; /* missing files, short reads, errors */
	pg_atomic_uint64 blocks_stale;	/* replayed before they were submitted */
	pg_atomic_uint64 in_flight; /* blocks being read */
	pg_atomic_uint64 io_depth;	/* most blocks to be read at a time */
	pg_atomic_uint64 readahead_limit;	/* most blocks to be read ahead of redo */
	pg_atomic_uint64 busy_ns;	/* CPU time, ns */
} DaemonCounters;

typedef struct SharedStats
{
	pg_atomic_uint32 state;		/* a ConnectionState */
	pg_atomic_uint32 pid;		/* the daemon's process id, 0 if none */
	pg_atomic_uint32 distance;	/* references to look ahead, 0 while not in use */
	pg_atomic_uint64 replay_lsn;	/* record being replayed */
	pg_atomic_uint64 decode_lsn;	/* last record decoded */
	pg_atomic_uint64 counters[NCOUNTERS];	/* in the order of the view's columns */
	DaemonCounters daemon;		/* sums over all connections */
} SharedStats;

static SharedStats *shared;

static const char *const state_names[] = {
	[CONNECTION_OFF] = "off",
	[CONNECTION_DISCONNECTED] = "disconnected",
	[CONNECTION_CONNECTING] = "connecting",
	[CONNECTION_CONNECTED] = "connected",
	[CONNECTION_STALLED] = "stalled",
};

PG_FUNCTION_INFO_V1(pg_stat_redoahead);

/* Shared memory that stats__shmem_init() takes, bytes. */
Size
stats__shmem_size(void)
{
	return MAXALIGN(sizeof(SharedStats));
}

/* Find or create the counters.  The caller holds the lock. */
void
stats__shmem_init(void)
{
	bool		found;

	shared = ShmemInitStruct("redoahead", sizeof(SharedStats), &found);
	if (!found)
	{
		pg_atomic_uint64 *daemon = (pg_atomic_uint64 *) &shared->daemon;

		pg_atomic_init_u32(&shared->state, CONNECTION_OFF);
		pg_atomic_init_u32(&shared->pid, 0);
		pg_atomic_init_u32(&shared->distance, 0);
		pg_atomic_init_u64(&shared->replay_lsn, 0);
		pg_atomic_init_u64(&shared->decode_lsn, 0);
		for (int i = 0; i < NCOUNTERS; i++)
			pg_atomic_init_u64(&shared->counters[i], 0);
		for (int i = 0; i < sizeof(DaemonCounters) / sizeof(*daemon); i++)
			pg_atomic_init_u64(&daemon[i], 0);
	}
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

/* Copy the startup process's counters to shared memory. */
void
stats__publish(Prefetcher *p)
{
	const Connection *c = &p->connection;
	const struct redoahead_ring *ring = c->emitter.ring;
	PrefetchCounters sum = p->counters;
	const uint64 *counters = (const uint64 *) &sum;
	bool		has_daemon = c->state == CONNECTION_CONNECTED || c->state == CONNECTION_STALLED;

	if (!shared)
		return;

	if (decoder)
		prefetcher__add_counters(&sum, &decoder->prefetcher.counters);
	pg_atomic_write_u32(&shared->state, c->state);
	pg_atomic_write_u32(&shared->pid, has_daemon ? c->daemon_pid : 0);
	pg_atomic_write_u32(&shared->distance, p->distance);
	pg_atomic_write_u64(&shared->replay_lsn, p->lookahead.replay_lsn);
	pg_atomic_write_u64(&shared->decode_lsn, decoder__decode_lsn(p));
	for (int i = 0; i < NPREFETCH_COUNTERS; i++)
		pg_atomic_write_u64(&shared->counters[i], counters[i]);
	pg_atomic_write_u64(&shared->counters[NPREFETCH_COUNTERS], c->wakeups);
	pg_atomic_write_u64(&shared->counters[NPREFETCH_COUNTERS + 1], c->connects);
	pg_atomic_write_u64(&shared->counters[NPREFETCH_COUNTERS + 2], c->disconnects);

	if (ring == NULL)
	{
		memset(&p->last, 0, sizeof(p->last));
		pg_atomic_write_u64(&shared->daemon.in_flight, 0);
		pg_atomic_write_u64(&shared->daemon.io_depth, 0);
		pg_atomic_write_u64(&shared->daemon.readahead_limit, 0);
		return;
	}
#define ADD(sum, field) \
	add_daemon(&shared->daemon.sum, \
			   __atomic_load_n(&ring->field, __ATOMIC_RELAXED), &p->last.sum)
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
#define NCOLUMNS	27
	TupleDesc	desc;
	Datum		values[NCOLUMNS] = {0};
	bool		nulls[NCOLUMNS] = {0};
	uint32		pid;
	uint32		distance;
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

	pid = pg_atomic_read_u32(&shared->pid);
	distance = pg_atomic_read_u32(&shared->distance);

	values[n++] = CStringGetTextDatum(state_names[pg_atomic_read_u32(&shared->state)]);
	nulls[n] = (pid == 0);
	values[n++] = Int32GetDatum(pid);
	lsn = pg_atomic_read_u64(&shared->replay_lsn);
	nulls[n] = (lsn == 0);
	values[n++] = LSNGetDatum(lsn);
	lsn = pg_atomic_read_u64(&shared->decode_lsn);
	nulls[n] = (lsn == 0);
	values[n++] = LSNGetDatum(lsn);
	for (int i = 0; i < NCOUNTERS; i++)
		values[n++] = Int64GetDatum(pg_atomic_read_u64(&shared->counters[i]));
	values[n++] = Int32GetDatum(distance > 0 ? distance : redoahead_lookahead);
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
