/*
 * test_blocks.c
 *		What is known of single blocks, when there is no room for more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "trace/blocks.h"

#define SLOTS	1024

static struct blocks blocks;

/* Fill it with what may not be forgotten; returns how many fitted. */
static uint32_t
fill(void)
{
	struct block_state *state;
	uint32_t	count = 0;

	while ((state = blocks__add(&blocks, 1, count)) != NULL)
	{
		state->flags = BLOCK_AHEAD;
		count++;
	}
	return count;
}

/* Lost otherwise: a look for room for each block, which takes as long as a million blocks. */
static void
test_a_full_table_is_not_looked_through_for_each_block(void **state)
{
	uint32_t	count;
	unsigned	looks = 0;

	(void) state;
	assert_int_equal(blocks__create(&blocks, SLOTS), 0);
	count = fill();
	assert_in_range(count, SLOTS / 2, SLOTS * 3 / 4);
	for (uint32_t i = 0; i < SLOTS; i++)
	{
		uint64_t	refuse = blocks.refuse;

		assert_null(blocks__add(&blocks, 2, i));
		looks += blocks.refuse >= refuse;
	}
	assert_in_range(looks, 1, 32);
	assert_int_equal(blocks.forgotten, SLOTS + 1);
	for (uint32_t i = 0; i < count; i++)
		assert_non_null(blocks__find(&blocks, 1, i));
	blocks__destroy(&blocks);
}

/* Lost otherwise: all blocks after a moment in which there were too many. */
static void
test_what_gets_free_is_used_again(void **state)
{
	uint32_t	count;
	uint32_t	refused = 0;

	(void) state;
	assert_int_equal(blocks__create(&blocks, SLOTS), 0);
	count = fill();
	for (uint32_t i = 0; i < count; i++)
		blocks__find(&blocks, 1, i)->flags = 0;
	while (blocks__add(&blocks, 2, refused) == NULL)
		refused++;
	assert_in_range(refused, 0, SLOTS / 16);
	assert_null(blocks__find(&blocks, 1, 0));
	blocks__destroy(&blocks);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_full_table_is_not_looked_through_for_each_block),
		cmocka_unit_test(test_what_gets_free_is_used_again),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
