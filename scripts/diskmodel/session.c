/*
 * session.c
 *		Mounts the file system of the modelled disks and serves it.
 *
 * One thread serves all requests, because none takes long: a request is started
 * when it arrives and answered when the model completes it.  What the files are
 * is in front.c.
 */
#define FUSE_USE_VERSION 312

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "front.h"
#include "session.h"

/* Most requests taken before completions are processed. */
#define REQUESTS_AT_ONCE	32

/* Longest wait: a signal that comes just before a wait is seen after it, ns. */
#define LONGEST_WAIT	1000000000

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
int
session__serve(struct array *array, const struct array_settings *settings,
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
