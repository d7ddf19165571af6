/*
 * test_engine.c
 *		What the engine submits: in which order, how much at a time, how far ahead,
 *		and that every block ends in one counter.
 */
#include "engine_fixture.h"

/* The position of a block in the order of requests. */
static unsigned
turn_of(uint32_t block)
{
	for (unsigned i = 0; i < fake.count; i++)
		if (block - fake.submitted[i].block < fake.submitted[i].blocks)
			return i;
	fail_msg("block %u was never submitted", block);
	return 0;
}

/* Lost otherwise: the speed of disks, which a sweep is for. */
TEST(blocks_are_submitted_in_the_order_of_the_disk)
{
	start(256, 4096);
	for (uint32_t i = 0; i < 200; i++)
		offer((i * 7919) % 200 * 10, 1000 + i);
	run(1);
	/* after the eight that redo needs next */
	for (unsigned i = 9; i < fake.count; i++)
		assert_true(fake.submitted[i].block > fake.submitted[i - 1].block);
	for (uint32_t i = 0; i < 200; i++)
		(void) turn_of(i * 10);
	finish_and_account(200);
}

/* Lost otherwise: redo would wait for the block that it needs next. */
TEST(what_redo_needs_next_goes_first)
{
	start(256, 4096);
	for (uint32_t i = 0; i < 200; i++)
		offer((200 - i) * 10, 1000 + i);
	run(1);
	assert_int_equal(turn_of(2000), 0);
	assert_int_equal(turn_of(1990), 1);
	finish_and_account(200);
}

/* A server may emit a block late. */
TEST(blocks_out_of_order_are_counted_and_read)
{
	start(256, 4096);
	for (uint32_t i = 0; i < 100; i++)
		offer(i * 10, 1000 + i);
	for (uint32_t i = 0; i < 10; i++)
		offer(50005 + 10 * i, 1050 + i);
	run(1000);
	for (uint32_t i = 0; i < 10; i++)
		(void) turn_of(50005 + 10 * i);
	assert_int_equal(engine__counters(engine)->refs_out_of_order, 10);
	finish_and_account(110);
}

/* Lost otherwise: what is read ahead would be evicted before redo comes to it. */
TEST(no_more_is_ahead_than_the_readahead_limit)
{
	uint32_t	offered = 0;

	/* The queue has room for more. */
	start(256, 300);
	for (; engine__room(engine) > 0; offered++)
		offer(offered * 10, 1000 + offered);
	run_rounds(10, 1);
	assert_int_equal(offered, 512);
	assert_int_equal(engine__state(engine).ahead, 300);
	/* Redo proceeds, and so does reading. */
	run(1256);
	assert_int_equal(engine__state(engine).ahead, 256);
	assert_int_equal(engine__room(engine), 256);
	for (; engine__room(engine) > 0; offered++)
		offer(offered * 10, 1000 + offered);
	run_rounds(10, 1256);
	assert_int_equal(engine__state(engine).ahead, 300);
	finish_and_account(768);
}

/* Lost otherwise: queries, to a burst of reads as large as the read-ahead limit. */
TEST(beside_queries_reading_ahead_follows_redo)
{
	start(4096, 4096);
	for (uint32_t i = 0; i < 4096; i++)
		offer(i * 10, 1000 + i);
	engine__share(engine, true);
	run_rounds(1000, 1);
	assert_in_range(fake.most, CONTROL_PACED_MIN, CONTROL_PACED_MAX);
	assert_int_equal(engine__state(engine).ahead, CONTROL_PACED_READAHEAD);
	/* Twice what redo has reached. */
	run_rounds(1000, 1500);
	assert_int_equal(fake.count, CONTROL_PACED_READAHEAD + 1000);
	finish_and_account(4096);
}

/* Lost otherwise: queries, where cached blocks hide how long those that are not take. */
TEST(beside_queries_reads_of_a_device_bound_the_depth)
{
	const struct
	{
		unsigned	one_us;		/* a read in ten takes so long */
		unsigned	others_us;	/* all others */
		unsigned	least;		/* most blocks in flight, */
		unsigned	most;		/* between these */
	}			cases[] = {{10000, 100, CONTROL_PACED_MIN, CONTROL_PACED_MIN},
	{1000, 300, 12, CONTROL_PACED_MAX}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		start(64, 8192);
		for (uint32_t block = 0; block < 4000; block++)
			offer(block * 10, 1000 + block);
		engine__share(engine, true);
		for (unsigned rounds = 0; rounds < 1400; rounds++)
		{
			fake.read_us = rounds % 10 == 0 ? cases[i].one_us : cases[i].others_us;
			run(1000 + rounds);
		}
		assert_in_range(fake.most, cases[i].least, cases[i].most);
		finish_and_account(4000);
		stop(NULL);
	}
}

/* Lost otherwise: an array would get its blocks as they come, a few in each sweep. */
TEST(a_sweep_waits_for_more_blocks_while_enough_are_ahead)
{
	start(256, 65536);
	for (uint32_t i = 0; i < 6000; i++)
		offer(i, 1000 + i);
	run_rounds(40, 1);
	assert_int_equal(engine__state(engine).ahead, 6000);
	for (uint32_t i = 6000; i < 6200; i++)
		offer(i, 1000 + i);
	run(1);
	assert_true(engine__state(engine).gathers);
	assert_int_equal(engine__state(engine).ahead, 6000);
	/* No more come. */
	fake_now_us += 200000;
	run_rounds(10, 1);
	assert_false(engine__state(engine).gathers);
	assert_int_equal(engine__state(engine).queued, 0);
	/* Redo comes near. */
	for (uint32_t i = 6200; i < 6400; i++)
		offer(i, 1000 + i);
	run(1);
	assert_true(engine__state(engine).gathers);
	run_rounds(10, 1000 + 2400);
	assert_false(engine__state(engine).gathers);
	assert_int_equal(engine__state(engine).queued, 0);
	/* Many come. */
	for (uint32_t i = 6400; i < 13000; i++)
		offer(i, 1000 + i);
	run_rounds(60, 1000 + 2400);
	assert_int_equal(engine__state(engine).queued, 0);
	finish_and_account(13000);
}

/* Where little may be read ahead, redo is near at any time. */
TEST(a_sweep_does_not_wait_where_the_limit_is_small)
{
	start(64, 1024);
	for (uint32_t i = 0; i < 600; i++)
		offer(i, 1000 + i);
	run_rounds(40, 1);
	offer(600, 1600);
	run(1);
	assert_false(engine__state(engine).gathers);
	assert_int_equal(engine__state(engine).ahead, 601);
	finish_and_account(601);
}

/*
 * Offer every third block to a device that completes one request in each round, until all
 * are submitted.
 */
static void
read_from_volume(uint32_t blocks)
{
	for (uint32_t i = 0; i < blocks; i++)
		offer(i * 3, 1000 + i);
	for (unsigned rounds = 0; engine__state(engine).queued > 0 && rounds < 100000; rounds++)
	{
		fake.allowed = 1;
		run(1);
	}
}

/* Lost otherwise: a cloud volume, whose requests are counted, would be as slow as with stock. */
TEST(gaps_are_read_where_requests_are_limited)
{
	const struct counters *counters;

	start(64, 8192);
	counters = engine__counters(engine);
	read_from_volume(4000);
	assert_in_range(engine__control(engine)->settled_gap, CONTROL_FIRST_GAP, CONTROL_MAX_GAP);
	assert_int_equal(fake.submitted[fake.count - 2].blocks, 16);
	assert_true(fake.most <= 64);
	finish_and_account(4000);
	assert_int_equal(counters->blocks_read, 4000);
	assert_in_range(counters->gap_blocks_read, 4000, 8000);
	assert_in_range(counters->requests, 4000 / 6, 2500);
}

/* A request that ends early has read the blocks before its end, and the gaps between them. */
TEST(a_request_with_gaps_that_is_short)
{
	const struct counters *counters;
	uint64_t	gap_blocks;
	unsigned	before;

	start(64, 8192);
	counters = engine__counters(engine);
	read_from_volume(3000);
	fake.allowed = MAX_REQUESTS;
	run(1);
	before = fake.count;
	gap_blocks = counters->gap_blocks_read;
	fake.short_by = 1;
	for (uint32_t i = 0; i < 600; i++)
		offer(20000 + i * 3, 5000 + i);
	for (unsigned rounds = 0; rounds < 1000; rounds++)
	{
		fake.allowed = 1;
		run(1);
	}
	finish_and_account(3600);
	/* The last block of each of the requests. */
	assert_true(counters->gap_blocks_read > gap_blocks);
	assert_int_equal(counters->blocks_failed[FAIL_BEYOND_EOF], fake.count - before);
}

/* Lost otherwise: memory, to gaps, that redo's blocks need. */
TEST(gaps_are_bounded_by_memory)
{
	start(64, 8192);
	fake_available = UINT64_C(16) * BLOCK_BYTES * 8192;
	read_from_volume(4000);
	assert_true(engine__control(engine)->settled_gap > 0);
	/* 8192 blocks fit, and some 4000 are ahead. */
	assert_true(fake.submitted[fake.count - 2].blocks >= 16);
	for (uint32_t i = 0; i < 200; i++)
		offer(20000 + i * 5, 5000 + i);
	for (unsigned rounds = 0; rounds < 300; rounds++)
	{
		fake.allowed = 1;
		run(1);
	}
	assert_int_equal(fake.submitted[fake.count - 1].blocks, 1);
	/* Less of it bounds the read-ahead limit. */
	fake_available /= 2;
	run_rounds(10000, 1);
	assert_int_equal(engine__control(engine)->settled_gap, 0);
	finish_and_account(4200);
}

/* Lost otherwise: a device would be flooded, and others wait for it. */
TEST(no_more_is_in_flight_than_the_depth)
{
	start(64, 4096);
	fake.allowed = 0;
	for (uint32_t i = 0; i < 1000; i++)
		offer(i, 1000 + i);
	run_rounds(10, 1);
	assert_true(fake.most <= 64);
	assert_true(fake.most > 48);
	finish_and_account(1000);
	assert_true(fake.most <= 64);
}

/* Lost otherwise: reads that nobody needs any more would take the disk from redo. */
TEST(what_redo_has_reached_is_not_read)
{
	start(64, 4096);
	for (uint32_t i = 0; i < 100; i++)
		offer(i * 10, 1000 + i);
	run(1050);
	for (unsigned i = 0; i < fake.count; i++)
		assert_true(fake.submitted[i].block >= 500);
	assert_int_equal(engine__counters(engine)->blocks_stale, 50);
	finish_and_account(100);
}

/* Lost otherwise: a block named twice in one sweep would be read twice. */
TEST(neighbours_are_joined_and_the_same_is_read_once)
{
	start(256, 4096);
	for (uint32_t i = 0; i < 20; i++)
		offer(10000 + i * 10, 1000 + i);		/* those that redo needs next */
	for (uint32_t i = 0; i < 8; i++)
		offer(500 + i, 2000 + i);
	offer(503, 3000);
	run(1);
	assert_int_equal(turn_of(500), turn_of(507));
	assert_int_equal(engine__counters(engine)->refs_duplicate, 1);
	assert_int_equal(engine__counters(engine)->requests_joined, 1);
	finish_and_account(29);
}

/* Lost otherwise: a daemon that goes on as if it read. */
TEST(a_broken_backend_is_reported)
{
	start(64, 4096);
	offer(1, 1000);
	fake.broken = -EIO;
	fake_now_us += ROUND_US;
	assert_int_equal(engine__run(engine, 1, 0, 0, 0), -EIO);
	assert_int_equal(engine__end(engine), -EIO);
	assert_int_equal(engine__counters(engine)->blocks_abandoned, 1);
}

/* Lost otherwise: a daemon that never serves the next recovery. */
TEST(reads_that_do_not_complete_are_given_up)
{
	uint64_t	begin_us = fake_now_us;

	start(64, 4096);
	offer(1, 1000);
	fake.allowed = 0;
	run(1);
	assert_int_equal(engine__state(engine).in_flight, 1);
	assert_int_equal(engine__end(engine), -ETIMEDOUT);
	assert_int_equal(engine__counters(engine)->blocks_abandoned, 1);
	assert_in_range(fake_now_us - begin_us, 500000, 2000000);
}

/* Lost otherwise: blocks, under memory pressure. */
TEST(refused_requests_are_submitted_again)
{
	start(64, 4096);
	for (uint32_t i = 0; i < 10; i++)
		offer(i * 10, 1000 + i);
	fake.refuse = 7;
	for (int i = 0; i < 10; i++)
		run(1);
	assert_int_equal(fake.refuse, 0);
	assert_int_equal(engine__counters(engine)->blocks_read, 10);
	finish_and_account(10);
}

/* The file system has less than the WAL names: dropped and truncated relations. */
TEST(missing_blocks_are_counted_by_reason)
{
	const struct redoahead_ref missing = {
		.lsn = 2000,.spc = RELPATH_DEFAULT_TABLESPACE,.db = 5,.rel = 101,.block = 7
	};
	const struct redoahead_ref invalid = {.lsn = 2000,.kind = 77};

	start(64, 4096);
	engine__offer(engine, &missing, 1);
	engine__offer(engine, &invalid, 1);
	for (uint32_t i = 0; i < 20; i++)
		offer(10000 + i * 10, 1000 + i);	/* those that redo needs next */
	run(1);
	fake.short_by = 1;
	for (uint32_t i = 0; i < 8; i++)
		offer(500 + i, 3000 + i);
	run(1);
	run(1);
	assert_int_equal(engine__counters(engine)->blocks_failed[FAIL_MISSING_FILE], 1);
	assert_int_equal(engine__counters(engine)->refs_invalid[INVALID_KIND], 1);
	assert_true(engine__counters(engine)->blocks_failed[FAIL_BEYOND_EOF] >= 1);
	finish_and_account(30);
}

/* Lost otherwise: in the report, relations of the recovery before. */
TEST(each_recovery_counts_its_relations_anew)
{
	const struct relpath_layout layout = {.block_size = BLOCK_BYTES,.segment_blocks = 131072};
	struct relation top[2];

	start(256, 4096);
	for (int recovery = 0; recovery < 2; recovery++)
	{
		engine__begin(engine, &layout, true);
		for (uint32_t i = 0; i < 10; i++)
			offer(10 * i, 1000 + i);
		run(1);
		finish_and_account(10);
		assert_int_equal(relations__top(engine__relations(engine), top, 2), 1);
		assert_int_equal(top[0].rel, 100);
		assert_int_equal(top[0].blocks, 10);
	}
}

UNIT_MAIN(make_files, remove_files, NULL, stop)
