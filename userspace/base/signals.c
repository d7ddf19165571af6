/*
 * signals.c
 *		The signals that end the program, as a descriptor for an event loop.
 */
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "base/signals.h"

/* Block SIGTERM and SIGINT; returns a descriptor that receives them, or -errno. */
int
signals__open(void)
{
	sigset_t	signals;
	int			fd;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
		return -errno;
	fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
