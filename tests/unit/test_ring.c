/*
 * test_ring.c
 *		The ring: the server's end (emit.h) against the daemon's (ring.c), and what
 *		the daemon's end does about memory that another process writes.
 *
 * What gets lost or mixed up between them is a block that is not read ahead,
 * or another that is.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emit.h"
#include "source/ring.h"
#include "unit.h"

#define CAPACITY	1024
#define BYTES		(sizeof(struct redoahead_ring) + CAPACITY * sizeof(struct redoahead_ref))
#define STRESS		2000000

/* Both ends of a ring, which is new in each test. */
static Emitter server;
static struct ring ring;

/* A good memfd with a good ring in it. */
static int
make_memfd(int seals)
{
	struct redoahead_ring header = {
		.magic = REDOAHEAD_MAGIC,.version = REDOAHEAD_ABI_VERSION,
		.ref_size = sizeof(struct redoahead_ref),.capacity = CAPACITY,
		.refs_offset = sizeof(header),
	};
	int			fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static int
make_ends(void **state)
{
	struct redoahead_ring *memory;
	const char *reason;
	int			fd = make_memfd(F_SEAL_SHRINK | F_SEAL_GROW);

	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(memory != MAP_FAILED);
	assert_int_equal(ring__map(&ring, fd, BYTES, &reason), 0);
	close(fd);
	server = (Emitter)
	{
		.ring = memory,.refs = (struct redoahead_ref *) (memory + 1),.capacity = CAPACITY,
	};
	return 0;
}

static int
drop_ends(void **state)
{
	ring__unmap(&ring);
	return munmap(server.ring, BYTES);
}

/* The reference of this number. */
static struct redoahead_ref
numbered(uint64_t number)
{
	return (struct redoahead_ref) {.lsn = number,.spc = 1663,.rel = (uint32_t) (number * 7)};
}

static bool
put(uint64_t number)
{
	struct redoahead_ref ref = numbered(number);

	return emit__put(&server, &ref);
}

/* Emit references with the numbers from first on, and publish them. */
static void
emit(uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		assert_true(put(first + i));
	(void) emit__publish(&server);
}

/* Take what is there, and see that it is the numbers from expected on. */
static uint64_t
take_all(uint64_t expected)
{
	struct redoahead_ref refs[100];
	int			n;

	while ((n = ring__take(&ring, refs, 100)) > 0)
		for (int i = 0; i < n; i++, expected++)
		{
			struct redoahead_ref ref = numbered(expected);

			assert_memory_equal(&refs[i], &ref, sizeof(ref));
		}
	assert_int_equal(n, 0);
	return expected;
}

TEST(test_nothing_is_seen_before_it_is_published)
{
	assert_true(put(0));
	assert_int_equal(take_all(0), 0);
	(void) emit__publish(&server);
	assert_int_equal(take_all(0), 1);
}

TEST(test_only_a_sleeping_daemon_is_woken_and_only_for_something)
{
	assert_false(emit__publish(&server));
	assert_true(put(0));
	assert_false(emit__publish(&server));
	assert_false(ring__sleep(&ring));	/* there is something */
	assert_int_equal(ring.shared->sleeping, 0);
	assert_int_equal(take_all(0), 1);
	assert_true(ring__is_empty(&ring));
	assert_true(ring__sleep(&ring));
	assert_false(emit__publish(&server));
	assert_true(put(1));
	assert_true(emit__publish(&server));
	ring__wake(&ring);
	assert_true(put(2));
	assert_false(emit__publish(&server));
}

TEST(test_a_full_ring_drops_and_counts_and_goes_on)
{
	emit(0, CAPACITY);
	for (int i = 0; i < 5; i++)
		assert_false(put(12345));
	(void) emit__publish(&server);
	assert_int_equal(ring__dropped(&ring), 5);
	assert_int_equal(take_all(0), CAPACITY);
	emit(CAPACITY, 1);
	assert_int_equal(take_all(CAPACITY), CAPACITY + 1);
}

TEST(test_an_impossible_tail_closes_the_emitter)
{
	static const uint64_t tails[] = {CAPACITY + 1, UINT64_MAX, 0, 9};

	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++)
	{
		/* Ten are taken, so that a tail may go back, and the rest fills it. */
		emit(0, 10);
		assert_int_equal(take_all(0), 10);
		assert_true(emit__refresh_tail(&server));
		for (uint64_t number = 0; number < CAPACITY; number++)
			assert_true(put(number));

		/* Published are ten: more cannot have been taken, nor fewer. */
		ring.shared->tail = tails[i];
		assert_false(put(0));
		assert_false(emit__is_open(&server));

		/* It stays closed, whatever the tail is later. */
		ring.shared->tail = 10;
		assert_false(put(0));
		assert_false(emit__refresh_tail(&server));
		assert_int_equal(server.dropped, 0);
		drop_ends(NULL);
		make_ends(NULL);
	}
}

/* A crash of the startup process otherwise: the connection is gone, and so is the ring. */
TEST(test_a_closed_emitter_accepts_nothing)
{
	Emitter		closed = {0};
	struct redoahead_ref ref = numbered(0);

	assert_false(emit__is_open(&closed));
	assert_false(emit__put(&closed, &ref));
	assert_false(emit__refresh_tail(&closed));
	assert_false(emit__publish(&closed));
	assert_int_equal(closed.head, 0);
}

TEST(test_impossible_heads)
{
	struct redoahead_ref refs[16];

	emit(0, 10);
	assert_int_equal(ring__take(&ring, refs, 4), 4);
	ring.shared->head = 8;		/* back, but not before our tail */
	assert_int_equal(ring__take(&ring, refs, 4), -EPROTO);
	ring.shared->head = 2;
	assert_int_equal(ring__take(&ring, refs, 4), -EPROTO);
	ring.shared->head = 4 + CAPACITY + 1;
	assert_int_equal(ring__take(&ring, refs, 4), -EPROTO);
	ring.shared->head = UINT64_MAX;
	assert_int_equal(ring__take(&ring, refs, 4), -EPROTO);
	ring.shared->head = 4 + CAPACITY;
	assert_int_equal(ring__take(&ring, refs, 16), 16);
}

TEST(test_later_lies_change_nothing)
{
	emit(0, 10);
	ring.shared->capacity = UINT32_MAX;
	ring.shared->refs_offset = UINT32_MAX;
	ring.shared->tail = 123456789;
	assert_int_equal(take_all(0), 10);
	assert_int_equal(ring.shared->tail, 10);
}

TEST(test_bad_memory_is_refused)
{
	struct ring refused;
	const char *reason;
	int			fd;

	fd = make_memfd(0);
	assert_int_equal(ring__map(&refused, fd, BYTES, &reason), -EPROTO);
	close(fd);
	fd = make_memfd(F_SEAL_GROW);
	assert_int_equal(ring__map(&refused, fd, BYTES, &reason), -EPROTO);
	close(fd);
	fd = make_memfd(F_SEAL_SHRINK | F_SEAL_GROW);
	assert_int_equal(ring__map(&refused, fd, BYTES - 32, &reason), -EPROTO);
	assert_int_equal(ring__map(&refused, fd, BYTES + 32, &reason), -EPROTO);
	close(fd);
	fd = make_memfd(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	assert_true(ring__map(&refused, fd, BYTES, &reason) < 0);
	close(fd);
}

/* The daemon's thread of the stress test: all numbers, in order. */
static void *
consume(void *argument)
{
	struct redoahead_ref refs[64];
	uint64_t	expected = 0;

	while (expected < STRESS)
	{
		int			n = ring__take(&ring, refs, 64);

		if (n < 0)
			return NULL;
		if (n == 0)
			sched_yield();
		for (int i = 0; i < n; i++, expected++)
			if (refs[i].lsn != expected || refs[i].rel != (uint32_t) (expected * 7))
				return NULL;
	}
	return argument;
}

TEST(test_two_threads_lose_and_mix_nothing)
{
	pthread_t	thread;
	void	   *result;

	assert_int_equal(pthread_create(&thread, NULL, consume, &ring), 0);
	for (uint64_t number = 0; number < STRESS;)
	{
		bool		taken = put(number);

		assert_true(emit__is_open(&server));
		number += taken;
		if (!taken || number % 32 == 0)
			(void) emit__publish(&server);
		if (!taken)
			sched_yield();
	}
	(void) emit__publish(&server);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, &ring);
}

UNIT_MAIN(NULL, NULL, make_ends, drop_ends)
