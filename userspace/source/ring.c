/*
 * ring.c
 *		Takes references from the shared memory that the server made.
 *
 * The server may write anything at any time.  Capacity, tail and the offset of the
 * slots are copied when the ring is mapped and not read again; a reference is copied
 * before it is used; the seals guarantee that the mapping stays valid.  Does not
 * interpret references.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "source/ring.h"

/* Without these seals the server could truncate the memory while it is mapped. */
#define REQUIRED_SEALS	(F_SEAL_SHRINK | F_SEAL_GROW)

/*
 * Is this a ring that we can read, in ring_bytes of memory?  Returns 0 or
 * -EPROTO and a reason that names the remedy.
 */
int
ring__check(const struct redoahead_ring *header, uint64_t ring_bytes, const char **reason)
{
	uint64_t	capacity = header->capacity;
	uint64_t	offset = header->refs_offset;

	if (header->magic != REDOAHEAD_MAGIC)
		*reason = "the memfd holds no ring; install matching versions of server extension and daemon";
	else if (header->version != REDOAHEAD_ABI_VERSION)
		*reason = "ring version differs; install matching versions of server extension and daemon";
	else if (header->ref_size != sizeof(struct redoahead_ref))
		*reason = "reference size differs; install matching versions of server extension and daemon";
	else if (capacity < REDOAHEAD_MIN_CAPACITY || capacity > REDOAHEAD_MAX_CAPACITY ||
			 (capacity & (capacity - 1)) != 0)
		*reason = "ring capacity is not a power of two within bounds; report a bug";
	else if (offset < sizeof(struct redoahead_ring) ||
			 offset % sizeof(struct redoahead_ref) != 0 ||
			 offset + capacity * sizeof(struct redoahead_ref) != ring_bytes)
		*reason = "ring layout does not fit its size; report a bug";
	else if (header->head != 0 || header->tail != 0)
		*reason = "the ring was used before; make a new one for each connection";
	else
		return 0;
	return -EPROTO;
}

/* Map a ring whose seals guarantee its size. */
int
ring__map(struct ring *ring, int memfd, uint64_t ring_bytes, const char **reason)
{
	struct redoahead_ring header;
	struct stat st;
	void	   *memory;
	int			seals;
	int			err;

	seals = fcntl(memfd, F_GET_SEALS);
	if (seals < 0 || (seals & REQUIRED_SEALS) != REQUIRED_SEALS)
	{
		*reason = "the memfd is not sealed against shrinking and growing; report a bug";
		return -EPROTO;
	}
	if (fstat(memfd, &st) < 0 || st.st_size < 0 || (uint64_t) st.st_size != ring_bytes ||
		ring_bytes < sizeof(struct redoahead_ring))
	{
		*reason = "the memfd has not the size that the server states; report a bug";
		return -EPROTO;
	}
	memory = mmap(NULL, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (memory == MAP_FAILED)
	{
		err = -errno;
		*reason = "the memfd cannot be mapped; check the limits of the daemon's memory";
		return err;
	}
	memcpy(&header, memory, sizeof(header));
	err = ring__check(&header, ring_bytes, reason);
	if (err < 0)
	{
		munmap(memory, ring_bytes);
		return err;
	}

	memset(ring, 0, sizeof(*ring));
	ring->shared = memory;
	ring->bytes = ring_bytes;
	ring->refs = (const struct redoahead_ref *) ((const char *) memory + header.refs_offset);
	ring->capacity = header.capacity;
	return 0;
}

/* Unmap the memory; a ring that is not mapped is fine. */
void
ring__unmap(struct ring *ring)
{
	if (ring->shared != NULL)
		munmap(ring->shared, ring->bytes);
	ring->shared = NULL;
}

/* Read the server's head; -EPROTO if it is invalid. */
static int
refresh_head(struct ring *ring)
{
	uint64_t	head = __atomic_load_n(&ring->shared->head, __ATOMIC_ACQUIRE);

	/* The head never goes back, and the server never overtakes our tail. */
	if (head < ring->head || head - ring->tail > ring->capacity)
		return -EPROTO;
	ring->head = head;
	return 0;
}

/*
 * Take up to room references.  Returns how many, or -EPROTO if the server
 * wrote an invalid index.
 */
int
ring__take(struct ring *ring, struct redoahead_ref *refs, unsigned room)
{
	uint64_t	available;
	uint64_t	slot;
	uint64_t	until_end;
	int			err;

	err = refresh_head(ring);
	if (err < 0)
		return err;
	available = ring->head - ring->tail;
	if (available > room)
		available = room;
	if (available == 0)
		return 0;

	slot = ring->tail & (ring->capacity - 1);
	until_end = ring->capacity - slot;
	if (until_end > available)
		until_end = available;
	memcpy(refs, ring->refs + slot, until_end * sizeof(*refs));
	memcpy(refs + until_end, ring->refs, (available - until_end) * sizeof(*refs));

	ring->tail += available;
	__atomic_store_n(&ring->shared->tail, ring->tail, __ATOMIC_RELEASE);
	return (int) available;
}

/* Is there nothing to take?  An invalid head counts as something. */
bool
ring__is_empty(struct ring *ring)
{
	return __atomic_load_n(&ring->shared->head, __ATOMIC_ACQUIRE) == ring->tail;
}

/* Start of the record being replayed, or end of the last one. */
uint64_t
ring__replay_lsn(const struct ring *ring)
{
	return __atomic_load_n(&ring->shared->replay_lsn, __ATOMIC_RELAXED);
}

/* Start of the last record decoded when the last record was replayed. */
uint64_t
ring__decode_lsn(const struct ring *ring)
{
	return __atomic_load_n(&ring->shared->decode_lsn, __ATOMIC_RELAXED);
}

/* References that the server could not emit. */
uint64_t
ring__dropped(const struct ring *ring)
{
	return __atomic_load_n(&ring->shared->dropped, __ATOMIC_RELAXED);
}

/* May queries run beside redo? */
bool
ring__hot_standby(const struct ring *ring)
{
	return __atomic_load_n(&ring->shared->hot_standby, __ATOMIC_RELAXED) != 0;
}

/* Does recovery go on, though the server has ended the connection? */
bool
ring__goes_on(const struct ring *ring)
{
	return __atomic_load_n(&ring->shared->goes_on, __ATOMIC_RELAXED) != 0;
}

/* Change the heartbeat. */
void
ring__beat(struct ring *ring)
{
	__atomic_store_n(&ring->shared->heartbeat, ++ring->heartbeat, __ATOMIC_RELAXED);
}

/* Publish the progress. */
void
ring__publish(struct ring *ring, const struct ring_progress *progress)
{
	struct redoahead_ring *shared = ring->shared;

	__atomic_store_n(&shared->blocks_read, progress->blocks_read, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->blocks_failed, progress->blocks_failed, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->blocks_stale, progress->blocks_stale, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->in_flight, progress->in_flight, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->busy_ns, progress->busy_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->io_depth, progress->io_depth, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->readahead_limit, progress->readahead_limit, __ATOMIC_RELAXED);
}

/*
 * Request a wake-up.  Returns false if there is something to take already, which the
 * server may have emitted before it could see the request.
 */
bool
ring__sleep(struct ring *ring)
{
	__atomic_store_n(&ring->shared->sleeping, 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (ring__is_empty(ring))
		return true;
	ring__wake(ring);
	return false;
}

/* Withdraw the request. */
void
ring__wake(struct ring *ring)
{
	__atomic_store_n(&ring->shared->sleeping, 0, __ATOMIC_SEQ_CST);
}
