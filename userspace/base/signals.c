/*
 * signals.c
 *		Signals as a descriptor for an event loop, and those that must do no harm.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"

/*
 * Ignore SIGPIPE, and open what is closed of stdin, stdout and stderr: a reader of the
 * log that goes must not end the program, and the log must not go into another file.
 */
void
signals__protect(void)
{
	int			fd;

	signal(SIGPIPE, SIG_IGN);
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/*
 * Block SIGTERM, SIGINT and, unless it is ignored as by nohup, SIGHUP; returns a
 * descriptor that receives them, or -errno.
 */
int
signals__open(void)
{
	struct sigaction hangup;
	sigset_t	signals;
	int			fd;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		sigaddset(&signals, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
		return -errno;
	fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * The number of a signal that has arrived, 0 if none has.  One that ends programs is
 * logged.
 */
int
signals__take(int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != (ssize_t) sizeof(info))
		return 0;
	if (info.ssi_signo != SIGHUP)
		log_info("stopping: %s", strsignal((int) info.ssi_signo));
	return (int) info.ssi_signo;
}
