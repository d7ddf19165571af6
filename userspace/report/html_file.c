/*
 * html_file.c
 *		The report in a file of its own, of a name that no file has.
 *
 * The name has the time at which the recovery ended and the daemon's process number.  The
 * file appears complete or not at all.  The umask decides who may read it.  It is not
 * synced: the device has other work when a recovery ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "report/html.h"
#include "report/html_internal.h"

/* Names tried for a report; of one second and process number there are few. */
#define MAX_NAMES	100

/* Room for a file's name, bytes. */
#define NAME_BYTES	128

/* Give a file another name, unless that exists.  Returns 0 or -errno. */
static int
rename_new(int dirfd, const char *from, const char *to)
{
	if (renameat2(dirfd, from, dirfd, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* The file system cannot do both at once. */
	if (faccessat(dirfd, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(dirfd, from, dirfd, to) < 0 ? -errno : 0;
}

/* Name the file, with a number if others have the name without it. */
static int
name_report(int dirfd, const char *scratch, const char *stem, char name[NAME_BYTES])
{
	int			err = -EEXIST;

	for (int i = 1; i <= MAX_NAMES && err == -EEXIST; i++)
	{
		if (i == 1)
			snprintf(name, NAME_BYTES, "%s.html", stem);
		else
			snprintf(name, NAME_BYTES, "%s-%d.html", stem, i);
		err = rename_new(dirfd, scratch, name);
	}
	return err;
}

/* The name without its end. */
static void
make_stem(char stem[NAME_BYTES / 2], struct json_object *document)
{
	struct json_object *recovery = html_text__recovery(document);
	double		pid = html_text__number(document, "pid");
	char		time[HTML_NUMBER_BYTES];
	double		end_time = html_text__end_time(document, recovery);

	html_text__time(time, isnan(end_time) ? 0 : end_time, "%Y%m%dT%H%M%S");
	snprintf(stem, NAME_BYTES / 2, "redoahead-report-%.15s-%d", time,
			 pid >= 1 && pid < 1e9 ? (int) pid : (int) getpid());
}

/*
 * Write the report to a new file in the directory.  Returns 0, and the file's path if
 * path is not NULL; or -errno, and then there is no file.
 */
int
html__write_file(const char *directory, struct json_object *document,
				 const struct relations *relations, char *path, size_t size)
{
	char		scratch[NAME_BYTES];
	char		stem[NAME_BYTES / 2];
	char		name[NAME_BYTES];
	FILE	   *file = NULL;
	int			fd;
	int			err = 0;
	int			dirfd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dirfd < 0)
		return -errno;
	make_stem(stem, document);
	snprintf(scratch, sizeof(scratch), ".%s.%d.tmp", stem, (int) getpid());
	/* One that a process of the same number has left. */
	unlinkat(dirfd, scratch, 0);
	fd = openat(dirfd, scratch, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0 || (file = fdopen(fd, "w")) == NULL)
		err = -errno;
	if (err == 0)
	{
		err = html__write(file, document, relations);
		if (fclose(file) != 0 && err == 0)
			err = -errno;
	}
	else if (fd >= 0)
		close(fd);
	if (err == 0)
		err = name_report(dirfd, scratch, stem, name);
	if (err < 0 && fd >= 0)
		unlinkat(dirfd, scratch, 0);
	if (err == 0 && path != NULL)
		snprintf(path, size, "%s/%s", directory, name);
	close(dirfd);
	return err;
}
