/*
 * prefault.h
 *		Allocates the memory of shared buffers ahead of redo.
 */
#ifndef REDOAHEAD_PREFAULT_H
#define REDOAHEAD_PREFAULT_H

#include "postgres.h"

/* What the startup process has mapped. */
typedef struct Prefault
{
	int			mapped;			/* buffers mapped; 0 if none yet */
	int			frontier;		/* a higher buffer needs prefault__advance() */
} Prefault;

extern Size prefault__shmem_size(void);
extern void prefault__shmem_init(void);
extern void prefault__start(Prefault *p);
extern void prefault__advance(Prefault *p, int buffer);

/* Redo has used a buffer. */
static inline void
prefault__used(Prefault *p, int buffer)
{
	if (unlikely(buffer > p->frontier))
		prefault__advance(p, buffer);
}

#endif							/* REDOAHEAD_PREFAULT_H */
