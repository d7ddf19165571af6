/*
 * output.h
 *		A file that appears in the archive complete, or not at all.
 */
#ifndef REDOAHEAD_LESSLOG_OUTPUT_H
#define REDOAHEAD_LESSLOG_OUTPUT_H

#include <limits.h>
#include <sys/types.h>

/* What the name of a file that is being written ends with. */
#define OUTPUT_SUFFIX	".redoahead-tmp"

struct output
{
	int			dirfd;			/* the directory, -1: not open */
	int			fd;				/* the file that is being written, -1: none */
	char		name[NAME_MAX + 1]; /* of the file when it is complete */
	char		temporary[NAME_MAX + sizeof(OUTPUT_SUFFIX)];	/* until then */
};

int			output__open(struct output *output, const char *path);
int			output__existing(const struct output *output);
int			output__remove_leftover(const struct output *output);
int			output__create(struct output *output, mode_t mode);
int			output__sync(int fd);
int			output__publish(struct output *output);
int			output__sync_directory(const struct output *output);
void		output__close(struct output *output);

#endif							/* REDOAHEAD_LESSLOG_OUTPUT_H */
