/*
 * ahead.c
 *		Fetches the segments behind the present one, and reads the blocks that redo of
 *		them will need, before the server requests them.
 *
 * All of it runs in the background: a process for each segment that nobody has fetched
 * yet, and one that prefaults segment after segment, unless `redoahead follow` does that
 * already.  They report nothing: behind the last segment the command has to fail, and
 * whatever else is wrong shows when the server requests the segment.
 *
 * They are children of a process that waits for them, ends them when the startup process
 * ends, and exits with status 0.  In a container, the server may be the parent of all
 * orphans, and takes one that a signal ends for a backend that has crashed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "archive/ahead.h"
#include "archive/fetch.h"
#include "base/clock.h"
#include "common/available.h"
#include "engine/setup.h"
#include "prefault/prefault.h"
#include "wal/segments.h"

/* File in the spool, with the startup process and a line for each segment that was prefaulted. */
#define PREFAULTED_NAME		"prefaulted"

/* Prefault at most one in so many bytes of available memory before redo comes to it. */
#define MEMORY_PART			8

/* Most segments that are fetched ahead. */
#define MAX_AHEAD			64

/* Time between two checks for children that have ended, ms. */
#define CHILD_WAIT_MS		20

/* What is to end has this time for it before it is killed, us. */
#define END_WAIT_US			5000000

/* What runs in the background for longer hangs, us. */
#define LIMIT_US			UINT64_C(1800000000)

/* Segments that have been prefaulted and not been requested. */
struct prefaulted
{
	FILE	   *file;			/* holds this; locked by who prefaults */
	pid_t		startup;		/* for which startup process */
	unsigned	count;			/* how many */
	uint64_t	numbers[MAX_AHEAD]; /* of segments */
	uint64_t	bytes[MAX_AHEAD];	/* size of the blocks that redo of them needs, bytes */
};

/* Fetch a segment that we hold the lock of. */
static void
fetch_ahead(const struct restore_options *options, const struct spool *spool, const char *name,
			int lock)
{
	char		fetched[PATH_MAX];

	if (fetch__segment(options->command, spool, name, fetched))
		spool__add(spool, name, fetched);
	spool__unlock(spool, name, lock);
}

/* Start a process in a process group of its own.  As fork(). */
static pid_t
fork_group(void)
{
	pid_t		pid = fork();

	if (pid >= 0)
		(void) setpgid(pid, pid);
	return pid;
}

/*
 * Start to fetch a segment, unless it is there or somebody fetches it.  Returns the
 * process that does it, or a negative number.
 */
static pid_t
start_fetching(const struct restore_options *options, const struct spool *spool,
			   const char *name)
{
	char		path[PATH_MAX];
	int			lock = spool__lock(spool, name, 0);
	pid_t		pid = -1;

	if (lock < 0)
		return -1;
	if (spool__path(spool, name, "", path) == 0 && access(path, F_OK) < 0)
		pid = fork_group();
	if (pid == 0)
	{
		fetch_ahead(options, spool, name, lock);
		_exit(0);
	}
	/* The lock is the child's from now on. */
	if (pid > 0)
		close(lock);
	else
		spool__unlock(spool, name, lock);
	return pid;
}

/* Open the file of what has been prefaulted.  False if somebody else prefaults. */
static bool
open_prefaulted(struct prefaulted *prefaulted, const struct spool *spool,
				const struct spool_segment *present, uint64_t jobs, pid_t startup)
{
	char		path[PATH_MAX];
	uint64_t	number;
	uint64_t	bytes;
	int			of = 0;
	int			fd;

	*prefaulted = (struct prefaulted) {.startup = startup};
	if (spool__path(spool, PREFAULTED_NAME, "", path) < 0)
		return false;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return false;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || (prefaulted->file = fdopen(fd, "r+")) == NULL)
	{
		close(fd);
		return false;
	}
	/* An earlier recovery may have left it, and the page cache is another one since. */
	if (fscanf(prefaulted->file, "%d", &of) != 1 || of != startup)
		return true;
	while (prefaulted->count < MAX_AHEAD &&
		   fscanf(prefaulted->file, "%" SCNu64 " %" SCNu64, &number, &bytes) == 2)
		if (number > present->number && number <= present->number + jobs)
		{
			prefaulted->numbers[prefaulted->count] = number;
			prefaulted->bytes[prefaulted->count++] = bytes;
		}
	return true;
}

/* Add a segment, and write the file anew. */
static void
add_prefaulted(struct prefaulted *prefaulted, uint64_t number, uint64_t bytes)
{
	FILE	   *file = prefaulted->file;

	if (prefaulted->count == MAX_AHEAD)
		return;
	prefaulted->numbers[prefaulted->count] = number;
	prefaulted->bytes[prefaulted->count++] = bytes;
	rewind(file);
	if (ftruncate(fileno(file), 0) < 0)
		return;
	fprintf(file, "%d\n", (int) prefaulted->startup);
	for (unsigned i = 0; i < prefaulted->count; i++)
		fprintf(file, "%" PRIu64 " %" PRIu64 "\n", prefaulted->numbers[i], prefaulted->bytes[i]);
	(void) fflush(file);
}

static bool
is_prefaulted(const struct prefaulted *prefaulted, uint64_t number)
{
	for (unsigned i = 0; i < prefaulted->count; i++)
		if (prefaulted->numbers[i] == number)
			return true;
	return false;
}

/* Size of all blocks that wait in the page cache for redo, bytes. */
static uint64_t
bytes_prefaulted(const struct prefaulted *prefaulted)
{
	uint64_t	bytes = 0;

	for (unsigned i = 0; i < prefaulted->count; i++)
		bytes += prefaulted->bytes[i];
	return bytes;
}

/* Prefault the next segments, in their order. */
static void
prefault_ahead(const struct restore_options *options, const struct spool *spool,
			   const struct spool_segment *present, pid_t startup)
{
	struct prefaulted prefaulted;

	if (spool__is_followed(spool) ||
		!open_prefaulted(&prefaulted, spool, present, options->jobs, startup))
		return;
	for (uint64_t number = present->number + 1; number <= present->number + options->jobs; number++)
	{
		char		name[WAL_SEGMENT_NAME_LENGTH + 1];
		char		path[PATH_MAX];
		char	   *word = path;
		struct spool_segment segment;
		uint64_t	bytes;

		if (is_prefaulted(&prefaulted, number))
			continue;
		if (bytes_prefaulted(&prefaulted) > available__bytes() / MEMORY_PART)
			break;
		/* The last record ends in the segment after it. */
		wal_segments__name(present->timeline, number + 1, present->bytes, name);
		spool__wait(spool, name);
		wal_segments__name(present->timeline, number, present->bytes, name);
		spool__wait(spool, name);
		/* It may not exist; or the server has taken it, and redo comes to the next ones soon. */
		if (spool__path(spool, name, "", path) < 0 ||
			!spool__is_segment(spool, path, name, &segment))
			continue;
		if (prefault__run(&(struct prefault_options)
						  {
							  .pgdata = spool->pgdata,.backend = "auto",.words = &word,
								  .word_count = 1,.io_depth = SETUP_IO_DEPTH_NUMBER
						  }, &bytes) < 0)
			break;
		add_prefaulted(&prefaulted, number, bytes);
	}
	fclose(prefaulted.file);
}

/*
 * A descriptor of the startup process, which becomes readable when it ends, and its
 * number; -1: none.
 */
static int
open_startup(const struct spool *spool, pid_t *pid)
{
	*pid = spool__startup(spool);
	return *pid > 0 ? (int) syscall(SYS_pidfd_open, *pid, 0) : -1;
}

/* The processes that fetch and prefault. */
struct children
{
	pid_t		pids[MAX_AHEAD + 1];	/* each leads a process group; 0: has ended */
	unsigned	count;			/* of pids */
	unsigned	left;			/* of them, those that have not ended */
};

/*
 * Reap a process that has ended.  What the command of a killed one has left is killed,
 * too, before its number can be that of another process group.
 */
static void
reap(struct children *children, const siginfo_t *info)
{
	for (unsigned i = 0; i < children->count; i++)
		if (children->pids[i] == info->si_pid)
		{
			if (info->si_code != CLD_EXITED)
				(void) kill(-info->si_pid, SIGKILL);
			children->pids[i] = 0;
			children->left--;
		}
	(void) waitpid(info->si_pid, NULL, 0);
}

/*
 * Wait until all have ended, with "adopted" those that they have left, too; or until a
 * time, or until the startup process ends.
 */
static void
wait_for(struct children *children, bool adopted, uint64_t end_us, int startup)
{
	struct pollfd file = {.fd = startup,.events = POLLIN};

	while ((adopted || children->left > 0) && clock__now_us() < end_us)
	{
		siginfo_t	info = {0};

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
			return;				/* there are none */
		if (info.si_pid != 0)
			reap(children, &info);
		else if (poll(&file, 1, CHILD_WAIT_MS) > 0)
			return;
	}
}

/*
 * Start all that runs in the background, and end it when the startup process ends, or when it
 * hangs.  Those that fetch get a copy of the descriptor "fetching".
 */
static void
run(const struct restore_options *options, const struct spool *spool,
	const struct spool_segment *present, int fetching)
{
	static const int signals[] = {SIGTERM, SIGKILL};
	struct children children = {0};
	pid_t		startup_pid = 0;
	int			startup = open_startup(spool, &startup_pid);
	uint64_t	ahead = spool__room(spool, present->bytes);

	if (ahead > options->jobs)
		ahead = options->jobs;
	/* We are the parent of what a child leaves when it is killed, too. */
	(void) prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (uint64_t i = 1; i <= ahead && i <= MAX_AHEAD; i++)
	{
		char		name[WAL_SEGMENT_NAME_LENGTH + 1];
		pid_t		pid;

		wal_segments__name(present->timeline, present->number + i, present->bytes, name);
		pid = start_fetching(options, spool, name);
		if (pid > 0)
			children.pids[children.count++] = pid;
	}
	close(fetching);
	if (!options->no_prefault && startup >= 0)
	{
		pid_t		pid = fork_group();

		if (pid == 0)
		{
			prefault_ahead(options, spool, present, startup_pid);
			_exit(0);
		}
		if (pid > 0)
			children.pids[children.count++] = pid;
	}
	children.left = children.count;
	wait_for(&children, false, clock__now_us() + LIMIT_US, startup);
	for (unsigned n = 0; n < 2 && children.left > 0; n++)
	{
		for (unsigned i = 0; i < children.count; i++)
			if (children.pids[i] > 0)
				(void) kill(-children.pids[i], signals[n]);
		wait_for(&children, false, clock__now_us() + END_WAIT_US, -1);
	}
	/* A command may leave a process on purpose, for good. */
	wait_for(&children, true, clock__now_us() + END_WAIT_US, -1);
}

/*
 * Fetch the segments behind the present one in the background, and prefault them.  Does
 * not wait.  Nothing of the server's stays open: neither its log, nor files that it has
 * removed.  "fetching" is a descriptor from spool__begin_fetching(), and is closed.
 */
void
ahead__start(const struct restore_options *options, const struct spool *spool,
			 const struct spool_segment *present, int fetching)
{
	pid_t		pid = fork();

	if (pid == 0)
	{
		int			silence = open("/dev/null", O_RDWR);

		if (setsid() >= 0 && silence >= 0 && fork() == 0)
		{
			(void) dup2(silence, STDIN_FILENO);
			(void) dup2(silence, STDOUT_FILENO);
			(void) dup2(silence, STDERR_FILENO);
			if (fetching > STDERR_FILENO + 1)
				(void) close_range(STDERR_FILENO + 1, (unsigned) fetching - 1, 0);
			(void) close_range((unsigned) fetching + 1, ~0U, 0);
			run(options, spool, present, fetching);
		}
		_exit(0);
	}
	close(fetching);
	if (pid > 0)
		(void) waitpid(pid, NULL, 0);
}
