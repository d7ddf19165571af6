/*
 * shell.h
 *		Runs a shell command of the user's.
 */
#ifndef REDOAHEAD_BASE_SHELL_H
#define REDOAHEAD_BASE_SHELL_H

#include <stdint.h>

int			shell__run(const char *command, int input, int output, uint64_t max_bytes);

#endif							/* REDOAHEAD_BASE_SHELL_H */
