/*
 * edits.h
 *		What is changed in a file that is archived.
 */
#ifndef REDOAHEAD_LESSLOG_EDITS_H
#define REDOAHEAD_LESSLOG_EDITS_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that are replaced. */
struct edit
{
	uint32_t	at;				/* place of the first one in the file, bytes */
	uint32_t	bytes;			/* how many */
	uint32_t	value;			/* the new bytes, as in memory; behind its four bytes come zeros */
};

/* Changes of a file, in ascending order of their places, none beside or in another. */
struct edits
{
	struct edit *list;			/* "count" of them */
	size_t		count;
	size_t		room;			/* how many fit into the list */
	int			err;			/* -ENOMEM if any is missing */
};

void		edits__add(struct edits *edits, uint64_t at, uint32_t bytes, uint32_t value);
void		edits__apply(const struct edits *edits, uint64_t from, void *bytes, size_t count);
void		edits__destroy(struct edits *edits);

#endif							/* REDOAHEAD_LESSLOG_EDITS_H */
