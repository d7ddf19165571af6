/*
 * mailbox.c
 *		What a command passes to the thread that watches it.
 *
 * The command never waits for the thread, except when it attaches another cluster.  Of
 * snapshots, the newest replaces those that the thread has not taken; the last one of a
 * recovery and its relations stay until the next recovery ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "monitor/mailbox.h"

/* Returns 0 or -errno. */
int
mailbox__create(struct mailbox *mailbox)
{
	*mailbox = (struct mailbox) {.mail.cluster.dirfd = -1};
	mailbox->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (mailbox->event_fd < 0)
		return -errno;
	pthread_mutex_init(&mailbox->mutex, NULL);
	pthread_cond_init(&mailbox->attached, NULL);
	return 0;
}

void
mailbox__destroy(struct mailbox *mailbox)
{
	cluster__close(&mailbox->mail.cluster);
	close(mailbox->event_fd);
	pthread_cond_destroy(&mailbox->attached);
	pthread_mutex_destroy(&mailbox->mutex);
}

static void
wake(const struct mailbox *mailbox)
{
	uint64_t	one = 1;

	/* If it is full, the thread will wake up anyway. */
	if (write(mailbox->event_fd, &one, sizeof(one)) < 0)
		return;
}

/*
 * Have a cluster watched, or none if it is NULL, and wait for that until a time at most, of
 * CLOCK_MONOTONIC.  The caller may close its own descriptor.
 */
void
mailbox__attach(struct mailbox *mailbox, const struct cluster *cluster,
				const struct timespec *end)
{
	struct cluster copy = {.dirfd = -1};

	if (cluster != NULL)
	{
		copy = *cluster;
		copy.dirfd = fcntl(cluster->dirfd, F_DUPFD_CLOEXEC, 0);
	}
	pthread_mutex_lock(&mailbox->mutex);
	cluster__close(&mailbox->mail.cluster);
	mailbox->mail.cluster = copy;
	mailbox->mail.has_cluster = true;
	mailbox->mail.attach++;
	wake(mailbox);
	while (mailbox->mail.attach != mailbox->attach_done &&
		   pthread_cond_clockwait(&mailbox->attached, &mailbox->mutex, CLOCK_MONOTONIC, end) == 0)
		continue;
	pthread_mutex_unlock(&mailbox->mutex);
}

/* Publish what the command does in a recovery. */
void
mailbox__publish(struct mailbox *mailbox, const struct monitor_snapshot *snapshot)
{
	bool		first;

	pthread_mutex_lock(&mailbox->mutex);
	first = !mailbox->mail.found;
	mailbox->mail.found = true;
	mailbox->mail.snapshot = *snapshot;
	pthread_mutex_unlock(&mailbox->mutex);
	if (first)
		wake(mailbox);
}

/* A server is not served, for this reason; empty: there is none any more. */
void
mailbox__refuse(struct mailbox *mailbox, const char *reason)
{
	pthread_mutex_lock(&mailbox->mutex);
	snprintf(mailbox->mail.refused, sizeof(mailbox->mail.refused), "%s", reason);
	pthread_mutex_unlock(&mailbox->mutex);
	wake(mailbox);
}

/* The recovery has ended ("completed"), or goes on, and the command does nothing for it now. */
void
mailbox__end(struct mailbox *mailbox, const struct monitor_snapshot *snapshot,
			 const struct relations *relations, bool completed)
{
	struct mail *mail = &mailbox->mail;

	pthread_mutex_lock(&mailbox->mutex);
	mail->found = false;
	mail->has_ended = true;
	mail->completed = completed;
	mail->snapshot = mail->ended = *snapshot;
	mailbox->relations = *relations;
	pthread_mutex_unlock(&mailbox->mutex);
	wake(mailbox);
}

/* The thread must end. */
void
mailbox__stop(struct mailbox *mailbox)
{
	pthread_mutex_lock(&mailbox->mutex);
	mailbox->mail.stop = true;
	pthread_mutex_unlock(&mailbox->mutex);
	wake(mailbox);
}

/*
 * Take the mail; the descriptor of a cluster in it is the caller's then.  If a recovery has
 * ended, its relations, too.
 */
void
mailbox__take(struct mailbox *mailbox, struct mail *mail, struct relations *relations)
{
	pthread_mutex_lock(&mailbox->mutex);
	*mail = mailbox->mail;
	if (mail->has_ended)
		*relations = mailbox->relations;
	mailbox->mail.has_ended = false;
	mailbox->mail.has_cluster = false;
	mailbox->mail.cluster.dirfd = -1;
	pthread_mutex_unlock(&mailbox->mutex);
}

/* The thread watches the cluster that it took. */
void
mailbox__attached(struct mailbox *mailbox, const struct mail *mail)
{
	pthread_mutex_lock(&mailbox->mutex);
	mailbox->attach_done = mail->attach;
	pthread_cond_signal(&mailbox->attached);
	pthread_mutex_unlock(&mailbox->mutex);
}
