/*
 * without_io_uring.c
 *		Runs a command that cannot use io_uring, as in many containers.
 *
 * usage: without_io_uring EPERM|ENOSYS COMMAND [ARGUMENT]...
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	scmp_filter_ctx filter;
	int			error;

	if (argc < 3 || (strcmp(argv[1], "EPERM") != 0 && strcmp(argv[1], "ENOSYS") != 0))
	{
		fprintf(stderr, "usage: without_io_uring EPERM|ENOSYS COMMAND [ARGUMENT]...\n");
		return 2;
	}
	error = strcmp(argv[1], "EPERM") == 0 ? EPERM : ENOSYS;
	filter = seccomp_init(SCMP_ACT_ALLOW);
	if (filter == NULL ||
		seccomp_rule_add(filter, SCMP_ACT_ERRNO(error), SCMP_SYS(io_uring_setup), 0) < 0 ||
		seccomp_load(filter) < 0)
	{
		fprintf(stderr, "without_io_uring: the filter cannot be loaded; is seccomp allowed here?\n");
		return 1;
	}
	seccomp_release(filter);
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 1;
}
