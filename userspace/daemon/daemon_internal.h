/*
 * daemon_internal.h
 *		The state that the parts of the daemon share: daemon.c sets it up, loop.c
 *		runs it, session.c begins and ends recoveries, status.c reports.
 */
#ifndef REDOAHEAD_DAEMON_DAEMON_INTERNAL_H
#define REDOAHEAD_DAEMON_DAEMON_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/cluster.h"
#include "cluster/readers.h"
#include "daemon/daemon.h"
#include "daemon/heartbeat.h"
#include "engine/engine.h"
#include "monitor/monitor.h"
#include "report/outputs.h"
#include "source/listener.h"
#include "source/ring.h"

/* References taken from the ring at once. */
#define TAKE_REFS		1024

/* A connected recovery. */
struct session
{
	bool		connected;		/* is there one? */
	bool		hung_up;		/* the server has closed its socket */
	struct handshake_offer server;	/* its descriptors and its handshake */
	struct ring ring;			/* its references */
	struct readers readers;		/* do sessions read beside redo? */
	struct heartbeat heartbeat; /* for the server, while there is a recovery */
	struct redoahead_ref refs[TAKE_REFS];	/* some of them, copied */
	uint64_t	taken_lsn;		/* LSN of the reference taken last */
	uint64_t	sleep_lsn;		/* decode LSN + replay LSN when the daemon slept last */
	uint64_t	begin_us;		/* time of the connection, us */
	uint64_t	begin_cpu_us;	/* CPU time of the process at that time, us */
	uint64_t	work_us;		/* time of the last work, us */
	uint64_t	publish_us;		/* time of the last update of the ring's progress, us */
	uint64_t	monitor_us;		/* time of the last snapshot for the monitor, us */
};

struct daemon
{
	const struct daemon_options *options;	/* as given */
	struct cluster cluster;		/* whose recoveries are served */
	struct engine *engine;		/* reads the blocks */
	const struct backend_ops *backend;	/* how the engine reads */
	bool		uring_failed;	/* io_uring worked at first, but failed later */
	struct outputs outputs;		/* block log, timeline, statistics */
	struct monitor *monitor;	/* shows people the state */
	struct listener *listener;	/* accepts servers */
	int			epoll_fd;		/* all that the daemon waits for */
	int			signal_fd;		/* SIGTERM, SIGINT and SIGHUP */
	bool		stop;			/* a signal has arrived */
	uint64_t	events_us;		/* time of the last epoll_wait, us */
	struct session session;		/* the present recovery */

	uint64_t	recoveries;		/* recoveries connected so far */
	struct counters last;		/* of the last recovery that ended */
	struct counters ended;		/* of all recoveries that ended */
};

/* daemon.c */
int			daemon__renew_engine(struct daemon *daemon, int err);

/* loop.c */
int			loop__run(struct daemon *daemon);
void		loop__handle_signal(struct daemon *daemon);

/* session.c */
void		session__connect(struct daemon *daemon, struct handshake_offer *offer);
int			session__disconnect(struct daemon *daemon);
uint64_t	session__decode_lsn(const struct session *session, uint64_t replay_lsn);

/* status.c */
void		status__write_statistics(struct daemon *daemon);
void		status__update_counters(struct daemon *daemon);
void		status__publish(struct daemon *daemon, uint64_t now_us);
void		status__snapshot(struct daemon *daemon, struct monitor_snapshot *snapshot);

#endif							/* REDOAHEAD_DAEMON_DAEMON_INTERNAL_H */
