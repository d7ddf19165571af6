/*
 * test_engine.c
 *		What the engine asks a sink for: in which order, how much at a time, how
 *		far ahead, and that every block ends in one counter.
 *
 * The sink is a stand-in that reads nothing: it notes each request, and
 * completes as many as a test lets it.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "available.h"
#include "engine/engine_internal.h"

#define BLOCK_BYTES	8192
#define MAX_REQUESTS	4096

/* A request as the sink got it. */
struct asked
{
	uint32_t	block;			/* first block */
	uint32_t	blocks;			/* how many */
	uint32_t	token;			/* to complete it by */
};

static struct
{
	struct asked asked[MAX_REQUESTS];	/* all of them, in order */
	unsigned	count;			/* how many */
	unsigned	done;			/* completed */
	unsigned	allowed;		/* may be completed in the next flush */
	unsigned	in_flight;		/* blocks, now */
	unsigned	most;			/* blocks, ever */
	bool		no_cachestat;	/* can it not be told what is there? */
	unsigned	looks;			/* blocks looked for */
	bool		gone[MAX_REQUESTS]; /* block n has been evicted */
	unsigned	releases;		/* blocks let go of */
	bool		released[MAX_REQUESTS]; /* block n is one of them */
} fake;

static struct engine *engine;
static char directory[] = "/tmp/redoahead-test-engine.XXXXXX";
static int	dirfd_;

static int
fake_open(struct sink **sink, unsigned depth)
{
	(void) depth;
	memset(&fake, 0, sizeof(fake));
	fake.allowed = MAX_REQUESTS;
	*sink = (struct sink *) &fake;
	return 0;
}

static void
fake_set_depth(struct sink *sink, unsigned depth)
{
	(void) sink;
	(void) depth;
}

static int
fake_queue(struct sink *sink, int fd, uint64_t offset, uint32_t bytes, uint32_t token)
{
	(void) sink;
	(void) fd;
	assert_true(fake.count < MAX_REQUESTS);
	fake.asked[fake.count++] = (struct asked)
	{
		.block = (uint32_t) (offset / BLOCK_BYTES),.blocks = bytes / BLOCK_BYTES,.token = token
	};
	fake.in_flight += bytes / BLOCK_BYTES;
	if (fake.in_flight > fake.most)
		fake.most = fake.in_flight;
	return 0;
}

static int
fake_flush(struct sink *sink, unsigned want, unsigned wait_us, struct sink_completion *done)
{
	int			n = 0;

	(void) sink;
	(void) want;
	(void) wait_us;
	for (; fake.done < fake.count && fake.allowed > 0; fake.allowed--, fake.done++, n++)
	{
		const struct asked *request = &fake.asked[fake.done];

		done[n] = (struct sink_completion)
		{
			.token = request->token,.result = (int32_t) (request->blocks * BLOCK_BYTES)
		};
		fake.in_flight -= request->blocks;
	}
	return n;
}

static int
fake_finds(int fd, uint64_t offset, uint32_t bytes)
{
	unsigned	gone = 0;

	(void) fd;
	fake.looks++;
	if (fake.no_cachestat)
		return -ENOSYS;
	for (uint64_t block = offset / BLOCK_BYTES; block < (offset + bytes) / BLOCK_BYTES; block++)
		gone += block < MAX_REQUESTS && fake.gone[block];
	return gone == 0 ? PRESENT_ALL : gone < bytes / BLOCK_BYTES ? PRESENT_PART : PRESENT_NONE;
}

static bool
fake_release(int fd, uint64_t offset, uint32_t bytes)
{
	(void) fd;
	assert_int_equal(bytes, BLOCK_BYTES);
	assert_true(offset / BLOCK_BYTES < MAX_REQUESTS);
	fake.releases++;
	fake.released[offset / BLOCK_BYTES] = true;
	return offset / BLOCK_BYTES % 4 == 0;	/* others are dirty */
}

static void
fake_close(struct sink *sink)
{
	(void) sink;
}

static const struct sink_ops fake_sink = {
	.name = "fake",.open = fake_open,.set_depth = fake_set_depth,.queue = fake_queue,
	.flush = fake_flush,.finds = fake_finds,.release = fake_release,
	.close = fake_close
};

static void
start(unsigned depth, unsigned window)
{
	const struct engine_options options = {
		.sink = &fake_sink,.dirfd = dirfd_,.depth = depth,.start_depth = 256,.window = window,.start_window = window,.files = 16
	};
	const struct relpath_layout layout = {
		.block_size = BLOCK_BYTES,.segment_blocks = 131072,.wal_segment_bytes = 16 << 20,
		.tablespace_dir = "PG_18_202506291"
	};

	assert_int_equal(engine__create(&engine, &options), 0);
	engine__begin(engine, &layout);
}

static int
stop(void **state)
{
	(void) state;
	engine__destroy(engine);
	engine = NULL;
	return 0;
}

static void
offer(uint32_t block, uint64_t lsn)
{
	const struct redoahead_ref ref = {
		.lsn = lsn,.spc = RELPATH_DEFAULT_TABLESPACE,.db = 5,.rel = 100,.block = block
	};

	assert_true(engine__room(engine) > 0);
	engine__offer(engine, &ref, 1);
}

static void
run(uint64_t replay_lsn)
{
	assert_true(engine__run(engine, replay_lsn, 0, 0, 0) >= 0);
}

/* Every block that was offered is in one counter, once recovery is over. */
static void
finish_and_account(uint64_t offered)
{
	const struct counters *counters = engine__counters(engine);

	fake.allowed = MAX_REQUESTS;
	assert_int_equal(engine__end(engine), 0);
	assert_int_equal(counters->refs_taken, offered);
	assert_int_equal(counters->refs_duplicate + counters->blocks_read + counters->blocks_found +
					 counters->blocks_stale +
					 counters->blocks_abandoned + counters__failed(counters) +
					 counters__invalid(counters), offered);
	assert_int_equal(engine__in_flight(engine), 0);
	assert_int_equal(engine__waiting(engine), 0);
	assert_int_equal(engine__ahead(engine), 0);
	assert_int_equal(engine__open_files(engine), 0);
}

/* The place of a block in the order of requests. */
static unsigned
turn_of(uint32_t block)
{
	for (unsigned i = 0; i < fake.count; i++)
		if (block - fake.asked[i].block < fake.asked[i].blocks)
			return i;
	fail_msg("block %u was never asked for", block);
	return 0;
}

/* Lost otherwise: the speed of disks, which a sweep is for. */
static void
blocks_are_asked_for_in_the_order_of_the_disk(void **state)
{
	(void) state;
	start(256, 4096);
	for (uint32_t i = 0; i < 200; i++)
		offer((i * 7919) % 200 * 10, 1000 + i);
	run(1);
	/* the express lane is of eight */
	for (unsigned i = 9; i < fake.count; i++)
		assert_true(fake.asked[i].block > fake.asked[i - 1].block);
	for (uint32_t i = 0; i < 200; i++)
		(void) turn_of(i * 10);
	finish_and_account(200);
}

/* Lost otherwise: redo would wait for the block that it wants next. */
static void
what_redo_wants_next_goes_first(void **state)
{
	(void) state;
	start(256, 4096);
	for (uint32_t i = 0; i < 200; i++)
		offer((200 - i) * 10, 1000 + i);
	run(1);
	assert_int_equal(turn_of(2000), 0);
	assert_int_equal(turn_of(1990), 1);
	finish_and_account(200);
}

/*
 * Lost otherwise: a block that left shared buffers would be read by redo itself,
 * since the one who asks for it late would wait behind all that is read ahead.
 */
static void
what_is_asked_for_late_overtakes_what_is_read_ahead(void **state)
{
	(void) state;
	start(16, 4096);
	fake.allowed = 0;
	for (uint32_t i = 0; i < 2000; i++)
		offer(i * 10, 1000 + i);
	run(1);
	assert_true(fake.count <= 16);
	for (uint32_t i = 0; i < 10; i++)
		offer(50005 + 10 * i, 1100 + i);
	for (unsigned rounds = 0; rounds < 4; rounds++)
	{
		fake.allowed = 16;
		run(1);
	}
	for (uint32_t i = 0; i < 10; i++)
		assert_true(turn_of(50005 + 10 * i) < 48);
	assert_int_equal(engine__ahead(engine), fake.count);
	finish_and_account(2010);
}

/* Lost otherwise: blocks that nobody has asked for before would wait for ever. */
static void
many_late_ones_leave_room_for_the_others(void **state)
{
	uint64_t	lsn = 1000;

	(void) state;
	start(256, 1024);
	offer(0, lsn);
	for (uint32_t i = 0; i < 900; i++)
		offer(10000 + 10 * i, 500);
	for (uint32_t i = 1; i < 100; i++)
		offer(100000 - 10 * i, ++lsn);
	for (unsigned rounds = 0; rounds < 10; rounds++)
		run(1);
	/* More of them than the express lane of eight takes, and in the order of the disk. */
	assert_true(turn_of(100000 - 10 * 90) < turn_of(100000 - 10 * 80));
	assert_true(engine__ahead(engine) <= 1024);
	finish_and_account(1000);
}

/* Lost otherwise: what is read ahead would be evicted before redo comes to it. */
static void
no_more_is_ahead_than_the_window(void **state)
{
	uint32_t	offered = 0;

	(void) state;
	start(256, 512);
	for (; engine__room(engine) > 0; offered++)
		offer(offered * 10, 1000 + offered);
	for (unsigned rounds = 0; rounds < 10; rounds++)
		run(1);
	assert_int_equal(offered, 512);
	assert_int_equal(engine__ahead(engine), 512);
	/* Redo goes on, and so does reading. */
	run(1256);
	assert_int_equal(engine__ahead(engine), 256);
	assert_int_equal(engine__room(engine), 256);
	for (; engine__room(engine) > 0; offered++)
		offer(offered * 10, 1000 + offered);
	for (unsigned rounds = 0; rounds < 10; rounds++)
		run(1256);
	assert_int_equal(engine__ahead(engine), 512);
	finish_and_account(768);
}

/* Lost otherwise: a device would be flooded, and others wait for it. */
static void
no_more_is_in_flight_than_the_depth(void **state)
{
	(void) state;
	start(64, 4096);
	fake.allowed = 0;
	for (uint32_t i = 0; i < 1000; i++)
		offer(i, 1000 + i);
	for (unsigned rounds = 0; rounds < 10; rounds++)
		run(1);
	assert_true(fake.most <= 64);
	assert_true(fake.most > 48);
	finish_and_account(1000);
	assert_true(fake.most <= 64);
}

/* Lost otherwise: reads that nobody needs any more would take the disk from redo. */
static void
what_redo_has_come_to_is_not_read(void **state)
{
	(void) state;
	start(64, 4096);
	for (uint32_t i = 0; i < 100; i++)
		offer(i * 10, 1000 + i);
	run(1050);
	for (unsigned i = 0; i < fake.count; i++)
		assert_true(fake.asked[i].block >= 500);
	assert_int_equal(engine__counters(engine)->blocks_stale, 50);
	finish_and_account(100);
}

/* Lost otherwise: a block asked for twice in one sweep would be read twice. */
static void
neighbours_are_joined_and_the_same_is_read_once(void **state)
{
	(void) state;
	start(256, 4096);
	for (uint32_t i = 0; i < 20; i++)
		offer(10000 + i * 10, 1000 + i);		/* fill the express lane */
	for (uint32_t i = 0; i < 8; i++)
		offer(500 + i, 2000 + i);
	offer(503, 3000);
	run(1);
	assert_int_equal(turn_of(500), turn_of(507));
	assert_int_equal(engine__counters(engine)->refs_duplicate, 1);
	assert_int_equal(engine__counters(engine)->requests_joined, 1);
	finish_and_account(29);
}

static int
make_files(void **state)
{
	char		path[128];
	int			fd;

	(void) state;
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

	(void) state;
	close(dirfd_);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command);
}

/* Blocks 0 to count - 1 of LSN 1000 and up, all read. */
static void
read_all(unsigned count)
{
	for (uint32_t i = 0; i < count; i++)
		offer(i, 1000 + i);
	for (int i = 0; i < 100; i++)
	{
		fake.allowed = MAX_REQUESTS;
		run(1);
	}
	assert_int_equal(engine__counters(engine)->blocks_read, count);
}

/* Lost otherwise: redo would read on its own, block by block, what was evicted. */
static void
what_is_evicted_is_read_again_before_redo_comes(void **state)
{
	unsigned	before;

	(void) state;
	start(64, 4096);
	read_all(2000);
	before = fake.count;
	for (unsigned i = 0; i < 2000; i++)
		fake.gone[i] = i % 2 == 0;
	fake.allowed = MAX_REQUESTS;
	run(1100);
	for (int i = 0; i < 20; i++)
		run(1100);
	/* As far as redo will come soon, but not all of it. */
	for (unsigned i = 100; i < 300; i++)
	{
		unsigned	asked = 0;

		for (unsigned n = before; n < fake.count; n++)
			asked += fake.asked[n].block == i;
		assert_int_equal(asked > 0, fake.gone[i]);
	}
	assert_true(fake.count - before < 500);
	assert_int_equal(engine__counters(engine)->blocks_reread, fake.count - before);
	finish_and_account(2000);
}

/* Lost otherwise: CPU time, while nothing is evicted. */
static void
few_blocks_are_looked_for_while_all_are_there(void **state)
{
	(void) state;
	start(64, 4096);
	read_all(2000);
	for (uint64_t lsn = 1000; lsn < 3000; lsn += 10)
		run(lsn);
	assert_in_range(fake.looks, 20, 100);
	assert_int_equal(engine__counters(engine)->blocks_rechecked, fake.looks);
	assert_int_equal(engine__counters(engine)->blocks_reread, 0);
	finish_and_account(2000);
}

/* Lost otherwise: a system call for each block on kernels that know nothing of it. */
static void
where_nothing_tells_nothing_is_looked_for(void **state)
{
	(void) state;
	start(64, 4096);
	fake.no_cachestat = true;
	read_all(2000);
	for (uint64_t lsn = 1000; lsn < 3000; lsn += 10)
		run(lsn);
	assert_int_equal(fake.looks, 1);
	finish_and_account(2000);
}

/* As many rounds as it takes until all that was asked for is there, with redo at an LSN. */
static void
run_often(uint64_t replay_lsn, int rounds)
{
	for (int i = 0; i < rounds; i++)
	{
		fake.allowed = MAX_REQUESTS;
		run(replay_lsn);
	}
}

/* Start with a window that no memory is enough for, or skip the test. */
static void
start_short_of_memory(void)
{
	const unsigned window = 1 << 22;	/* 32 GB */

	if (available__bytes() / BLOCK_BYTES > window)
		skip();
	start(64, window);
	run(1);						/* now memory is known */
}

/*
 * Lost otherwise: memory, where it is short, for what the kernel reads ahead when it is
 * asked for a page that it was about to reclaim.
 */
static void
where_memory_is_short_what_is_there_is_not_asked_for(void **state)
{
	(void) state;
	start_short_of_memory();
	for (unsigned i = 0; i < 200; i++)
		fake.gone[i * 2] = i % 4 == 0;
	for (uint32_t i = 0; i < 200; i++)
		offer(i * 2, 1000 + i);		/* none joins another */
	run_often(1, 20);
	/* Maybe more than once, if redo seems to stand still. */
	assert_true(fake.count >= 50);
	for (unsigned n = 0; n < fake.count; n++)
		assert_true(fake.gone[fake.asked[n].block]);
	assert_int_equal(engine__counters(engine)->blocks_read, 50);
	assert_int_equal(engine__counters(engine)->blocks_found, 150);
	finish_and_account(200);
}

/* Where memory is short, read what is absent of 200 blocks, every fourth of which is there. */
static void
read_where_memory_is_short(void)
{
	start_short_of_memory();
	for (uint32_t i = 0; i < 200; i++)
	{
		fake.gone[i * 2] = i % 4 != 0;
		offer(i * 2, 1000 + i);
	}
	run_often(1, 20);
	memset(fake.gone, 0, sizeof(fake.gone));	/* all is there now */
}

/*
 * Lost otherwise: half of the page cache, where that is small, for what redo has in shared
 * buffers.  What it has not come to must stay, and what somebody else has brought.
 */
static void
where_memory_is_full_what_redo_has_used_is_let_go_of(void **state)
{
	(void) state;
	read_where_memory_is_short();
	engine->full = true;
	run(1);
	assert_int_equal(fake.releases, 0);
	/* As often as it takes: each time it may be for a moment only. */
	for (int i = 0; i < 100; i++)
	{
		engine->full = true;
		run(1000 + 104);
	}
	/* A little later only. */
	assert_int_equal(fake.releases, 30);
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(fake.released[i * 2], i < 40 && i % 4 != 0);
	assert_int_equal(engine__counters(engine)->blocks_released, 10);
	finish_and_account(200);
}

/* Lost otherwise: what sessions of a hot standby will read, though there is room for it. */
static void
while_memory_is_unused_nothing_is_let_go_of(void **state)
{
	(void) state;
	read_where_memory_is_short();
	engine->full = false;
	run(1000 + 200);
	assert_int_equal(fake.releases, 0);
	finish_and_account(200);
}

/* Lost otherwise: the same, on kernels that do not tell what was there before. */
static void
what_may_have_been_there_is_not_let_go_of(void **state)
{
	(void) state;
	start_short_of_memory();
	fake.no_cachestat = true;
	engine->full = true;
	for (uint32_t i = 0; i < 200; i++)
		offer(i * 2, 1000 + i);
	run_often(1, 20);
	run(1000 + 200);
	assert_int_equal(engine__counters(engine)->blocks_read, 200);
	assert_int_equal(fake.releases, 0);
	finish_and_account(200);
}

/* Lost otherwise: what somebody else has brought of blocks that are read at a time. */
static void
what_was_there_in_part_is_not_let_go_of(void **state)
{
	(void) state;
	start_short_of_memory();
	for (uint32_t i = 0; i < 100; i++)
		offer(2000 + i, 100);	/* for the express lane */
	for (uint32_t i = 0; i < 4; i++)
	{
		fake.gone[8 + i] = true;
		fake.gone[16 + i] = i != 2;
		offer(8 + i, 1000);
		offer(16 + i, 1000);
	}
	run_often(1, 20);
	for (uint32_t i = 0; i < 100; i++)
		offer(2000 + i, 3000);
	for (int i = 0; i < 100; i++)
	{
		engine->full = true;
		fake.allowed = MAX_REQUESTS;
		run(4000);
	}
	for (uint32_t i = 0; i < 4; i++)
	{
		assert_true(fake.released[8 + i]);
		assert_false(fake.released[16 + i]);
	}
	assert_int_equal(fake.releases, 4);
	finish_and_account(208);
}

static unsigned
times_asked(uint32_t block)
{
	unsigned	times = 0;

	for (unsigned n = 0; n < fake.count; n++)
		times += fake.asked[n].block == block;
	return times;
}

/* Lost otherwise: what is there but old leaves just before redo comes, which then reads it. */
static void
what_was_found_late_is_looked_for_again(void **state)
{
	(void) state;
	start_short_of_memory();
	for (uint32_t i = 0; i < 1024; i++)
	{
		fake.gone[2 * i] = true;
		offer(2 * i, 1000 + i);
	}
	offer(3, 1900);				/* late, there, and redo is far away */
	run_often(1, 100);
	assert_int_equal(engine__counters(engine)->blocks_found, 1);
	for (uint32_t i = 0; i < 1024; i++)
		fake.gone[2 * i] = false;
	fake.gone[3] = true;
	run(1500);
	assert_int_equal(times_asked(3), 0);
	for (uint64_t lsn = 1500; lsn < 1900; lsn++)
	{
		fake.allowed = MAX_REQUESTS;
		run(lsn);
	}
	assert_int_equal(times_asked(3), 1);
	finish_and_account(1025);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(blocks_are_asked_for_in_the_order_of_the_disk, stop),
		cmocka_unit_test_teardown(what_redo_wants_next_goes_first, stop),
		cmocka_unit_test_teardown(what_is_asked_for_late_overtakes_what_is_read_ahead, stop),
		cmocka_unit_test_teardown(many_late_ones_leave_room_for_the_others, stop),
		cmocka_unit_test_teardown(no_more_is_ahead_than_the_window, stop),
		cmocka_unit_test_teardown(no_more_is_in_flight_than_the_depth, stop),
		cmocka_unit_test_teardown(what_redo_has_come_to_is_not_read, stop),
		cmocka_unit_test_teardown(neighbours_are_joined_and_the_same_is_read_once, stop),
		cmocka_unit_test_teardown(what_is_evicted_is_read_again_before_redo_comes, stop),
		cmocka_unit_test_teardown(few_blocks_are_looked_for_while_all_are_there, stop),
		cmocka_unit_test_teardown(where_nothing_tells_nothing_is_looked_for, stop),
		cmocka_unit_test_teardown(where_memory_is_short_what_is_there_is_not_asked_for, stop),
		cmocka_unit_test_teardown(where_memory_is_full_what_redo_has_used_is_let_go_of, stop),
		cmocka_unit_test_teardown(while_memory_is_unused_nothing_is_let_go_of, stop),
		cmocka_unit_test_teardown(what_may_have_been_there_is_not_let_go_of, stop),
		cmocka_unit_test_teardown(what_was_there_in_part_is_not_let_go_of, stop),
		cmocka_unit_test_teardown(what_was_found_late_is_looked_for_again, stop),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
