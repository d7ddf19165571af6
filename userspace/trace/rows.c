/*
 * rows.c
 *		The table of relations and SLRUs: what was counted, with its path.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/rows.h"

static int
compare_rows(const void *left, const void *right)
{
	const struct tally_row *a = &((const struct findings_row *) left)->counts;
	const struct tally_row *b = &((const struct findings_row *) right)->counts;
	uint64_t	read_a = tally__row_read(a);
	uint64_t	read_b = tally__row_read(b);

	if (read_a != read_b)
		return read_a < read_b ? 1 : -1;
	return a->prefetched < b->prefetched ? 1 : a->prefetched > b->prefetched ? -1 : 0;
}

/* Is the file of a row gone?  In a tablespace that was not found nobody knows. */
static bool
is_gone(int dirfd, const struct findings_row *row)
{
	return (row->key.kind == REDOAHEAD_KIND_SLRU || row->key.spc != 0) &&
		faccessat(dirfd, row->path, F_OK, 0) < 0 && errno == ENOENT;
}

/*
 * Put the rows together that there is something to tell of, most read first;
 * NULL if there is no memory.  The caller frees them.
 */
struct findings_row *
rows__make(const struct files *files, const struct tally *tally, int dirfd, uint32_t *count)
{
	uint32_t	all = files__rows(files);
	struct findings_row *rows = calloc(all == 0 ? 1 : all, sizeof(*rows));

	*count = 0;
	if (rows == NULL)
		return NULL;
	for (uint32_t i = 0; i < all && i < tally->row_count; i++)
	{
		struct findings_row *row = &rows[*count];

		if (tally__row_work(&tally->rows[i]) == 0)
			continue;
		row->key = *files__row_key(files, i);
		row->counts = tally->rows[i];
		files__row_path(files, i, row->path);
		row->dropped = is_gone(dirfd, row);
		(*count)++;
	}
	qsort(rows, *count, sizeof(*rows), compare_rows);
	return rows;
}
