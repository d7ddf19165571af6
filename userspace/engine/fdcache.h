/*
 * fdcache.h
 *		Open descriptors of segment files.
 */
#ifndef REDOAHEAD_ENGINE_FDCACHE_H
#define REDOAHEAD_ENGINE_FDCACHE_H

#include <stdint.h>

#include "cluster/relpath.h"
#include "engine/counters.h"

/* One open segment file. */
struct fdcache_file
{
	struct relpath_key key;		/* which file */
	int			fd;				/* -1: this slot is free */
	uint32_t	pins;			/* requests in flight on it */
	uint32_t	next_free;		/* next free slot */
	uint8_t		referenced;		/* used since the clock hand passed */
	uint16_t	idle_sweeps;	/* sweeps since it was pinned last */
};

struct fdcache;

int			fdcache__create(struct fdcache **cache, int dirfd, unsigned capacity);
void		fdcache__destroy(struct fdcache *cache);
struct fdcache_file *fdcache__find(struct fdcache *cache, const struct relpath_key *key);
int			fdcache__pin(struct fdcache *cache, const struct relpath_key *key,
						 const struct relpath_layout *layout,
						 struct fdcache_file **file, struct counters *counters);
void		fdcache__unpin(struct fdcache_file *file);
void		fdcache__sweep(struct fdcache *cache, uint64_t now_us,
						   struct counters *counters);
void		fdcache__clear(struct fdcache *cache);
unsigned	fdcache__open_files(const struct fdcache *cache);

#endif							/* REDOAHEAD_ENGINE_FDCACHE_H */
