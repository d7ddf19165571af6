/*
 * restore.c
 *		A restore_command that fetches the next segments, too, by the user's own
 *		command.
 *
 * A segment that is in the spool already is handed over at once; one that is being
 * fetched is waited for; any other is fetched now.  Then a process for each of the next
 * segments that nobody has fetched yet goes on in the background, and the server gets
 * its answer.  A segment that cannot be fetched ahead does not matter: the server's own
 * request runs the command again.
 *
 * All else (history files, requests of pg_rewind) goes to the user's command unchanged.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "archive/restore.h"
#include "archive/spool.h"
#include "base/log.h"
#include "base/shell.h"
#include "wal/segments.h"

/* The name under which a server that recovers has a segment restored. */
#define SERVER_NAME		"RECOVERYXLOG"

/* Exit status of a command that could not be run, as shells have it. */
#define CANNOT_RUN		126

/*
 * The user's command with %f, %p and %% replaced, as the server does; the caller frees
 * it.  NULL if there is not enough memory.
 */
static char *
substitute(const char *command, const char *file, const char *path)
{
	char	   *text = NULL;
	size_t		size = 0;
	FILE	   *out = open_memstream(&text, &size);

	if (out == NULL)
		return NULL;
	for (const char *at = command; *at != '\0'; at++)
	{
		if (at[0] != '%' || at[1] == '\0')
		{
			fputc(*at, out);
			continue;
		}
		at++;
		if (*at == 'f')
			fputs(file, out);
		else if (*at == 'p')
			fputs(path, out);
		else
		{
			/* %r and others have been replaced by the server, or mean nothing. */
			if (*at != '%')
				fputc('%', out);
			fputc(*at, out);
		}
	}
	return fclose(out) == 0 ? text : NULL;
}

/* Run the user's command for a file.  Returns its status as waitpid() does. */
static int
run_command(const struct restore_options *options, const char *file, const char *path)
{
	char	   *command = substitute(options->command, file, path);
	int			status = command != NULL ? shell__run(command, -1, -1) : -ENOMEM;

	free(command);
	if (status < 0)
	{
		log_error("cannot run the command for \"%s\": %s", file, strerror(-status));
		return CANNOT_RUN << 8;
	}
	return status;
}

/* End as the user's command has ended: the server tells signals and statuses apart. */
static int
end_like(int status)
{
	if (WIFSIGNALED(status))
	{
		(void) signal(WTERMSIG(status), SIG_DFL);
		(void) raise(WTERMSIG(status));
		return 128 + WTERMSIG(status);
	}
	return WEXITSTATUS(status);
}

static bool
succeeded(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Write a file's contents to the disk. */
static int
sync_file(const char *path)
{
	int			fd = open(path, O_RDONLY | O_CLOEXEC);
	int			err = fd < 0 || fsync(fd) < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return err;
}

/*
 * Fetch a segment into a file of the spool, which we hold the lock of.  Returns the
 * status of the command; if that is 0, the segment is complete in "fetched".
 */
static int
fetch(const struct restore_options *options, const struct spool *spool, const char *name,
	  char fetched[PATH_MAX])
{
	struct spool_segment segment;
	int			status;

	if (spool__path(spool, name, ".tmp", fetched) < 0)
		return CANNOT_RUN << 8;
	(void) unlink(fetched);
	status = run_command(options, name, fetched);
	if (succeeded(status) && spool__is_segment(spool, fetched, name, &segment) &&
		sync_file(fetched) == 0)
		return status;
	if (succeeded(status))
	{
		log_warning("the command succeeded, but left no complete segment \"%s\" of this cluster",
					name);
		status = 1 << 8;
	}
	(void) unlink(fetched);
	return status;
}

/*
 * Fetch a segment ahead, unless somebody else does or has; runs in the background.  What
 * the command complains of is of no interest: behind the last segment it has to fail, and
 * in any other case it will run again when the server asks for the segment.
 */
static void
fetch_ahead(const struct restore_options *options, const struct spool *spool, const char *name)
{
	char		path[PATH_MAX];
	char		fetched[PATH_MAX];
	int			lock = spool__lock(spool, name, false);
	int			silence = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (lock < 0)
		return;
	if (silence >= 0)
		(void) dup2(silence, STDERR_FILENO);
	if (spool__path(spool, name, "", path) == 0 && access(path, F_OK) < 0 &&
		succeeded(fetch(options, spool, name, fetched)))
		(void) rename(fetched, path);
	spool__unlock(spool, name, lock);
}

/* Is a segment there, or is somebody fetching it? */
static bool
is_coming(const struct spool *spool, const char *name)
{
	char		path[PATH_MAX];
	int			lock;

	if (spool__path(spool, name, "", path) < 0 || access(path, F_OK) == 0)
		return true;
	lock = spool__lock(spool, name, false);
	if (lock >= 0)
		spool__unlock(spool, name, lock);
	return lock < 0;
}

/* Have the segments behind the present one fetched in the background. */
static void
start_ahead(const struct restore_options *options, const struct spool *spool,
			const struct spool_segment *present)
{
	for (uint64_t i = 1; i <= options->jobs; i++)
	{
		char		name[WAL_SEGMENT_NAME_LENGTH + 1];
		pid_t		pid;

		wal_segments__name(present->timeline, present->number + i, present->bytes, name);
		if (is_coming(spool, name))
			continue;
		/* The server's parent takes over what outlives this process. */
		pid = fork();
		if (pid == 0)
		{
			if (setsid() >= 0 && fork() == 0)
				fetch_ahead(options, spool, name);
			_exit(0);
		}
		if (pid > 0)
			(void) waitpid(pid, NULL, 0);
	}
}

/* Put a fetched segment where the server wants it.  Returns whether that worked. */
static bool
hand_over(const char *from, const char *to)
{
	if (rename(from, to) == 0)
		return true;
	log_warning("cannot rename \"%s\" to \"%s\": %s; running the command again", from, to,
				strerror(errno));
	(void) unlink(from);
	return false;
}

/*
 * Restore a segment for a server that recovers.  Returns the status of the command that
 * fetched it; *handled is false if the spool cannot be used, and nothing was done.
 */
static int
restore_segment(const struct restore_options *options, const struct spool *spool, bool *handled)
{
	struct spool_segment segment = {0};
	char		path[PATH_MAX];
	char		fetched[PATH_MAX];
	int			status = 0;
	int			lock = spool__lock(spool, options->file, true);

	*handled = false;
	if (lock < 0 || spool__path(spool, options->file, "", path) < 0)
		return 0;
	if (spool__is_segment(spool, path, options->file, &segment))
		*handled = hand_over(path, options->path);
	else
	{
		(void) unlink(path);
		status = fetch(options, spool, options->file, fetched);
		*handled = !succeeded(status) ||
			(spool__is_segment(spool, fetched, options->file, &segment) &&
			 hand_over(fetched, options->path));
	}
	spool__unlock(spool, options->file, lock);
	if (*handled && succeeded(status))
	{
		spool__clean(spool, &segment, (unsigned) options->jobs);
		start_ahead(options, spool, &segment);
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
			bool		handled;
			int			status = restore_segment(options, &spool, &handled);

			if (handled)
				return end_like(status);
		}
	}
	return end_like(run_command(options, options->file, options->path));
}
