/*
 * page_shapes.h
 *		Pages of many shapes, valid and damaged ones, for tests of the page
 *		transform.
 *
 * The same number gives the same page on every machine of the same byte order.
 */
#ifndef PAGE_SHAPES_H
#define PAGE_SHAPES_H

#include "postgres_fe.h"

typedef enum PageShape
{
	SHAPE_FIXED,				/* rows of one length, in descending order */
	SHAPE_HIGH_KEY,				/* the same, but the first one is the lowest */
	SHAPE_VARIABLE,				/* rows of many lengths */
	SHAPE_AGED,					/* the same in random order; unused, dead and
								 * redirected line pointers; gaps */
	SHAPE_DAMAGED,				/* one of those, with some bytes changed */
	SHAPE_NOISE,				/* random bytes, perhaps after a sane header */
	NUM_SHAPES
} PageShape;

/* A source of pseudo-random numbers */
typedef struct PageRandom
{
	uint64		state;
} PageRandom;

/* A number below "limit", which is not 0 */
extern uint32 page_shapes__random(PageRandom *random, uint32 limit);

/* Fill a page of block_size bytes, hole included. */
extern void page_shapes__make(PageRandom *random, PageShape shape, uint32 block_size,
							  char *page);

/* Find the hole that the server would leave out: bytes, 0 and 0 if there is none. */
extern void page_shapes__find_hole(const char *page, uint32 block_size, uint16 *hole_offset,
								   uint16 *hole_length);

#endif							/* PAGE_SHAPES_H */
