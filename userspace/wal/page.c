/*
 * page.c
 *		Is this a page of the WAL that is read?
 */
#include "wal/page.h"

/*
 * What is wrong with the header of a page, to follow "the page"; NULL if nothing is.
 * Of a short header, only that part is examined.
 */
const char *
wal_page__problem(const struct wal_long_page_header *header,
				  const struct wal_page_expected *expected)
{
	const struct wal_format *format = wal_format__of_page(header->page.magic);

	if (header->page.magic != expected->magic || format == NULL)
		return "is of another version of PostgreSQL, or empty";
	if (header->page.flags & ~format->page_flags)
		return "has unknown flags";
	if (header->page.lsn != expected->lsn)
		return "is that of another position";
	if (((header->page.flags & WAL_PAGE_LONG) != 0) !=
		(expected->lsn % expected->segment_bytes == 0))
		return "has a header of the wrong kind";
	if (header->page.timeline < expected->timeline)
		return "is of an older timeline than the one before";
	if (!(header->page.flags & WAL_PAGE_LONG))
		return NULL;
	if (header->system_identifier != expected->system_identifier)
		return "is of another cluster";
	if (header->segment_bytes != expected->segment_bytes)
		return "is of segments of another size";
	if (header->page_bytes != expected->page_bytes)
		return "has pages of another size";
	return NULL;
}
