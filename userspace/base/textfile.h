/*
 * textfile.h
 *		Files that an option names, for lines of text.
 */
#ifndef REDOAHEAD_BASE_TEXTFILE_H
#define REDOAHEAD_BASE_TEXTFILE_H

#include <stdio.h>

int			textfile__open(FILE **file, const char *path, const char *option);
int			textfile__open_own(FILE **file, const char *path, const char *option);
void		textfile__reopen(FILE *file, const char *path, const char *option);
void		textfile__report(FILE *file, const char *option);
int			textfile__close(FILE *file, const char *option);

#endif							/* REDOAHEAD_BASE_TEXTFILE_H */
