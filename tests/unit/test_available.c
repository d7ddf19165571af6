/*
 * test_available.c
 *		How much memory could be had, with and without a cgroup.
 *
 * What needs a cgroup is skipped where none can be made.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/available.h"
#include "unit.h"

#define MB	(UINT64_C(1) << 20)
#define LIMIT	(64 * MB)

/* Where memory cgroups are usually mounted, and the file with the limit. */
static const struct
{
	const char *top;
	const char *limit;
}			hierarchies[] = {
	{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
	{"/sys/fs/cgroup", "memory.max"},
};

static char outer[256];			/* a cgroup with a limit; empty if there is none */
static char inner[512];			/* one in it, without */

static uint64_t
mem_available(void)
{
	FILE	   *file = fopen("/proc/meminfo", "re");
	char		line[256];
	uint64_t	kilobytes = 0;

	assert_non_null(file);
	while (kilobytes == 0 && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "MemAvailable: %" SCNu64, &kilobytes) != 1)
			kilobytes = 0;
	fclose(file);
	return kilobytes * 1024;
}

static int
write_number(const char *directory, const char *name, uint64_t number)
{
	char		path[1024];
	FILE	   *file;
	int			failed;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "we");
	if (file == NULL)
		return -errno;
	fprintf(file, "%" PRIu64, number);
	failed = fclose(file);
	return failed ? -errno : 0;
}

static int
make_cgroups(void **state)
{
	int			error = 0;

	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]); i++)
	{
		snprintf(outer, sizeof(outer), "%s/redoahead-test-%d", hierarchies[i].top, (int) getpid());
		snprintf(inner, sizeof(inner), "%s/inner", outer);
		if (mkdir(outer, 0755) < 0)
		{
			error = errno;
			continue;
		}
		if (write_number(outer, hierarchies[i].limit, LIMIT) == 0 && mkdir(inner, 0755) == 0)
			return 0;
		error = errno;
		rmdir(outer);
	}
	printf("# no memory cgroup can be made: %s\n", strerror(error));
	outer[0] = '\0';
	return 0;
}

static int
remove_cgroups(void **state)
{
	if (outer[0] == '\0')
		return 0;
	/* The child may still be counted. */
	for (int i = 0; i < 1000 && rmdir(inner) < 0; i++)
		usleep(10000);
	return rmdir(outer);
}

/* The result of a function in a process of the cgroup that has written a file of so many MB. */
static uint64_t
result_in(const char *cgroup, uint64_t (*function) (void), unsigned file_mb)
{
	uint64_t	available = 0;
	int			ends[2];
	pid_t		child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0)
	{
		static char zeroes[MB];
		char		path[] = "/var/tmp/redoahead-memory-test.XXXXXX";
		int			fd = mkstemp(path);

		unlink(path);
		if (fd < 0 || write_number(cgroup, "cgroup.procs", (uint64_t) getpid()) < 0)
			_exit(1);
		for (unsigned i = 0; i < file_mb; i++)
			if (write(fd, zeroes, sizeof(zeroes)) != (ssize_t) sizeof(zeroes))
				_exit(1);
		available = function();
		_exit(write(ends[1], &available, sizeof(available)) != (ssize_t) sizeof(available));
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &available, sizeof(available)), sizeof(available));
	close(ends[0]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	return available;
}

static uint64_t
available_in(const char *cgroup, unsigned file_mb)
{
	return result_in(cgroup, available__bytes, file_mb);
}

/* Other processes allocate and free memory between the two readings. */
TEST(test_is_no_more_than_the_machine_has)
{
	uint64_t	before = mem_available();
	uint64_t	available = available__bytes();
	uint64_t	after = mem_available();
	uint64_t	most = before > after ? before : after;

	assert_in_range(available, 1 * MB, most + 256 * MB);
}

/* Lost otherwise: blocks would be read ahead only to be evicted before use. */
TEST(test_is_no_more_than_the_cgroup_allows)
{
	if (outer[0] == '\0')
		skip();
	assert_in_range(available_in(outer, 0), LIMIT / 2, LIMIT);
}

/* Lost otherwise: limits are usually set on a slice, above the service. */
TEST(test_a_limit_counts_for_the_cgroups_below)
{
	if (outer[0] == '\0')
		skip();
	assert_in_range(available_in(inner, 0), LIMIT / 2, LIMIT);
}

/* Lost otherwise: with a full page cache, which is usual, nothing would be read ahead. */
TEST(test_page_cache_makes_room)
{
	if (outer[0] == '\0')
		skip();
	assert_in_range(available_in(outer, 96), LIMIT / 2, LIMIT);
}

/* Lost otherwise: what sessions read would be released though there is room for all. */
TEST(test_page_cache_is_not_unused)
{
	uint64_t	unused;

	assert_in_range(available__free_bytes(), 0, available__bytes() + 256 * MB);
	if (outer[0] == '\0')
		skip();
	unused = result_in(inner, available__free_bytes, 0);
	assert_in_range(unused, LIMIT / 2, LIMIT);
	assert_in_range(result_in(inner, available__free_bytes, 96), 0, LIMIT / 4);
}

UNIT_MAIN(make_cgroups, remove_cgroups, NULL, NULL)
