/*
 * text.h
 *		The status as text.
 */
#ifndef REDOAHEAD_STATUS_TEXT_H
#define REDOAHEAD_STATUS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "status/values.h"

/* Room for a number with its unit, bytes. */
#define TEXT_NUMBER_BYTES	32

/* Room for the status in a line, bytes. */
#define TEXT_LINE_BYTES		512

/* Room for one column of a sparkline, bytes. */
#define TEXT_COLUMN_BYTES	4

const char *text__bytes(char text[TEXT_NUMBER_BYTES], double bytes);
const char *text__duration(char text[TEXT_NUMBER_BYTES], double seconds);
const char *text__share(char text[TEXT_NUMBER_BYTES], double share);
void		text__line(char line[TEXT_LINE_BYTES], const struct values *document);
void		text__sparkline(char *text, size_t size, unsigned columns, const double *values,
							unsigned count, double most, bool utf8);

#endif							/* REDOAHEAD_STATUS_TEXT_H */
