/*
 * test_classify.c
 *		Which class, source and cause a block gets from what was seen of it.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/classify.h"
#include "unit.h"

#define STARTUP		4711		/* process id of the startup process */
#define HEAP		1			/* number of base/5/16384 */
#define HEAP1		5			/* of its second segment */
#define SEGMENT		131072		/* blocks in a segment */
#define WAL			2			/* of a WAL segment */
#define XACT		3			/* of pg_xact/0000 */
#define OTHER		4			/* of a file that is none of the cluster */

static struct files *files;
static struct classify classify;
static struct tally tally;

/* A file gets a number. */
static void
number_file(uint32_t number, const char *name, const char *directory, const char *above)
{
	struct trace_file event = {.type = TRACE_EVENT_FILE,.named = 1,.file = number};

	strcpy(event.names[0], name);
	strcpy(event.names[1], directory);
	strcpy(event.names[2], above);
	classify__event(&classify, &event, sizeof(event));
}

static int
begin(void **state)
{
	memset(&tally, 0, sizeof(tally));
	assert_int_equal(files__create(&files, "/nonexistent", SEGMENT), 0);
	assert_int_equal(classify__create(&classify, files, 8192, 1024), 0);
	classify.tally = &tally;
	classify.startup = STARTUP;
	classify.daemon = CLASSIFY_DAEMON_FOLLOWED;
	classify.references_complete = true;
	classify.now_ns = 2000;
	tally__begin(&tally, 1000);
	number_file(HEAP, "16384", "5", "base");
	number_file(HEAP1, "16384.1", "5", "base");
	number_file(WAL, "000000010000000000000001", "elsewhere", "mnt");
	number_file(XACT, "0000", "pg_xact", "data");
	number_file(OTHER, "pg_control.old", "lib", "usr");
	return 0;
}

static int
end(void **state)
{
	classify__destroy(&classify);
	files__destroy(files);
	tally__destroy(&tally);
	return 0;
}

static void
pages(uint8_t type, uint8_t who, uint32_t file, uint32_t block, uint32_t blocks)
{
	struct trace_pages event = {.type = type,.who = who,.file = file,.block = block,
		.blocks = (uint16_t) blocks,.pid = STARTUP
	};

	classify__event(&classify, &event, sizeof(event));
}

static void
inserted(uint8_t who, uint32_t block)
{
	pages(TRACE_EVENT_INSERT, who, HEAP, block, 1);
}

static void
deleted(uint8_t who, uint32_t block)
{
	pages(TRACE_EVENT_DELETE, who, HEAP, block, 1);
}

/* Redo reads bytes from a block on. */
static void
read_from(uint32_t file, uint32_t block, uint32_t bytes, uint64_t missed, uint8_t flags)
{
	struct trace_read event = {
		.type = TRACE_EVENT_READ,.flags = flags,.file = file,.block = block,.bytes = bytes,
		.pid = STARTUP,.missed = missed,.at_ns = 2000,.wait_ns = 300,.rmid = 10,.lsn = 0x1234,
	};

	classify__event(&classify, &event, sizeof(event));
}

static void
found(uint32_t block)
{
	read_from(HEAP, block, 8192, 0, 0);
}

static void
waited(uint32_t block)
{
	read_from(HEAP, block, 8192, 0, TRACE_READ_SLEPT);
}

static void
missed(uint32_t block)
{
	read_from(HEAP, block, 8192, 1, TRACE_READ_SLEPT);
}

static void
referenced(uint32_t block)
{
	struct relpath_key key;

	assert_int_equal(relpath__parse("base/5/16384", &key), 0);
	classify__reference(&classify, &key, block);
}

static void
expect_classes(uint64_t timely, uint64_t late, uint64_t miss)
{
	assert_int_equal(tally__read(&tally, TALLY_TIMELY), timely);
	assert_int_equal(tally__read(&tally, TALLY_LATE), late);
	assert_int_equal(tally__read(&tally, TALLY_MISSED), miss);
}

/* So many of the blocks that were missed have this cause. */
static void
expect_causes(uint64_t count, enum tally_cause cause)
{
	assert_int_equal(tally.missed[cause], count);
}

/* Lost otherwise: the difference between a reference that is late and one that there never was. */
TEST(test_references_read_before_a_read_are_not_all)
{
	classify.now_ns = 1999;
	missed(5);
	expect_causes(1, TALLY_UNKNOWN);
}

/* Lost otherwise: the difference between a block in time and one that redo waited for. */
TEST(test_classes)
{
	inserted(TRACE_WHO_DAEMON, 1);
	found(1);
	inserted(TRACE_WHO_DAEMON, 2);
	waited(2);
	missed(3);
	expect_classes(1, 1, 1);
	assert_int_equal(tally.blocks[TALLY_TIMELY][TALLY_DAEMON], 1);
	assert_int_equal(tally.blocks[TALLY_LATE][TALLY_DAEMON], 1);
	assert_int_equal(tally.prefetchers[TALLY_DAEMON].used, 2);
	assert_int_equal(tally.wait_ns[TALLY_LATE], 300);
	assert_int_equal(tally.calls[TALLY_MISSED], 1);
	assert_int_equal(tally.bytes, 3 * 8192);
}

/* Lost otherwise: who deserves the credit, the daemon, the server, or nobody. */
TEST(test_sources)
{
	inserted(TRACE_WHO_SERVER, 1);
	inserted(TRACE_WHO_READAHEAD, 2);
	found(1);
	found(2);
	found(3);
	found(1);					/* evicted from shared buffers, and read again */
	assert_int_equal(tally.blocks[TALLY_TIMELY][TALLY_SERVER], 1);
	assert_int_equal(tally.blocks[TALLY_TIMELY][TALLY_READAHEAD], 1);
	assert_int_equal(tally.blocks[TALLY_TIMELY][TALLY_CACHED], 2);
	assert_int_equal(tally__prefetched(&tally).prefetched, 1);
}

/* Lost otherwise: what sessions did before their server crashed, counted as redo's. */
TEST(test_other_processes)
{
	classify.startup = STARTUP + 1;
	inserted(TRACE_WHO_SERVER, 1);
	inserted(TRACE_WHO_READAHEAD, 2);
	found(1);
	inserted(TRACE_WHO_DAEMON, 3);
	expect_classes(0, 0, 0);
	assert_int_equal(tally.prefetchers[TALLY_SERVER].prefetched, 0);
	assert_int_equal(tally.prefetchers[TALLY_READAHEAD].prefetched, 0);
	assert_int_equal(tally.prefetchers[TALLY_DAEMON].prefetched, 1);
}

/* Lost otherwise: the timeline of reads without a time, and histograms of those that were. */
TEST(test_reads_without_time)
{
	struct trace_read event = {
		.type = TRACE_EVENT_READ,.file = HEAP,.block = 1,.bytes = 8192,.pid = STARTUP,
	};

	classify.now_ns = 1000 + 3 * TALLY_FIRST_SAMPLE;
	classify__event(&classify, &event, sizeof(event));
	expect_classes(1, 0, 0);
	assert_int_equal(tally.samples[3].read[TALLY_TIMELY], 1);
	for (int i = 0; i < TRACE_SLOTS; i++)
		assert_int_equal(tally.wait_slots[TALLY_TIMELY][i], 0);
}

/* Lost otherwise: that a block of two pages counts once. */
TEST(test_pages_of_a_block)
{
	inserted(TRACE_WHO_DAEMON, 1);
	inserted(TRACE_WHO_DAEMON, 1);
	assert_int_equal(tally.prefetchers[TALLY_DAEMON].prefetched, 1);
	assert_int_equal(classify.pending[TALLY_DAEMON], 1);
	deleted(TRACE_WHO_OTHER, 1);
	deleted(TRACE_WHO_OTHER, 1);
	assert_int_equal(tally__wasted(&tally.prefetchers[TALLY_DAEMON]), 1);
	assert_int_equal(classify.pending[TALLY_DAEMON], 0);
	pages(TRACE_EVENT_INSERT, TRACE_WHO_DAEMON, HEAP, 8, 4);	/* a large folio */
	assert_int_equal(classify.pending[TALLY_DAEMON], 4);
}

/* Lost otherwise: what became of blocks that redo never read. */
TEST(test_waste)
{
	const struct tally_prefetcher *daemon = &tally.prefetchers[TALLY_DAEMON];

	for (uint32_t block = 1; block <= 4; block++)
		inserted(TRACE_WHO_DAEMON, block);
	deleted(TRACE_WHO_OTHER, 1);
	deleted(TRACE_WHO_STARTUP, 2);
	found(3);
	deleted(TRACE_WHO_OTHER, 3);	/* after use: no waste */
	deleted(TRACE_WHO_OTHER, 99);	/* not ours */
	assert_int_equal(classify.pending[TALLY_DAEMON], 1);
	classify__end(&classify);
	assert_int_equal(daemon->prefetched, 4);
	assert_int_equal(daemon->used, 1);
	assert_int_equal(daemon->wasted[TALLY_WASTE_EVICTED], 1);
	assert_int_equal(daemon->wasted[TALLY_WASTE_DROPPED], 1);
	assert_int_equal(daemon->wasted[TALLY_WASTE_UNREAD], 1);
	assert_int_equal(classify.pending[TALLY_DAEMON], 0);
	assert_int_equal(tally.rows[0].wasted, 3);
}

/* Lost otherwise: which part of the system to fix. */
TEST(test_causes)
{
	missed(1);
	expect_causes(1, TALLY_NOT_REFERENCED);
	referenced(2);
	missed(2);
	expect_causes(1, TALLY_NOT_READ);
	classify.daemon = CLASSIFY_DAEMON_NONE;
	missed(3);
	expect_causes(1, TALLY_NO_DAEMON);
}

/* Lost otherwise: that no cause is invented where none is certain. */
TEST(test_cause_unknown)
{
	classify.references_complete = false;
	missed(1);
	classify.daemon = CLASSIFY_DAEMON_UNKNOWN;
	classify.references_complete = true;
	missed(2);
	expect_causes(2, TALLY_UNKNOWN);
}

/* Lost otherwise: that memory is too small. */
TEST(test_cause_evicted)
{
	referenced(1);
	inserted(TRACE_WHO_DAEMON, 1);
	deleted(TRACE_WHO_OTHER, 1);
	missed(1);
	expect_causes(1, TALLY_EVICTED);
	/* A prefetched block that is missed was evicted, even if that was not reported. */
	inserted(TRACE_WHO_DAEMON, 2);
	missed(2);
	expect_causes(2, TALLY_EVICTED);
	assert_int_equal(tally.prefetchers[TALLY_DAEMON].used, 0);
	assert_int_equal(tally__wasted(&tally.prefetchers[TALLY_DAEMON]), 2);
	/* The kernel's readahead is no prefetching. */
	inserted(TRACE_WHO_READAHEAD, 3);
	deleted(TRACE_WHO_OTHER, 3);
	missed(3);
	expect_causes(1, TALLY_NOT_REFERENCED);
	assert_int_equal(tally.prefetchers[TALLY_READAHEAD].wasted[TALLY_WASTE_EVICTED], 1);
}

/* A block that was evicted and read ahead once more is in time again. */
TEST(test_again_after_eviction)
{
	inserted(TRACE_WHO_DAEMON, 1);
	deleted(TRACE_WHO_OTHER, 1);
	inserted(TRACE_WHO_DAEMON, 1);
	found(1);
	expect_classes(1, 0, 0);
	assert_int_equal(tally.prefetchers[TALLY_DAEMON].prefetched, 2);
	assert_int_equal(tally.prefetchers[TALLY_DAEMON].used, 1);
	assert_int_equal(tally__wasted(&tally.prefetchers[TALLY_DAEMON]), 1);
}

/* Lost otherwise: a call for several blocks, of which only some were there. */
TEST(test_several_blocks)
{
	inserted(TRACE_WHO_DAEMON, 10);
	read_from(HEAP, 10, 3 * 8192, 0x6, TRACE_READ_SLEPT);
	expect_classes(1, 0, 2);
	assert_int_equal(tally.calls[TALLY_MISSED], 1);
	assert_int_equal(tally.calls[TALLY_TIMELY], 0);
	read_from(HEAP, 100, 70 * 8192, 0, 0);	/* more than the event has bits */
	expect_classes(71, 0, 2);
}

/* Lost otherwise: WAL counts as blocks, or is not counted at all. */
TEST(test_wal)
{
	read_from(WAL, 0, 8192, 0, 0);
	read_from(WAL, 1, 8192, 0, TRACE_READ_SLEPT);
	read_from(WAL, 2, 8192, 1, TRACE_READ_SLEPT);
	pages(TRACE_EVENT_INSERT, TRACE_WHO_DAEMON, WAL, 3, 1);
	expect_classes(0, 0, 0);
	assert_int_equal(tally.wal_calls[TALLY_TIMELY], 1);
	assert_int_equal(tally.wal_calls[TALLY_LATE], 1);
	assert_int_equal(tally.wal_calls[TALLY_MISSED], 1);
	assert_int_equal(tally.wal_bytes, 3 * 8192);
	assert_int_equal(tally__prefetched(&tally).prefetched, 0);
}

/* Lost otherwise: rows by relation, SLRU and resource manager. */
TEST(test_rows)
{
	char		path[RELPATH_BYTES];

	read_from(HEAP, 1, 8192, 0, TRACE_READ_RECORD);
	read_from(XACT, 0, 8192, 1, 0);
	assert_int_equal(files__row_count(files), 2);
	files__row_path(files, 0, path);
	assert_string_equal(path, "base/5/16384");
	files__row_path(files, 1, path);
	assert_string_equal(path, "pg_xact");
	assert_int_equal(tally.rows[0].read[TALLY_TIMELY], 1);
	assert_int_equal(tally.rows[1].read[TALLY_MISSED], 1);
	assert_int_equal(tally.rmgrs[10].read[TALLY_TIMELY], 1);
	assert_int_equal(tally.no_rmgr.read[TALLY_MISSED], 1);
	assert_int_equal(tally.replay_lsn, 0x1234);
}

/* Lost otherwise: which block of a relation of several gigabytes it is. */
TEST(test_segments)
{
	referenced(SEGMENT + 3);
	read_from(HEAP1, 3, 8192, 1, 0);
	expect_causes(1, TALLY_NOT_READ);
	assert_int_equal(files__row_count(files), 2);	/* and pg_xact */
}

/* Lost otherwise: what other processes do, or nonsense, gets into the numbers. */
TEST(test_strangers)
{
	struct trace_read event = {.type = TRACE_EVENT_READ,.file = HEAP,.bytes = 8192,.pid = STARTUP + 1};
	uint8_t		nonsense[3] = {TRACE_EVENT_READ, 0, 0};

	classify__event(&classify, &event, sizeof(event));
	classify__event(&classify, nonsense, sizeof(nonsense));
	classify__event(&classify, nonsense, 0);
	read_from(OTHER, 0, 8192, 0, 0);
	read_from(77, 0, 8192, 0, 0);	/* a file that was lost */
	pages(TRACE_EVENT_INSERT, 200, HEAP, 1, 1);
	pages(TRACE_EVENT_INSERT, TRACE_WHO_DAEMON, OTHER, 1, 1);
	expect_classes(0, 0, 0);
	assert_int_equal(tally__prefetched(&tally).prefetched, 0);
}

/* Lost otherwise: a trace's memory, which must not grow without bound. */
TEST(test_bounded_memory)
{
	for (uint32_t block = 0; block < 10000; block++)
		inserted(TRACE_WHO_DAEMON, block);
	assert_int_equal(classify.blocks.slot_count, 1024);
	assert_int_equal(classify.lost_blocks, 10000 - 1024 * 3 / 4);
	assert_int_equal(classify.pending[TALLY_DAEMON], 1024 * 3 / 4);
	/* What was read or removed leaves room. */
	found(0);
	deleted(TRACE_WHO_STARTUP, 1);
	inserted(TRACE_WHO_DAEMON, 20000);
	inserted(TRACE_WHO_DAEMON, 20001);
	found(20000);
	assert_int_equal(tally.blocks[TALLY_TIMELY][TALLY_DAEMON], 2);
	assert_int_equal(classify.lost_blocks, 10000 - 1024 * 3 / 4);
}

UNIT_MAIN(NULL, NULL, begin, end)
