/*
 * disks.c
 *		Finds the whole disks that hold the file systems of a cluster.
 *
 * From sysfs: partitions, devices made of others (md, dm), and the devices of a
 * btrfs, which has no device number of its own; from /proc/diskstats, the paths to an
 * NVMe disk.  File systems over the network or in memory have no disks.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/btrfs.h>

#include "base/log.h"
#include "trace/disks.h"

/* Layers of devices made of devices, at most. */
#define MAX_DEPTH	8

/* The disks found so far. */
struct search
{
	dev_t	   *found;			/* whole disks */
	unsigned	count;			/* how many */
	unsigned	max;			/* room for so many */
	bool		full;			/* there are more */
};

static void add_below(struct search *search, const char *directory, int depth);

/* The number in the file "dev" of a device's directory. */
static int
read_number(const char *directory, dev_t *device)
{
	char		path[PATH_MAX];
	unsigned	major;
	unsigned	minor;
	FILE	   *file;
	int			n;

	if (snprintf(path, sizeof(path), "%s/dev", directory) >= (int) sizeof(path))
		return -1;
	file = fopen(path, "re");
	if (file == NULL)
		return -1;
	n = fscanf(file, "%u:%u", &major, &minor);
	fclose(file);
	*device = makedev(major, minor);
	return n == 2 ? 0 : -1;
}

static void
add_disk(struct search *search, dev_t device)
{
	for (unsigned i = 0; i < search->count; i++)
		if (search->found[i] == device)
			return;
	search->full = search->count == search->max;
	if (!search->full)
		search->found[search->count++] = device;
}

/*
 * An NVMe disk that more than one controller may reach has no requests of its own: they are
 * those of a hidden disk for each path, nvme0c1n1 of nvme0n1.  Add these; sysfs does not have
 * their numbers.
 */
static void
add_paths(struct search *search, const char *name)
{
	unsigned	subsystem[2];
	unsigned	controller;
	unsigned	namespace[2];
	unsigned	major;
	unsigned	minor;
	char		line[256];
	FILE	   *disks;

	if (sscanf(name, "nvme%un%u", &subsystem[0], &namespace[0]) != 2)
		return;
	disks = fopen("/proc/diskstats", "re");
	while (disks != NULL && fgets(line, sizeof(line), disks) != NULL)
		if (sscanf(line, "%u %u nvme%uc%un%u", &major, &minor, &subsystem[1], &controller,
				   &namespace[1]) == 5 &&
			subsystem[0] == subsystem[1] && namespace[0] == namespace[1])
			add_disk(search, makedev(major, minor));
	if (disks != NULL)
		fclose(disks);
}

/* Add the disks below each device that a sysfs directory links to; returns how many. */
static unsigned
add_links(struct search *search, const char *directory, int depth)
{
	struct dirent *entry;
	unsigned	count = 0;
	DIR		   *links;

	links = opendir(directory);
	if (links == NULL)
		return 0;
	while ((entry = readdir(links)) != NULL)
	{
		char		path[PATH_MAX];

		if (entry->d_name[0] == '.' ||
			snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) >= (int) sizeof(path))
			continue;
		add_below(search, path, depth + 1);
		count++;
	}
	closedir(links);
	return count;
}

/* Add the disks below the device of a sysfs directory. */
static void
add_below(struct search *search, const char *directory, int depth)
{
	char		path[PATH_MAX];
	char		real[PATH_MAX];
	dev_t		device;

	if (depth > MAX_DEPTH || realpath(directory, real) == NULL ||
		snprintf(path, sizeof(path), "%s/slaves", real) >= (int) sizeof(path))
		return;
	if (add_links(search, path, depth) > 0)
		return;
	if (snprintf(path, sizeof(path), "%s/partition", real) < (int) sizeof(path) &&
		access(path, F_OK) == 0)
	{
		*strrchr(real, '/') = '\0';
		add_below(search, real, depth + 1);
		return;
	}
	if (read_number(real, &device) < 0)
		return;
	add_disk(search, device);
	add_paths(search, strrchr(real, '/') + 1);
}

/* Add the disks of the btrfs that a directory is on. */
static void
add_btrfs(struct search *search, int dirfd)
{
	struct btrfs_ioctl_fs_info_args info = {0};
	char		path[128] = "/sys/fs/btrfs/";
	size_t		length = strlen(path);

	if (ioctl(dirfd, BTRFS_IOC_FS_INFO, &info) < 0)
		return;
	for (int i = 0; i < BTRFS_FSID_SIZE; i++)
		length += (size_t) sprintf(path + length, "%s%02x",
								   i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", info.fsid[i]);
	strcpy(path + length, "/devices");
	add_links(search, path, 0);
}

/* Add the disks of the file system that a directory is on. */
static void
add_directory(struct search *search, int dir, const char *name)
{
	int			fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	char		path[64];

	if (fd >= 0 && fstat(fd, &st) == 0)
	{
		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
		if (major(st.st_dev) == 0)
			add_btrfs(search, fd);
		else
			add_below(search, path, 0);
	}
	if (fd >= 0)
		close(fd);
}

/*
 * Find the whole disks of a data directory, its WAL and its tablespaces; returns how many,
 * at most max.
 */
unsigned
disks__of_cluster(int pgdata, dev_t *found, unsigned max)
{
	struct search search = {.found = found,.max = max};
	int			fd = openat(pgdata, "pg_tblspc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR		   *tablespaces = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	add_directory(&search, pgdata, ".");
	add_directory(&search, pgdata, "pg_wal");
	while (tablespaces != NULL && (entry = readdir(tablespaces)) != NULL)
		if (entry->d_name[0] != '.')
			add_directory(&search, fd, entry->d_name);
	if (tablespaces != NULL)
		closedir(tablespaces);
	else if (fd >= 0)
		close(fd);
	if (search.count == 0)
		log_info("the disks of the data directory are not known, so their requests are not counted");
	if (search.full)
		log_warning("data directory, WAL and tablespaces are on more than %u disks; the report has "
					"requests of the first %u only", max, max);
	return search.count;
}
