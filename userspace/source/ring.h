/*
 * ring.h
 *		The daemon's end of the shared memory.
 */
#ifndef REDOAHEAD_SOURCE_RING_H
#define REDOAHEAD_SOURCE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/redoahead_abi.h"

/* What the daemon reports to the server. */
struct ring_progress
{
	uint64_t	blocks_read;	/* blocks brought into the page cache */
	uint64_t	blocks_failed;	/* blocks that could not be */
	uint64_t	blocks_stale;	/* blocks already replayed */
	uint64_t	in_flight;		/* blocks requested and not yet there */
	uint64_t	busy_ns;		/* CPU time in this recovery, ns */
	uint32_t	io_depth;		/* most blocks in flight */
	uint32_t	readahead_limit;	/* most blocks read ahead of redo */
};

/* What must not be read from shared memory twice is kept here. */
struct ring
{
	struct redoahead_ring *shared;	/* the mapping */
	size_t		bytes;			/* its size, bytes */
	const struct redoahead_ref *refs;	/* the slots in it */
	uint64_t	capacity;		/* slots, a power of two */
	uint64_t	head;			/* last head seen */
	uint64_t	tail;			/* references taken */
	uint64_t	heartbeat;		/* beats so far */
};

int			ring__map(struct ring *ring, int memfd, uint64_t ring_bytes,
					  const char **reason);
int			ring__check(const struct redoahead_ring *header, uint64_t ring_bytes,
						const char **reason);
void		ring__unmap(struct ring *ring);
int			ring__take(struct ring *ring, struct redoahead_ref *refs, unsigned room);
bool		ring__is_empty(struct ring *ring);
uint64_t	ring__replay_lsn(const struct ring *ring);
uint64_t	ring__decode_lsn(const struct ring *ring);
uint64_t	ring__dropped(const struct ring *ring);
bool		ring__hot_standby(const struct ring *ring);
bool		ring__goes_on(const struct ring *ring);
void		ring__beat(struct ring *ring);
void		ring__publish(struct ring *ring, const struct ring_progress *progress);
bool		ring__sleep(struct ring *ring);
void		ring__wake(struct ring *ring);

#endif							/* REDOAHEAD_SOURCE_RING_H */
