/*
 * test_emit.c
 *		The server's end of the ring (emit.h), against the daemon's (ring.c).
 *
 * What gets lost or mixed up between them is a block that is not read ahead,
 * or another that is.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "emit.h"
#include "source/ring.h"

#define CAPACITY	1024
#define BYTES		(sizeof(struct redoahead_ring) + CAPACITY * sizeof(struct redoahead_ref))
#define STRESS		2000000

/* Both ends of a new ring. */
struct ends
{
	Emitter		server;
	struct ring daemon;
};

static struct ends
make_ends(void)
{
	int			fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct redoahead_ring *memory;
	struct ends ends;
	const char *reason;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(memory != MAP_FAILED);
	memory->magic = REDOAHEAD_MAGIC;
	memory->version = REDOAHEAD_ABI_VERSION;
	memory->ref_size = sizeof(struct redoahead_ref);
	memory->capacity = CAPACITY;
	memory->refs_offset = sizeof(*memory);
	assert_int_equal(ring__map(&ends.daemon, fd, BYTES, &reason), 0);
	close(fd);

	ends.server = (Emitter)
	{
		.ring = memory,.refs = (struct redoahead_ref *) (memory + 1),.capacity = CAPACITY,
	};
	return ends;
}

static void
drop_ends(struct ends *ends)
{
	munmap(ends->server.ring, BYTES);
	ring__unmap(&ends->daemon);
}

/* The reference of this number. */
static struct redoahead_ref
numbered(uint64_t number)
{
	return (struct redoahead_ref) {.lsn = number,.spc = 1663,.rel = (uint32_t) (number * 7)};
}

static EmitResult
put(Emitter *server, uint64_t number)
{
	struct redoahead_ref ref = numbered(number);

	return emit__put(server, &ref);
}

/* Take what is there, and see that it is the numbers from expected on. */
static uint64_t
take_all(struct ring *daemon, uint64_t expected)
{
	struct redoahead_ref refs[100];
	int			n;

	while ((n = ring__take(daemon, refs, 100)) > 0)
		for (int i = 0; i < n; i++, expected++)
		{
			struct redoahead_ref ref = numbered(expected);

			assert_memory_equal(&refs[i], &ref, sizeof(ref));
		}
	assert_int_equal(n, 0);
	return expected;
}

static void
test_nothing_is_seen_before_it_is_published(void **state)
{
	struct ends ends = make_ends();

	(void) state;
	assert_int_equal(put(&ends.server, 0), EMIT_OK);
	assert_int_equal(take_all(&ends.daemon, 0), 0);
	(void) emit__publish(&ends.server);
	assert_int_equal(take_all(&ends.daemon, 0), 1);
	drop_ends(&ends);
}

static void
test_only_a_sleeping_daemon_is_woken_and_only_for_something(void **state)
{
	struct ends ends = make_ends();

	(void) state;
	assert_false(emit__publish(&ends.server));
	assert_int_equal(put(&ends.server, 0), EMIT_OK);
	assert_false(emit__publish(&ends.server));
	assert_false(ring__sleep(&ends.daemon));	/* there is something */
	assert_int_equal(take_all(&ends.daemon, 0), 1);
	assert_true(ring__sleep(&ends.daemon));
	assert_false(emit__publish(&ends.server));
	assert_int_equal(put(&ends.server, 1), EMIT_OK);
	assert_true(emit__publish(&ends.server));
	ring__wake(&ends.daemon);
	assert_int_equal(put(&ends.server, 2), EMIT_OK);
	assert_false(emit__publish(&ends.server));
	drop_ends(&ends);
}

static void
test_a_full_ring_drops_and_counts_and_goes_on(void **state)
{
	struct ends ends = make_ends();

	(void) state;
	for (uint64_t i = 0; i < CAPACITY; i++)
		assert_int_equal(put(&ends.server, i), EMIT_OK);
	for (int i = 0; i < 5; i++)
		assert_int_equal(put(&ends.server, 12345), EMIT_FULL);
	(void) emit__publish(&ends.server);
	assert_int_equal(ring__dropped(&ends.daemon), 5);
	assert_int_equal(take_all(&ends.daemon, 0), CAPACITY);
	assert_int_equal(put(&ends.server, CAPACITY), EMIT_OK);
	(void) emit__publish(&ends.server);
	assert_int_equal(take_all(&ends.daemon, CAPACITY), CAPACITY + 1);
	drop_ends(&ends);
}

static void
test_an_impossible_tail_closes_the_emitter(void **state)
{
	static const uint64_t tails[] = {CAPACITY + 1, UINT64_MAX, 0, 9};

	(void) state;
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++)
	{
		struct ends ends = make_ends();

		/* Ten are taken, so that a tail may go back, and the rest fills it. */
		for (uint64_t number = 0; number < 10; number++)
			assert_int_equal(put(&ends.server, number), EMIT_OK);
		(void) emit__publish(&ends.server);
		assert_int_equal(take_all(&ends.daemon, 0), 10);
		assert_true(emit__refresh_tail(&ends.server));
		for (uint64_t number = 0; number < CAPACITY; number++)
			assert_int_equal(put(&ends.server, number), EMIT_OK);

		/* Published are ten: more cannot have been taken, nor fewer. */
		ends.server.ring->tail = tails[i];
		assert_int_equal(put(&ends.server, 0), EMIT_CLOSED);
		assert_false(emit__is_open(&ends.server));

		/* It stays closed, whatever the tail is later. */
		ends.server.ring->tail = 10;
		assert_int_equal(put(&ends.server, 0), EMIT_CLOSED);
		assert_false(emit__refresh_tail(&ends.server));
		assert_int_equal(ends.server.dropped, 0);
		drop_ends(&ends);
	}
}

/* A crash of the startup process otherwise: the connection is gone, and so is the ring. */
static void
test_a_closed_emitter_accepts_nothing(void **state)
{
	Emitter		closed = {0};

	(void) state;
	assert_false(emit__is_open(&closed));
	assert_int_equal(put(&closed, 0), EMIT_CLOSED);
	assert_false(emit__refresh_tail(&closed));
	assert_false(emit__publish(&closed));
	assert_int_equal(closed.head, 0);
}

/* The daemon's thread of the stress test: all numbers, in order. */
static void *
consume(void *argument)
{
	struct ring *daemon = argument;
	struct redoahead_ref refs[64];
	uint64_t	expected = 0;

	while (expected < STRESS)
	{
		int			n = ring__take(daemon, refs, 64);

		if (n < 0)
			return NULL;
		if (n == 0)
			sched_yield();
		for (int i = 0; i < n; i++, expected++)
			if (refs[i].lsn != expected || refs[i].rel != (uint32_t) (expected * 7))
				return NULL;
	}
	return daemon;
}

static void
test_two_threads_lose_and_mix_nothing(void **state)
{
	struct ends ends = make_ends();
	pthread_t	thread;
	void	   *result;

	(void) state;
	assert_int_equal(pthread_create(&thread, NULL, consume, &ends.daemon), 0);
	for (uint64_t number = 0; number < STRESS;)
	{
		EmitResult	put_result = put(&ends.server, number);

		assert_int_not_equal(put_result, EMIT_CLOSED);
		number += put_result == EMIT_OK;
		if (put_result == EMIT_FULL || number % 32 == 0)
			(void) emit__publish(&ends.server);
		if (put_result == EMIT_FULL)
			sched_yield();
	}
	(void) emit__publish(&ends.server);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, &ends.daemon);
	drop_ends(&ends);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_seen_before_it_is_published),
		cmocka_unit_test(test_only_a_sleeping_daemon_is_woken_and_only_for_something),
		cmocka_unit_test(test_a_full_ring_drops_and_counts_and_goes_on),
		cmocka_unit_test(test_an_impossible_tail_closes_the_emitter),
		cmocka_unit_test(test_a_closed_emitter_accepts_nothing),
		cmocka_unit_test(test_two_threads_lose_and_mix_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
