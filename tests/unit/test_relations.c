/*
 * test_relations.c
 *		Which relations have most blocks, while there are more of them than counts.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "engine/relations.h"
#include "unit.h"

static struct relations relations;

static int
begin(void **state)
{
	relations__begin(&relations);
	return 0;
}

static struct relpath_key
key_of(uint32_t rel)
{
	return (struct relpath_key)
	{
		.spc = RELPATH_DEFAULT_TABLESPACE,.db = 5,.rel = rel,.kind = REDOAHEAD_KIND_RELATION
	};
}

static void
add(uint32_t rel, uint32_t blocks)
{
	const struct relpath_key key = key_of(rel);

	relations__add(&relations, &key, blocks);
}

/* Lost otherwise: the first lines of the report's table, or their order. */
TEST(those_with_most_blocks_come_first)
{
	struct relation top[3];

	assert_int_equal(relations__top(&relations, top, 3), 0);
	for (uint32_t i = 0; i < 100; i++)
		for (uint32_t rel = 1; rel <= 10; rel++)
			add(rel, rel == 7 ? 100 : rel);
	assert_int_equal(relations__top(&relations, top, 0), 0);
	assert_int_equal(relations__top(&relations, top, 3), 3);
	assert_int_equal(top[0].rel, 7);
	assert_int_equal(top[0].blocks, 10000);
	assert_int_equal(top[1].rel, 10);
	assert_int_equal(top[2].rel, 9);
	assert_int_equal(top[2].blocks, 900);
	assert_int_equal(top[2].excess, 0);
	assert_int_equal(relations.total, 100 * (55 - 7 + 100));
}

/* Lost otherwise: a map's blocks among the table's, and one database's among another's. */
TEST(each_part_of_the_key_counts)
{
	struct relpath_key keys[6];
	struct relation top[8];

	for (int i = 0; i < 6; i++)
		keys[i] = key_of(1);
	keys[1].spc++;
	keys[2].db++;
	keys[3].rel++;
	keys[4].fork = REDOAHEAD_FORK_VM;
	keys[5] = (struct relpath_key) {.kind = REDOAHEAD_KIND_SLRU,.rel = 1};
	for (uint32_t i = 0; i < 6; i++)
		relations__add(&relations, &keys[i], 10 - i);
	/* All segments of a relation have one count. */
	keys[0].segment = 3;
	relations__add(&relations, &keys[0], 100);
	assert_int_equal(relations__top(&relations, top, 8), 6);
	assert_int_equal(top[0].blocks, 110);
	for (uint32_t i = 1; i < 6; i++)
	{
		assert_int_equal(top[i].blocks, 10 - i);
		assert_int_equal(top[i].spc, keys[i].spc);
		assert_int_equal(top[i].db, keys[i].db);
		assert_int_equal(top[i].rel, keys[i].rel);
		assert_int_equal(top[i].fork, keys[i].fork);
		assert_int_equal(top[i].kind, keys[i].kind);
	}
}

/* Lost otherwise: the large relations of a cluster that has many small ones. */
TEST(many_relations_do_not_displace_large_ones)
{
	struct relation top[20];
	uint64_t	sum = 0;

	for (uint32_t round = 0; round < 100; round++)
		for (uint32_t rel = 1; rel <= 20000; rel++)
			add(rel, rel <= 20 ? 2000 + rel * 100 : 1);
	assert_int_equal(relations__top(&relations, top, 20), 20);
	for (unsigned i = 0; i < 20; i++)
	{
		uint32_t	truth = (2000 + top[i].rel * 100) * 100;

		assert_int_equal(top[i].rel, 20 - i);
		assert_true(top[i].blocks >= truth);
		assert_true(top[i].blocks - top[i].excess <= truth);
	}
	for (int i = 0; i < RELATIONS_COUNTS; i++)
		sum += relations.counts[i].blocks;
	assert_int_equal(sum, relations.total);
}

/* Lost otherwise: relations of the recovery before. */
TEST(a_recovery_begins_with_nothing)
{
	struct relation top[1];

	add(1, 1);
	relations__begin(&relations);
	assert_int_equal(relations.total, 0);
	assert_int_equal(relations__top(&relations, top, 1), 0);
}

/* No judgement: the time is for whoever changes the counts. */
TEST(time_of_a_reference)
{
	static struct relpath_key keys[64];
	const int	rounds = 1000000;
	struct timespec from;
	struct timespec to;

	for (uint32_t i = 0; i < 64; i++)
		keys[i] = key_of(16384 + i * 3);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	for (int i = 0; i < rounds; i++)
		relations__add(&relations, &keys[i * 7 % 64], 1);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	print_message("# %.1f ns per call, 64 relations in turn\n",
				  ((double) (to.tv_sec - from.tv_sec) * 1e9 + (double) (to.tv_nsec - from.tv_nsec)) / rounds);
	assert_int_equal(relations.total, rounds);
}

UNIT_MAIN(NULL, NULL, begin, NULL)
