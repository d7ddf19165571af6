/*
 * fetch.h
 *		Runs the user's restore_command.
 */
#ifndef REDOAHEAD_ARCHIVE_FETCH_H
#define REDOAHEAD_ARCHIVE_FETCH_H

#include <limits.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "archive/spool.h"

/*
 * Exit status of a command that could not be run, as shells have it.  It ends recovery: of a
 * status up to 125 the server concludes that the archive does not have the file.
 */
#define FETCH_CANNOT_RUN	126

/* Is this, of waitpid(), the status of a command that has succeeded? */
static inline bool
fetch__succeeded(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int			fetch__file(const char *command, const char *file, const char *path);
bool		fetch__segment(const char *command, const struct spool *spool, const char *name,
						   char fetched[PATH_MAX]);

#endif							/* REDOAHEAD_ARCHIVE_FETCH_H */
