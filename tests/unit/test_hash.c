/*
 * test_hash.c
 *		The hash table, while it grows, is full, and loses entries.
 */
#include "base/hash.h"
#include "unit.h"

#define SLOTS	4096

struct entry
{
	uint32_t	key[2];			/* what it is found by */
	uint32_t	value;			/* something to keep */
};

static struct hash hash;

static struct entry *
add(uint32_t number)
{
	const uint32_t key[2] = {number / 100, number % 100};
	struct entry *entry = hash__add(&hash, key);

	if (entry != NULL)
		entry->value = number;
	return entry;
}

static struct entry *
find(uint32_t number)
{
	const uint32_t key[2] = {number / 100, number % 100};

	return hash__find(&hash, key);
}

static int
begin(void **state)
{
	return hash__create(&hash, sizeof(struct entry), sizeof(uint32_t[2]), SLOTS);
}

static int
end(void **state)
{
	hash__destroy(&hash);
	return 0;
}

/* Lost otherwise: entries of a table that grows, and the bound of its memory. */
TEST(test_grows_up_to_its_bound)
{
	uint32_t	count = 0;

	while (add(count) != NULL)
		count++;
	assert_int_equal(count, SLOTS * 3 / 4);
	assert_int_equal(hash.slot_count, SLOTS);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(find(i)->value, i);
	assert_null(find(count));
	/* An entry that exists needs no room. */
	assert_non_null(add(0));
	assert_int_equal(hash.count, count);
}

/* Lost otherwise: entries behind a removed one, and the room that it frees. */
TEST(test_removal)
{
	uint32_t	left = 0;

	for (uint32_t i = 0; i < SLOTS * 3 / 4; i++)
		assert_non_null(add(i));
	for (uint32_t i = 0; i < SLOTS * 3 / 4; i++)
		if (i % 3 != 0)
			hash__remove(&hash, find(i));
	for (uint32_t i = 0; i < SLOTS * 3 / 4; i++)
	{
		assert_int_equal(find(i) != NULL, i % 3 == 0);
		assert_true(i % 3 != 0 || find(i)->value == i);
	}
	for (struct entry *each = hash__next(&hash, NULL); each != NULL; each = hash__next(&hash, each))
	{
		assert_int_equal(each->value % 3, 0);
		left++;
	}
	assert_int_equal(left, SLOTS / 4);
	assert_int_equal(hash.count, left);
	assert_non_null(add(SLOTS));
}

UNIT_MAIN(NULL, NULL, begin, end)
