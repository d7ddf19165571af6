/*
 * filters.c
 *		Blocks that redo does not read from existing files, because WAL that it has not
 *		replayed creates, truncates or drops them first.
 *
 * The rules are those of the filters in PostgreSQL's xlogprefetcher.c:
 *
 * - Creation of a relation filters all of it, truncation the blocks from the new end on.
 *   What comes back there is a new generation of blocks, which redo initializes.
 *
 * - Creation of a database by copying files filters the whole database, since no records
 *   create its relations.  With the other strategy, they do.
 *
 * - A filter ends when redo has replayed the last record that made or prolonged it.
 *
 * A dropped database is filtered here, too.  Dropped relations need no filter: no record
 * names one again before it is created anew.  Unlike there, nothing depends on whether
 * files exist: that shows when they are opened, which is not done here.
 *
 * Filters are in a list from the oldest to the newest; it is in the order of their LSNs,
 * unless the caller reads parts of WAL in another order.  The table is bounded: the oldest
 * filter ends early, which costs reads in vain.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/redoahead_abi.h"
#include "wal/filters.h"

/* What the hash table has of a filter. */
struct numbered
{
	struct filter_key key;		/* what is filtered */
	uint32_t	number;			/* of the filter */
};

/* Start without filters.  Returns 0 or -ENOMEM. */
int
filters__create(struct filters *filters)
{
	int			err;

	*filters = (struct filters) {0};
	/* It is never three quarters full. */
	err = hash__create(&filters->numbers, sizeof(struct numbered), sizeof(struct filter_key),
					   2 * FILTERS_MAX);
	if (err < 0)
		return err;
	filters->filters = calloc(FILTERS_MAX + 1, sizeof(*filters->filters));
	if (filters->filters != NULL)
		return 0;
	filters__destroy(filters);
	return -ENOMEM;
}

void
filters__destroy(struct filters *filters)
{
	hash__destroy(&filters->numbers);
	free(filters->filters);
	*filters = (struct filters) {0};
}

/* Take a filter out of the list. */
static void
take_out(struct filters *filters, const struct filter *filter)
{
	filters->filters[filter->older].newer = filter->newer;
	filters->filters[filter->newer].older = filter->older;
}

/* Put it at the end of the list. */
static void
put_newest(struct filters *filters, uint32_t number)
{
	struct filter *filter = &filters->filters[number];
	struct filter *ends = &filters->filters[0];

	filter->older = ends->older;
	filter->newer = 0;
	filters->filters[ends->older].newer = number;
	ends->older = number;
}

/* End the oldest filter. */
static void
end_oldest(struct filters *filters)
{
	uint32_t	number = filters->filters[0].newer;
	struct filter *filter = &filters->filters[number];

	hash__remove(&filters->numbers, hash__find(&filters->numbers, &filter->key));
	take_out(filters, filter);
	filter->newer = filters->unused;
	filters->unused = number;
}

/* End the filters whose records redo has replayed. */
void
filters__end_passed(struct filters *filters, uint64_t replay_lsn)
{
	while (filters->numbers.count > 0 &&
		   filters->filters[filters->filters[0].newer].lsn < replay_lsn)
		end_oldest(filters);
}

/* The number of a filter that is not in use. */
static uint32_t
unused_number(struct filters *filters)
{
	uint32_t	number;

	if (filters->numbers.count == FILTERS_MAX)
		end_oldest(filters);
	if (filters->unused == 0)
		return ++filters->used;
	number = filters->unused;
	filters->unused = filters->filters[number].newer;
	return number;
}

/*
 * Filter a relation or a database from a block on until redo has replayed the record at
 * "lsn".  If it is filtered already, that goes on, from the lower one of the blocks.
 */
static void
add(struct filters *filters, struct filter_key key, uint32_t block, uint64_t lsn)
{
	struct numbered *entry = hash__find(&filters->numbers, &key);
	struct filter *filter;

	if (entry != NULL)
	{
		filter = &filters->filters[entry->number];
		take_out(filters, filter);
		if (block < filter->first_block)
			filter->first_block = block;
	}
	else
	{
		uint32_t	number = unused_number(filters);

		filter = &filters->filters[number];
		*filter = (struct filter) {.key = key,.first_block = block};
		entry = hash__add(&filters->numbers, &key);
		if (entry == NULL)
		{
			/* No memory: these blocks will be tried in vain. */
			filter->newer = filters->unused;
			filters->unused = number;
			return;
		}
		entry->number = number;
	}
	filter->lsn = lsn;
	put_newest(filters, entry->number);
}

static uint32_t
number_at(const struct wal_record *record, uint32_t at)
{
	uint32_t	number;

	memcpy(&number, (const char *) record->data + at, sizeof(number));
	return number;
}

static struct filter_key
relation_at(const struct wal_record *record, uint32_t at)
{
	return (struct filter_key) {
		number_at(record, at), number_at(record, at + 4), number_at(record, at + 8)
	};
}

/* Add or prolong the filter of a record that creates, truncates or drops something. */
void
filters__of_record(struct filters *filters, const struct wal_record *record)
{
	uint8_t		op = record->info & ~WAL_INFO_COMMON;

	if (record->rmid == WAL_RMGR_SMGR)
	{
		if (op == WAL_SMGR_CREATE && record->data_len >= WAL_SMGR_CREATE_BYTES &&
			number_at(record, WAL_SMGR_CREATE_FORK_AT) == REDOAHEAD_FORK_MAIN)
			add(filters, relation_at(record, WAL_SMGR_CREATE_RELATION_AT), 0, record->lsn);
		else if (op == WAL_SMGR_TRUNCATE && record->data_len >= WAL_TRUNCATE_BYTES &&
				 (number_at(record, WAL_TRUNCATE_FLAGS_AT) & WAL_TRUNCATE_MAIN))
			add(filters, relation_at(record, WAL_TRUNCATE_RELATION_AT),
				number_at(record, WAL_TRUNCATE_BLOCK_AT), record->lsn);
	}
	else if (record->rmid == WAL_RMGR_DBASE)
	{
		if ((op == WAL_DBASE_CREATE_FILE_COPY || op == record->format->dbase_drop) &&
			record->data_len >= WAL_DBASE_BYTES)
			add(filters, (struct filter_key) {.db = number_at(record, WAL_DBASE_DATABASE_AT)}, 0,
				record->lsn);
	}
}

/*
 * Is a block of a relation's main fork filtered, for a record at "lsn"?  Other forks are
 * filtered only with the whole relation: pass block 0.
 */
bool
filters__find(const struct filters *filters, struct filter_key relation, uint32_t block,
			  uint64_t lsn)
{
	const struct numbered *entry;

	if (filters->numbers.count == 0)
		return false;
	for (int whole_database = 0; whole_database < 2; whole_database++)
	{
		if (whole_database)
			relation.spc = relation.rel = 0;
		entry = hash__find(&filters->numbers, &relation);
		if (entry != NULL && filters->filters[entry->number].first_block <= block &&
			filters->filters[entry->number].lsn <= lsn)
			return true;
	}
	return false;
}
