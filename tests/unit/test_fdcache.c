/*
 * test_fdcache.c
 *		The descriptor cache.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/fdcache.h"
#include "unit.h"

#define FILES	10

static const struct relpath_layout layout = {
	.block_size = 8192,.segment_blocks = 131072,.tablespace_dir = "PG_18_1",
};

static char directory[] = "/tmp/redoahead-fdcache.XXXXXX";
static int	dirfd_of_cluster;

/* The cache of a test, and what it counts. */
static struct fdcache *cache;
static struct counters counters;

static int
make_files(void **state)
{
	char		path[64];

	if (mkdtemp(directory) == NULL)
		return -1;
	dirfd_of_cluster = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	mkdirat(dirfd_of_cluster, "base", 0700);
	mkdirat(dirfd_of_cluster, "base/5", 0700);
	for (int i = 1; i <= FILES; i++)
	{
		snprintf(path, sizeof(path), "base/5/%d", i);
		close(openat(dirfd_of_cluster, path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	}
	return mkfifoat(dirfd_of_cluster, "base/5/100", 0600);
}

static int
remove_files(void **state)
{
	char		command[128];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

static void
create(unsigned capacity)
{
	counters = (struct counters) {0};
	assert_int_equal(fdcache__create(&cache, dirfd_of_cluster, capacity), 0);
}

static int
destroy(void **state)
{
	fdcache__destroy(cache);
	return 0;
}

static int
try_pin(uint32_t rel, struct fdcache_file **file)
{
	struct relpath_key k = {.spc = 1663,.db = 5,.rel = rel};

	return fdcache__pin(cache, &k, &layout, file, &counters);
}

static struct fdcache_file *
pin(uint32_t rel)
{
	struct fdcache_file *file;

	assert_int_equal(try_pin(rel, &file), 0);
	return file;
}

TEST(test_bound_and_reuse)
{
	create(3);
	for (int round = 0; round < 5; round++)
		for (uint32_t rel = 1; rel <= FILES; rel++)
		{
			fdcache__unpin(pin(rel));
			assert_in_range(fdcache__open_files(cache), 1, 3);
		}
	assert_int_equal(counters.files_opened, 5 * FILES);
	assert_int_equal(counters.files_evicted, 5 * FILES - 3);
	fdcache__unpin(pin(FILES));
	assert_int_equal(counters.files_opened, 5 * FILES);
	fdcache__clear(cache);
	assert_int_equal(fdcache__open_files(cache), 0);
}

TEST(test_pinned_files_stay)
{
	struct fdcache_file *one;
	struct fdcache_file *two;
	struct fdcache_file *three;

	create(2);
	one = pin(1);
	two = pin(2);
	assert_int_equal(try_pin(3, &three), -EBUSY);
	fdcache__unpin(two);
	three = pin(3);
	assert_ptr_equal(pin(1), one);
	assert_int_equal(counters.files_opened, 3);
	fdcache__unpin(one);
	fdcache__unpin(one);
	fdcache__unpin(three);
}

/* Lost otherwise: blocks for which redo would wait, though a descriptor will be free soon. */
TEST(test_without_a_descriptor_a_block_waits)
{
	struct rlimit before;
	struct rlimit none;
	struct fdcache_file *one;
	struct fdcache_file *two;
	int			err;

	create(2);
	one = pin(1);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	err = try_pin(2, &two);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(err, -EBUSY);
	fdcache__unpin(one);
	fdcache__unpin(pin(2));
	/* If no file is open, there is nothing to wait for. */
	fdcache__clear(cache);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	err = try_pin(2, &two);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(err, -EMFILE);
}

TEST(test_missing_and_strange_files)
{
	struct fdcache_file *file;

	create(2);
	assert_int_equal(try_pin(99, &file), -ENOENT);
	assert_int_equal(try_pin(100, &file), -EACCES);
	assert_int_equal(fdcache__open_files(cache), 0);
}

/* Lost otherwise: all that is read ahead, on dm-crypt before Linux 6.5. */
TEST(test_reads_may_wait)
{
	struct fdcache_file *file;

	create(2);
	file = pin(1);
	assert_int_equal(fcntl(file->fd, F_GETFL) & O_NONBLOCK, 0);
	fdcache__unpin(file);
}

TEST(test_unlinked_files_are_swept)
{
	struct fdcache_file *file;
	uint64_t	now_us = 10000000;

	create(100);
	file = pin(1);
	fdcache__unpin(pin(2));
	assert_int_equal(unlinkat(dirfd_of_cluster, "base/5/1", 0), 0);

	/* Not while a request is in flight. */
	for (int i = 0; i < 110; i++)
		fdcache__sweep(cache, now_us += 10000, &counters);
	assert_int_equal(fdcache__open_files(cache), 2);
	fdcache__unpin(file);
	for (int i = 0; i < 110; i++)
		fdcache__sweep(cache, now_us += 10000, &counters);
	assert_int_equal(fdcache__open_files(cache), 1);
	assert_int_equal(counters.files_dropped, 1);
}

/* A file system may rename an open file instead of unlinking it. */
TEST(test_files_that_are_not_used_are_closed)
{
	struct fdcache_file *file;
	uint64_t	now_us = 10000000;

	create(100);
	file = pin(2);
	fdcache__unpin(pin(3));
	fdcache__unpin(pin(4));
	for (int i = 0; i < 299; i++)
		fdcache__sweep(cache, now_us += 1000000, &counters);
	assert_int_equal(fdcache__open_files(cache), 3);
	fdcache__unpin(pin(3));
	fdcache__sweep(cache, now_us += 1000000, &counters);
	assert_int_equal(fdcache__open_files(cache), 2);
	/* Not while a request is in flight. */
	for (int i = 0; i < 300; i++)
		fdcache__sweep(cache, now_us += 1000000, &counters);
	assert_int_equal(fdcache__open_files(cache), 1);
	fdcache__unpin(file);
	assert_int_equal(counters.files_evicted, 2);
	assert_int_equal(counters.files_dropped, 0);
}

UNIT_MAIN(make_files, remove_files, NULL, destroy)
