/*
 * confined.h
 *		A function in a child without rights, for input that is not trusted.
 */
#ifndef REDOAHEAD_BASE_CONFINED_H
#define REDOAHEAD_BASE_CONFINED_H

#include <stddef.h>
#include <sys/types.h>

/* Size of an answer, at most, bytes. */
#define CONFINED_ANSWER_BYTES	64

/* Runs in the child: reads a file, and writes the answer.  Returns 0 or -errno. */
typedef int (*confined_function) (int fd, const void *argument, void *answer);

struct confined
{
	pid_t		child;			/* 0: there is none */
	int			socket;			/* to it */
	size_t		size;			/* of an answer, bytes */
};

int			confined__start(struct confined *confined, confined_function function,
							const void *argument, size_t size);
int			confined__call(struct confined *confined, int fd, void *answer);
void		confined__end(struct confined *confined);
int			confined__exec(const char *program, const char *const arguments[]);

#endif							/* REDOAHEAD_BASE_CONFINED_H */
