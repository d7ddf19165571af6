/*
 * screen.h
 *		The full screen of a terminal.
 */
#ifndef REDOAHEAD_STATUS_SCREEN_H
#define REDOAHEAD_STATUS_SCREEN_H

#include <stdbool.h>

#include "status/view.h"

bool		screen__open(void);
void		screen__close(void);
void		screen__size(int *width, int *height);
void		screen__resize(void);
void		screen__draw(const struct view *view);
bool		screen__takes_quit(void);

#endif							/* REDOAHEAD_STATUS_SCREEN_H */
