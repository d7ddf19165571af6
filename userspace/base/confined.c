/*
 * confined.c
 *		A function in a child without rights, for input that is not trusted, and programs
 *		that are not.
 *
 * The child has no capabilities, no descriptors but those that it is given, hardly
 * any resources, and, if this process runs as root, another user.  It gets a file,
 * and sends an answer of a fixed size; one of another size, or none in time, is an
 * error, and the end of the child.  It should be started before this process
 * has anything in memory that the child must not have.  What the answer holds is
 * for the caller to judge.
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confined.h"

/* User and group "nobody": overflowuid of the kernel. */
#define NOBODY			65534

/* How long an answer may take, ms. */
#define ANSWER_MS		2000

/* Limits of the child: memory, bytes, and CPU time for all answers, s. */
#define MEMORY_BYTES	(512 * 1024 * 1024)
#define CPU_SECONDS		60

struct message
{
	int32_t		result;			/* 0 or -errno */
	char		answer[CONFINED_ANSWER_BYTES];
};

/* Room for one descriptor in a message. */
union control
{
	char		bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr alignment;
};

static int
limit(int resource, rlim_t value)
{
	struct rlimit both = {value, value};

	return setrlimit(resource, &both);
}

/* Keep nothing but this user, and descriptors 0 to 2. */
static int
drop_rights(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	if (close_range(STDERR_FILENO + 1, ~0U, 0) < 0 ||
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		syscall(SYS_capset, &header, none) < 0 ||
		limit(RLIMIT_CORE, 0) < 0)
		return -errno;
	return 0;
}

/*
 * Become a program that this process's user may have chosen, though another user started
 * this process: without capabilities, a terminal, that user's working directory, other
 * descriptors than 0 to 2, and other variables than $PGUSER.  For a child.  Returns -errno if
 * that fails.
 */
int
confined__exec(const char *program, const char *const arguments[])
{
	static char encoding[] = "PGCLIENTENCODING=UTF8";
	char		user[256];
	char	   *environment[] = {encoding, NULL, NULL};
	const char *name = getenv("PGUSER");
	sigset_t	none;
	int			err;

	if (name != NULL && snprintf(user, sizeof(user), "PGUSER=%s", name) < (int) sizeof(user))
		environment[1] = user;
	sigemptyset(&none);
	(void) sigprocmask(SIG_SETMASK, &none, NULL);
	(void) signal(SIGPIPE, SIG_DFL);
	(void) setsid();
	err = chdir("/") < 0 ? -errno : drop_rights();
	if (err < 0)
		return err;
	execve(program, (char *const *) arguments, environment);
	return -errno;
}

/* In the child: become nobody, with the socket as the only descriptor, 0. */
static int
confine(int socket)
{
	if (geteuid() == 0 &&
		(setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
		 setresuid(NOBODY, NOBODY, NOBODY) < 0))
		return -errno;
	if (dup2(socket, STDIN_FILENO) < 0 || close_range(1, ~0U, 0) < 0 ||
		drop_rights() < 0 ||
		prctl(PR_SET_NAME, "confined") < 0 ||	/* not taken for a daemon */
		prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
		limit(RLIMIT_AS, MEMORY_BYTES) < 0 || limit(RLIMIT_CPU, CPU_SECONDS) < 0 ||
		limit(RLIMIT_FSIZE, 0) < 0 || limit(RLIMIT_NPROC, 0) < 0)
		return -errno;
	return 0;
}

/* In the child: wait for a file; -1 if there will be none. */
static int
receive(int socket)
{
	union control control;
	char		byte;
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data,.msg_iovlen = 1,
	.msg_control = &control,.msg_controllen = sizeof(control)};
	struct cmsghdr *header;
	int			fd = -1;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1 &&
		(header = CMSG_FIRSTHDR(&message)) != NULL && header->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

static _Noreturn void
serve(int socket, confined_function function, const void *argument, size_t size)
{
	int			fd;

	if (confine(socket) < 0)
		_exit(1);
	while ((fd = receive(STDIN_FILENO)) >= 0)
	{
		struct message message = {0};

		message.result = function(fd, argument, message.answer);
		close(fd);
		if (send(STDIN_FILENO, &message, offsetof(struct message, answer) + size,
				 MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

/* Start the child, whose answers have this size. */
int
confined__start(struct confined *confined, confined_function function, const void *argument,
				size_t size)
{
	int			sockets[2];
	int			err;

	*confined = (struct confined) {.size = size};
	if (size > CONFINED_ANSWER_BYTES)
		return -EINVAL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	confined->child = fork();
	if (confined->child == 0)
		serve(sockets[1], function, argument, size);
	err = confined->child < 0 ? -errno : 0;
	close(sockets[1]);
	confined->socket = sockets[0];
	if (err < 0)
	{
		close(sockets[0]);
		confined->child = 0;
	}
	return err;
}

/* Send the child a file. */
static int
pass(const struct confined *confined, int fd)
{
	union control control = {0};
	char		byte = 0;
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data,.msg_iovlen = 1,
	.msg_control = &control,.msg_controllen = sizeof(control)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	*header = (struct cmsghdr) {
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
		.cmsg_len = CMSG_LEN(sizeof(fd)),
	};
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	return sendmsg(confined->socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/*
 * Have the child read a file.  Returns what its function does; -EPROTO: it ended, or
 * sent something else than an answer; -ETIMEDOUT.
 */
int
confined__call(struct confined *confined, int fd, void *answer)
{
	struct pollfd readable = {.fd = confined->socket,.events = POLLIN};
	size_t		expected = offsetof(struct message, answer) + confined->size;
	struct message message;
	int			err;

	if (confined->child == 0)
		return -ESRCH;
	err = pass(confined, fd);
	if (err == 0 && poll(&readable, 1, ANSWER_MS) <= 0)
		err = -ETIMEDOUT;
	if (err == 0 && (recv(confined->socket, &message, sizeof(message),
						  MSG_DONTWAIT | MSG_TRUNC) != (ssize_t) expected ||
					 message.result > 0 || message.result < -4095))
		err = -EPROTO;
	if (err < 0)
	{
		confined__end(confined);
		return err;
	}
	memcpy(answer, message.answer, confined->size);
	return message.result;
}

/* End the child, if there is one. */
void
confined__end(struct confined *confined)
{
	if (confined->child == 0)
		return;
	close(confined->socket);
	kill(confined->child, SIGKILL);
	(void) waitpid(confined->child, NULL, 0);
	confined->child = 0;
}
