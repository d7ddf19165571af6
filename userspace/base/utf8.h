/*
 * utf8.h
 *		Which bytes of a text are UTF-8.
 */
#ifndef REDOAHEAD_BASE_UTF8_H
#define REDOAHEAD_BASE_UTF8_H

/* U+FFFD, which takes the place of what cannot be shown. */
#define UTF8_REPLACEMENT	"\xef\xbf\xbd"

#include <stdbool.h>

unsigned	utf8__length(const unsigned char *text);
const char *utf8__next(const char **text, unsigned *length);
bool		utf8__is_control(const char *text);
void		utf8__hide_controls(char *text);

#endif							/* REDOAHEAD_BASE_UTF8_H */
