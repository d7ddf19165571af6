/*
 * test_lookahead.c
 *		The queue of references between decoding and replay: when it is full, which
 *		references are checked again, and for how long blocks stay resident.
 *
 * A queue that loses track of the record in replay would make redo of that
 * record go through 2^32 references.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "postgres.h"

#include "residency.h"

static PendingRef queue[8];
static Lookahead l;

static void
append(int n)
{
	for (int i = 0; i < n; i++)
		lookahead__append(&l, &(PendingRef) {.lsn = l.head + 1});
}

static void
append_checked(XLogRecPtr lsn)
{
	lookahead__append(&l, &(PendingRef) {.may_be_evicted = true,.lsn = lsn});
}

/* A full queue, at a position near which numbers wrap around. */
static int
fill(void **state)
{
	(void) state;
	l = (Lookahead) {.refs = queue,.mask = lengthof(queue) - 1};
	l.head = l.tail = l.replaying = PG_UINT32_MAX - 2;
	append(lengthof(queue));
	return 0;
}

static void
test_full_queue_loses_the_oldest(void **state)
{
	uint32		tail = l.tail;

	(void) state;
	assert_int_equal(lookahead__length(&l), lengthof(queue));
	append(3);
	assert_int_equal(lookahead__length(&l), lengthof(queue));
	assert_int_equal(l.tail, tail + 3);
	assert_int_equal(lookahead__ref(&l, l.tail)->lsn, (uint32) (tail + 4));
}

static void
test_record_in_replay_loses_its_references_too(void **state)
{
	(void) state;

	/* Of the record in replay, one reference, two, none. */
	for (uint32 own = 0; own <= 2; own++)
	{
		fill(NULL);
		l.replaying = l.tail + own;
		for (uint32 lost = 1; lost <= 4; lost++)
		{
			append(1);
			assert_int_equal(l.replaying - l.tail, own > lost ? own - lost : 0);
		}
	}
}

static void
test_references_before_the_record_in_replay_are_removed(void **state)
{
	uint32		tail;

	(void) state;
	l.head = l.tail = 100;
	append(5);
	tail = l.tail;
	lookahead__advance(&l, 103);
	assert_int_equal(l.tail, tail + 2);
	assert_int_equal(l.replay_lsn, 103);
	lookahead__advance(&l, 1000);
	assert_int_equal(l.tail, l.head);
}

/* A block that may have been evicted and isn't checked again is read by redo itself. */
static void
test_each_reference_is_checked_once(void **state)
{
	uint32		distance;

	(void) state;
	l.checked = l.tail;
	append(3);
	assert_null(lookahead__next_unchecked(&l, PG_UINT32_MAX));

	/* Two, one of which is too far from redo for now. */
	append_checked(1);
	append(1);
	append_checked(2);
	append(1);
	distance = l.head - 4 - l.tail + 1;
	assert_int_equal(lookahead__next_unchecked(&l, distance)->lsn, 1);
	assert_null(lookahead__next_unchecked(&l, distance));
	assert_null(lookahead__next_unchecked(&l, distance));
	assert_null(lookahead__next_unchecked(&l, distance + 1));
	assert_int_equal(lookahead__next_unchecked(&l, distance + 2)->lsn, 2);
	assert_null(lookahead__next_unchecked(&l, PG_UINT32_MAX));
	assert_int_equal(l.unchecked, 0);

	/* Those that a full queue has lost hide none that comes later. */
	for (int i = 0; i < 5; i++)
		append_checked(3);
	append(lengthof(queue) - 2);
	assert_int_equal(lookahead__next_unchecked(&l, PG_UINT32_MAX)->lsn, 3);
	assert_int_equal(lookahead__next_unchecked(&l, PG_UINT32_MAX)->lsn, 3);
	assert_null(lookahead__next_unchecked(&l, PG_UINT32_MAX));
	append_checked(4);
	assert_int_equal(lookahead__next_unchecked(&l, PG_UINT32_MAX)->lsn, 4);
	assert_null(lookahead__next_unchecked(&l, PG_UINT32_MAX));
}

/* Lost otherwise: redo reads by itself what was evicted before it came. */
static void
test_how_long_a_block_is_safe(void **state)
{
	const uint32 buffers = 4096;
	uint64		safe = residency__safe_loads(buffers);
	Residency	r = {.safe_refs = PG_UINT32_MAX,.safe_bytes = PG_UINT64_MAX};

	(void) state;
	/* A round of the clock sweep takes half of the buffers at most. */
	assert_in_range(safe, 1, buffers / 2 - 1);

	/* Redo loads little: what is in shared buffers stays. */
	residency__set_safe(&r, 30000, safe, 10000000, safe, 0);
	assert_true(r.safe_refs == PG_UINT32_MAX);
	assert_true(r.safe_bytes == PG_UINT64_MAX);

	/* Every third reference loads a block: so many of them are safe, and so much WAL. */
	residency__set_safe(&r, 30000, 10000, 10000000, safe, 0);
	assert_int_equal(r.safe_refs, 3 * safe);
	assert_int_equal(r.safe_bytes, 1000 * safe);
	residency__set_safe(&r, 30000, 10000, 10000000, safe, buffers);
	assert_int_equal(r.safe_refs, 3 * safe);
	/* The daemon reads less far ahead, so later is soon enough. */
	residency__set_safe(&r, 30000, 10000, 10000000, safe, 64);
	assert_int_equal(r.safe_refs, 3 * 64);
	assert_int_equal(r.safe_bytes, 1000 * safe);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_full_queue_loses_the_oldest, fill),
		cmocka_unit_test_setup(test_record_in_replay_loses_its_references_too, fill),
		cmocka_unit_test_setup(test_references_before_the_record_in_replay_are_removed, fill),
		cmocka_unit_test_setup(test_each_reference_is_checked_once, fill),
		cmocka_unit_test(test_how_long_a_block_is_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
