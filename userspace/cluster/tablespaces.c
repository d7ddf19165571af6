/*
 * tablespaces.c
 *		Can this process read the tablespaces of a cluster?
 *
 * The server may see what a unit or a container hides: /home, /tmp, a volume.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cluster/tablespaces.h"

/*
 * Find a tablespace that cannot be read.  version_dir is the name of the version's directory
 * in each.  Returns their number if all can be, else -errno, and "hidden" receives its name
 * in pg_tblspc, of digits only, or nothing if that cannot be read.
 */
int
tablespaces__find_hidden(int dirfd, const char *version_dir, char hidden[NAME_MAX + 1])
{
	int			fd = openat(dirfd, "pg_tblspc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR		   *directory = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int			result = 0;

	hidden[0] = '\0';
	if (directory == NULL && errno != ENOENT)
		result = -errno;
	if (fd >= 0 && directory == NULL)
		close(fd);
	while (directory != NULL && result >= 0 && (entry = readdir(directory)) != NULL)
	{
		char		path[2 * NAME_MAX + 2];

		if (entry->d_name[strspn(entry->d_name, "0123456789")] != '\0')
			continue;
		snprintf(path, sizeof(path), "%s/%s", entry->d_name, version_dir);
		result++;
		if (faccessat(fd, path, R_OK | X_OK, AT_EACCESS) < 0)
		{
			result = -errno;
			snprintf(hidden, NAME_MAX + 1, "%s", entry->d_name);
		}
	}
	if (directory != NULL)
		closedir(directory);
	return result;
}
