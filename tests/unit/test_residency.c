/*
 * test_residency.c
 *		The residency of a file that is read and evicted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/residency.h"
#include "engine/backend.h"
#include "unit.h"

#define BYTES	65536

static char path[] = "/var/tmp/redoahead-test-residency.XXXXXX";
static int	fd;

static int
make_file(void **state)
{
	static char zeroes[BYTES];

	fd = mkstemp(path);
	if (fd < 0 || write(fd, zeroes, BYTES) != BYTES || fsync(fd) < 0)
		return -1;
	return posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
}

static int
remove_file(void **state)
{
	close(fd);
	return unlink(path);
}

/* Skips where the kernel knows no cachestat, or the file system evicts nothing. */
static void
evict(void)
{
	if (residency__of(fd, 0, 1) == -ENOSYS)
	{
		printf("# the kernel knows no cachestat\n");
		skip();
	}
	assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	if (residency__of(fd, 0, 8192) != 0)
	{
		printf("# the file system of %s evicts nothing\n", path);
		skip();
	}
}

/* Lost otherwise: blocks would count as resident of which redo must read one half. */
TEST(all_pages_of_a_range_must_be_resident)
{
	char		byte;

	evict();
	assert_int_equal(pread(fd, &byte, 1, 8192), 1);
	assert_int_equal(residency__of(fd, 8192, 4096), RESIDENT_ALL);
	assert_int_equal(residency__of(fd, 8192, 8192), RESIDENT_PART);
	assert_int_equal(pread(fd, &byte, 1, 12288), 1);
	assert_int_equal(residency__of(fd, 8192, 8192), RESIDENT_ALL);
	assert_int_equal(residency__of(fd, 8192 + 4095, 2), RESIDENT_ALL);
	assert_int_equal(residency__of(fd, 4096, 8192), RESIDENT_PART);
	assert_int_equal(residency__of(fd, 0, 0), RESIDENT_ALL);
}

/* Lost otherwise: memory that is released, or what is next to it. */
TEST(a_released_range_is_evicted_and_nothing_else)
{
	char		bytes[16384];

	evict();
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	assert_false(residency__release(fd, 4096, 0));
	assert_int_equal(residency__of(fd, 0, 16384), RESIDENT_ALL);
	assert_true(residency__release(fd, 4096, 8192));
	assert_int_equal(residency__of(fd, 0, 4096), RESIDENT_ALL);
	assert_int_equal(residency__of(fd, 4096, 4096), RESIDENT_NONE);
	assert_int_equal(residency__of(fd, 8192, 4096), RESIDENT_NONE);
	assert_int_equal(residency__of(fd, 12288, 4096), RESIDENT_ALL);
	assert_false(residency__release(fd, 4096, 8192));
	assert_false(residency__release(-1, 4096, 8192));

	/* What is not on disk yet stays. */
	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
	assert_false(residency__release(fd, 0, 8192));
	assert_int_equal(residency__of(fd, 0, 4096), RESIDENT_ALL);
	assert_int_equal(fsync(fd), 0);
}

/* Lost otherwise: a check would read what nobody wants any more. */
TEST(checking_reads_nothing)
{
	evict();
	assert_int_equal(residency__of(fd, 16384, 8192), RESIDENT_NONE);
	assert_int_equal(residency__of(fd, 16384, 8192), RESIDENT_NONE);
}

TEST(what_is_no_file_is_an_error)
{
	assert_true(residency__of(-1, 0, 8192) < 0);
}

UNIT_MAIN(make_file, remove_file, NULL, NULL)
