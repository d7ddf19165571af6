/*
 * screen.c
 *		The full screen of a terminal, by ncurses, which nothing else here knows.
 *
 * There is one at most.  Signals are the caller's: they are blocked, and ncurses handles none
 * but SIGTSTP, when the caller lets it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <curses.h>
#include <term.h>

#include "status/screen.h"

static SCREEN *screen;

/* Can the terminal place the cursor? */
static bool
is_able(void)
{
	const char *name = getenv("TERM");
	const char *move_cursor;
	int			err;

	if (isatty(STDOUT_FILENO) != 1 || name == NULL || name[0] == '\0' ||
		strcmp(name, "dumb") == 0 || setupterm(NULL, STDOUT_FILENO, &err) != OK)
		return false;
	move_cursor = tigetstr((char *) "cup");
	return move_cursor != NULL && move_cursor != (char *) -1;
}

/* Take the screen; false if the terminal cannot, or if standard output is none. */
bool
screen__open(void)
{
	if (!is_able())
		return false;
	screen = newterm(NULL, stdout, stdin);
	if (screen == NULL)
		return false;
	cbreak();
	noecho();
	curs_set(0);
	nodelay(stdscr, TRUE);
	/* The terminal's size, not that in $COLUMNS and $LINES. */
	screen__resize();
	return true;
}

/* Restore the terminal. */
void
screen__close(void)
{
	if (screen == NULL)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

void
screen__size(int *width, int *height)
{
	*width = COLS;
	*height = LINES;
}

/* The terminal has another size. */
void
screen__resize(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
		resizeterm(size.ws_row, size.ws_col);
	clearok(curscr, TRUE);
}

void
screen__draw(const struct view *view)
{
	erase();
	for (int i = 0; i < view->count; i++)
	{
		attrset(view->rows[i].bold ? A_BOLD : A_NORMAL);
		mvaddstr(i, 0, view->rows[i].text);
	}
	attrset(A_NORMAL);
	refresh();
}

/* Read the keys that were pressed; is the one to quit among them? */
bool
screen__takes_quit(void)
{
	bool		quit = false;
	int			key;

	while ((key = getch()) != ERR)
		quit = quit || key == 'q' || key == 'Q';
	return quit;
}
