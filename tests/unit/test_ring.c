/*
 * test_ring.c
 *		Taking references from memory that another process writes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "source/ring.h"
#include "unit.h"

#define CAPACITY	1024
#define BYTES		(sizeof(struct redoahead_ring) + CAPACITY * sizeof(struct redoahead_ref))

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
	if (seals != 0)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static struct ring
make_ring(void)
{
	struct ring ring;
	const char *reason;
	int			fd = make_memfd(F_SEAL_SHRINK | F_SEAL_GROW);

	assert_int_equal(ring__map(&ring, fd, BYTES, &reason), 0);
	close(fd);
	return ring;
}

/* What the server does: number the references by their LSN. */
static void
emit(struct ring *ring, uint64_t count)
{
	struct redoahead_ref *refs = (struct redoahead_ref *) (ring->shared + 1);

	for (; count > 0; count--)
	{
		uint64_t	head = ring->shared->head;

		refs[head % CAPACITY].lsn = head;
		ring->shared->head = head + 1;
	}
}

static void
test_takes_everything_in_order(void **state)
{
	struct redoahead_ref refs[300];
	struct ring ring = make_ring();
	uint64_t	expected = 0;

	for (int round = 0; round < 100; round++)
	{
		int			n;

		emit(&ring, 250);
		while ((n = ring__take(&ring, refs, 97)) > 0)
			for (int i = 0; i < n; i++)
				assert_int_equal(refs[i].lsn, expected++);
		assert_int_equal(n, 0);
		assert_int_equal(ring.shared->tail, ring.shared->head);
	}
	emit(&ring, CAPACITY);
	assert_int_equal(ring__take(&ring, refs, 300), 300);
	ring__unmap(&ring);
}

static void
test_impossible_heads(void **state)
{
	struct redoahead_ref refs[16];
	struct ring ring = make_ring();

	emit(&ring, 10);
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
	ring__unmap(&ring);
}

static void
test_later_lies_change_nothing(void **state)
{
	struct redoahead_ref refs[CAPACITY];
	struct ring ring = make_ring();

	emit(&ring, 10);
	ring.shared->capacity = UINT32_MAX;
	ring.shared->refs_offset = UINT32_MAX;
	ring.shared->tail = 123456789;
	assert_int_equal(ring__take(&ring, refs, CAPACITY), 10);
	assert_int_equal(refs[9].lsn, 9);
	assert_int_equal(ring.shared->tail, 10);
	ring__unmap(&ring);
}

static void
test_sleep_sees_what_was_emitted(void **state)
{
	struct ring ring = make_ring();
	struct redoahead_ref ref;

	assert_true(ring__sleep(&ring));
	assert_int_equal(ring.shared->sleeping, 1);
	ring__wake(&ring);
	emit(&ring, 1);
	assert_false(ring__sleep(&ring));
	assert_int_equal(ring.shared->sleeping, 0);
	assert_int_equal(ring__take(&ring, &ref, 1), 1);
	assert_true(ring__is_empty(&ring));
	ring__unmap(&ring);
}

static void
test_bad_memory_is_refused(void **state)
{
	struct ring ring;
	const char *reason;
	int			fd;

	fd = make_memfd(0);
	assert_int_equal(ring__map(&ring, fd, BYTES, &reason), -EPROTO);
	close(fd);
	fd = make_memfd(F_SEAL_GROW);
	assert_int_equal(ring__map(&ring, fd, BYTES, &reason), -EPROTO);
	close(fd);
	fd = make_memfd(F_SEAL_SHRINK | F_SEAL_GROW);
	assert_int_equal(ring__map(&ring, fd, BYTES - 32, &reason), -EPROTO);
	assert_int_equal(ring__map(&ring, fd, BYTES + 32, &reason), -EPROTO);
	close(fd);
	fd = memfd_create("read-only", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
	assert_true(ring__map(&ring, fd, BYTES, &reason) < 0);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_takes_everything_in_order),
		cmocka_unit_test(test_impossible_heads),
		cmocka_unit_test(test_later_lies_change_nothing),
		cmocka_unit_test(test_sleep_sees_what_was_emitted),
		cmocka_unit_test(test_bad_memory_is_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
