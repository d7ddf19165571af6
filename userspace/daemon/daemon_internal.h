/*
 * daemon_internal.h
 *		The state that the parts of the daemon share: daemon.c sets it up, loop.c
 *		runs it, session.c begins and ends recoveries.
 */
#ifndef REDOAHEAD_DAEMON_DAEMON_INTERNAL_H
#define REDOAHEAD_DAEMON_DAEMON_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/daemon.h"
#include "daemon/heartbeat.h"
#include "prefetch/prefetch.h"
#include "source/listener.h"
#include "source/ring.h"

/* References taken from the ring at once. */
#define TAKE_REFS		1024

/* A connected recovery. */
struct session
{
	bool		hung_up;		/* the server has closed its socket */
	struct handshake_offer server;	/* its descriptors and its handshake */
	struct ring ring;			/* its references */
	struct heartbeat heartbeat; /* for the server, while there is a recovery */
	struct redoahead_ref refs[TAKE_REFS];	/* some of them, copied */
	uint64_t	taken_lsn;		/* LSN of the reference taken last */
	uint64_t	sleep_lsn;		/* decode LSN + replay LSN when the daemon slept last */
	uint64_t	work_us;		/* time of the last work, us */
	uint64_t	publish_us;		/* time of the last update of the ring's progress, us */
};

struct daemon
{
	const struct daemon_options *options;	/* as given */
	struct prefetch prefetch;	/* what is common to commands that prefetch */
	struct listener *listener;	/* accepts servers */
	char		refused[MONITOR_REFUSED_BYTES]; /* why a server is not served, as published */
	uint64_t	postmaster_ticks;	/* start of the postmaster, as processes__start_ticks(), 0: none */
	uint64_t	examine_us;		/* time at which it is examined next, us */
	bool		unloaded;		/* it has not loaded the extension */
	int			epoll_fd;		/* all that the daemon waits for */
	uint64_t	events_us;		/* time of the last epoll_wait, us */
	struct session session;		/* the recovery, if prefetch.runs */
};

/* daemon.c */
int			daemon__renew_engine(struct daemon *daemon, int err);

/* loop.c */
int			loop__open(struct daemon *daemon);
int			loop__run(struct daemon *daemon);
void		loop__close(struct daemon *daemon);

/* session.c */
void		session__connect(struct daemon *daemon, struct handshake_offer *offer);
int			session__disconnect(struct daemon *daemon);
uint64_t	session__decode_lsn(const struct session *session, uint64_t replay_lsn);
void		session__update(struct daemon *daemon, uint64_t replay_lsn);
void		session__publish(struct daemon *daemon, uint64_t now_us);

#endif							/* REDOAHEAD_DAEMON_DAEMON_INTERNAL_H */
