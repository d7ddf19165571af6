/*
 * main.c
 *		diskmodel: disks of a modelled kind, as files of a FUSE file system.
 *
 * Options, privileges, and the loop.  One thread serves all requests, because none takes
 * long: a request is started when it arrives and answered when the model completes it.
 * What the files are is in front.c.  scripts/disklab starts the program, and makes
 * block devices and an array of its files.
 */
#define FUSE_USE_VERSION 312

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "base/log.h"
#include "cmd/options.h"
#include "front.h"

#define EXIT_USAGE		2

#define PAGE_BYTES		4096
#define MIN_DISK_BYTES	(64ULL << 20)
#define MAX_DISK_BYTES	(16ULL << 40)

/* Most requests taken before completions are processed. */
#define REQUESTS_AT_ONCE	32

/* Longest wait: a signal that comes just before a wait is seen after it, ns. */
#define LONGEST_WAIT	1000000000

struct arguments
{
	struct array_settings settings; /* of the array */
	const char *mount_point;	/* of the file system */
};

static const struct argp_option options[] = {
	{"model", 'm', "MODEL", 0, "hdd: 7200 rpm spindles; gp3: network volumes (default: hdd)", 0},
	{"disks", 'n', "NUMBER", 0, "how many, 1 to 32 (default: 1)", 0},
	{"disk-bytes", 's', "BYTES", 0, "size of each, a multiple of 4096 from 64 MiB on", 0},
	{"backing", 'b', "DIRECTORY", 0, "where the files with their contents are", 0},
	{0}
};

static error_t
parse_option(int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key)
	{
		case 'm':
			if (strcmp(value, "hdd") == 0)
				arguments->settings.kind = DISK_HDD;
			else if (strcmp(value, "gp3") == 0)
				arguments->settings.kind = DISK_GP3;
			else
				argp_error(state, "--model=%s: neither hdd nor gp3", value);
			break;
		case 'n':
			arguments->settings.disks =
				(unsigned) options__number(state, "disks", value, 1, ARRAY_MAX_DISKS);
			break;
		case 's':
			arguments->settings.disk_bytes =
				options__number(state, "disk-bytes", value, MIN_DISK_BYTES, MAX_DISK_BYTES);
			if (arguments->settings.disk_bytes % PAGE_BYTES != 0)
				argp_error(state, "--disk-bytes=%s: not a multiple of 4096", value);
			break;
		case 'b':
			arguments->settings.directory = value;
			break;
		case ARGP_KEY_ARG:
			if (arguments->mount_point != NULL)
				argp_error(state, "too many arguments (second is \"%s\")", value);
			arguments->mount_point = value;
			break;
		case ARGP_KEY_END:
			if (arguments->mount_point == NULL)
				argp_error(state, "no mount point");
			if (arguments->settings.directory == NULL || arguments->settings.disk_bytes == 0)
				argp_error(state, "--backing and --disk-bytes are needed");
			break;
		default:
			return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/*
 * Be as prompt as a device, and as safe: the kernel waits for us when it
 * writes dirty pages, so we must not wait for memory, nor be killed for it.
 * Each of these is worth trying alone.
 */
static void
become_a_device(void)
{
	struct sched_param first = {.sched_priority = 1};
	FILE	   *oom;

	if (sched_setscheduler(0, SCHED_FIFO, &first) != 0)
		log_warning("could not get real-time priority: %s; the model may be late on a busy machine",
					strerror(errno));
	prctl(PR_SET_TIMERSLACK, 1);
#ifdef PR_SET_IO_FLUSHER
	if (prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) != 0)
		log_warning("could not become an I/O flusher: %s", strerror(errno));
#endif
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
		log_warning("could not lock memory: %s; the model may be late under memory pressure",
					strerror(errno));
	oom = fopen("/proc/self/oom_score_adj", "w");
	if (oom == NULL || fputs("-1000", oom) < 0 || fclose(oom) != 0)
		log_warning("could not escape the OOM killer: %s", strerror(errno));
}

/* Take requests from the kernel. */
static void
take_requests(struct fuse_session *session, struct fuse_buf *buffer)
{
	for (unsigned i = 0; i < REQUESTS_AT_ONCE; i++)
	{
		/* On -ENODEV, the end of the mount, libfuse ends the session by itself. */
		if (fuse_session_receive_buf(session, buffer) <= 0)
			return;
		fuse_session_process_buf(session, buffer);
	}
}

/* Serve until the file system is unmounted or a signal comes. */
static int
serve(struct fuse_session *session, struct array *array)
{
	int			fuse_fd = fuse_session_fd(session);
	int			poll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct fuse_buf buffer = {0};
	struct epoll_event event = {.events = EPOLLIN};
	int			err = 0;

	if (poll_fd < 0)
		return -errno;
	if (fcntl(fuse_fd, F_SETFL, O_NONBLOCK | fcntl(fuse_fd, F_GETFL)) != 0 ||
		epoll_ctl(poll_fd, EPOLL_CTL_ADD, fuse_fd, &event) != 0 ||
		epoll_ctl(poll_fd, EPOLL_CTL_ADD, array__poll_fd(array), &event) != 0)
		err = -errno;

	while (err == 0 && !fuse_session_exited(session))
	{
		bool		undisturbed;
		uint64_t	wait = array__wait_ns(array, &undisturbed);
		struct timespec timeout = {0};

		if (wait >= LONGEST_WAIT)
			timeout.tv_sec = 1;
		else
			timeout.tv_nsec = (long) wait;
		if (undisturbed)
			nanosleep(&timeout, NULL);
		else if (epoll_pwait2(poll_fd, &event, 1, &timeout, NULL) < 0 && errno != EINTR)
			err = -errno;
		take_requests(session, &buffer);
		array__advance(array);
	}
	free(buffer.mem);
	close(poll_fd);
	return err;
}

/* Mount the file system, and serve it until it is unmounted or a signal comes. */
static int
mount_and_serve(struct array *array, const struct array_settings *settings,
				const char *mount_point)
{
	struct fuse_args arguments = FUSE_ARGS_INIT(0, NULL);
	struct fuse_session *session = NULL;
	const struct fuse_lowlevel_ops *operations = front__begin(array, settings);
	int			err = -EIO;

	if (fuse_opt_add_arg(&arguments, "diskmodel") == 0 &&
		fuse_opt_add_arg(&arguments, "-ofsname=redoahead-disklab") == 0)
		session = fuse_session_new(&arguments, operations, sizeof(*operations), NULL);
	fuse_opt_free_args(&arguments);
	if (session == NULL)
	{
		log_error("could not set up a FUSE session");
		front__end();
		return err;
	}
	if (fuse_set_signal_handlers(session) != 0)
		log_error("could not set signal handlers");
	else
	{
		if (fuse_session_mount(session, mount_point) != 0)
			log_error("could not mount a FUSE file system on \"%s\"; "
					  "it needs /dev/fuse and root", mount_point);
		else
		{
			err = serve(session, array);
			if (err != 0)
				log_error("could not wait for requests: %s", strerror(-err));
			fuse_session_unmount(session);
		}
		fuse_remove_signal_handlers(session);
	}
	fuse_session_destroy(session);
	front__end();
	return err;
}

int
main(int argc, char **argv)
{
	static const struct argp parser = {
		.options = options,
		.parser = parse_option,
		.args_doc = "MOUNTPOINT",
		.doc = "Serves disks of a modelled kind as files of a FUSE file system. "
		"scripts/disklab makes an array of them.",
	};
	struct arguments arguments = {.settings = {.kind = DISK_HDD,.disks = 1}};
	struct array *array;
	int			err;

	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&parser, argc, argv, 0, NULL, &arguments);

	err = array__create(&array, &arguments.settings);
	if (err == 0)
	{
		become_a_device();
		err = mount_and_serve(array, &arguments.settings, arguments.mount_point);
		array__destroy(array);
	}
	else
		log_error("could not make the disks: %s", strerror(-err));
	return err == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
