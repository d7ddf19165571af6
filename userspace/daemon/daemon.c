/*
 * daemon.c
 *		Sets the daemon up: the cluster, its owner's rights, the outputs, and the engine.
 *
 * The event loop is in loop.c.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/notify.h"
#include "daemon/daemon_internal.h"

/* Time between two checks for a data directory that is not there, ms. */
#define DIRECTORY_WAIT_MS	1000

/* Such times in a row after which a directory that lacks only that of the socket is reported. */
#define INCOMPLETE_CHECKS	3

/*
 * The engine failed with err.  Go on with another one, and without io_uring if that
 * is what failed.  Returns 0 or -errno.
 */
int
daemon__renew_engine(struct daemon *daemon, int err)
{
	struct engine *broken = daemon->prefetch.engine;

	if (err == -ETIMEDOUT)
		log_warning("reads of the last recovery are not complete yet; not waiting for them; "
					"if there is another warning like this, check the device");
	else
	{
		err = prefetch__engine_failed(&daemon->prefetch, err);
		if (err < 0)
			return err;
	}
	daemon->prefetch.engine = NULL;
	err = prefetch__create_engine(&daemon->prefetch, true);
	if (err == 0)
		engine__destroy(broken);
	else
		daemon->prefetch.engine = broken;
	return err;
}

/* Open the data directory, as its owner, and listen: no other daemon serves it from then on. */
static int
open_directory(struct daemon *daemon)
{
	struct cluster *cluster = &daemon->prefetch.cluster;
	int			err = cluster__open(cluster, daemon->prefetch.options->pgdata);

	if (err == 0)
		err = cluster__become_owner(cluster);
	return err < 0 ? err : loop__open(daemon);
}

/* Keep nothing of it open. */
static void
close_directory(struct daemon *daemon)
{
	loop__close(daemon);
	cluster__close(&daemon->prefetch.cluster);
}

/* Is there a file that is not empty, or a directory, of this name in the data directory? */
static bool
has(const struct daemon *daemon, const char *name, int length)
{
	char		path[PATH_MAX];
	struct stat st;

	return snprintf(path, sizeof(path), "%s/%.*s", daemon->prefetch.options->pgdata, length, name) <
		(int) sizeof(path) && stat(path, &st) == 0 && (S_ISDIR(st.st_mode) || st.st_size > 0);
}

/* Is the data directory ours, and has it what a server needs? */
static bool
is_ours(const struct daemon *daemon)
{
	struct stat st;

	return stat(daemon->prefetch.options->pgdata, &st) == 0 && st.st_uid == geteuid() &&
		has(daemon, "PG_VERSION", PATH_MAX) && has(daemon, "global/pg_control", PATH_MAX);
}

/* Length of the directory's name of a socket in the data directory, 0 for another one. */
static int
socket_directory(const struct daemon *daemon)
{
	const char *socket = daemon->options->socket;
	const char *slash = strrchr(socket, '/');

	return socket[0] == '/' || slash == NULL ? 0 : (int) (slash - socket);
}

/* Can the data directory be served: is it ours, and as far as we need it, complete? */
static bool
is_complete(const struct daemon *daemon)
{
	int			length = socket_directory(daemon);

	return is_ours(daemon) && (length == 0 || has(daemon, daemon->options->socket, length));
}

/* Wait until there is a data directory again, or for a signal. */
static void
wait_for_directory(struct daemon *daemon)
{
	struct pollfd signal = {.fd = daemon->prefetch.signal_fd,.events = POLLIN};
	unsigned	incomplete = 0; /* times that only the socket's directory was missing */

	log_warning("data directory \"%s\" was moved, replaced, removed or emptied; serving what comes "
				"in its place", daemon->prefetch.options->pgdata);
	notify__status("waiting for a data directory");
	do
	{
		notify__alive(clock__now_us());
		/* A restore that still runs may bring it. */
		incomplete = is_ours(daemon) && !is_complete(daemon) ? incomplete + 1 : 0;
		if (incomplete == INCOMPLETE_CHECKS)
			log_warning("directory \"%s/%.*s\" of the socket is missing; create it with mode 0700",
						daemon->prefetch.options->pgdata, socket_directory(daemon),
						daemon->options->socket);
		if (poll(&signal, 1, DIRECTORY_WAIT_MS) > 0)
			prefetch__handle_signal(&daemon->prefetch);
	} while (!daemon->prefetch.stop && !is_complete(daemon));
}

/* Serve the cluster in one directory.  Returns as loop__run() does. */
static int
serve_directory(struct daemon *daemon)
{
	struct prefetch *prefetch = &daemon->prefetch;
	int			err = prefetch__create_engine(prefetch, true);

	if (err == 0)
	{
		err = loop__run(daemon);
		monitor__attach(prefetch->monitor, NULL);
	}
	engine__destroy(prefetch->engine);
	prefetch->engine = NULL;
	return err;
}

/*
 * Serve a cluster until a signal arrives.  Returns 0 or -errno.  Outputs are opened when the
 * daemon listens, because they may be those of another one, which serves the cluster already.
 */
int
daemon__run(const struct daemon_options *options)
{
	struct daemon daemon = {.options = options,.epoll_fd = -1};
	int			err;

	prefetch__init(&daemon.prefetch, &options->prefetch);
	err = open_directory(&daemon);
	if (err == 0)
		err = prefetch__open(&daemon.prefetch, "serve");
	if (err == 0)
		err = serve_directory(&daemon);
	while (err == -ESTALE)
	{
		close_directory(&daemon);
		wait_for_directory(&daemon);
		err = daemon.prefetch.stop ? 0 : open_directory(&daemon);
		if (err == 0 && !daemon.prefetch.stop)
			err = serve_directory(&daemon);
	}
	prefetch__close(&daemon.prefetch);
	loop__close(&daemon);
	return err;
}
