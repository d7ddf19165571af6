/*
 * whole.h
 *		Does a segment have all of its WAL?
 */
#ifndef REDOAHEAD_WAL_WHOLE_H
#define REDOAHEAD_WAL_WHOLE_H

#include <stdbool.h>

bool		whole__is(const char *path);

#endif							/* REDOAHEAD_WAL_WHOLE_H */
