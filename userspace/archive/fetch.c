/*
 * fetch.c
 *		Runs the user's restore_command: for any file, or for a segment that goes into
 *		the spool.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/fetch.h"
#include "base/log.h"
#include "base/shell.h"
#include "wal/whole.h"

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
int
fetch__file(const char *command, const char *file, const char *path)
{
	char	   *text = substitute(command, file, path);
	int			status = text != NULL ? shell__run(text, -1, -1, 0) : -ENOMEM;

	free(text);
	if (status < 0)
	{
		log_error("cannot run the command for \"%s\": %s", file, strerror(-status));
		return FETCH_CANNOT_RUN << 8;
	}
	return status;
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
 * Fetch a segment into a file of the spool, which we hold the lock of; "fetched" receives
 * its path.  Its name is ours alone: a command whose process here was killed may go on to
 * write.  False if the segment is not complete; then there is no file.  More WAL may come
 * into one that is not whole before the server requests it.
 */
bool
fetch__segment(const char *command, const struct spool *spool, const char *name,
			   char fetched[PATH_MAX])
{
	struct spool_segment segment;
	char		suffix[32];

	snprintf(suffix, sizeof(suffix), ".%d.tmp", (int) getpid());
	if (spool__path(spool, name, suffix, fetched) < 0)
		return false;
	(void) unlink(fetched);
	if (fetch__succeeded(fetch__file(command, name, fetched)) &&
		spool__is_segment(spool, fetched, name, &segment) && whole__is(fetched) &&
		sync_file(fetched) == 0)
		return true;
	(void) unlink(fetched);
	return false;
}
