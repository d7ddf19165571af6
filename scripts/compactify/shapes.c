/*
 * shapes.c
 *		Makes and damages pages.  Knows nothing of who works on them.
 */
#include "postgres.h"

#include "shapes.h"

const Shape shapes__measured[] = {
	/* name, kind, order, items, shortest, longest, bare, removed, displaced */
	{"heap: as in redo, sorted", SHAPE_HEAP, ORDER_SORTED, 266, 32, 32, 32, -1, 0},
	{"heap: as in redo, one displaced", SHAPE_HEAP, ORDER_DISPLACED, 266, 32, 32, 32, -1, 1},
	{"heap: nothing to do", SHAPE_HEAP, ORDER_SORTED, 226, 28, 28, 0, 0, 0},
	{"heap: 5 % removed", SHAPE_HEAP, ORDER_SORTED, 226, 28, 28, 0, 5, 0},
	{"heap: 25 % removed", SHAPE_HEAP, ORDER_SORTED, 226, 28, 28, 0, 25, 0},
	{"heap: 50 % removed", SHAPE_HEAP, ORDER_SORTED, 226, 28, 28, 0, 50, 0},
	{"heap: 90 % removed", SHAPE_HEAP, ORDER_SORTED, 226, 28, 28, 0, 90, 0},
	{"heap: all removed", SHAPE_HEAP, ORDER_SORTED, 226, 28, 28, 0, 100, 0},
	{"heap: 25 % removed, shuffled", SHAPE_HEAP, ORDER_SHUFFLED, 226, 28, 28, 0, 25, 0},
	{"heap: 90 % removed, shuffled", SHAPE_HEAP, ORDER_SHUFFLED, 226, 28, 28, 0, 90, 0},
	{"heap: 40-60 bytes, 25 % removed", SHAPE_HEAP, ORDER_SORTED, 140, 40, 60, 0, 25, 0},
	{"heap: 30-200 bytes, 25 % removed", SHAPE_HEAP, ORDER_SORTED, 64, 30, 200, 0, 25, 0},
	{"heap: 30-200 bytes, shuffled", SHAPE_HEAP, ORDER_SHUFFLED, 64, 30, 200, 0, 25, 0},
	{"heap: 120 bytes, 5 % removed", SHAPE_HEAP, ORDER_SORTED, 60, 120, 120, 0, 5, 0},
	{"heap: 120 bytes, 50 % removed", SHAPE_HEAP, ORDER_SORTED, 60, 120, 120, 0, 50, 0},
	{"heap: 170 bytes, 44 line pointers", SHAPE_HEAP, ORDER_DISPLACED, 44, 170, 170, 0, 25, 3},
	{"heap: 28 bytes, 44 line pointers", SHAPE_HEAP, ORDER_SHUFFLED, 44, 28, 28, 0, 25, 0},
	{"heap: 220 bytes, 33 line pointers", SHAPE_HEAP, ORDER_DISPLACED, 33, 220, 220, 0, 25, 3},
	{"heap: 270 bytes, 28 line pointers", SHAPE_HEAP, ORDER_SORTED, 28, 270, 270, 0, 10, 0},
	{"heap: 28 bytes, 28 line pointers", SHAPE_HEAP, ORDER_SORTED, 28, 28, 28, 0, 10, 0},
	{"heap: 28 line pointers, shuffled", SHAPE_HEAP, ORDER_SHUFFLED, 28, 28, 28, 0, 25, 0},
	{"heap: 270 line pointers, 28 tuples", SHAPE_HEAP, ORDER_SORTED, 270, 28, 28, 90, -1, 0},
	{"heap: 16 line pointers", SHAPE_HEAP, ORDER_SORTED, 16, 400, 400, 0, 10, 0},
	{"heap: 4 line pointers", SHAPE_HEAP, ORDER_SORTED, 4, 1900, 1900, 0, -1, 0},
	{"multi: 5 % of 400, sorted", SHAPE_MULTI, ORDER_SORTED, 400, 16, 16, 0, 5, 0},
	{"multi: 5 % of 400, shuffled", SHAPE_MULTI, ORDER_SHUFFLED, 400, 16, 16, 0, 5, 0},
	{"multi: 50 % of 400, sorted", SHAPE_MULTI, ORDER_SORTED, 400, 16, 16, 0, 50, 0},
	{"multi: 50 % of 400, shuffled", SHAPE_MULTI, ORDER_SHUFFLED, 400, 16, 16, 0, 50, 0},
	{"multi: all of 400", SHAPE_MULTI, ORDER_SHUFFLED, 400, 16, 16, 0, 100, 0},
	{"multi: 3 of 400, shuffled", SHAPE_MULTI, ORDER_SHUFFLED, 400, 16, 16, 0, -3, 0},
	{"multi: 20-90 bytes, 10 %, shuffled", SHAPE_MULTI, ORDER_SHUFFLED, 130, 20, 90, 0, 10, 0},
	{"multi: 3 of 28, sorted", SHAPE_MULTI, ORDER_SORTED, 28, 16, 16, 0, -3, 0},
	{"multi: 4 of 10, sorted", SHAPE_MULTI, ORDER_SORTED, 10, 16, 16, 0, -4, 0},
	{"single: 400, sorted", SHAPE_SINGLE, ORDER_SORTED, 400, 16, 16, 0, -1, 0},
	{"single: 400, shuffled", SHAPE_SINGLE, ORDER_SHUFFLED, 400, 16, 16, 0, -1, 0},
	{"single: 28, shuffled", SHAPE_SINGLE, ORDER_SHUFFLED, 28, 16, 16, 0, -1, 0},
	{"single: 10, shuffled", SHAPE_SINGLE, ORDER_SHUFFLED, 10, 16, 16, 0, -1, 0},
	{"no compact: 400, sorted", SHAPE_NO_COMPACT, ORDER_SORTED, 400, 16, 16, 0, -1, 0},
	{"no compact: 400, shuffled", SHAPE_NO_COMPACT, ORDER_SHUFFLED, 400, 16, 16, 20, -1, 0},
	{"no compact: 28, shuffled", SHAPE_NO_COMPACT, ORDER_SHUFFLED, 28, 16, 16, 0, -1, 0},
	{0}
};

int
shapes__random(ShapeRandom *state, int limit)
{
	/* xorshift64* */
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (int) (((*state * UINT64CONST(2685821657736338717)) >> 33) % (uint64) limit);
}

static int
between(ShapeRandom *random, int low, int high)
{
	return low + shapes__random(random, high - low + 1);
}

static void
swap(int *places, int a, int b)
{
	int			other = places[a];

	places[a] = places[b];
	places[b] = other;
}

/* Take a tuple from where it lies and put it somewhere else between others. */
static void
displace(ShapeRandom *random, int *places, int nplaces)
{
	int			from = shapes__random(random, nplaces);
	int			to = shapes__random(random, nplaces);
	int			moved = places[from];

	if (from < to)
		memmove(places + from, places + from + 1, (to - from) * sizeof(int));
	else
		memmove(places + to + 1, places + to, (from - to) * sizeof(int));
	places[to] = moved;
}

/* The empty page, with random bytes where nobody should look. */
static PageHeader
blank_page(ShapeKind kind, ShapeRandom *random, char *page)
{
	PageHeader	header = (PageHeader) page;
	int			special = kind == SHAPE_HEAP ? 0 : 16;

	for (int i = 0; i < BLCKSZ; i += 8)
	{
		shapes__random(random, 2);
		memcpy(page + i, random, 8);
	}
	memset(page, 0, SizeOfPageHeaderData);
	header->pd_lower = SizeOfPageHeaderData;
	header->pd_upper = header->pd_special = BLCKSZ - special;
	PageSetPageSizeAndVersion(page, BLCKSZ, PG_PAGE_LAYOUT_VERSION);
	if (shapes__random(random, 2))
		PageSetHasFreeLinePointers(page);
	return header;
}

/* Remove a number of tuples, or each with some probability. */
static void
remove_tuples(const Shape *shape, ShapeRandom *random, Job *job, int nitems, int ntuples)
{
	PageHeader	header = (PageHeader) job->page;
	int			kept = shape->removed < 0 ? Max(0, ntuples + shape->removed) : ntuples;

	for (int i = 0; i < nitems; i++)
	{
		ItemId		item = &header->pd_linp[i];
		bool		goes;

		if (!ItemIdHasStorage(item))
			continue;
		if (shape->removed < 0)
		{
			goes = shapes__random(random, ntuples) >= kept;
			kept -= !goes;
			ntuples--;
		}
		else
			goes = shapes__random(random, 100) < shape->removed;
		if (!goes)
			continue;
		if (shape->kind != SHAPE_HEAP)
			job->itemnos[job->nitemnos++] = i + 1;
		else if (shapes__random(random, 8) == 0)
			ItemIdSetDead(item);
		else
			ItemIdSetUnused(item);
	}
}

void
shapes__make(const Shape *shape, ShapeRandom *random, Job *job)
{
	PageHeader	header = blank_page(shape->kind, random, job->page);
	bool		index = shape->kind != SHAPE_HEAP;
	int			nitems = 0;
	int			ntuples = 0;
	int			space = header->pd_upper - header->pd_lower;
	int			places[SHAPE_MAX_ITEMS];	/* line pointers, by place of the tuple */

	job->kind = shape->kind;
	job->nitemnos = 0;

	/* Line pointers with lengths, as far as there is space for them. */
	while (nitems < shape->items)
	{
		ItemId		item = &header->pd_linp[nitems];
		int			length = between(random, shape->shortest, shape->longest);
		bool		bare = shapes__random(random, 100) < shape->bare &&
			shape->kind != SHAPE_MULTI && shape->kind != SHAPE_SINGLE;

		space -= sizeof(ItemIdData) + (bare ? 0 : MAXALIGN(length));
		if (space < 0)
			break;
		if (bare)
		{
			int			what = shapes__random(random, 8);

			if (what == 0 && !index)
				ItemIdSetDead(item);
			else if (what == 1 && !index)
				ItemIdSetRedirect(item, between(random, 1, shape->items));
			else
				ItemIdSetUnused(item);
		}
		else
		{
			ItemIdSetNormal(item, 0, length);
			places[ntuples++] = nitems;
		}
		nitems++;
	}
	header->pd_lower += nitems * sizeof(ItemIdData);

	/* Tuples, from the end of the page down. */
	if (shape->order == ORDER_SHUFFLED)
	{
		for (int i = ntuples - 1; i > 0; i--)
			swap(places, i, shapes__random(random, i + 1));
	}
	else if (shape->order == ORDER_DISPLACED && ntuples > 0)
	{
		for (int i = 0; i < shape->displaced; i++)
			displace(random, places, ntuples);
	}
	for (int i = 0; i < ntuples; i++)
	{
		ItemId		item = &header->pd_linp[places[i]];

		header->pd_upper -= MAXALIGN(ItemIdGetLength(item));
		item->lp_off = header->pd_upper;
	}

	remove_tuples(shape, random, job, nitems, ntuples);
}

Shape
shapes__any(ShapeRandom *random)
{
	static const int most[] = {10, 30, 60, 140, 300, 500, SHAPE_MAX_ITEMS};
	static const int lengths[] = {8, 16, 24, 32, 33, 64, 65, 128, 300};
	Shape		shape = {"any"};

	shape.kind = shapes__random(random, 4);
	shape.order = shapes__random(random, 3);
	shape.items = between(random, 1, most[shapes__random(random, lengthof(most))]);
	shape.longest = lengths[shapes__random(random, lengthof(lengths))];
	shape.shortest = shapes__random(random, 2) ? shape.longest :
		between(random, 1, shape.longest);
	shape.bare = shapes__random(random, 2) ? shapes__random(random, 101) : 0;
	shape.displaced = between(random, 1, 12);
	if (shape.kind == SHAPE_SINGLE || shape.kind == SHAPE_NO_COMPACT)
		shape.removed = -1;
	else
		shape.removed = shapes__random(random, 2) ? -between(random, 0, 12) :
			shapes__random(random, 101);
	return shape;
}

/* Change one line pointer. */
static void
damage_item(ShapeRandom *random, PageHeader header, int nitems)
{
	ItemId		item = &header->pd_linp[shapes__random(random, nitems)];
	ItemId		other = &header->pd_linp[shapes__random(random, nitems)];

	switch (shapes__random(random, 10))
	{
		case 0:
			item->lp_off = shapes__random(random, 1 << 15);
			break;
		case 1:
			item->lp_len = shapes__random(random, 1 << 15);
			break;
		case 2:
			item->lp_flags = shapes__random(random, 4);
			break;
		case 3:					/* two have the same tuple */
			*item = *other;
			break;
		case 4:					/* unaligned */
			item->lp_off += between(random, -7, 7);
			break;
		case 5:					/* slightly too long or too short */
			item->lp_len += between(random, -16, 16);
			break;
		case 6:					/* about the ends of the tuples */
			item->lp_off = (shapes__random(random, 2) ? header->pd_upper : header->pd_special) +
				between(random, -9, 9);
			break;
		case 7:					/* inside of another tuple */
			item->lp_off = other->lp_off + shapes__random(random, 64);
			break;
		case 8:
			item->lp_len = 0;
			break;
		case 9:
			shapes__random(random, 2);
			memcpy(item, random, sizeof(*item));
			break;
	}
}

static void
damage_header(ShapeRandom *random, PageHeader header)
{
	LocationIndex *fields[] = {&header->pd_lower, &header->pd_upper, &header->pd_special};
	LocationIndex *field = fields[shapes__random(random, 3)];

	switch (shapes__random(random, 3))
	{
		case 0:
			*field = shapes__random(random, 1 << 16);
			break;
		case 1:
			*field += between(random, -8, 8);
			break;
		case 2:
			*field += 8 * between(random, -40, 40);
			break;
	}
}

void
shapes__damage(ShapeRandom *random, Job *job)
{
	PageHeader	header = (PageHeader) job->page;
	int			nitems = PageGetMaxOffsetNumber(job->page);
	int			times = 1 + shapes__random(random, 4);

	while (times-- > 0)
	{
		int			what = shapes__random(random, 12);

		if (what == 0)
			damage_header(random, header);
		else if (what == 1 && job->nitemnos > 0)
			job->itemnos[shapes__random(random, job->nitemnos)] =
				shapes__random(random, nitems + 3);
		else if (what == 2 && job->nitemnos > 1 && job->kind == SHAPE_MULTI)
		{
			/* twice the same, or two in the wrong order */
			int			place = shapes__random(random, job->nitemnos - 1);
			OffsetNumber other = job->itemnos[place];

			job->itemnos[place] = job->itemnos[place + 1];
			if (shapes__random(random, 2))
				job->itemnos[place + 1] = other;
		}
		else if (nitems > 0)
			damage_item(random, header, nitems);
	}
}
