/*
 * content.h
 *		What goes into the archive: a file with changes.
 */
#ifndef REDOAHEAD_LESSLOG_CONTENT_H
#define REDOAHEAD_LESSLOG_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lesslog/edits.h"

/* The path that means standard input or standard output. */
#define CONTENT_STREAM	"-"

/* Bytes that are read, compressed and compared at once. */
#define CONTENT_PIECE	(128 * 1024)

struct content
{
	int			fd;				/* the file, or a copy of standard input */
	uint64_t	bytes;			/* its size, bytes */
	mode_t		mode;			/* its permissions */
	struct edits edits;			/* what is changed */
};

int			content__open(struct content *content, const char *path);
bool		content__is_at(const struct content *content, const char *path);
int			content__read(const struct content *content, uint64_t from, void *out, size_t bytes);
int			content__write(int fd, const char *bytes, size_t count);
const char *content__error(int err);
void		content__close(struct content *content);

#endif							/* REDOAHEAD_LESSLOG_CONTENT_H */
