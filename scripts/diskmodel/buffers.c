/*
 * buffers.c
 *		Page-aligned buffers, kept for reuse: one chain of unused ones for each
 *		power of two.
 *
 * For one thread.  Nothing is given back to the system: as many buffers as
 * were once in use at the same time stay.
 */
#include <stddef.h>
#include <stdlib.h>

#include "buffers.h"

#define PAGE_BYTES	4096
#define CLASSES		7			/* 4 kB to BUFFERS_MAX_BYTES */

_Static_assert(PAGE_BYTES << (CLASSES - 1) == BUFFERS_MAX_BYTES,
			   "the last class is for the largest buffers");

/* What an unused buffer begins with. */
struct unused
{
	struct unused *next;		/* in its chain */
};

static struct unused *chains[CLASSES];

static unsigned
class_of(uint32_t bytes)
{
	unsigned	class = 0;

	while ((uint32_t) PAGE_BYTES << class < bytes)
		class++;
	return class;
}

/* A buffer of at least so many bytes, at most BUFFERS_MAX_BYTES; NULL: no memory. */
void *
buffers__get(uint32_t bytes)
{
	unsigned	class = class_of(bytes);
	struct unused *unused = chains[class];

	if (unused == NULL)
		return aligned_alloc(PAGE_BYTES, (size_t) PAGE_BYTES << class);
	chains[class] = unused->next;
	return unused;
}

/* Give a buffer back that was got for so many bytes; NULL is no buffer. */
void
buffers__put(void *buffer, uint32_t bytes)
{
	unsigned	class = class_of(bytes);
	struct unused *unused = buffer;

	if (buffer == NULL)
		return;
	unused->next = chains[class];
	chains[class] = unused;
}
