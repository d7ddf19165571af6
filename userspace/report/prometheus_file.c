/*
 * prometheus_file.c
 *		Metrics in a file, which node_exporter's textfile collector reads.
 *
 * The file is replaced atomically.  What it is replaced by is written beside it, to a
 * file whose name the collector ignores.  It is not synced: nobody needs metrics from
 * before the machine crashed, and the device has other work in a recovery.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/prometheus.h"

/* Everyone may read metrics: the collector is another user. */
#define FILE_MODE	0644

/* A device or a directory is never replaced or removed: 0, or -errno. */
static int
check_path(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return S_ISREG(st.st_mode) || S_ISLNK(st.st_mode) ? 0 : -EINVAL;
}

/*
 * Create the file beside it.  The name is nobody else's, so that two daemons that were
 * given the same file by mistake replace it in turns, and neither by half of the other's.
 */
static int
open_scratch(FILE **file, char *scratch)
{
	int			err;
	int			fd = mkostemp(scratch, O_CLOEXEC);

	if (fd < 0)
		return -errno;
	/* Whatever the umask is. */
	if (fchmod(fd, FILE_MODE) == 0 && (*file = fdopen(fd, "w")) != NULL)
		return 0;
	err = -errno;
	close(fd);
	unlink(scratch);
	return err;
}

/*
 * Replace the file by what prometheus__write() writes.  Returns 0 or -errno, and then the
 * file is as it was.  A symbolic link is replaced, not followed.
 */
int
prometheus__write_file(const char *path, struct json_object *document)
{
	char	   *scratch;
	FILE	   *file;
	int			err = check_path(path);

	if (err < 0)
		return err;
	if (asprintf(&scratch, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	err = open_scratch(&file, scratch);
	if (err < 0)
		goto cleanup;
	err = prometheus__write(file, document);
	if (fclose(file) != 0 && err == 0)
		err = -errno;
	if (err == 0 && rename(scratch, path) < 0)
		err = -errno;
	if (err < 0)
		unlink(scratch);
cleanup:
	free(scratch);
	return err;
}

/* Remove the file, so that nobody takes old metrics for new ones.  Returns 0 or -errno. */
int
prometheus__remove_file(const char *path)
{
	int			err = check_path(path);

	if (err < 0)
		return err;
	return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}
