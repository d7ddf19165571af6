/*
 * test_needed_blocks.c
 *		Which blocks does redo of a record read from files that exist?
 *
 * Records are made by hand, one each 100 bytes of WAL.  That the rules agree with those
 * of the patched server is shown by tests/bats/prefault.bats.
 */
#include <string.h>

#include "unit.h"

#include "wal/needed_blocks.h"

#define SPC		1663
#define DB		5
#define REL		16384

/* A resource manager whose records read what they name and nothing else. */
#define RMGR_BTREE	11

/* Distance of records, bytes. */
#define STEP	100

static struct needed_blocks needed;
static struct wal_record record;
static unsigned char data[64];
static struct redoahead_ref out[NEEDED_BLOCKS_MAX];
static int major;

/* Where redo is; 0: there is none. */
static uint64_t replay_lsn;

static int
set_up(void **state)
{
	memset(&record, 0, sizeof(record));
	replay_lsn = 0;
	major = 18;
	return needed_blocks__create(&needed, 8192, false, 10000);
}

static int
tear_down(void **state)
{
	needed_blocks__destroy(&needed);
	return 0;
}

/* Begin the next record.  Returns its LSN. */
static uint64_t
begin(uint8_t rmid, uint8_t info)
{
	record = (struct wal_record) {
		.format = wal_format__of_major(major),.lsn = record.lsn + STEP,.rmid = rmid,
		.info = info,.data = data,
	};
	return record.lsn;
}

static struct wal_block *
name_block(uint32_t db, uint32_t rel, uint8_t fork, uint32_t block)
{
	struct wal_block *named = &record.blocks[record.block_count];

	*named = (struct wal_block) {
		.spc = SPC,.db = db,.rel = rel,.fork = fork,.block = block,
		.id = (uint8_t) record.block_count,
	};
	record.block_count++;
	return named;
}

/* How many blocks redo of the record reads. */
static unsigned
needs(void)
{
	return needed_blocks__of_record(&needed, &record, replay_lsn, out);
}

/* How many blocks redo of a record of an index that names this block reads. */
static unsigned
reads(uint32_t db, uint32_t rel, uint32_t block)
{
	begin(RMGR_BTREE, 0);
	name_block(db, rel, REDOAHEAD_FORK_MAIN, block);
	return needs();
}

/* A record whose main data is numbers of 32 bits.  Returns its LSN. */
static uint64_t
add_record(uint8_t rmid, uint8_t info, unsigned count, const uint32_t *numbers)
{
	uint64_t	lsn = begin(rmid, info);

	memset(data, 0, sizeof(data));
	memcpy(data, numbers, count * sizeof(*numbers));
	record.data_len = count * (uint32_t) sizeof(*numbers);
	assert_int_equal(needs(), 0);
	return lsn;
}

#define ADD_RECORD(rmid, info, ...) \
	add_record(rmid, info, sizeof((uint32_t[]) {__VA_ARGS__}) / sizeof(uint32_t), \
			   (const uint32_t[]) {__VA_ARGS__})

static uint64_t
create(uint32_t rel, uint8_t fork)
{
	return ADD_RECORD(WAL_RMGR_SMGR, 0x10, SPC, DB, rel, fork);
}

/* Truncation of the main fork only, so that no maps are read. */
static uint64_t
truncate_to(uint32_t blocks)
{
	return ADD_RECORD(WAL_RMGR_SMGR, 0x20, blocks, SPC, DB, REL, 1);
}

/* Lost otherwise: tries to read blocks of files that do not exist. */
TEST(test_a_created_relation_is_not_read)
{
	assert_int_equal(reads(DB, REL, 1), 1);
	create(REL, REDOAHEAD_FORK_MAIN);
	assert_int_equal(reads(DB, REL, 0), 0);
	assert_int_equal(reads(DB, REL, 70), 0);
	assert_int_equal(reads(DB, REL + 1, 0), 1);
	assert_int_equal(reads(DB + 1, REL, 0), 1);
	/* Another fork of it is not, either. */
	begin(RMGR_BTREE, 0);
	name_block(DB, REL, REDOAHEAD_FORK_FSM, 2);
	assert_int_equal(needs(), 0);
}

/* An initialization fork is created beside the relation, which exists. */
TEST(test_creation_of_another_fork_filters_nothing)
{
	create(REL, REDOAHEAD_FORK_INIT);
	assert_int_equal(reads(DB, REL, 0), 1);
}

TEST(test_a_truncated_relation_is_read_up_to_its_end)
{
	truncate_to(50);
	assert_int_equal(reads(DB, REL, 49), 1);
	assert_int_equal(reads(DB, REL, 50), 0);
	/* Extended again, and truncated less: the blocks are new all the same. */
	truncate_to(80);
	assert_int_equal(reads(DB, REL, 60), 0);
	assert_int_equal(reads(DB, REL, 90), 0);
	truncate_to(10);
	assert_int_equal(reads(DB, REL, 9), 1);
	assert_int_equal(reads(DB, REL, 11), 0);
	/* Other forks have other ends. */
	begin(RMGR_BTREE, 0);
	name_block(DB, REL, REDOAHEAD_FORK_VM, 11);
	assert_int_equal(needs(), 1);
}

/* Lost otherwise: prefetching of a relation whose visibility map was rebuilt. */
TEST(test_truncation_of_the_visibility_map_filters_nothing)
{
	ADD_RECORD(WAL_RMGR_SMGR, 0x20, 0, SPC, DB, REL, 2);
	assert_int_equal(reads(DB, REL, 60), 1);
}

/* Lost otherwise: map pages that truncation itself reads, and only those. */
TEST(test_maps_of_a_filtered_block)
{
	const uint32_t truncation[] = {50, SPC, DB, REL, 7};

	/* The maps were not truncated the first time, and have the same pages before and after. */
	truncate_to(80);
	begin(WAL_RMGR_SMGR, 0x20);
	memcpy(data, truncation, sizeof(truncation));
	record.data_len = sizeof(truncation);
	assert_int_equal(needs(), 4);

	/* An insertion implies a page of the free space map; this one is far away. */
	memset(data, 0, sizeof(data));
	begin(WAL_RMGR_HEAP, WAL_HEAP_INSERT);
	record.data_len = 3;
	name_block(DB, REL, REDOAHEAD_FORK_MAIN, 10 * 4069);
	assert_int_equal(needs(), 0);
	begin(WAL_RMGR_HEAP, WAL_HEAP_INSERT);
	record.data_len = 3;
	name_block(DB, REL + 1, REDOAHEAD_FORK_MAIN, 10 * 4069);
	assert_int_equal(needs(), 2);

	/* Truncation of a relation that WAL has created reads nothing that exists. */
	create(REL + 2, REDOAHEAD_FORK_MAIN);
	ADD_RECORD(WAL_RMGR_SMGR, 0x20, 50, SPC, DB, REL + 2, 7);
}

/* What a filtered block's record leaves in memory is not read after the filter's end. */
TEST(test_redo_has_a_filtered_block_afterwards)
{
	uint64_t	lsn = create(REL, REDOAHEAD_FORK_MAIN);

	begin(RMGR_BTREE, 0);
	name_block(DB, REL, REDOAHEAD_FORK_MAIN, 3)->will_init = true;
	assert_int_equal(needs(), 0);
	assert_int_equal(reads(DB, REL, 4), 0);
	replay_lsn = lsn + 1;
	assert_int_equal(reads(DB, REL, 3), 0);
	assert_int_equal(reads(DB, REL, 4), 0);
	assert_int_equal(reads(DB, REL, 5), 1);
}

TEST(test_a_filter_ends_when_redo_has_passed)
{
	uint64_t	created = create(REL, REDOAHEAD_FORK_MAIN);
	uint64_t	other = create(REL + 1, REDOAHEAD_FORK_MAIN);
	uint64_t	truncated;

	/* It is being replayed, which is not enough. */
	replay_lsn = created;
	assert_int_equal(reads(DB, REL, 0), 0);
	truncated = truncate_to(20);
	/* Truncation prolongs the first filter, from its first block on. */
	replay_lsn = truncated;
	assert_true(other < truncated);
	assert_int_equal(reads(DB, REL, 1), 0);
	assert_int_equal(reads(DB, REL + 1, 0), 1);
	replay_lsn = truncated + STEP;
	assert_int_equal(reads(DB, REL, 2), 1);
	assert_int_equal(reads(DB, REL, 30), 1);
	/* What redo has passed already when it is decoded needs no filter. */
	replay_lsn = record.lsn + 10 * STEP;
	truncate_to(20);
	assert_int_equal(reads(DB, REL, 40), 1);
}

/* Parts of WAL may be read in any order: what comes later is no reason. */
TEST(test_a_filter_is_for_later_records)
{
	record.lsn = 100 * STEP;
	truncate_to(20);
	assert_int_equal(reads(DB, REL, 30), 0);
	record.lsn = 50 * STEP;
	assert_int_equal(reads(DB, REL, 31), 1);
}

/* Lost otherwise: a database of which no record creates the relations. */
TEST(test_a_database_that_is_copied_or_dropped)
{
	static const struct
	{
		int			major;
		uint8_t		info;
		bool		filtered;
	}			cases[] = {
		{13, 0x00, true}, {14, 0x00, true}, {15, 0x00, true}, {18, 0x00, true},
		/* Dropped. */
		{13, 0x10, true}, {14, 0x10, true}, {15, 0x20, true}, {18, 0x20, true},
		/* Created block by block. */
		{15, 0x10, false}, {18, 0x10, false},
		/* No such record. */
		{14, 0x20, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		uint32_t	db = DB + 1 + (uint32_t) i;
		uint64_t	lsn;

		major = cases[i].major;
		lsn = ADD_RECORD(WAL_RMGR_DBASE, cases[i].info, db, SPC, 1, SPC);
		if (reads(db, REL, 0) != !cases[i].filtered || reads(DB, REL, (uint32_t) i) != 1)
			fail_msg("case %zu", i);
		replay_lsn = lsn + STEP;
		assert_int_equal(reads(db, REL, 1), 1);
		replay_lsn = 0;
	}
}

/* The same numbers in the records of an old major. */
TEST(test_relations_of_major_14)
{
	major = 14;
	create(REL + 1, REDOAHEAD_FORK_MAIN);
	truncate_to(50);
	assert_int_equal(reads(DB, REL + 1, 0), 0);
	assert_int_equal(reads(DB, REL, 50), 0);
	assert_int_equal(reads(DB, REL, 49), 1);
}

/*
 * Lost otherwise: blocks of an archive without images, which redo reads; and reads in vain of
 * blocks that a record names only for backup tools.
 */
TEST(test_images_that_redo_does_not_restore)
{
	struct wal_block *block;

	/* Redo changes the page by the record's data; restores it; and changes what it has. */
	begin(RMGR_BTREE, 0);
	name_block(DB, REL, REDOAHEAD_FORK_MAIN, 1)->has_image = true;
	assert_int_equal(needs(), 1);
	begin(RMGR_BTREE, 0);
	block = name_block(DB, REL, REDOAHEAD_FORK_MAIN, 2);
	block->has_image = block->restored = true;
	assert_int_equal(needs(), 0);
	assert_int_equal(reads(DB, REL, 2), 0);

	/* A hint without an image, or with one that is not restored, leaves it for the next record. */
	begin(WAL_RMGR_XLOG, WAL_XLOG_FPI_FOR_HINT);
	name_block(DB, REL, REDOAHEAD_FORK_MAIN, 4);
	assert_int_equal(needs(), 0);
	assert_int_equal(reads(DB, REL, 4), 1);
	begin(WAL_RMGR_XLOG, WAL_XLOG_FPI_FOR_HINT | 0x04);
	name_block(DB, REL, REDOAHEAD_FORK_MAIN, 5)->has_image = true;
	assert_int_equal(needs(), 0);
	assert_int_equal(reads(DB, REL, 5), 1);
	begin(WAL_RMGR_XLOG, WAL_XLOG_FPI_FOR_HINT);
	block = name_block(DB, REL, REDOAHEAD_FORK_MAIN, 6);
	block->has_image = block->restored = true;
	assert_int_equal(needs(), 0);
	assert_int_equal(reads(DB, REL, 6), 0);
}

/* Lost otherwise: the process, by a record that is too short. */
TEST(test_records_that_end_early)
{
	ADD_RECORD(WAL_RMGR_SMGR, 0x10, SPC, DB, REL);
	ADD_RECORD(WAL_RMGR_SMGR, 0x20, 0, SPC, DB, REL);
	ADD_RECORD(WAL_RMGR_DBASE, 0x00, DB);
	begin(WAL_RMGR_DBASE, 0x20);
	record.data = NULL;
	assert_int_equal(needs(), 0);
	assert_int_equal(reads(DB, REL, 0), 1);
}

/* A full table drops its oldest filter, and never grows. */
TEST(test_a_full_table)
{
	uint64_t	last;

	create(REL, REDOAHEAD_FORK_MAIN);
	create(REL + 1, REDOAHEAD_FORK_MAIN);
	for (uint32_t i = 2; i < FILTERS_MAX; i++)
		create(REL + i, REDOAHEAD_FORK_MAIN);
	assert_int_equal(reads(DB, REL, 0), 0);
	/* Now the second one is the oldest. */
	truncate_to(50);
	last = create(REL + FILTERS_MAX, REDOAHEAD_FORK_MAIN);
	assert_int_equal(reads(DB, REL, 1), 0);
	assert_int_equal(reads(DB, REL + 1, 0), 1);
	assert_int_equal(reads(DB, REL + 2, 0), 0);
	for (uint32_t i = 0; i < 2 * FILTERS_MAX; i++)
		create(REL + FILTERS_MAX + i, REDOAHEAD_FORK_MAIN);
	assert_int_equal(needed.filters.numbers.count, FILTERS_MAX);
	assert_int_equal(reads(DB, REL, 2), 1);
	replay_lsn = last + STEP;
	assert_int_equal(reads(DB, REL + 3 * FILTERS_MAX - 1, 0), 0);
	/* When all have ended, there is room again. */
	replay_lsn = record.lsn + STEP;
	assert_int_equal(reads(DB, REL + 3 * FILTERS_MAX - 1, 1), 1);
	assert_int_equal(needed.filters.numbers.count, 0);
	replay_lsn = 0;
	for (uint32_t i = 0; i < FILTERS_MAX; i++)
		create(REL + i, REDOAHEAD_FORK_MAIN);
	assert_int_equal(needed.filters.numbers.count, FILTERS_MAX);
	assert_int_equal(needed.filters.used, FILTERS_MAX);
	assert_int_equal(reads(DB, REL, 3), 0);
}

UNIT_MAIN(NULL, NULL, set_up, tear_down)
