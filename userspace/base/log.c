/*
 * log.c
 *		Diagnostics of every part of the program, one line each, to stderr.
 *
 * A line is put together in memory and written by one system call, so that
 * lines of several processes do not mix.  When stderr is the journal, a line opens with
 * its syslog priority ("<6>").
 * Control characters, which may come from a name or another program, are replaced.
 * Output goes to stdout or to a file, not through here.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/utf8.h"

#define LINE_BYTES	2048

static int	verbose_wanted;

/* Show LOG_LEVEL_DEBUG messages too. */
void
log__set_verbose(int verbose)
{
	verbose_wanted = verbose;
}

/*
 * Is stderr the journal?  Then $JOURNAL_STREAM has its device and inode; a process that has
 * another stderr may have inherited the variable.  See systemd.exec(5).
 */
static bool
is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uintmax_t	device;
	uintmax_t	inode;
	struct stat st;

	return stream != NULL && sscanf(stream, "%ju:%ju", &device, &inode) == 2 &&
		fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

/* Write one message; the format needs no newline at its end. */
void
log__write(enum log_level level, const char *format,...)
{
	static const char *const names[] = {"error", "warning", "info", "debug"};
	static const char priorities[] = {'3', '4', '6', '7'};
	char		line[LINE_BYTES];
	size_t		length;
	size_t		end;
	va_list		args;
	int			n;

	if (level == LOG_LEVEL_DEBUG && !verbose_wanted)
		return;

	if (is_journal())
		n = snprintf(line, sizeof(line), "<%c>redoahead: %s: ",
					 priorities[level], names[level]);
	else
		n = snprintf(line, sizeof(line), "redoahead: %s: ", names[level]);
	length = (size_t) n;

	va_start(args, format);
	n = vsnprintf(line + length, sizeof(line) - length - 1, format, args);
	va_end(args);
	if (n < 0)
		return;
	end = length + (size_t) n;
	if (end > sizeof(line) - 2)
		end = sizeof(line) - 2;
	line[end] = '\0';
	utf8__hide_controls(line + length);
	length = strlen(line);
	line[length++] = '\n';

	/* An error of stderr cannot be reported. */
	if (write(STDERR_FILENO, line, length) < 0)
		return;
}
