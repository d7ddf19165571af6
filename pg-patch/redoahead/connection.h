/*
 * connection.h
 *		The startup process's connection to the redoahead daemon.
 */
#ifndef REDOAHEAD_CONNECTION_H
#define REDOAHEAD_CONNECTION_H

#include "postgres.h"

#include "emit.h"

typedef enum ConnectionState
{
	CONNECTION_OFF,				/* redoahead.socket is empty, or not tried yet */
	CONNECTION_DISCONNECTED,	/* no daemon; another attempt follows */
	CONNECTION_CONNECTING,		/* handshake sent, no reply yet */
	CONNECTION_CONNECTED,		/* the daemon takes references */
	CONNECTION_STALLED,			/* the daemon does not take references */
} ConnectionState;

/* What connection__poll() has found out. */
typedef enum ConnectionEvent
{
	CONNECTION_EVENT_NONE,
	CONNECTION_EVENT_CONNECTED, /* a daemon takes references from now on */
	CONNECTION_EVENT_RESPONDING,	/* so does one that was stalled */
	CONNECTION_EVENT_STALLED,	/* the daemon does not respond; it may again */
	CONNECTION_EVENT_LOST,		/* the daemon has gone, or was dropped */
} ConnectionEvent;

typedef struct Connection
{
	ConnectionState state;
	Emitter		emitter;		/* closed unless connected or stalled */
	int			sock;			/* to the daemon; -1 if none */
	int			wake_fd;		/* eventfd that the daemon sleeps on; -1 if none */
	size_t		ring_bytes;		/* size of the ring's mapping */
	int			refs;			/* that the next ring has room for, at least */
	uint32		daemon_pid;		/* as in its reply */
	uint32		settings_seen;	/* redoahead_connection_changes when last checked */
	uint64		deadline;		/* of the reply, or of the next attempt, ms */
	uint64		begun;			/* time of the first attempt, ms; or 0 */
	uint64		connected_at;	/* time of the connection, ms */
	uint64		backoff;		/* delay after the last loss, ms; or 0 */
	uint64		last_heartbeat; /* value when last read */
	uint64		last_tail;		/* likewise */
	uint64		idle_since;		/* since when references lie there untouched, ms; or 0 */
	char		reported[256];	/* why there is no daemon, as last logged */
	uint64		connects;		/* times a daemon was connected */
	uint64		disconnects;	/* times it was lost or stalled */
	uint64		wakeups;		/* times the daemon had to be woken */
} Connection;

extern bool connection__may_connect(const Connection *c, uint64 now);
extern ConnectionEvent connection__poll(Connection *c, uint64 now);
extern void connection__wake(Connection *c);
extern void connection__renew(Connection *c);
extern void connection__close(Connection *c);

/* May references be submitted to the daemon? */
static inline bool
connection__is_ready(const Connection *c)
{
	return c->state == CONNECTION_CONNECTED && emit__is_open(&c->emitter);
}

/*
 * Is it worth polling before the usual time?  A reply is expected soon, and a ring
 * that the daemon has spoiled is of no use any more.
 */
static inline bool
connection__is_urgent(const Connection *c)
{
	return c->state == CONNECTION_CONNECTING ||
		(c->state == CONNECTION_CONNECTED && !emit__is_open(&c->emitter));
}

#endif							/* REDOAHEAD_CONNECTION_H */
