/*
 * restore.h
 *		A restore_command that fetches the next segments, too.
 */
#ifndef REDOAHEAD_ARCHIVE_RESTORE_H
#define REDOAHEAD_ARCHIVE_RESTORE_H

#include <stdbool.h>
#include <stdint.h>

/* What the server requests. */
struct restore_options
{
	const char *command;		/* the user's restore_command, with %f and %p */
	const char *file;			/* name of the file that is wanted (%f) */
	const char *path;			/* where to put it (%p) */
	uint64_t	jobs;			/* segments to fetch ahead */
	bool		no_prefault;	/* read no blocks that redo of them needs */
};

int			restore__run(const struct restore_options *options);

#endif							/* REDOAHEAD_ARCHIVE_RESTORE_H */
