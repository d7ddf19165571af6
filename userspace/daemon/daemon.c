/*
 * daemon.c
 *		Sets the daemon up: the cluster, its owner's rights, the limit of
 *		descriptors, the backend that works, and the output files.
 *
 * The event loop is in loop.c.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/textfile.h"
#include "common/available.h"
#include "daemon/daemon_internal.h"

/* Time between two checks for a data directory that is not there, ms. */
#define DIRECTORY_WAIT_MS	1000

/* Descriptors that are not of data files. */
#define OTHER_DESCRIPTORS	32

/*
 * Raise the limit of descriptors as far as necessary and possible; returns how many
 * data files may be open.
 */
static unsigned
fit_files(unsigned wanted)
{
	struct rlimit limit;
	rlim_t		usable;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return wanted;
	if (limit.rlim_cur < limit.rlim_max && limit.rlim_cur < wanted + OTHER_DESCRIPTORS)
	{
		rlim_t		before = limit.rlim_cur;

		limit.rlim_cur = limit.rlim_max;
		if (limit.rlim_cur > wanted + OTHER_DESCRIPTORS)
			limit.rlim_cur = wanted + OTHER_DESCRIPTORS;
		if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
			limit.rlim_cur = before;
	}
	usable = limit.rlim_cur > OTHER_DESCRIPTORS ? limit.rlim_cur - OTHER_DESCRIPTORS : 1;
	if (usable >= wanted)
		return wanted;
	log_info("keeping %u data files open, not %u: RLIMIT_NOFILE is %llu",
			 (unsigned) usable, wanted, (unsigned long long) limit.rlim_cur);
	return (unsigned) usable;
}

/* What the user can do about a refusal of io_uring. */
static const char *
uring_remedy(int err)
{
	switch (-err)
	{
		case EPERM:
			return "allow it in sysctl kernel.io_uring_disabled or in the seccomp filter";
		case ENOSYS:
			return "allow it in the seccomp filter or use a kernel with io_uring";
		case ENOMEM:
			return "raise RLIMIT_MEMLOCK or the memory limit";
		default:
			return "use --backend=fadvise";
	}
}

/* Make the engine with the chosen backend, or the first that works. */
static int
create_engine(struct daemon *daemon)
{
	const struct daemon_options *options = daemon->options;
	struct engine_options engine_options = {
		.environment = {
			.now_us = clock__now_us,
			.available_bytes = available__bytes,
			.free_bytes = available__free_bytes
		},
		.dirfd = daemon->cluster.dirfd,
		.io_depth = (unsigned) options->io_depth,
		.readahead_limit = (unsigned) options->readahead_limit,
		.files = fit_files((unsigned) options->files),
		.block_log = daemon->block_log,
	};
	int			err;

	if (strcmp(options->backend, "fadvise") != 0 && !daemon->uring_failed)
	{
		engine_options.backend = &backend_uring;
		daemon->backend = backend_uring.name;
		err = engine__create(&daemon->engine, &engine_options);
		if (err == 0)
			return 0;
		if (strcmp(options->backend, "io_uring") == 0)
		{
			log_error("io_uring cannot be used: %s; %s", strerror(-err), uring_remedy(err));
			return err;
		}
		log_warning("io_uring cannot be used: %s; using posix_fadvise, which is slower; %s",
					strerror(-err), uring_remedy(err));
	}
	engine_options.backend = &backend_fadvise;
	daemon->backend = backend_fadvise.name;
	err = engine__create(&daemon->engine, &engine_options);
	if (err < 0)
		log_error("cannot start: %s; lower --io-depth, --readahead-limit or --files",
				  strerror(-err));
	return err;
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
	else if (daemon->backend == backend_uring.name &&
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
		(int) sizeof(path) && stat(path, &st) == 0 && st.st_size > 0;
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
	do
		if (poll(&signal, 1, DIRECTORY_WAIT_MS) > 0)
			loop__handle_signal(daemon);
	while (!daemon->stop && !is_complete(daemon));
}

/* Serve the cluster in one directory.  Returns as loop__run() does. */
static int
serve_directory(struct daemon *daemon)
{
	int			err = create_engine(daemon);

	if (err == 0)
		err = loop__run(daemon);
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
	if (err == 0 && options->block_log != NULL)
		err = textfile__open(&daemon.block_log, options->block_log, "--block-log");
	if (err == 0 && options->timeline != NULL)
		err = textfile__open(&daemon.timeline, options->timeline, "--timeline");
	if (err == 0 && daemon.timeline != NULL)
		timeline__begin(daemon.timeline);
	if (err == 0)
		err = daemon.signal_fd = signals__open();

	if (err >= 0)
		err = serve_directory(&daemon);
	while (err == -ESTALE)
	{
		wait_for_directory(&daemon);
		err = daemon.stop ? 0 : open_cluster(&daemon);
		if (err == 0 && !daemon.stop)
			err = serve_directory(&daemon);
	}

	if (daemon.signal_fd >= 0)
		close(daemon.signal_fd);
	textfile__close(daemon.timeline, "--timeline");
	textfile__close(daemon.block_log, "--block-log");
	cluster__close(&daemon.cluster);
	return err;
}
