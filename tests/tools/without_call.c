/*
 * without_call.c
 *		Runs a command that cannot use a system call, as in many containers.
 *
 * usage: without_call NAME EPERM|ENOSYS COMMAND [ARGUMENT]...
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
	int			call;

	if (argc < 4 || (strcmp(argv[2], "EPERM") != 0 && strcmp(argv[2], "ENOSYS") != 0) ||
		(call = seccomp_syscall_resolve_name(argv[1])) == __NR_SCMP_ERROR)
	{
		fprintf(stderr, "usage: without_call NAME EPERM|ENOSYS COMMAND [ARGUMENT]...\n");
		return 2;
	}
	error = strcmp(argv[2], "EPERM") == 0 ? EPERM : ENOSYS;
	filter = seccomp_init(SCMP_ACT_ALLOW);
	if (filter == NULL ||
		seccomp_rule_add(filter, SCMP_ACT_ERRNO(error), call, 0) < 0 ||
		seccomp_load(filter) < 0)
	{
		fprintf(stderr, "without_call: the filter cannot be loaded; is seccomp allowed here?\n");
		return 1;
	}
	seccomp_release(filter);
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 1;
}
