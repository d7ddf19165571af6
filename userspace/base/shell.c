/*
 * shell.c
 *		Runs a shell command of the user's, with signals as they are by default.
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/shell.h"

/*
 * Run a command, with these descriptors as standard input and output, -1 for ours, and
 * wait for its end.  No file that it writes may become larger than max_bytes, 0: any.  It
 * gets SIGTERM if this process is killed meanwhile.  Returns its status as waitpid() does,
 * or -errno.
 */
int
shell__run(const char *command, int input, int output, uint64_t max_bytes)
{
	struct rlimit size = {max_bytes, max_bytes};
	int			status;
	pid_t		parent = getpid();
	pid_t		pid = fork();

	if (pid == 0)
	{
		sigset_t	none;

		sigemptyset(&none);
		(void) sigprocmask(SIG_SETMASK, &none, NULL);
		(void) signal(SIGPIPE, SIG_DFL);
		(void) prctl(PR_SET_PDEATHSIG, SIGTERM);
		/* It may have been killed before. */
		if (getppid() != parent)
			_exit(126);
		if ((input >= 0 && dup2(input, STDIN_FILENO) < 0) ||
			(output >= 0 && dup2(output, STDOUT_FILENO) < 0) ||
			(max_bytes > 0 && setrlimit(RLIMIT_FSIZE, &size) < 0))
			_exit(126);
		execl("/bin/sh", "sh", "-c", command, (char *) NULL);
		_exit(127);
	}
	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status;
}
