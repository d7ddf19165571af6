/*
 * rights.c
 *		Needs of rights: BPF for traces, and how a stock server's position of redo is seen.
 *
 * BPF is tried with the rights that this program was started with, all else as the owner.
 */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/check_internal.h"
#include "probe/position_probe.h"

/* Find out whether BPF programs may be loaded, and whether they work. */
void
check__try_bpf(struct check *check)
{
	struct bpf_rights *bpf = &check->bpf;
	struct position_probe *probe;

	refusal__collect(&bpf->facts, check->cluster.dirfd);
	if (!bpf->facts.has_btf || !bpf->facts.has_capabilities || bpf->facts.confidential)
		return;
	bpf->tried = true;
	bpf->err = position_probe__open(&probe, &check->cluster, NULL);
	if (bpf->err == 0)
		position_probe__close(probe);
}

/* What the reader below looks for, in its parent. */
static volatile uint64_t mark = 0x7265646f61686561;

/* Wait for a child; has it exited with 0? */
static bool
succeeds(pid_t child)
{
	int			status = -1;

	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* In the child: can one of its own read its memory, if it is readable as the server's is? */
static _Noreturn void
try_reading(void)
{
	pid_t		target = getpid();
	pid_t		reader;

	/*
	 * The owner can read and change it, too, if only for a moment, though another user may have
	 * started it: nothing of that user's stays, and no terminal, on which it could type.
	 */
	for (char **variable = environ; *variable != NULL; variable++)
		explicit_bzero(*variable, strlen(*variable));
	if (setsid() < 0 || chdir("/") < 0 || close_range(0, ~0U, 0) < 0 ||
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		_exit(1);
	reader = fork();
	if (reader == 0)
	{
		uint64_t	copy = 0;
		struct iovec local = {&copy, sizeof(copy)};
		struct iovec remote = {(void *) &mark, sizeof(mark)};

		_exit(process_vm_readv(target, &local, 1, &remote, 1, 0) == (ssize_t) sizeof(copy) &&
			  copy == mark ? 0 : 1);
	}
	_exit(succeeds(reader) ? 0 : 1);
}

/* May a process read the memory of another one of the same user that is not its child? */
static bool
memory_is_readable(void)
{
	pid_t		child = fork();

	if (child == 0)
		try_reading();
	return succeeds(child);
}

/* How exactly can redoahead follow see what redo has reached?  Not for patched servers. */
void
check__position(struct check *check)
{
	struct needs *needs = &check->needs;

	if (check->kind == SERVER_PATCHED)
		return;
	if (memory_is_readable())
		needs__add(needs, "position", NEED_OK, "what redo has reached is seen record by record, "
				   "in the memory of the startup process");
	else if (check->bpf.tried && check->bpf.err == 0)
		needs__add(needs, "position", NEED_OK, "what redo has reached is seen every 8 kB of WAL, by "
				   "BPF, if started with these rights");
	else
	{
		needs__add(needs, "position", NEED_WARNING, "what redo has reached is seen by queries to a "
				   "hot standby only, and elsewhere only which segment it is in");
		needs__remedy(needs, "start redoahead follow as root, or with CAP_BPF and CAP_PERFMON, or: "
					  "sysctl -w kernel.yama.ptrace_scope=0");
	}
}

/* BTF and capabilities for redoahead trace. */
void
check__trace(struct check *check)
{
	const struct bpf_rights *bpf = &check->bpf;
	char		text[512];
	char	   *remedy;

	if (!refusal__is_certain(&bpf->facts) && bpf->err == 0)
	{
		needs__add(&check->needs, "trace", NEED_OK, "the kernel has BTF and takes BPF programs");
		return;
	}
	refusal__explain(&bpf->facts, bpf->err, text, sizeof(text));
	remedy = strstr(text, "; ");
	if (remedy != NULL)
		*remedy = '\0';
	needs__add(&check->needs, "trace", NEED_WARNING, "redoahead trace does not work: %s", text);
	if (remedy != NULL)
		needs__remedy(&check->needs, "%s", remedy + 2);
}
