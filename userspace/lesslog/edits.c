/*
 * edits.c
 *		What is changed in a file that is archived.
 *
 * A segment is decoded once, and what shall be changed in it is kept here; then it can be
 * read in pieces as often as wanted.  That takes some 50 bytes for each image that is
 * removed.  Why something is changed is not known here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lesslog/edits.h"

/* Changes that fit into the first list. */
#define FIRST_ROOM	1024

/*
 * Replace "bytes" bytes at a place behind all that were added before: up to four by those of
 * "value", and what is behind them by zeros.  An error is kept in edits->err.
 */
void
edits__add(struct edits *edits, uint64_t at, uint32_t bytes, uint32_t value)
{
	if (edits->count == edits->room)
	{
		size_t		room = edits->room > 0 ? 2 * edits->room : FIRST_ROOM;
		struct edit *grown = reallocarray(edits->list, room, sizeof(*grown));

		if (grown == NULL)
		{
			edits->err = -ENOMEM;
			return;
		}
		edits->list = grown;
		edits->room = room;
	}
	edits->list[edits->count++] = (struct edit) {(uint32_t) at, bytes, value};
}

/* The number of the first change that ends behind a place. */
static size_t
first_behind(const struct edits *edits, uint64_t place)
{
	size_t		low = 0;
	size_t		high = edits->count;

	while (low < high)
	{
		size_t		middle = low + (high - low) / 2;

		if ((uint64_t) edits->list[middle].at + edits->list[middle].bytes > place)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Change "count" bytes that were read from the place "from" on. */
void
edits__apply(const struct edits *edits, uint64_t from, void *bytes, size_t count)
{
	for (size_t i = first_behind(edits, from);
		 i < edits->count && edits->list[i].at < from + count; i++)
	{
		const struct edit *edit = &edits->list[i];
		const unsigned char *value = (const unsigned char *) &edit->value;
		uint64_t	begin = edit->at > from ? edit->at : from;
		uint64_t	end = (uint64_t) edit->at + edit->bytes;
		unsigned char *out = (unsigned char *) bytes + (begin - from);

		if (end > from + count)
			end = from + count;
		for (; begin < end && begin - edit->at < sizeof(edit->value); begin++)
			*out++ = value[begin - edit->at];
		memset(out, 0, end - begin);
	}
}

void
edits__destroy(struct edits *edits)
{
	free(edits->list);
	*edits = (struct edits) {0};
}
