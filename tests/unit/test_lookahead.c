/*
 * test_lookahead.c
 *		The queue of references between decoding and replay: which it loses when
 *		it is full, and which it removes when redo goes on.
 *
 * A queue that loses track of the record in replay would make redo of that
 * record go through 2^32 references.
 */
#include "postgres.h"

#include "lookahead.h"
#include "unit.h"

static PendingRef queue[8];
static Lookahead l;

static void
append(int n)
{
	for (int i = 0; i < n; i++)
		lookahead__append(&l, &(PendingRef) {.lsn = l.head + 1});
}

/* A full queue, at a position near which numbers wrap around. */
static int
fill(void **state)
{
	l = (Lookahead) {.refs = queue,.mask = lengthof(queue) - 1};
	l.head = l.tail = l.replaying = PG_UINT32_MAX - 2;
	append(lengthof(queue));
	return 0;
}

TEST(test_full_queue_loses_the_oldest)
{
	uint32		tail = l.tail;

	assert_int_equal(lookahead__length(&l), lengthof(queue));
	append(3);
	assert_int_equal(lookahead__length(&l), lengthof(queue));
	assert_int_equal(l.tail, tail + 3);
	assert_int_equal(lookahead__ref(&l, l.tail)->lsn, (uint32) (tail + 4));
}

TEST(test_record_in_replay_loses_its_references_too)
{
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

TEST(test_references_before_the_record_in_replay_are_removed)
{
	uint32		tail;

	l.head = l.tail = 100;
	append(5);
	tail = l.tail;
	lookahead__advance(&l, 103);
	assert_int_equal(l.tail, tail + 2);
	assert_int_equal(l.replay_lsn, 103);
	lookahead__advance(&l, 1000);
	assert_int_equal(l.tail, l.head);
}

UNIT_MAIN(NULL, NULL, fill, NULL)
