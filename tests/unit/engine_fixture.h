/*
 * engine_fixture.h
 *		An engine with a backend, a clock and memory that tests control.
 */
#ifndef REDOAHEAD_TEST_ENGINE_FIXTURE_H
#define REDOAHEAD_TEST_ENGINE_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/engine.h"
#include "unit.h"

#define BLOCK_BYTES	8192
#define MAX_REQUESTS	4096
#define ROUND_US	100		/* between two rounds */

/* A request as the backend received it. */
struct submitted
{
	uint32_t	block;			/* first block */
	uint32_t	blocks;			/* how many */
	uint32_t	token;			/* to complete it by */
};

static struct
{
	struct submitted submitted[MAX_REQUESTS];	/* all of them, in order */
	unsigned	count;			/* how many */
	unsigned	done;			/* completed */
	unsigned	allowed;		/* may be completed in the next flush */
	unsigned	in_flight;		/* blocks, now */
	unsigned	most;			/* blocks, ever */
	unsigned	refuse;			/* requests to refuse, as there is no room for them */
	unsigned	short_by;		/* blocks missing at the end of each request */
	unsigned	read_us;		/* time that completions take, us */
	int			broken;			/* error that flush returns, or 0 */
	bool		no_cachestat;	/* can residency not be checked? */
	unsigned	checks;			/* residency checks */
	bool		gone[MAX_REQUESTS]; /* block n has been evicted */
	unsigned	releases;		/* blocks released */
	bool		released[MAX_REQUESTS]; /* block n is one of them */
} fake;

static struct engine *engine;
static uint64_t fake_now_us = 1000000;
static uint64_t fake_available = UINT64_MAX;
static uint64_t fake_free = UINT64_MAX;
static char directory[] = "/tmp/redoahead-test-engine.XXXXXX";
static int	dirfd_;

static int
fake_open(struct backend **backend, unsigned depth)
{
	memset(&fake, 0, sizeof(fake));
	fake.allowed = MAX_REQUESTS;
	*backend = (struct backend *) &fake;
	return 0;
}

static int
fake_queue(struct backend *backend, int fd, uint64_t offset, uint32_t bytes, uint32_t token)
{
	assert_true(fake.count < MAX_REQUESTS);
	if (fake.refuse > 0)
	{
		fake.refuse--;
		return -EAGAIN;
	}
	fake.submitted[fake.count++] = (struct submitted)
	{
		.block = (uint32_t) (offset / BLOCK_BYTES),.blocks = bytes / BLOCK_BYTES,.token = token
	};
	fake.in_flight += bytes / BLOCK_BYTES;
	if (fake.in_flight > fake.most)
		fake.most = fake.in_flight;
	return 0;
}

static int
fake_flush(struct backend *backend, unsigned want, unsigned wait_us, struct backend_completion *done)
{
	int			n = 0;

	fake_now_us += wait_us;
	if (fake.broken < 0)
		return fake.broken;
	for (; fake.done < fake.count && fake.allowed > 0; fake.allowed--, fake.done++, n++)
	{
		const struct submitted *request = &fake.submitted[fake.done];

		done[n] = (struct backend_completion)
		{
			.token = request->token,.result = (int32_t) ((request->blocks - fake.short_by) * BLOCK_BYTES)
		};
		fake.in_flight -= request->blocks;
	}
	if (n > 0)
		fake_now_us += fake.read_us;
	return n;
}

static int
fake_residency(int fd, uint64_t offset, uint32_t bytes)
{
	unsigned	gone = 0;

	fake.checks++;
	if (fake.no_cachestat)
		return -ENOSYS;
	for (uint64_t block = offset / BLOCK_BYTES; block < (offset + bytes) / BLOCK_BYTES; block++)
		gone += block < MAX_REQUESTS && fake.gone[block];
	return gone == 0 ? RESIDENT_ALL : gone < bytes / BLOCK_BYTES ? RESIDENT_PART : RESIDENT_NONE;
}

static bool
fake_release(int fd, uint64_t offset, uint32_t bytes)
{
	assert_int_equal(bytes, BLOCK_BYTES);
	assert_true(offset / BLOCK_BYTES < MAX_REQUESTS);
	fake.releases++;
	fake.released[offset / BLOCK_BYTES] = true;
	return offset / BLOCK_BYTES % 4 == 0;	/* others are dirty */
}

static void
fake_close(struct backend *backend)
{
}

static const struct backend_ops fake_backend = {
	.name = "fake",.open = fake_open,.adaptive = true,.queue = fake_queue,
	.flush = fake_flush,.residency = fake_residency,.release = fake_release,
	.close = fake_close
};

static uint64_t
now_us(void)
{
	return fake_now_us;
}

static uint64_t
available_bytes(void)
{
	return fake_available;
}

static uint64_t
free_bytes(void)
{
	return fake_free;
}

static void
start(unsigned depth, unsigned readahead_limit)
{
	const struct engine_options options = {
		.release_used = true,
		.environment = {now_us, available_bytes, free_bytes},
		.backend = &fake_backend,.dirfd = dirfd_,.io_depth = depth,.readahead_limit = readahead_limit,.files = 16
	};
	const struct relpath_layout layout = {
		.block_size = BLOCK_BYTES,.segment_blocks = 131072,.wal_segment_bytes = 16 << 20,
		.tablespace_dir = "PG_18_202506291"
	};

	assert_int_equal(engine__create(&engine, &options), 0);
	engine__begin(engine, &layout, true);
}

static int
stop(void **state)
{
	fake_available = fake_free = UINT64_MAX;
	engine__destroy(engine);
	engine = NULL;
	return 0;
}

static inline void
offer(uint32_t block, uint64_t lsn)
{
	const struct redoahead_ref ref = {
		.lsn = lsn,.spc = RELPATH_DEFAULT_TABLESPACE,.db = 5,.rel = 100,.block = block
	};

	assert_true(engine__room(engine) > 0);
	engine__offer(engine, &ref, 1);
}

static inline void
run(uint64_t replay_lsn)
{
	fake_now_us += ROUND_US;
	assert_true(engine__run(engine, replay_lsn, 0, 0, 0) >= 0);
}

static inline void
run_rounds(unsigned rounds, uint64_t replay_lsn)
{
	while (rounds-- > 0)
		run(replay_lsn);
}

/* Every block that was offered is in one counter, once recovery is over. */
static void
finish_and_account(uint64_t offered)
{
	const struct counters *counters = engine__counters(engine);

	fake.allowed = MAX_REQUESTS;
	assert_int_equal(engine__end(engine), 0);
	assert_int_equal(counters->refs_taken, offered);
	assert_int_equal(counters->refs_duplicate + counters->blocks_read + counters->blocks_resident +
					 counters->blocks_stale +
					 counters->blocks_abandoned + counters__failed(counters) +
					 counters__invalid(counters), offered);
	assert_int_equal(engine__relations(engine)->total, counters->blocks_requested);
	assert_int_equal(engine__state(engine).in_flight, 0);
	assert_int_equal(engine__state(engine).queued, 0);
	assert_int_equal(engine__state(engine).ahead, 0);
	assert_int_equal(engine__state(engine).open_files, 0);
}

static int
make_files(void **state)
{
	char		path[128];
	int			fd;

	if (mkdtemp(directory) == NULL)
		return -1;
	dirfd_ = open(directory, O_RDONLY | O_DIRECTORY);
	snprintf(path, sizeof(path), "%s/base", directory);
	mkdir(path, 0700);
	strcat(path, "/5");
	mkdir(path, 0700);
	strcat(path, "/100");
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	if (dirfd_ < 0 || fd < 0 || ftruncate(fd, 1 << 30) < 0)
		return -1;
	return close(fd);
}

static int
remove_files(void **state)
{
	char		command[128];

	close(dirfd_);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command);
}

#endif							/* REDOAHEAD_TEST_ENGINE_FIXTURE_H */
