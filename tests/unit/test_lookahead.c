/*
 * test_lookahead.c
 *		The queue of references between decoding and replay: when it is full,
 *		which references are looked at again, and the queue of
 *		what is to be brought into the CPU's cache for them.
 *
 * A queue that loses count of the record in replay would make redo of that
 * record go through four thousand million references that are none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "postgres.h"

#include "cpu_prefetch.h"

/* The extension's, without what makes it large enough. */
Lookahead	lookahead;
RedoaheadCounters redoahead_counters;
CpuPrefetchQueue	cpu_prefetch_queue;

static PendingRef queue[8];

static void
enqueue(int n)
{
	for (int i = 0; i < n; i++)
		lookahead__enqueue(&(PendingRef) {.lsn = lookahead.head + 1});
}

/* A full queue, at a position near which numbers wrap around. */
static int
fill(void **state)
{
	(void) state;
	lookahead = (Lookahead) {.pending = queue,.mask = lengthof(queue) - 1};
	lookahead.head = lookahead.tail = lookahead.replaying = PG_UINT32_MAX - 2;
	enqueue(lengthof(queue));
	return 0;
}

static void
test_full_queue_loses_the_oldest(void **state)
{
	uint32		tail = lookahead.tail;

	(void) state;
	assert_int_equal(lookahead.head - lookahead.tail, lengthof(queue));
	enqueue(3);
	assert_int_equal(lookahead.head - lookahead.tail, lengthof(queue));
	assert_int_equal(lookahead.tail, tail + 3);
	assert_int_equal(queue[lookahead.tail & lookahead.mask].lsn, (uint32) (tail + 4));
}

static void
test_record_in_replay_loses_its_references_too(void **state)
{
	(void) state;

	/* Of the record in replay, one reference, two, none. */
	for (uint32 own = 0; own <= 2; own++)
	{
		fill(NULL);
		lookahead.replaying = lookahead.tail + own;
		for (uint32 lost = 1; lost <= 4; lost++)
		{
			enqueue(1);
			assert_int_equal(lookahead.replaying - lookahead.tail, own > lost ? own - lost : 0);
		}
	}
}

/* A block that isn't looked at again, although it may leave, is read by redo itself. */
static void
test_each_doubtful_reference_is_looked_at_once(void **state)
{
	uint32		first;

	(void) state;
	lookahead.safe_refs = PG_UINT32_MAX;
	lookahead.revalidated = lookahead.tail;
	enqueue(3);
	assert_null(lookahead__next_to_revalidate());

	/* Two, one of which is too far from redo for now. */
	lookahead__enqueue(&(PendingRef) {.may_be_evicted = true,.lsn = 1});
	enqueue(1);
	lookahead__enqueue(&(PendingRef) {.may_be_evicted = true,.lsn = 2});
	enqueue(1);
	first = lookahead.head - 4;
	lookahead.safe_refs = first - lookahead.tail + 1;
	assert_int_equal(lookahead__next_to_revalidate()->lsn, 1);
	assert_null(lookahead__next_to_revalidate());
	assert_null(lookahead__next_to_revalidate());
	lookahead.safe_refs++;
	assert_null(lookahead__next_to_revalidate());
	lookahead.safe_refs++;
	assert_int_equal(lookahead__next_to_revalidate()->lsn, 2);
	lookahead.safe_refs = PG_UINT32_MAX;
	assert_null(lookahead__next_to_revalidate());
	assert_int_equal(lookahead.may_be_evicted, 0);

	/* Those that a full queue has lost hide none that comes later. */
	for (int i = 0; i < 5; i++)
		lookahead__enqueue(&(PendingRef) {.may_be_evicted = true,.lsn = 3});
	enqueue(lengthof(queue) - 2);
	assert_int_equal(lookahead__next_to_revalidate()->lsn, 3);
	assert_int_equal(lookahead__next_to_revalidate()->lsn, 3);
	assert_null(lookahead__next_to_revalidate());
	lookahead__enqueue(&(PendingRef) {.may_be_evicted = true,.lsn = 4});
	assert_int_equal(lookahead__next_to_revalidate()->lsn, 4);
	assert_null(lookahead__next_to_revalidate());
}

/* A few cache lines at a time, in order; nothing for a reference that redo has passed. */
static void
test_pages_are_sent_for_in_parts(void **state)
{
	static char page[BLCKSZ];
	uint32		position = lookahead.replaying;

	(void) state;
	cpu_prefetch_queue = (CpuPrefetchQueue) {.head = PG_UINT32_MAX,.tail = PG_UINT32_MAX};
	cpu_prefetch__part(page, 100, 100, position);
	assert_int_equal(cpu_prefetch_queue.head, cpu_prefetch_queue.tail);

	cpu_prefetch__part(page, 0, CPU_PREFETCH_LINES * CACHE_LINE + 1, position);
	cpu_prefetch__part(page, 4096, 4096 + 2 * CACHE_LINE, position + 1);
	cpu_prefetch__some();
	assert_ptr_equal(cpu_prefetch_queue.parts[PG_UINT32_MAX % CPU_PREFETCH_PARTS].next, page + CPU_PREFETCH_LINES * CACHE_LINE);
	cpu_prefetch__some();
	assert_int_equal(cpu_prefetch_queue.head, cpu_prefetch_queue.tail);
	assert_ptr_equal(cpu_prefetch_queue.parts[0].next, page + 4096 + 2 * CACHE_LINE);

	cpu_prefetch__part(page, 0, BLCKSZ, position);
	cpu_prefetch__part(page, 0, BLCKSZ, position + 1);
	lookahead.replaying = position + 1;
	cpu_prefetch__some();
	assert_ptr_equal(cpu_prefetch_queue.parts[1].next, page);
	assert_ptr_equal(cpu_prefetch_queue.parts[2].next, page + CPU_PREFETCH_LINES * CACHE_LINE);
	lookahead.replaying = position + 2;
	cpu_prefetch__some();
	assert_int_equal(cpu_prefetch_queue.head, cpu_prefetch_queue.tail);

	/* When there are too many, the oldest are lost. */
	for (int i = 0; i < CPU_PREFETCH_PARTS + 3; i++)
		cpu_prefetch__part(page, i, BLCKSZ, position + 2);
	assert_int_equal(cpu_prefetch_queue.head - cpu_prefetch_queue.tail, CPU_PREFETCH_PARTS);
	assert_ptr_equal(cpu_prefetch_queue.parts[cpu_prefetch_queue.tail % CPU_PREFETCH_PARTS].next, page + 3);
}

/* Lost otherwise: redo would read by itself what left before it came, as nobody asks again. */
static void
test_what_is_near_and_how_long_a_block_stays(void **state)
{
	const uint32 buffers = 4096;
	uint64		kept = lookahead__safe_loads(buffers);

	(void) state;
	/* A round of the clock takes half of the buffers at most. */
	assert_in_range(kept, 1, buffers / 2 - 1);

	/* Redo loads little: what is in shared buffers stays. */
	lookahead.safe_refs = PG_UINT32_MAX;
	lookahead.safe_bytes = PG_UINT64_MAX;
	lookahead__set_safe(30000, kept, 10000000, kept, 0);
	assert_true(lookahead.safe_refs == PG_UINT32_MAX);
	assert_true(lookahead.safe_bytes == PG_UINT64_MAX);

	/* Every third reference loads a block: so many of them are near, and so much WAL. */
	lookahead__set_safe(30000, 10000, 10000000, kept, 0);
	assert_int_equal(lookahead.safe_refs, 3 * kept);
	assert_int_equal(lookahead.safe_bytes, 1000 * kept);
	lookahead__set_safe(30000, 10000, 10000000, kept, buffers);
	assert_int_equal(lookahead.safe_refs, 3 * kept);
	/* The daemon reads less far ahead, so later is soon enough. */
	lookahead__set_safe(30000, 10000, 10000000, kept, 64);
	assert_int_equal(lookahead.safe_refs, 3 * 64);
	assert_int_equal(lookahead.safe_bytes, 1000 * kept);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_full_queue_loses_the_oldest, fill),
		cmocka_unit_test_setup(test_record_in_replay_loses_its_references_too, fill),
		cmocka_unit_test(test_what_is_near_and_how_long_a_block_stays),
		cmocka_unit_test_setup(test_each_doubtful_reference_is_looked_at_once, fill),
		cmocka_unit_test_setup(test_pages_are_sent_for_in_parts, fill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
