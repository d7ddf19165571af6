/*
 * shapes.h
 *		Pages to defragment: made by description, or damaged.
 *
 * A page is made as it is when a page function is called: on a heap page, some
 * line pointers have just been set unused, dead or redirected; of an index
 * page, some are about to be deleted.
 */
#ifndef COMPACTIFY_SHAPES_H
#define COMPACTIFY_SHAPES_H

#include "storage/bufpage.h"

#define SHAPE_MAX_ITEMS	((BLCKSZ - SizeOfPageHeaderData) / sizeof(ItemIdData))

typedef enum ShapeKind
{
	SHAPE_HEAP,					/* for PageRepairFragmentation */
	SHAPE_MULTI,				/* for PageIndexMultiDelete */
	SHAPE_SINGLE,				/* for PageIndexTupleDelete */
	SHAPE_NO_COMPACT,			/* for PageIndexTupleDeleteNoCompact */
} ShapeKind;

typedef enum ShapeOrder
{
	ORDER_SORTED,				/* tuples lie in the order of line pointers */
	ORDER_DISPLACED,			/* but for a few */
	ORDER_SHUFFLED,				/* in any order */
} ShapeOrder;

typedef struct Shape
{
	const char *name;			/* as printed */
	ShapeKind	kind;
	ShapeOrder	order;
	int			items;			/* line pointers at most; fewer if the page is full */
	int			shortest;		/* tuple length in bytes */
	int			longest;		/* tuple length in bytes */
	int			bare;			/* line pointers without tuple from before, in
								 * percent */
	int			removed;		/* tuples that go now, in percent; -n means n */
	int			displaced;		/* tuples that lie elsewhere, if ORDER_DISPLACED */
} Shape;

/* What a page function is called with. */
typedef struct Job
{
	ShapeKind	kind;
	int			nitemnos;
	OffsetNumber itemnos[SHAPE_MAX_ITEMS];	/* what to delete from an index page */
	char	   *page;			/* BLCKSZ bytes */
} Job;

/* A random number generator's state; any value but 0 will do. */
typedef uint64 ShapeRandom;

/* Those that are measured; ends with a NULL name. */
extern const Shape shapes__measured[];

/* A number from 0 to below "limit". */
extern int	shapes__random(ShapeRandom *state, int limit);

/* Make a page. */
extern void shapes__make(const Shape *shape, ShapeRandom *random, Job *job);

/* Make any shape at all. */
extern Shape shapes__any(ShapeRandom *random);

/* Damage a page, or a list of line pointers to delete, in some way. */
extern void shapes__damage(ShapeRandom *random, Job *job);

#endif
