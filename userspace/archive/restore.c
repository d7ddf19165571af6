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
 * All else (history files, requests of pg_rewind) goes to the user's command unchanged.
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

/* The name under which a server that recovers has a segment restored. */
#define SERVER_NAME		"RECOVERYXLOG"

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

/*
 * Restore a segment for a server that recovers.  Returns the status of the user's command,
 * 0 if it need not run.
 */
static int
restore_segment(const struct restore_options *options, struct spool *spool)
{
	struct spool_segment segment;
	int			lock = spool__lock(spool, options->file, true);
	int			err = lock < 0 ? lock : spool__begin(spool, options->command);
	int			status = 0;

	if (err < 0 || !take_from_spool(options, spool))
		status = fetch__file(options->command, options->file, options->path);
	if (!fetch__succeeded(status))
		(void) unlink(options->path);	/* part of a file, if anything */
	if (lock >= 0)
		spool__unlock(spool, options->file, lock);
	if (err < 0)
		log_warning("cannot use segments in \"%s\": %s; no segment is fetched ahead", spool->path,
					strerror(-err));
	/* The server examines what it gets; only what follows on a segment is fetched ahead. */
	if (err == 0 && fetch__succeeded(status) &&
		spool__is_segment(spool, options->path, options->file, &segment))
	{
		spool__clean(spool, &segment, (unsigned) options->jobs);
		ahead__start(options, spool, &segment);
	}
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
	int			err;

	directory_of(options->path, directory);
	/* Of the size of segments nothing is known yet: the smallest has the most names. */
	if (options->jobs > 0 && strcmp(wanted, SERVER_NAME) == 0 &&
		strlen(options->file) == WAL_SEGMENT_NAME_LENGTH &&
		wal_segments__parse(options->file, 1024 * 1024, &timeline, &segment))
	{
		err = spool__open(&spool, directory);
		if (err < 0)
			log_warning("cannot make \"%s\": %s; no segment is fetched ahead", spool.path,
						strerror(-err));
		else
		{
			int			status = restore_segment(options, &spool);

			free(spool.recovery);
			return end_like(status);
		}
	}
	return end_like(fetch__file(options->command, options->file, options->path));
}
