/*
 * walend.c
 *		Where the WAL in a directory ends, by the headers of its pages.
 *
 * Files behind the end are missing, or are old segments that wait for being
 * overwritten, whose pages have other positions.  So pages up to the end are valid and
 * those behind it are not, and a search by bisection reads a few dozen headers, however
 * much WAL there is.  The last record may end before the page does.
 */
#include "wal/walend.h"

/* Segments that the first step of the search goes ahead. */
#define FIRST_STEP	1

/* Is there a page of this WAL at a position? */
static bool
is_page(struct wal_segments *segments, struct wal_page_expected expected, uint64_t lsn)
{
	struct wal_long_page_header header;
	uint32_t	bytes = wal_page__header_bytes(lsn, expected.segment_bytes);

	expected.lsn = lsn;
	return wal_segments__read(segments, lsn, &header, bytes) == (long) bytes &&
		wal_page__problem(&header, &expected) == NULL;
}

/*
 * The first unit without a page, of those from "low", which has one, to "high", which has
 * none.
 */
static uint64_t
bisect(struct wal_segments *segments, const struct wal_page_expected *expected,
	   uint64_t unit_bytes, uint64_t low, uint64_t high)
{
	while (high - low > 1)
	{
		uint64_t	middle = low + (high - low) / 2;

		if (is_page(segments, *expected, middle * unit_bytes))
			low = middle;
		else
			high = middle;
	}
	return high;
}

/*
 * The end of the last page of the WAL that has a position, or 0 if the page with this
 * position is missing.  Of "expected", position and magic number do not matter: all pages
 * have the magic number of the first.
 */
uint64_t
walend__find(struct wal_segments *segments, struct wal_page_expected expected, uint64_t lsn)
{
	uint64_t	per_segment = expected.segment_bytes / expected.page_bytes;
	uint64_t	page = lsn / expected.page_bytes;
	uint64_t	low = lsn / expected.segment_bytes;
	uint64_t	step = FIRST_STEP;
	uint64_t	segment;
	struct wal_page_header first;

	wal_segments__forget(segments);
	if (wal_segments__read(segments, page * expected.page_bytes, &first, sizeof(first)) !=
		(long) sizeof(first))
		return 0;
	expected.magic = first.magic;
	if (!is_page(segments, expected, page * expected.page_bytes))
		return 0;
	while (is_page(segments, expected, (low + step) * expected.segment_bytes))
	{
		low += step;
		step *= 2;
	}
	segment = bisect(segments, &expected, expected.segment_bytes, low, low + step);
	if (page < (segment - 1) * per_segment)
		page = (segment - 1) * per_segment;
	return expected.page_bytes *
		bisect(segments, &expected, expected.page_bytes, page, segment * per_segment);
}
