/*
 * live.c
 *		Shows the status all the time: on the full screen where the terminal can do that,
 *		else a line each interval.
 *
 * One loop waits for the next interval, keys and signals.  The daemon is connected to
 * anew each time, so one that restarts is found again.  view.c lays out what screen.c
 * shows.
 */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "status/client.h"
#include "status/live.h"
#include "status/screen.h"
#include "status/text.h"
#include "status/view.h"

/* A daemon must respond in this time, because keys wait meanwhile, ms. */
#define TIMEOUT_MS	1000

/* Least time for keys and signals between two documents, us. */
#define MIN_PAUSE_US	50000

struct live
{
	const char *socket;			/* path of the daemon's socket */
	uint64_t	interval_us;	/* between two documents, us */
	int			signals;		/* descriptor of signals */
	bool		full;			/* the full screen is used */
	bool		utf8;			/* the terminal shows UTF-8 */
	bool		keys;			/* standard input is a terminal */
	bool		has_document;	/* one was read at last */
	char		message[CLIENT_MESSAGE_BYTES];	/* why not */
	struct values document;	/* the last one that was read */
	struct view view;			/* the screen */
};

/* Block the signals that end or stop this, and the one that reports another size of the terminal. */
static int
open_signals(void)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
	sigset_t	signals;
	int			fd;

	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&signals, numbers[i]);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
		return -errno;
	fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void
read_document(struct live *live)
{
	struct json_object *json = NULL;
	int			err = client__read(live->socket, TIMEOUT_MS, &json, live->message);

	if (err == 0)
		err = values__parse(&live->document, json, live->message, sizeof(live->message));
	json_object_put(json);
	live->has_document = err == 0;
}

/* Show the last document, or why there is none.  Returns 0, or -EIO. */
static int
show(struct live *live, bool is_new)
{
	char		line[TEXT_LINE_BYTES];

	if (live->full)
	{
		screen__size(&live->view.width, &live->view.height);
		live->view.utf8 = live->utf8;
		view__lay_out(&live->view, live->has_document ? &live->document : NULL, live->message);
		screen__draw(&live->view);
	}
	else if (is_new)
	{
		if (live->has_document)
			text__line(line, &live->document);
		else
			snprintf(line, sizeof(line), "%.500s", live->message);
		puts(line);
		if (fflush(stdout) != 0)
			return -EIO;
	}
	return 0;
}

/*
 * Stop, as a user has requested, until SIGCONT.  On the full screen ncurses handles the signal,
 * which it must not do in the middle of a call of malloc() or of its own.
 */
static void
stop(void)
{
	sigset_t	signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTSTP);
	(void) raise(SIGTSTP);
	(void) sigprocmask(SIG_UNBLOCK, &signals, NULL);
	(void) sigprocmask(SIG_BLOCK, &signals, NULL);
}

/* Take the signals that have come; true if one ends this. */
static bool
take_signal(struct live *live)
{
	struct signalfd_siginfo info;
	bool		end = false;

	while (read(live->signals, &info, sizeof(info)) == (ssize_t) sizeof(info))
		if (info.ssi_signo == SIGTSTP)
			stop();
		else if (info.ssi_signo != SIGWINCH)
			end = true;
		else if (live->full)
			screen__resize();
	return end;
}

/* Wait until a time, for keys and for signals; true if this shall end. */
static bool
wait_until(struct live *live, uint64_t until_us, int *err)
{
	struct pollfd ready[] = {
		{.fd = live->signals,.events = POLLIN},
		{.fd = live->full && live->keys ? STDIN_FILENO : -1,.events = POLLIN},
	};
	uint64_t	now_us;

	while ((now_us = clock__now_us()) < until_us)
	{
		if (poll(ready, 2, (int) ((until_us - now_us + 999) / 1000)) < 0 && errno != EINTR)
			return true;
		if (ready[0].revents != 0 && take_signal(live))
			return true;
		/* A terminal that is gone has no keys any more. */
		if (ready[1].revents & (POLLERR | POLLHUP | POLLNVAL))
			return true;
		if (ready[1].revents != 0 && screen__takes_quit())
			return true;
		*err = show(live, false);
		if (*err < 0)
			return true;
	}
	return false;
}

/* Show the status of the daemon on a socket, each so many seconds, until q or a signal. */
int
live__run(const char *socket, double interval)
{
	struct live live = {.socket = socket,.interval_us = (uint64_t) (interval * 1e6)};
	uint64_t	next_us = clock__now_us();
	int			err = 0;

	live.signals = open_signals();
	if (live.signals < 0)
	{
		log_error("signals cannot be received: %s; raise the limit of open files",
				  strerror(-live.signals));
		return live.signals;
	}
	live.utf8 = setlocale(LC_CTYPE, "") != NULL && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	live.keys = isatty(STDIN_FILENO) == 1;
	live.full = screen__open();
	do
	{
		next_us += live.interval_us;
		read_document(&live);
		err = show(&live, true);
		/* A daemon that is slow must not keep keys waiting for ever. */
		if (next_us < clock__now_us() + MIN_PAUSE_US)
			next_us = clock__now_us() + MIN_PAUSE_US;
	}
	while (err == 0 && !wait_until(&live, next_us, &err));
	if (live.full)
		screen__close();
	close(live.signals);
	return err;
}
