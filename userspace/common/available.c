/*
 * available.c
 *		How much memory is available, from /proc and cgroups.
 *
 * Pages are charged to the memory cgroup of the process that touches them first and
 * count in all cgroups above it.  In each of them, the limit less the usage is
 * available, plus the part of the usage that is page cache, because it can be
 * reclaimed.  The minimum of these and of the machine's counts.  Versions 1 and 2 of
 * cgroups differ only in names.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/available.h"

/* Room for the path of a cgroup's file. */
#define PATH_BYTES	4096

/* Names of one version of cgroups. */
struct cgroup_files
{
	const char *filesystem;		/* type of its mount */
	const char *controller;		/* of its line in /proc/self/cgroup, and of its mount */
	const char *limits[2];		/* files with limits, bytes or "max" */
	const char *usage;			/* file with what is used, bytes */
	const char *cache[2];		/* lines of memory.stat that are page cache */
};

static const struct cgroup_files versions[] = {
	{"cgroup", "memory", {"memory.limit_in_bytes", NULL}, "memory.usage_in_bytes",
	{"total_inactive_file ", "total_active_file "}},
	{"cgroup2", "", {"memory.max", "memory.high"}, "memory.current",
	{"inactive_file ", "active_file "}},
};

/* The number after the first line with this beginning; false if there is none. */
static bool
read_number(const char *path, const char *beginning, uint64_t *number)
{
	FILE	   *file = fopen(path, "re");
	char		line[256];
	bool		found = false;

	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), file) != NULL)
		found = strncmp(line, beginning, strlen(beginning)) == 0 &&
			sscanf(line + strlen(beginning), "%" SCNu64, number) == 1;
	fclose(file);
	return found;
}

/* Is a word one of those in a list with commas?  No word is in an empty list only. */
static bool
is_listed(const char *word, const char *list)
{
	size_t		length = strlen(word);

	for (;; list++)
	{
		if (strncmp(list, word, length) == 0 && (list[length] == ',' || list[length] == '\0'))
			return true;
		list = strchr(list, ',');
		if (list == NULL)
			return false;
	}
}

/* Where the version's hierarchy with a memory controller is mounted. */
static bool
find_mount(const struct cgroup_files *version, char point[PATH_BYTES])
{
	FILE	   *mounts = fopen("/proc/self/mounts", "re");
	char		line[PATH_BYTES * 2];
	char		type[64];
	char		options[1024];
	bool		found = false;

	if (mounts == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), mounts) != NULL)
		found = sscanf(line, "%*s %4095s %63s %1023s", point, type, options) == 3 &&
			strcmp(type, version->filesystem) == 0 &&
			(version->controller[0] == '\0' || is_listed(version->controller, options));
	fclose(mounts);
	return found;
}

/* The cgroup of this process in the version's hierarchy, as a path in it. */
static bool
find_cgroup(const struct cgroup_files *version, char path[PATH_BYTES])
{
	FILE	   *cgroups = fopen("/proc/self/cgroup", "re");
	char		line[PATH_BYTES + 64];
	bool		found = false;

	if (cgroups == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), cgroups) != NULL)
	{
		/* hierarchy:controllers:path; version 2 has no controllers here */
		char	   *controllers = strchr(line, ':');
		char	   *end = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

		if (end == NULL)
			continue;
		*end = '\0';
		found = is_listed(version->controller, controllers + 1) &&
			sscanf(end + 1, "%4095[^\n]", path) == 1;
	}
	fclose(cgroups);
	return found;
}

/* What is available in one cgroup, bytes; if "unused", without page cache. */
static uint64_t
in_cgroup(const struct cgroup_files *version, const char *directory, bool unused)
{
	char		path[PATH_BYTES * 2 + 32];
	uint64_t	limit = UINT64_MAX;
	uint64_t	used;
	uint64_t	cache;

	for (int i = 0; i < 2 && version->limits[i] != NULL; i++)
	{
		uint64_t	number;

		snprintf(path, sizeof(path), "%s/%s", directory, version->limits[i]);
		if (read_number(path, "", &number) && number < limit)
			limit = number;
	}
	snprintf(path, sizeof(path), "%s/%s", directory, version->usage);
	if (limit == UINT64_MAX || !read_number(path, "", &used))
		return UINT64_MAX;
	snprintf(path, sizeof(path), "%s/memory.stat", directory);
	for (int i = 0; i < 2 && !unused; i++)
		if (read_number(path, version->cache[i], &cache))
			used -= cache < used ? cache : used;
	return limit > used ? limit - used : 0;
}

/* The minimum of the cgroups of this process, likewise. */
static uint64_t
in_cgroups(const struct cgroup_files *version, bool unused)
{
	char		directory[PATH_BYTES * 2];
	char		point[PATH_BYTES];
	char		cgroup[PATH_BYTES];
	uint64_t	least = UINT64_MAX;

	if (!find_cgroup(version, cgroup) || !find_mount(version, point))
		return UINT64_MAX;
	for (;;)
	{
		char	   *slash = strrchr(cgroup, '/');
		uint64_t	bytes;

		snprintf(directory, sizeof(directory), "%s%s", point, cgroup);
		bytes = in_cgroup(version, directory, unused);
		if (bytes < least)
			least = bytes;
		if (slash == NULL)
			return least;
		*slash = '\0';
	}
}

/* The minimum of the machine and the cgroups. */
static uint64_t
minimum_of_all(const char *line_of_meminfo, bool unused)
{
	uint64_t	least = UINT64_MAX;
	uint64_t	kilobytes;

	if (read_number("/proc/meminfo", line_of_meminfo, &kilobytes))
		least = kilobytes * 1024;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
	{
		uint64_t	bytes = in_cgroups(&versions[i], unused);

		if (bytes < least)
			least = bytes;
	}
	return least;
}

/*
 * How much memory could be page cache of this process, or its own, without swapping,
 * bytes; UINT64_MAX if unknown.
 */
uint64_t
available__bytes(void)
{
	return minimum_of_all("MemAvailable:", false);
}

/* How much memory is unused, bytes; UINT64_MAX if unknown. */
uint64_t
available__free_bytes(void)
{
	return minimum_of_all("MemFree:", true);
}
