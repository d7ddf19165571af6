/*
 * filters.h
 *		Blocks that redo does not read from existing files, because WAL that it has not
 *		replayed creates, truncates or drops them first.
 */
#ifndef REDOAHEAD_WAL_FILTERS_H
#define REDOAHEAD_WAL_FILTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "wal/record.h"

/* Most filters; if more are wanted, the oldest ends early.  A power of two. */
#define FILTERS_MAX		65536

/* What is filtered; a database has neither tablespace nor relation. */
struct filter_key
{
	uint32_t	spc;			/* tablespace OID */
	uint32_t	db;				/* database OID */
	uint32_t	rel;			/* relfilenumber */
};

struct filter
{
	struct filter_key key;		/* what is filtered */
	uint32_t	first_block;	/* from which block of the main fork on */
	uint64_t	lsn;			/* start of the record that ends it when replayed */
	uint32_t	older;			/* the filter before in the order of age, 0: none */
	uint32_t	newer;			/* the next one; 0: none */
};

struct filters
{
	struct hash numbers;		/* of filters, by their keys */
	struct filter *filters;		/* FILTERS_MAX + 1; number 0 joins the oldest and the newest */
	uint32_t	unused;			/* a number that was in use before, 0: none; "newer" has more */
	uint32_t	used;			/* numbers that have been in use ever */
};

int			filters__create(struct filters *filters);
void		filters__destroy(struct filters *filters);
void		filters__of_record(struct filters *filters, const struct wal_record *record);
void		filters__end_passed(struct filters *filters, uint64_t replay_lsn);
bool		filters__find(const struct filters *filters, struct filter_key relation,
						  uint32_t block, uint64_t lsn);

#endif							/* REDOAHEAD_WAL_FILTERS_H */
