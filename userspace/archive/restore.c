/*
 * restore.c
 *		A restore_command that fetches the next segments, too, by the user's own
 *		command.
 *
 * A segment that is in the spool already is renamed to where the server wants it; one that
 * is being fetched is waited for; for any other the command runs as it would without us.
 * Then the next ones are fetched in the background (ahead.c), and the server gets its
 * answer.  A segment that cannot be fetched ahead does not matter: the server's own request
 * runs the command again.  What an earlier recovery or another command has left in the
 * spool is removed.
 *
 * When the command reports that the archive does not have a file, the server ends recovery.
 * But too many of it may have run at once, or there was no space beside the spool.  So it is run
 * once more, alone and with an empty spool, and that status counts.
 *
 * All else (requests of pg_rewind) goes to the user's command unchanged.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "archive/ahead.h"
#include "archive/fetch.h"
#include "archive/restore.h"
#include "archive/spool.h"
#include "base/log.h"
#include "wal/segments.h"

/* The names under which a server that recovers has a segment and a history file restored. */
#define SEGMENT_NAME	"RECOVERYXLOG"
#define HISTORY_NAME	"RECOVERYHISTORY"

/*
 * Maximum time that the server's request waits for a command in the background that fetches the
 * same segment, and for all of them before its own is run again, us.
 */
#define SEGMENT_WAIT_US	60000000
#define OTHERS_WAIT_US	30000000

/* Statuses by which the server concludes that the archive does not have a file: up to this one. */
#define LAST_ABSENT		125

/* End as the user's command has ended: the server distinguishes signals and statuses. */
static int
end_like(int status)
{
	if (WIFSIGNALED(status))
	{
		/* The command has left a core file, if any. */
		(void) setrlimit(RLIMIT_CORE, &(struct rlimit) {0});
		(void) signal(WTERMSIG(status), SIG_DFL);
		(void) raise(WTERMSIG(status));
		return 128 + WTERMSIG(status);
	}
	return WEXITSTATUS(status);
}

/*
 * Give the server a segment from the spool.  False if it is not there, or is not the
 * complete segment of this cluster.
 */
static bool
take_from_spool(const struct restore_options *options, const struct spool *spool)
{
	struct spool_segment segment;
	char		path[PATH_MAX];

	if (spool__path(spool, options->file, "", path) < 0 || access(path, F_OK) < 0)
		return false;
	if (!spool__is_segment(spool, path, options->file, &segment))
		log_warning("\"%s\" is not the complete segment of this cluster; running the command again",
					path);
	else if (rename(path, options->path) == 0)
		return true;
	else
		log_warning("cannot rename \"%s\" to \"%s\": %s; running the command again", path,
					options->path, strerror(errno));
	(void) unlink(path);
	return false;
}

/* Run the user's command, alone if need be.  Returns its status as waitpid() does. */
static int
run_command(const struct restore_options *options, const struct spool *spool)
{
	bool		alone = spool__is_idle(spool, 0);
	int			status = fetch__file(options->command, options->file, options->path);
	int			first;

	if (!WIFEXITED(status) || WEXITSTATUS(status) == 0 || WEXITSTATUS(status) > LAST_ABSENT)
		return status;
	if (!alone && !spool__is_idle(spool, OTHERS_WAIT_US))
		log_warning("commands that fetch segments ahead have not ended within %d s; \"%s\" is "
					"requested beside them", OTHERS_WAIT_US / 1000000, options->file);
	if (spool__clear(spool) <= 0 && alone)
		return status;
	(void) unlink(options->path);
	first = WEXITSTATUS(status);
	status = fetch__file(options->command, options->file, options->path);
	if (fetch__succeeded(status))
		log_warning("the command for \"%s\" failed with status %d beside others or a full spool, and "
					"succeeded alone; use a lower --jobs", options->file, first);
	return status;
}

/*
 * Restore a segment for a server that recovers.  Returns the status of the user's command,
 * 0 if it need not run.
 */
static int
restore_segment(const struct restore_options *options, struct spool *spool)
{
	struct spool_segment segment;
	int			lock = spool__lock(spool, options->file, SEGMENT_WAIT_US);
	int			err = lock < 0 && lock != -EWOULDBLOCK ? lock : spool__begin(spool, options->command);
	int			status = 0;
	int			fetching;

	if (lock == -EWOULDBLOCK)
		log_warning("the command that fetches \"%s\" ahead has not ended within %d s; running "
					"another one", options->file, SEGMENT_WAIT_US / 1000000);
	if (err < 0 || !take_from_spool(options, spool))
		status = run_command(options, spool);
	if (!fetch__succeeded(status))
		(void) unlink(options->path);	/* part of a file, if anything */
	if (lock >= 0)
		spool__unlock(spool, options->file, lock);
	/* The server examines what it gets; only what follows on a segment is fetched ahead. */
	if (err == 0 && fetch__succeeded(status) &&
		spool__is_segment(spool, options->path, options->file, &segment))
	{
		spool__clean(spool, &segment, (unsigned) options->jobs);
		fetching = spool__begin_fetching(spool);
		if (fetching >= 0)
			ahead__start(options, spool, &segment, fetching);
		else
			err = fetching;
	}
	if (err < 0)
		log_warning("cannot use segments in \"%s\": %s; no segment is fetched ahead", spool->path,
					strerror(-err));
	return status;
}

/* The directory of a path, "." if it has none. */
static void
directory_of(const char *path, char directory[PATH_MAX])
{
	const char *slash = strrchr(path, '/');

	snprintf(directory, PATH_MAX, "%.*s", slash == NULL ? 1 : (int) (slash - path),
			 slash == NULL ? "." : path);
}

/* Do what restore_command shall do.  Returns the exit status for the server. */
int
restore__run(const struct restore_options *options)
{
	const char *slash = strrchr(options->path, '/');
	const char *wanted = slash != NULL ? slash + 1 : options->path;
	struct spool spool;
	char		directory[PATH_MAX];
	uint32_t	timeline;
	uint64_t	segment;
	bool		is_segment;
	int			err;

	directory_of(options->path, directory);
	/* Of the size of segments nothing is known yet: the smallest has the most names. */
	is_segment = strcmp(wanted, SEGMENT_NAME) == 0 &&
		strlen(options->file) == WAL_SEGMENT_NAME_LENGTH &&
		wal_segments__parse(options->file, 1024 * 1024, &timeline, &segment);
	if (options->jobs > 0 && (is_segment || strcmp(wanted, HISTORY_NAME) == 0))
	{
		err = spool__open(&spool, directory);
		if (err < 0 && is_segment)
			log_warning("cannot make \"%s\": %s; no segment is fetched ahead", spool.path,
						strerror(-err));
		if (err == 0)
		{
			int			status = is_segment ? restore_segment(options, &spool) :
				run_command(options, &spool);

			free(spool.recovery);
			return end_like(status);
		}
	}
	return end_like(fetch__file(options->command, options->file, options->path));
}
