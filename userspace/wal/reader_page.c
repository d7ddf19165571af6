/*
 * reader_page.c
 *		Gets the pages of WAL for the reader, and verifies their headers.
 *
 * WAL is read in large pieces.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/lsn.h"
#include "wal/page.h"
#include "wal/reader_internal.h"

/* No further record, for the reason that the message reports. */
int
wal_reader__end(struct wal_reader *reader, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	vsnprintf(reader->message, sizeof(reader->message), format, args);
	va_end(args);
	wal_reader__drop(reader);
	return WAL_READER_END;
}

/* Is this the header of the page at "lsn"?  If not, the message reports why. */
static bool
check_page(struct wal_reader *reader, const unsigned char *bytes, uint64_t lsn)
{
	struct wal_reader_options *options = &reader->options;
	struct wal_long_page_header header;
	const char *problem;

	memcpy(&header, bytes, sizeof(header));
	if (reader->format == NULL)
		reader->format = wal_format__of_page(header.page.magic);
	if (reader->format == NULL)
	{
		(void) wal_reader__end(reader, "the page at " LSN_FORMAT " has the magic number %04X, of "
							   "no known version of PostgreSQL", LSN_ARGS(lsn), header.page.magic);
		return false;
	}
	if (options->system_identifier == 0 && (header.page.flags & WAL_PAGE_LONG))
		options->system_identifier = header.system_identifier;
	problem = wal_page__problem(&header, &(struct wal_page_expected)
								{
									.lsn = lsn,.magic = reader->format->page_magic,
										.system_identifier = options->system_identifier,
										.segment_bytes = options->segment_bytes,
										.page_bytes = options->page_bytes,
										.timeline = lsn > reader->timeline_lsn ? reader->timeline : 0,
								});
	if (problem != NULL)
	{
		if (reader->timeline == 0)
			reader->format = NULL;	/* not learned from a page that is none */
		(void) wal_reader__end(reader, "the page at " LSN_FORMAT " %s", LSN_ARGS(lsn), problem);
		return false;
	}
	if (lsn >= reader->timeline_lsn)
	{
		reader->timeline = header.page.timeline;
		reader->timeline_lsn = lsn;
	}
	if (lsn % options->segment_bytes == 0)
	{
		reader->segment_lsn = lsn;
		reader->segment_known = true;
	}
	return true;
}

/* Set the message to why there is no page.  "n" is what the source returned. */
static int
no_page(struct wal_reader *reader, uint64_t lsn, long n)
{
	if (n >= 0)
		return wal_reader__end(reader, "there is no WAL at " LSN_FORMAT, LSN_ARGS(lsn));
	(void) wal_reader__end(reader, "cannot read WAL at " LSN_FORMAT ": %s", LSN_ARGS(lsn),
						   strerror((int) -n));
	return (int) n;
}

/*
 * Verify the long header of the segment that "lsn" is in, unless that was done.  Only this
 * header shows of which cluster WAL is: that of a page in the middle may be right in a file
 * of another one.  Returns as wal_reader__get_page().
 */
static int
check_segment(struct wal_reader *reader, uint64_t lsn)
{
	const struct wal_source *source = &reader->options.source;
	uint64_t	start = lsn - lsn % reader->options.segment_bytes;
	unsigned char header[WAL_PAGE_LONG_BYTES];
	long		n;

	/* A first page is verified as any page is. */
	if (lsn == start || (reader->segment_known && reader->segment_lsn == start))
		return WAL_READER_RECORD;
	n = source->read(source->context, start, header, sizeof(header));
	if (n < (long) sizeof(header))
		return no_page(reader, start, n);
	return check_page(reader, header, start) ? WAL_READER_RECORD : WAL_READER_END;
}

/* As wal_reader__get_page(), where the page must be read, or its header verified. */
int
wal_reader__load_page(struct wal_reader *reader, uint64_t lsn, const unsigned char **page)
{
	uint32_t	page_bytes = reader->options.page_bytes;
	uint64_t	start = lsn - lsn % page_bytes;
	bool		verify = lsn == start || reader->timeline == 0;

	if (!wal_reader__has_page(reader, start))
	{
		const struct wal_source *source = &reader->options.source;
		long		n = source->read(source->context, start, reader->buffer, READER_BUFFER_BYTES);

		int			result;

		if (n < (long) page_bytes)
			return no_page(reader, start, n);
		result = check_segment(reader, start);
		if (result != WAL_READER_RECORD)
			return result;
		reader->buffer_lsn = start;
		reader->buffer_bytes = (size_t) n;
	}
	*page = reader->buffer + (start - reader->buffer_lsn);
	if (!verify)
		return WAL_READER_RECORD;
	return check_page(reader, *page, start) ? WAL_READER_RECORD : WAL_READER_END;
}
