/*
 * test_plan.c
 *		Filtering, ordering and joining of references.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/plan.h"

#define ROOM	2000

static const struct relpath_layout layout = {
	.block_size = 8192,.segment_blocks = 1000,.tablespace_dir = "PG_18_1",
};

static struct redoahead_ref
ref(uint32_t rel, uint32_t block, uint64_t lsn)
{
	return (struct redoahead_ref) {.spc = 1663,.db = 5,.rel = rel,.block = block,.lsn = lsn};
}

static void
test_orders_and_joins(void **state)
{
	struct redoahead_ref refs[] = {
		ref(2, 7, 10), ref(1, 5, 11), ref(1, 3, 12), ref(1, 4, 13), ref(1, 999, 14), ref(1, 1000, 15),
	};
	struct plan_run runs[6];
	struct counters counters = {0};

	(void) state;
	assert_int_equal(plan__build(refs, 6, &layout, 0, 16, runs, &counters), 4);
	assert_int_equal(runs[0].block, 3);
	assert_int_equal(runs[0].blocks, 3);
	assert_int_equal(runs[0].lsn, 13);
	assert_int_equal(runs[1].block, 999);	/* not joined across segments */
	assert_int_equal(runs[1].blocks, 1);
	assert_int_equal(runs[2].key.segment, 1);
	assert_int_equal(runs[2].block, 0);
	assert_int_equal(runs[3].key.rel, 2);
}

static void
test_drops_duplicates_and_keeps_the_last_lsn(void **state)
{
	struct redoahead_ref refs[] = {ref(1, 5, 30), ref(1, 5, 10), ref(1, 6, 5), ref(1, 6, 40)};
	struct plan_run runs[4];
	struct counters counters = {0};

	(void) state;
	assert_int_equal(plan__build(refs, 4, &layout, 0, 16, runs, &counters), 1);
	assert_int_equal(runs[0].blocks, 2);
	assert_int_equal(runs[0].lsn, 40);
	assert_int_equal(counters.refs_duplicate, 2);
}

static void
test_drops_what_was_replayed(void **state)
{
	struct redoahead_ref refs[] = {ref(1, 1, 99), ref(1, 10, 100), ref(1, 20, 101)};
	struct plan_run runs[3];
	struct counters counters = {0};

	(void) state;
	assert_int_equal(plan__build(refs, 3, &layout, 100, 16, runs, &counters), 2);
	assert_int_equal(counters.blocks_stale, 1);
	assert_int_equal(runs[0].block, 10);
}

static void
test_runs_are_bounded(void **state)
{
	struct redoahead_ref refs[100];
	struct plan_run runs[100];
	struct counters counters = {0};

	(void) state;
	for (uint32_t i = 0; i < 100; i++)
		refs[i] = ref(1, 99 - i, 1);
	assert_int_equal(plan__build(refs, 100, &layout, 0, 16, runs, &counters), 7);
	assert_int_equal(plan__build(refs, 100, &layout, 0, 1, runs, &counters), 100);
}

static void
test_slru_ignores_what_it_does_not_use(void **state)
{
	struct redoahead_ref refs[] = {
		{.kind = REDOAHEAD_KIND_SLRU,.rel = 0,.block = 3,.spc = 1,.db = 2,.fork = 200},
		{.kind = REDOAHEAD_KIND_SLRU,.rel = 0,.block = 3},
	};
	struct plan_run runs[2];
	struct counters counters = {0};

	(void) state;
	assert_int_equal(plan__build(refs, 2, &layout, 0, 16, runs, &counters), 1);
	assert_int_equal(counters.refs_duplicate, 1);
}

/* Every block asked for is in exactly one run, and nothing else is. */
static void
test_random_batches_lose_nothing(void **state)
{
	static struct redoahead_ref refs[ROOM];
	static struct plan_run runs[ROOM];
	static uint8_t wanted[4][2000];

	(void) state;
	srand(1);
	for (int round = 0; round < 50; round++)
	{
		struct counters counters = {0};
		unsigned	count = 1 + (unsigned) rand() % ROOM;
		unsigned	distinct = 0;
		unsigned	planned = 0;
		unsigned	n;

		memset(wanted, 0, sizeof(wanted));
		for (unsigned i = 0; i < count; i++)
		{
			uint32_t	rel = (uint32_t) rand() % 4;
			uint32_t	block = (uint32_t) rand() % 2000;

			refs[i] = ref(rel + 1, block, 1);
			distinct += !wanted[rel][block];
			wanted[rel][block] = 1;
		}
		n = plan__build(refs, count, &layout, 0, 16, runs, &counters);
		for (unsigned i = 0; i < n; i++)
		{
			assert_in_range(runs[i].blocks, 1, 16);
			assert_true(runs[i].block + runs[i].blocks <= layout.segment_blocks);
			for (uint32_t b = 0; b < runs[i].blocks; b++, planned++)
			{
				uint8_t    *mark = &wanted[runs[i].key.rel - 1]
					[runs[i].key.segment * layout.segment_blocks + runs[i].block + b];

				assert_int_equal(*mark, 1);
				*mark = 2;
			}
		}
		assert_int_equal(planned, distinct);
		assert_int_equal(counters.refs_duplicate, count - distinct);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders_and_joins),
		cmocka_unit_test(test_drops_duplicates_and_keeps_the_last_lsn),
		cmocka_unit_test(test_drops_what_was_replayed),
		cmocka_unit_test(test_runs_are_bounded),
		cmocka_unit_test(test_slru_ignores_what_it_does_not_use),
		cmocka_unit_test(test_random_batches_lose_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
