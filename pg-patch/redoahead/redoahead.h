/*
 * redoahead.h
 *		What the files of the redoahead server extension share.
 *
 * redoahead.c	the prefetch routine: what to emit
 * lookahead.c	the references between decoding and replay
 * cpu_prefetch.c		what redo will touch soon, into the CPU's cache; most of it in cpu_prefetch.h
 * submit.c	asking for blocks, of the daemon or of the kernel
 * settings.c	settings
 * connection.c		the daemon: connecting, watching, letting go
 * stats.c		counters in shared memory and the SQL function that shows them
 * images.c		counters of full-page images and the SQL function that shows them
 * prefault.c	first touches of shared buffers, out of redo's way
 * implied.c	blocks that redo reads although no record names them
 * recent_blocks.c		memory of blocks that needn't be emitted again
 * available.c	how much memory could be had; the daemon's, too
 * emit.h		the producer's end of the ring
 */
#ifndef REDOAHEAD_H
#define REDOAHEAD_H

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"

#include "emit.h"

/* Where we stand with the daemon. */
typedef enum RedoaheadState
{
	REDOAHEAD_OFF,				/* redoahead.socket is empty, or not tried yet */
	REDOAHEAD_DISCONNECTED,		/* no daemon; trying again once a second */
	REDOAHEAD_CONNECTING,			/* connected, waiting for its reply */
	REDOAHEAD_CONNECTED,			/* the daemon takes references */
	REDOAHEAD_STALLED,			/* attached, but it does not move; waiting */
} RedoaheadState;

/* Counters of the startup process, private to it. */
typedef struct RedoaheadCounters
{
	uint64		offered;		/* block references offered by the prefetcher */
	uint64		emitted;		/* references emitted, implied ones included */
	uint64		implied;		/* of those, references that no record names */
	uint64		hit;			/* found in shared buffers */
	uint64		skip_rep;		/* taken care of by an earlier reference */
	uint64		skip_fpw;		/* restored from a full-page image */
	uint64		skip_init;		/* initialized by redo */
	uint64		skip_new;		/* created or truncated by WAL before, or not read */
	uint64		dropped;		/* not emitted: the ring was full */
	uint64		buffers_found;	/* redo told where the buffer is, at replay */
	uint64		wakeups;		/* times the daemon had to be woken */
	uint64		connects;		/* times a daemon was attached */
	uint64		disconnects;	/* times it went away or stalled */
} RedoaheadCounters;

extern RedoaheadCounters redoahead_counters;

/* The ring to the attached daemon. */
extern Emitter redoahead_emitter;

/* settings.c */
extern void settings__init(void);
extern char *redoahead_socket;
extern int	redoahead_lookahead;
extern int	redoahead_ring_size;
extern int	redoahead_decode_buffer_size;

/* connection.c */
extern RedoaheadState connection__state(void);
extern uint32 connection__pid(void);
extern void connection__poll(XLogRecPtr replay_lsn, XLogRecPtr decode_lsn);
extern void connection__wake(void);
extern void connection__drop(void);
extern void connection__reconnect(void);
extern void connection__close(void);

/* redoahead.c, called by connection.c */
extern void redoahead__connected(void);
extern void redoahead__lost(void);

/* prefault.c */
extern int	redoahead_prefault;
extern int	prefault_frontier;
extern Size prefault__shmem_size(void);
extern void prefault__shmem_init(void);
extern void prefault__start(void);
extern void prefault__advance(int buffer);

/* Tell that redo has used a buffer, by its number. */
static inline void
prefault__used(int buffer)
{
	if (unlikely(buffer > prefault_frontier))
		prefault__advance(buffer);
}

/* images.c */
extern Size images__shmem_size(void);
extern void images__shmem_init(void);

/* stats.c */
extern void stats__init(void);
extern void stats__publish(XLogRecPtr replay_lsn, XLogRecPtr decode_lsn);

#endif							/* REDOAHEAD_H */
