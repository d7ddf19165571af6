/*
 * conclusion.c
 *		Reports a recovery that has ended, in one line and on a page.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/lsn.h"
#include "monitor/conclusion.h"
#include "report/html.h"

/* What limited redo, for the greatest shares first: ", cpu 80 %, ...". */
static void
format_limits(const struct limits *limits, char *text, size_t size)
{
	bool		named[LIMIT_COUNT] = {0};
	double		sum = 0;
	size_t		length = 0;

	text[0] = '\0';
	for (int i = 0; i < LIMIT_COUNT; i++)
		sum += (double) limits->total_us[i];
	for (int n = 0; n < LIMIT_COUNT && length < size; n++)
	{
		int			most = -1;

		for (int i = 0; i < LIMIT_COUNT; i++)
			if (!named[i] && (most < 0 || limits->total_us[i] > limits->total_us[most]))
				most = i;
		named[most] = true;
		if (sum == 0 || (double) limits->total_us[most] / sum < 0.01)
			return;
		length += (size_t) snprintf(text + length, size - length, "%s%s %.0f %%",
									length == 0 ? "; its time: " : ", ", limits__name(most),
									100 * (double) limits->total_us[most] / sum);
	}
}

/* Log it, unless redo was over before its position was seen. */
void
conclusion__log(const struct recovery *recovery)
{
	const struct progress *progress = &recovery->progress;
	double		seconds = (double) (progress->advanced_us - progress->begin_us) / 1e6;
	double		bytes = (double) progress__replayed(progress);
	double		coverage = recovery__coverage(&recovery->snapshot.recovery);
	char		covered[64] = "";
	char		limits[256];

	if (progress->begin_lsn == 0)
		return;
	if (coverage >= 0)
		snprintf(covered, sizeof(covered), "; %.1f %% of the blocks submitted in time",
				 100 * coverage);
	format_limits(&recovery->limits, limits, sizeof(limits));
	log_info("redo of %.1f MB of WAL, from " LSN_FORMAT " to " LSN_FORMAT ", took %.3f s: %.1f MB/s%s%s",
			 bytes / 1e6, LSN_ARGS(progress->begin_lsn), LSN_ARGS(progress->replay_lsn), seconds,
			 seconds > 0 ? bytes / seconds / 1e6 : 0, covered, limits);
}

static void
warn(const char *directory, int err)
{
	log_warning("no report can be written to directory \"%s\": %s; create it, or give another "
				"one with --report", directory, strerror(-err));
}

/* Can pages be written to a directory?  Logs why not. */
void
conclusion__check(const char *directory)
{
	if (faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) < 0)
		warn(directory, -errno);
}

/* Write a page on the last recovery of a document to a directory. */
void
conclusion__report(const char *directory, struct json_object *document,
				   const struct relations *relations)
{
	char		path[PATH_MAX];
	int			err = html__write_file(directory, document, relations, path, sizeof(path));

	if (err < 0)
		warn(directory, err);
	else
		log_info("report of the recovery: %s", path);
}
