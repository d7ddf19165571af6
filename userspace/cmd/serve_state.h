/*
 * serve_state.h
 *		What the parts of the daemon's loop share: serve_loop.c, serve_recovery.c,
 *		serve_report.c.
 */
#ifndef REDOAHEAD_CMD_SERVE_STATE_H
#define REDOAHEAD_CMD_SERVE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/serve_loop.h"
#include "report/counters.h"
#include "source/listener.h"
#include "source/ring.h"

/* References taken from the ring at once. */
#define TAKE_REFS		1024

struct serve
{
	const struct serve_config *config;	/* as given */
	int			epoll_fd;		/* everything that can wake us */
	int			signal_fd;		/* SIGTERM and SIGINT */
	struct listener *listener;	/* who wants to be served */
	bool		stop;			/* a signal said so */

	/* The attached recovery. */
	bool		connected;		/* is there one? */
	bool		hung_up;		/* the server closed its socket */
	struct listener_offer server;	/* its descriptors and its handshake */
	struct ring ring;			/* its references */
	struct redoahead_ref refs[TAKE_REFS];	/* some of them, copied */
	uint64_t	taken_lsn;		/* of the reference taken last */
	uint64_t	sleep_lsn;		/* how far decoding was when we went to sleep last */
	uint64_t	begin_us;		/* when it attached, us */
	uint64_t	begin_cpu_us;	/* CPU time of the process then, us */
	uint64_t	work_us;		/* when there was work last, us */
	uint64_t	events_us;		/* when epoll was looked at last, us */
	uint64_t	publish_us;		/* when the server was told last, us */
	uint64_t	sample_us;		/* when the timeline got its last line, us */

	/* For the report. */
	uint64_t	stats_us;		/* when the file was written last, us */
	bool		stats_failed;	/* the file could not be written, said so */
	uint64_t	recoveries;		/* recoveries that attached so far */
	struct counters last;		/* of the last recovery that ended */
	struct counters ended;		/* of all recoveries that ended */
};

void		serve__write_stats(struct serve *serve);
void		serve__update_times(struct serve *serve);
void		serve__publish(struct serve *serve, uint64_t now_us);
void		serve__add_sample(struct serve *serve, uint64_t replay_lsn, uint64_t now_us);
int			serve__watch(struct serve *serve, int fd, uint32_t events);
void		serve__connect(struct serve *serve, struct listener_offer *offer);
int			serve__disconnect(struct serve *serve);

#endif							/* REDOAHEAD_CMD_SERVE_STATE_H */
