/*
 * prefault.h
 *		Allocates the memory of shared buffers ahead of redo.
 */
#ifndef REDOAHEAD_PREFAULT_H
#define REDOAHEAD_PREFAULT_H

#include "postgres.h"

/* A buffer of a higher number than this must be reported to prefault__advance(). */
extern int	prefault_frontier;

extern Size prefault__shmem_size(void);
extern void prefault__shmem_init(void);
extern void prefault__start(void);
extern void prefault__advance(int buffer);

/* Redo has used a buffer. */
static inline void
prefault__used(int buffer)
{
	if (unlikely(buffer > prefault_frontier))
		prefault__advance(buffer);
}

#endif							/* REDOAHEAD_PREFAULT_H */
