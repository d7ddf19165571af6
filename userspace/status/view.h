/*
 * view.h
 *		The full-screen view as lines of text.
 */
#ifndef REDOAHEAD_STATUS_VIEW_H
#define REDOAHEAD_STATUS_VIEW_H

#include <stdbool.h>

#include "status/values.h"

/* Most lines of a view, and columns of a line. */
#define VIEW_MAX_LINES		32
#define VIEW_MAX_COLUMNS	200

/* Room for a line: a character of a sparkline takes up to 3 bytes. */
#define VIEW_LINE_BYTES		(VIEW_MAX_COLUMNS * 3 + 1)

struct view_line
{
	char		text[VIEW_LINE_BYTES];	/* UTF-8 or ASCII, no wider than the view */
	bool		bold;			/* stands out */
};

struct view
{
	int			width;			/* columns of the terminal */
	int			height;			/* its lines */
	bool		utf8;			/* it shows UTF-8 */
	int			count;			/* lines that there are, height at most */
	struct view_line rows[VIEW_MAX_LINES];
};

void		view__lay_out(struct view *view, const struct values *document,
						  const char *message);

#endif							/* REDOAHEAD_STATUS_VIEW_H */
