/*
 * utf8.h
 *		Which bytes of a text are UTF-8.
 */
#ifndef REDOAHEAD_BASE_UTF8_H
#define REDOAHEAD_BASE_UTF8_H

unsigned	utf8__length(const unsigned char *text);

#endif							/* REDOAHEAD_BASE_UTF8_H */
