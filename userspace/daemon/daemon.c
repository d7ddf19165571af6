/*
 * daemon.c
 *		Sets the daemon up: the cluster, its owner's rights, the engine, and the
 *		output files.
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
#include "base/signals.h"
#include "base/textfile.h"
#include "daemon/daemon_internal.h"
#include "engine/setup.h"

/* Time between two checks for a data directory that is not there, ms. */
#define DIRECTORY_WAIT_MS	1000

/* Make the engine. */
static int
create_engine(struct daemon *daemon)
{
	const struct daemon_options *options = daemon->options;

	return setup__engine(&daemon->engine, &(struct setup)
						 {
							 .backend = options->backend,.io_depth = options->io_depth,
								 .readahead_limit = options->readahead_limit,
								 .files = options->files,.dirfd = daemon->cluster.dirfd,
								 .block_log = daemon->outputs.block_log,.release_used = true,
								 .no_uring = daemon->uring_failed
						 }, &daemon->backend);
}

/*
 * The engine failed with err.  Go on with another one, and without io_uring if that
 * is what failed.  Returns 0 or -errno.
 */
int
daemon__renew_engine(struct daemon *daemon, int err)
{
	struct engine *broken = daemon->engine;

	if (err == -ETIMEDOUT)
		log_warning("reads of the last recovery are not complete yet; not waiting for them; "
					"if there is another warning like this, check the device");
	else if (daemon->backend == &backend_uring &&
			 strcmp(daemon->options->backend, "io_uring") != 0)
	{
		log_warning("io_uring failed: %s; using posix_fadvise, which is slower, from now on; "
					"restart the daemon to try again", strerror(-err));
		daemon->uring_failed = true;
	}
	else
	{
		log_error("reading failed: %s; try --backend=auto", strerror(-err));
		return err;
	}
	daemon->engine = NULL;
	err = create_engine(daemon);
	if (err == 0)
		engine__destroy(broken);
	else
		daemon->engine = broken;
	return err;
}

/* Open the data directory, as its owner. */
static int
open_cluster(struct daemon *daemon)
{
	int			err = cluster__open(&daemon->cluster, daemon->options->pgdata);

	return err < 0 ? err : cluster__become_owner(&daemon->cluster);
}

/* Is there a file that is not empty, or a directory, of this name in the data directory? */
static bool
has(const struct daemon *daemon, const char *name, int length)
{
	char		path[PATH_MAX];
	struct stat st;

	return snprintf(path, sizeof(path), "%s/%.*s", daemon->options->pgdata, length, name) <
		(int) sizeof(path) && stat(path, &st) == 0 && (S_ISDIR(st.st_mode) || st.st_size > 0);
}

/* Can the data directory be served: is it ours, and as far as we need it, complete? */
static bool
is_complete(const struct daemon *daemon)
{
	const char *socket = daemon->options->socket;
	const char *slash = strrchr(socket, '/');
	struct stat st;

	return stat(daemon->options->pgdata, &st) == 0 && st.st_uid == geteuid() &&
		has(daemon, "PG_VERSION", PATH_MAX) && has(daemon, "global/pg_control", PATH_MAX) &&
		(socket[0] == '/' || slash == NULL || has(daemon, socket, (int) (slash - socket)));
}

/* Wait until there is a data directory again, or for a signal.  Keeps nothing of it open. */
static void
wait_for_directory(struct daemon *daemon)
{
	struct pollfd signal = {.fd = daemon->signal_fd,.events = POLLIN};

	log_warning("data directory \"%s\" was moved, replaced, removed or emptied; serving what comes "
				"in its place", daemon->options->pgdata);
	notify__status("waiting for a data directory");
	do
	{
		notify__alive(clock__now_us());
		if (poll(&signal, 1, DIRECTORY_WAIT_MS) > 0)
			loop__handle_signal(daemon);
	} while (!daemon->stop && !is_complete(daemon));
}

/* Serve the cluster in one directory.  Returns as loop__run() does. */
static int
serve_directory(struct daemon *daemon)
{
	int			err = create_engine(daemon);

	if (err == 0)
	{
		monitor__attach(daemon->monitor, &daemon->cluster);
		err = loop__run(daemon);
		monitor__attach(daemon->monitor, NULL);
	}
	engine__destroy(daemon->engine);
	daemon->engine = NULL;
	cluster__close(&daemon->cluster);
	return err;
}

/* Serve a cluster until a signal arrives.  Returns 0 or -errno. */
int
daemon__run(const struct daemon_options *options)
{
	struct daemon daemon = {.options = options,.epoll_fd = -1,.signal_fd = -1,
	.cluster = {.dirfd = -1}};
	int			err;

	err = open_cluster(&daemon);
	if (err == 0)
		err = outputs__open(&daemon.outputs, options->block_log, options->timeline,
							options->statistics);
	if (err == 0)
		err = daemon.signal_fd = signals__open();
	if (err >= 0)
		err = monitor__create(&daemon.monitor, &options->monitor, "serve", options->pgdata);

	if (err >= 0)
		err = serve_directory(&daemon);
	while (err == -ESTALE)
	{
		wait_for_directory(&daemon);
		err = daemon.stop ? 0 : open_cluster(&daemon);
		if (err == 0 && !daemon.stop)
			err = serve_directory(&daemon);
	}

	monitor__destroy(daemon.monitor);
	if (daemon.signal_fd >= 0)
		close(daemon.signal_fd);
	outputs__close(&daemon.outputs);
	cluster__close(&daemon.cluster);
	return err;
}
