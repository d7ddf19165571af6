/*
 * lesslog.h
 *		Archives a file of WAL without the full-page images that redo can do without.
 */
#ifndef REDOAHEAD_LESSLOG_LESSLOG_H
#define REDOAHEAD_LESSLOG_LESSLOG_H

#include <stdbool.h>

#include "lesslog/compress.h"

/* What the user chose. */
struct lesslog_options
{
	const char *path;			/* the file, "-": standard input */
	const char *out;			/* what it becomes, "-": standard output */
	enum compress_method method;	/* how that is compressed */
	int			level;			/* of zstd */
	bool		json;			/* print a summary as JSON */
};

int			lesslog__run(const struct lesslog_options *options);

#endif							/* REDOAHEAD_LESSLOG_LESSLOG_H */
