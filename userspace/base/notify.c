/*
 * notify.c
 *		Reports the state of the program to the service manager, by sd_notify(3): that it
 *		is ready, what it does, that its main loop runs, a reload, and that it stops.
 *
 * Without a service manager ($NOTIFY_SOCKET is not set) nothing happens.  The watchdog
 * has no thread and no timer here: it is fed by the main loop, so that a loop that hangs
 * misses its deadline and the service manager restarts the program.
 *
 * A report that cannot be sent is not repeated, and no error: what the service manager
 * makes of its absence is in its log.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <systemd/sd-daemon.h>

#include "base/clock.h"
#include "base/notify.h"

/* The longest status, bytes. */
#define STATUS_BYTES	512

/* The watchdog of this process. */
static struct
{
	uint64_t	interval_us;	/* time between two reports, us; 0: there is no watchdog */
	uint64_t	sent_us;		/* time of the last one, us */
} watchdog;

/* Is there a service manager? */
bool
notify__is_used(void)
{
	return getenv("NOTIFY_SOCKET") != NULL;
}

/* The program has started.  From now on the watchdog expects reports. */
void
notify__ready(const char *status)
{
	uint64_t	limit_us = 0;

	/* Twice as often as needed, as systemd recommends. */
	watchdog.interval_us = sd_watchdog_enabled(0, &limit_us) > 0 ? limit_us / 2 : 0;
	watchdog.sent_us = clock__now_us();
	(void) sd_notifyf(0, "READY=1\nWATCHDOG=1\nSTATUS=%s", status);
}

/* What the program does now, in a line for the status of the service. */
void
notify__status(const char *format,...)
{
	char		status[STATUS_BYTES];
	va_list		args;

	va_start(args, format);
	(void) vsnprintf(status, sizeof(status), format, args);
	va_end(args);
	(void) sd_notifyf(0, "STATUS=%s", status);
}

/* The main loop runs.  To be called in each round, and at least once a second. */
void
notify__alive(uint64_t now_us)
{
	if (watchdog.interval_us == 0 || now_us - watchdog.sent_us < watchdog.interval_us)
		return;
	watchdog.sent_us = now_us;
	(void) sd_notify(0, "WATCHDOG=1");
}

/* A reload begins; the service manager waits for notify__reloaded(). */
void
notify__reloading(void)
{
	/* The clock that systemd compares with that of its own request. */
	(void) sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock__now_us());
}

/* The reload has ended. */
void
notify__reloaded(void)
{
	(void) sd_notify(0, "READY=1");
}

/* The program has begun to end. */
void
notify__stopping(void)
{
	(void) sd_notify(0, "STOPPING=1\nSTATUS=stopping");
}
