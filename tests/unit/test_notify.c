/*
 * test_notify.c
 *		What the service manager is sent, received from a socket in its place.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/notify.h"
#include "unit.h"

/* Messages are received here. */
static int	manager = -1;

/* Listen at an abstract address, as a service manager, with a watchdog of this process. */
static int
begin(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char		text[32];
	int			length;

	length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "redoahead-%d", getpid());
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (bind(manager, (struct sockaddr *) &address,
			 (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 + (size_t) length)) < 0)
		return -1;
	address.sun_path[0] = '@';
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	snprintf(text, sizeof(text), "%d", getpid());
	setenv("WATCHDOG_PID", text, 1);
	setenv("WATCHDOG_USEC", "10000000", 1);
	return 0;
}

static int
end(void **state)
{
	return close(manager);
}

/* The next message; "" if there is none. */
static const char *
message(void)
{
	static char text[1024];
	ssize_t		n = recv(manager, text, sizeof(text) - 1, 0);

	text[n < 0 ? 0 : n] = '\0';
	return text;
}

/* Lost otherwise: units that order themselves behind ours, and `systemctl status`. */
TEST(reports_what_it_does)
{
	notify__ready("waiting");
	assert_string_equal(message(), "READY=1\nWATCHDOG=1\nSTATUS=waiting");
	notify__status("recovery %d", 7);
	assert_string_equal(message(), "STATUS=recovery 7");
	notify__stopping();
	assert_string_equal(message(), "STOPPING=1\nSTATUS=stopping");
	assert_string_equal(message(), "");
}

/* Lost otherwise: `systemctl reload` of a unit of type notify-reload, which would time out. */
TEST(reports_a_reload_with_its_time)
{
	uint64_t	before_us = clock__now_us();
	uint64_t	at_us = 0;

	notify__reloading();
	assert_int_equal(sscanf(message(), "RELOADING=1\nMONOTONIC_USEC=%" SCNu64, &at_us), 1);
	assert_in_range(at_us, before_us, clock__now_us());
	notify__reloaded();
	assert_string_equal(message(), "READY=1");
}

/* Lost otherwise: the daemon, killed as hung, or system calls in each round of its loop. */
TEST(feeds_the_watchdog_twice_as_often_as_needed)
{
	uint64_t	before_us = clock__now_us();
	uint64_t	after_us;

	notify__ready("waiting");
	(void) message();
	after_us = clock__now_us();
	notify__alive(before_us + 4000000);
	assert_string_equal(message(), "");
	notify__alive(after_us + 5000000);
	assert_string_equal(message(), "WATCHDOG=1");
	notify__alive(after_us + 9999999);
	assert_string_equal(message(), "");
	notify__alive(after_us + 10000000);
	assert_string_equal(message(), "WATCHDOG=1");
}

/* A program that a service started has the variables, but is not watched. */
TEST(is_silent_where_no_one_watches)
{
	setenv("WATCHDOG_PID", "1", 1);
	notify__ready("waiting");
	(void) message();
	notify__alive(clock__now_us() + 60000000);
	assert_string_equal(message(), "");

	assert_true(notify__is_used());
	unsetenv("NOTIFY_SOCKET");
	assert_false(notify__is_used());
	notify__ready("waiting");
	notify__status("waiting");
	notify__stopping();
	assert_string_equal(message(), "");
}

/* Lost otherwise: memory, to a long path in a status. */
TEST(truncates_a_long_status)
{
	char		path[1000];

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	notify__status("%s", path);
	assert_int_equal(strlen(message()), strlen("STATUS=") + 511);
}

UNIT_MAIN(NULL, NULL, begin, end)
