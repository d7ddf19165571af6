/*
 * whole.c
 *		Does a segment have all of its WAL?
 *
 * A segment that is still being written has the size of a whole one, such as a .partial
 * file of pg_receivewal.  Behind its WAL come zeros, or pages of an old segment.  So the
 * last page with WAL is searched from the end, and the records from the page before it on
 * are read: of a whole segment they go on in the next one.  Nothing follows the record of a
 * switch, after which the reader goes on there, too.
 */
#include <fcntl.h>
#include <unistd.h>

#include "wal/page.h"
#include "wal/reader.h"
#include "wal/whole.h"

/* A file with a segment. */
struct segment_file
{
	int			fd;				/* open for reading */
	uint64_t	lsn;			/* position of its start */
	uint32_t	bytes;			/* its size */
	bool		exceeded;		/* was WAL behind its end requested? */
};

/* The "read" of a wal_source. */
static long
read_file(void *context, uint64_t lsn, void *out, size_t bytes)
{
	struct segment_file *file = context;

	if (lsn < file->lsn || lsn >= file->lsn + file->bytes)
	{
		file->exceeded = lsn >= file->lsn;
		return 0;
	}
	return pread(file->fd, out, bytes, (off_t) (lsn - file->lsn));
}

/* The last page that has WAL of this segment, or the first. */
static uint64_t
last_page(struct segment_file *file, const struct wal_long_page_header *first)
{
	struct wal_page_expected expected = {
		.magic = first->page.magic,.segment_bytes = file->bytes,.page_bytes = first->page_bytes,
	};
	struct wal_long_page_header header = {0};
	uint64_t	lsn;

	for (lsn = file->lsn + file->bytes - first->page_bytes; lsn > file->lsn; lsn -= first->page_bytes)
	{
		expected.lsn = lsn;
		if (read_file(file, lsn, &header, WAL_PAGE_SHORT_BYTES) == WAL_PAGE_SHORT_BYTES &&
			wal_page__problem(&header, &expected) == NULL)
			break;
	}
	return lsn;
}

static bool
is_whole(struct segment_file *file)
{
	struct wal_long_page_header first;
	struct wal_reader reader;
	uint64_t	lsn;
	int			result;

	if (pread(file->fd, &first, sizeof(first), 0) != (ssize_t) sizeof(first) ||
		first.page_bytes < WAL_PAGE_MIN_BYTES || first.page_bytes > WAL_PAGE_MAX_BYTES ||
		first.segment_bytes < WAL_SEGMENT_MIN_BYTES ||
		first.segment_bytes % first.page_bytes != 0)
		return false;
	file->lsn = first.page.lsn;
	file->bytes = first.segment_bytes;
	lsn = last_page(file, &first);
	if (lsn > file->lsn)
		lsn -= first.page_bytes;
	if (wal_reader__create(&reader, &(struct wal_reader_options)
						   {
							   .source = {read_file, file},
								   .segment_bytes = file->bytes,.page_bytes = first.page_bytes
						   }) < 0)
		return false;
	result = wal_reader__find(&reader, lsn);
	while (result == WAL_READER_RECORD)
		result = wal_reader__next(&reader);
	wal_reader__destroy(&reader);
	return file->exceeded;
}

/*
 * Does this file, which begins as the segment does, have its WAL up to the end?  False if
 * that cannot be found out.
 */
bool
whole__is(const char *path)
{
	struct segment_file file = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
	bool		whole = file.fd >= 0 && is_whole(&file);

	if (file.fd >= 0)
		close(file.fd);
	return whole;
}
