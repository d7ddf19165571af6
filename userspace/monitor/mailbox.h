/*
 * mailbox.h
 *		What a command passes to the thread that watches it.
 */
#ifndef REDOAHEAD_MONITOR_MAILBOX_H
#define REDOAHEAD_MONITOR_MAILBOX_H

#include <pthread.h>
#include <stdbool.h>

#include "cluster/cluster.h"
#include "engine/engine.h"
#include "monitor/monitor.h"

/* What the thread takes out. */
struct mail
{
	bool		stop;			/* the thread must end */
	bool		found;			/* there is a recovery */
	bool		has_ended;		/* one has ended since mail was taken last */
	bool		completed;		/* it has ended itself, not only the command */
	struct monitor_snapshot snapshot;	/* the newest */
	struct monitor_snapshot ended;	/* the last one of the last recovery that ended */
	unsigned	attach;			/* times that "cluster" was set */
	char		refused[MONITOR_REFUSED_BYTES]; /* why a server is not served, empty: none */
	bool		has_cluster;	/* since mail was taken last */
	struct cluster cluster;		/* to watch; dirfd is -1 if there is none */
};

struct mailbox
{
	pthread_mutex_t mutex;		/* protects all but event_fd */
	pthread_cond_t attached;	/* the thread watches "cluster" */
	int			event_fd;		/* readable if there is mail */
	unsigned	attach_done;	/* as mail.attach, of the cluster that the thread watches */
	struct mail mail;
	struct relations relations; /* whose blocks were requested in the recovery that ended */
};

int			mailbox__create(struct mailbox *mailbox);
void		mailbox__destroy(struct mailbox *mailbox);

/* For the command. */
void		mailbox__attach(struct mailbox *mailbox, const struct cluster *cluster,
							const struct timespec *end);
void		mailbox__publish(struct mailbox *mailbox, const struct monitor_snapshot *snapshot);
void		mailbox__end(struct mailbox *mailbox, const struct monitor_snapshot *snapshot,
						 const struct relations *relations, bool completed);
void		mailbox__refuse(struct mailbox *mailbox, const char *reason);
void		mailbox__stop(struct mailbox *mailbox);

/* For the thread. */
void		mailbox__take(struct mailbox *mailbox, struct mail *mail, struct relations *relations);
void		mailbox__attached(struct mailbox *mailbox, const struct mail *mail);

#endif							/* REDOAHEAD_MONITOR_MAILBOX_H */
