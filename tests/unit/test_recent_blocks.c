/*
 * test_recent_blocks.c
 *		The recent-block cache: which blocks it drops, and which it must not
 *		take for others.
 *
 * A block wrongly believed to be resident would not be read ahead; one that is
 * dropped is submitted twice.
 */
#include "unit.h"

#include "common/recent_blocks.h"

/* A different number each time. */
static uint64_t
next_number(void)
{
	static uint64_t state = UINT64_C(88172645463325252);

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static BlockKey
random_key(void)
{
	uint64_t	number = next_number();

	return block_key(1663, 5, 16384 + number % 3, (uint32_t) (number >> 32), 0, 0);
}

/* Enter a block for a record; was it known? */
static bool
enter(RecentBlocks *table, BlockKey key, uint64_t lsn)
{
	bool		found;
	RecentBlock *entry = recent_blocks__enter(table, &key, &found);

	assert_true(block_key_equal(&entry->key, &key));
	if (!found)
	{
		assert_int_equal(entry->lsn, 0);
		assert_int_equal(entry->buffer, 0);
	}
	entry->lsn = lsn;
	return found;
}

/* Is it there?  Changes nothing. */
static bool
holds(const RecentBlocks *table, const BlockKey *key)
{
	const RecentBlock *set = recent_blocks__set(table, key);

	for (int i = 0; i < RECENT_BLOCKS_WAYS; i++)
		if (set[i].lsn != 0 && block_key_equal(&set[i].key, key))
			return true;
	return false;
}

TEST(test_every_part_of_a_name_counts)
{
	const BlockKey names[] = {
		block_key(1, 2, 3, 4, 0, 0), block_key(9, 2, 3, 4, 0, 0), block_key(1, 9, 3, 4, 0, 0),
		block_key(1, 2, 9, 4, 0, 0), block_key(1, 2, 3, 9, 0, 0), block_key(1, 2, 3, 4, 1, 0),
		block_key(1, 2, 3, 4, 0, 1), block_key(2, 1, 3, 4, 0, 0), block_key(1, 2, 4, 3, 0, 0),
	};
	RecentBlocks	table;

	assert_true(recent_blocks__create(&table, 1000));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(enter(&table, names[i], i + 1));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_true(enter(&table, names[i], i + 1));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_true(holds(&table, &names[i]));
	recent_blocks__destroy(&table);
}

/* An entry without a record is free. */
TEST(test_an_entry_without_a_record_is_free)
{
	BlockKey		key = random_key();
	RecentBlocks	table;

	assert_true(recent_blocks__create(&table, 1));
	assert_false(enter(&table, key, 0));
	assert_false(enter(&table, key, 7));
	assert_true(enter(&table, key, 8));
	recent_blocks__destroy(&table);
}

#define MANY	4000

/* A full set drops the block whose record is oldest. */
TEST(test_the_oldest_is_dropped)
{
	static BlockKey keys[MANY];
	RecentBlocks	table;

	assert_true(recent_blocks__create(&table, 1));
	for (int i = 0; i < MANY; i++)
	{
		keys[i] = random_key();
		(void) enter(&table, keys[i], i + 1);
	}
	for (int i = 0; i < MANY; i++)
	{
		int			newer = 0;

		for (int j = i + 1; j < MANY; j++)
			newer += recent_blocks__set(&table, &keys[j]) == recent_blocks__set(&table, &keys[i]);
		assert_int_equal(holds(&table, &keys[i]), newer < RECENT_BLOCKS_WAYS);
	}
	recent_blocks__destroy(&table);
}

/* A table for so many blocks keeps nearly all of them, adjacent or scattered. */
TEST(test_it_holds_as_many_as_it_was_created_for)
{
	const uint32_t blocks = 100000;
	RecentBlocks	table;

	for (int scattered = 0; scattered < 2; scattered++)
	{
		BlockKey    *keys = malloc(blocks * sizeof(*keys));
		uint32_t	kept = 0;

		assert_non_null(keys);
		assert_true(recent_blocks__create(&table, blocks));
		for (uint32_t i = 0; i < blocks; i++)
		{
			keys[i] = scattered ? random_key() : block_key(1663, 5, 16384, i, 0, 0);
			(void) enter(&table, keys[i], i + 1);
		}
		for (uint32_t i = 0; i < blocks; i++)
			kept += holds(&table, &keys[i]);
		assert_in_range(kept, blocks / 100 * 97, blocks);
		free(keys);
		recent_blocks__destroy(&table);
	}
}

/* Lost otherwise: the bound of what `redoahead follow` takes for resident. */
TEST(test_it_has_less_than_four_times_the_entries)
{
	for (uint32_t blocks = 64; blocks < 3000000; blocks += blocks / 7 + 1)
	{
		RecentBlocks	table;
		uint64_t		entries;

		assert_true(recent_blocks__create(&table, blocks));
		entries = (uint64_t) table.nsets * RECENT_BLOCKS_WAYS;
		assert_true(entries >= (uint64_t) blocks * 2);
		assert_true(entries < (uint64_t) blocks * RECENT_BLOCKS_EXCESS);
		recent_blocks__destroy(&table);
	}
}

/* Adjacent blocks share a page of memory, and no set. */
TEST(test_adjacent_blocks_share_a_page)
{
	RecentBlocks	table;

	assert_true(recent_blocks__create(&table, 100000));
	for (uint32_t first = 0; first < 100 * RECENT_BLOCKS_NEIGHBORS; first += RECENT_BLOCKS_NEIGHBORS)
	{
		uintptr_t	page = 0;
		uint64_t	sets = 0;

		for (uint32_t i = 0; i < RECENT_BLOCKS_NEIGHBORS; i++)
		{
			BlockKey		key = block_key(1663, 5, 16384, first + i, 0, 0);
			uintptr_t	set = (uintptr_t) recent_blocks__set(&table, &key);

			assert_true(i == 0 || set / 4096 == page);
			page = set / 4096;
			sets |= UINT64_C(1) << set % 4096 / (RECENT_BLOCKS_WAYS * sizeof(RecentBlock));
		}
		assert_int_equal(sets, UINT32_MAX);
	}
	recent_blocks__destroy(&table);
}

UNIT_MAIN(NULL, NULL, NULL, NULL)
