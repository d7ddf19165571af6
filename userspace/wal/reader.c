/*
 * reader.c
 *		Reads records from WAL, one after the other.
 *
 * WAL is read in large pieces.  A record that lies on one page is used where it is in
 * the buffer; one that spans pages is assembled, without the pages' headers.  Nothing
 * is allocated for a record unless it is larger than all before.
 *
 * WAL ends where the page header, the record header, the pointer to the record before
 * or the CRC are not what a server would have written: there follow old contents of a
 * recycled segment, zeros, or a part that is being written.  wal_reader__next() may be
 * called again then; it reads from where the last record ended.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lsn.h"
#include "wal/page.h"
#include "wal/reader.h"

/* Read at once, bytes: fits into the CPU's second-level cache, and holds a page. */
#define BUFFER_BYTES		(128 * 1024)

/* Size of a record that gets its own memory at first; it grows as pages arrive. */
#define ASSEMBLED_BYTES		(64 * 1024)

/* Room for the header of a record at the end of a page: records are aligned. */
#define MIN_ON_PAGE			WAL_RECORD_ALIGNMENT

/* Greatest number of a resource manager that is built in, and least one of an extension. */
#define MAX_BUILTIN_RMGR	31
#define MIN_CUSTOM_RMGR		128

/* No further record, for the reason that the message reports. */
static int __attribute__((format(printf, 2, 3)))
end(struct wal_reader *reader, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	vsnprintf(reader->message, sizeof(reader->message), format, args);
	va_end(args);
	reader->buffer_bytes = 0;	/* what was read may be replaced */
	return WAL_READER_END;
}

static inline uint64_t
align(uint64_t lsn)
{
	return (lsn + WAL_RECORD_ALIGNMENT - 1) & ~(uint64_t) (WAL_RECORD_ALIGNMENT - 1);
}

/* Prepare a reader; the caller calls wal_reader__begin() or wal_reader__find() next. */
int
wal_reader__create(struct wal_reader *reader, const struct wal_reader_options *options)
{
	*reader = (struct wal_reader) {.options = *options};
	reader->buffer = malloc(BUFFER_BYTES);
	return reader->buffer == NULL ? -ENOMEM : 0;
}

void
wal_reader__destroy(struct wal_reader *reader)
{
	free(reader->buffer);
	free(reader->assembled);
	reader->buffer = reader->assembled = NULL;
}

/* Read from the start of a record on. */
void
wal_reader__begin(struct wal_reader *reader, uint64_t lsn)
{
	reader->next_lsn = lsn;
	reader->previous_lsn = 0;
	reader->timeline = 0;
	reader->timeline_lsn = 0;
	reader->buffer_bytes = 0;
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
		(void) end(reader, "the page at " LSN_FORMAT " has the magic number %04X, of no "
				   "known version of PostgreSQL", LSN_ARGS(lsn), header.page.magic);
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
		(void) end(reader, "the page at " LSN_FORMAT " %s", LSN_ARGS(lsn), problem);
		return false;
	}
	if (lsn >= reader->timeline_lsn)
	{
		reader->timeline = header.page.timeline;
		reader->timeline_lsn = lsn;
	}
	return true;
}

/*
 * Get the page that "lsn" is on.  Returns WAL_READER_RECORD, or WAL_READER_END or
 * -errno with a message.
 */
static int
get_page(struct wal_reader *reader, uint64_t lsn, const unsigned char **page)
{
	uint32_t	page_bytes = reader->options.page_bytes;
	uint64_t	start = lsn - lsn % page_bytes;

	if (start < reader->buffer_lsn ||
		start + page_bytes > reader->buffer_lsn + reader->buffer_bytes)
	{
		const struct wal_source *source = &reader->options.source;
		long		n = source->read(source->context, start, reader->buffer, BUFFER_BYTES);

		if (n < 0)
		{
			(void) end(reader, "cannot read WAL at " LSN_FORMAT ": %s", LSN_ARGS(start),
					   strerror((int) -n));
			return (int) n;
		}
		if ((uint64_t) n < page_bytes)
			return end(reader, "there is no WAL at " LSN_FORMAT, LSN_ARGS(start));
		reader->buffer_lsn = start;
		reader->buffer_bytes = (size_t) n;
	}
	*page = reader->buffer + (start - reader->buffer_lsn);
	/* Each page is checked when its first byte is wanted. */
	if (lsn % page_bytes != 0 && reader->timeline != 0)
		return WAL_READER_RECORD;
	return check_page(reader, *page, start) ? WAL_READER_RECORD : WAL_READER_END;
}

/* Is this a header that may stand at "lsn"?  Of it, at least total_bytes is there. */
static bool
check_header(struct wal_reader *reader, const struct wal_record_header *header, uint64_t lsn,
			 bool complete)
{
	if (header->total_bytes < WAL_RECORD_HEADER_BYTES ||
		header->total_bytes > WAL_RECORD_MAX_BYTES)
		(void) end(reader, "the record at " LSN_FORMAT " has a size of %u", LSN_ARGS(lsn),
				   header->total_bytes);
	else if (complete && (reader->previous_lsn != 0 ? header->previous != reader->previous_lsn :
						  header->previous >= lsn))
		(void) end(reader, "the record at " LSN_FORMAT " does not follow that at " LSN_FORMAT
				   ", but " LSN_FORMAT, LSN_ARGS(lsn), LSN_ARGS(reader->previous_lsn),
				   LSN_ARGS(header->previous));
	else if (complete && header->rmid > MAX_BUILTIN_RMGR && header->rmid < MIN_CUSTOM_RMGR)
		(void) end(reader, "the record at " LSN_FORMAT " has the resource manager %u",
				   LSN_ARGS(lsn), header->rmid);
	else
		return true;
	return false;
}

/* Have room for "bytes" bytes of a record.  0 or -ENOMEM. */
static int
reserve(struct wal_reader *reader, size_t bytes)
{
	size_t		room = reader->assembled_bytes > 0 ? reader->assembled_bytes : ASSEMBLED_BYTES;
	unsigned char *grown;

	if (bytes <= reader->assembled_bytes)
		return 0;
	while (room < bytes)
		room *= 2;
	grown = realloc(reader->assembled, room);
	if (grown == NULL)
	{
		(void) end(reader, "not enough memory for a record of %zu bytes", bytes);
		return -ENOMEM;
	}
	reader->assembled = grown;
	reader->assembled_bytes = room;
	return 0;
}

/*
 * Assemble a record that spans pages; *lsn is its start, and receives its end.  If the
 * server overwrote it, *lsn receives the page where it did, and *bytes is NULL.
 */
static int
assemble(struct wal_reader *reader, uint64_t *lsn, const unsigned char **bytes)
{
	struct wal_record_header header;
	uint64_t	start = *lsn;
	uint64_t	at = start;
	const unsigned char *page;
	uint32_t	total = 0;
	uint32_t	got = 0;
	int			result;

	*bytes = NULL;
	do
	{
		uint32_t	from = (uint32_t) (at % reader->options.page_bytes);
		uint32_t	part;

		result = get_page(reader, at, &page);
		if (result != WAL_READER_RECORD)
			return result;
		if (got > 0)
		{
			struct wal_page_header continued;

			memcpy(&continued, page, sizeof(continued));
			if (continued.flags & WAL_PAGE_OVERWRITES)
			{
				*lsn = at;
				return WAL_READER_RECORD;
			}
			if (!(continued.flags & WAL_PAGE_CONTINUES) || continued.rest_bytes != total - got)
				return end(reader, "the record at " LSN_FORMAT " does not go on at " LSN_FORMAT,
						   LSN_ARGS(start), LSN_ARGS(at));
			from = wal_page__header_bytes(at, reader->options.segment_bytes);
		}
		else
			memcpy(&total, page + from, sizeof(total));

		part = reader->options.page_bytes - from;
		if (part > total - got)
			part = total - got;
		result = reserve(reader, got + part);
		if (result < 0)
			return result;
		memcpy(reader->assembled + got, page + from, part);
		if (got < sizeof(header) && got + part >= sizeof(header))
		{
			memcpy(&header, reader->assembled, sizeof(header));
			if (!check_header(reader, &header, start, true))
				return WAL_READER_END;
		}
		got += part;
		at += from + part - at % reader->options.page_bytes;
	} while (got < total);
	*lsn = at;
	*bytes = reader->assembled;
	return WAL_READER_RECORD;
}

/*
 * Find where a record begins at or after reader->next_lsn: after the header of the
 * page, if that is where a page begins.
 */
static int
skip_page_header(struct wal_reader *reader, uint64_t *lsn)
{
	struct wal_page_header header;
	const unsigned char *page;
	int			result = get_page(reader, *lsn, &page);

	if (result != WAL_READER_RECORD || *lsn % reader->options.page_bytes != 0)
		return result;
	memcpy(&header, page, sizeof(header));
	if (header.flags & WAL_PAGE_CONTINUES)
		return end(reader, "the page at " LSN_FORMAT " begins in a record", LSN_ARGS(*lsn));
	*lsn += wal_page__header_bytes(*lsn, reader->options.segment_bytes);
	return WAL_READER_RECORD;
}

/*
 * Get the bytes of the record at *lsn, which receives its start, in one piece, and
 * *end_lsn its end.
 */
static int
get_record(struct wal_reader *reader, uint64_t *lsn, uint64_t *end_lsn,
		   const unsigned char **bytes)
{
	struct wal_record_header header = {0};
	const unsigned char *page;
	uint32_t	from;
	uint32_t	part;
	int			result;

	*bytes = NULL;
	while (*bytes == NULL)
	{
		result = skip_page_header(reader, lsn);
		if (result == WAL_READER_RECORD)
			result = get_page(reader, *lsn, &page);
		if (result != WAL_READER_RECORD)
			return result;
		from = (uint32_t) (*lsn % reader->options.page_bytes);
		part = reader->options.page_bytes - from;
		memcpy(&header, page + from, part < sizeof(header) ? part : sizeof(header));
		if (!check_header(reader, &header, *lsn, part >= sizeof(header)))
			return WAL_READER_END;
		*end_lsn = *lsn;
		if (header.total_bytes <= part)
		{
			*bytes = page + from;
			*end_lsn += header.total_bytes;
			continue;
		}
		result = assemble(reader, end_lsn, bytes);
		if (result != WAL_READER_RECORD)
			return result;
		if (*bytes == NULL)
			*lsn = *end_lsn;
	}
	return WAL_READER_RECORD;
}

/* As wal_reader__next(), from what is in the buffer, if anything is. */
static int
next_record(struct wal_reader *reader)
{
	const struct wal_reader_options *options = &reader->options;
	struct wal_record *record = &reader->record;
	const unsigned char *bytes;
	uint32_t	total;
	uint64_t	end_lsn;
	int			result;

	record->lsn = reader->next_lsn;
	result = get_record(reader, &record->lsn, &end_lsn, &bytes);
	if (result != WAL_READER_RECORD)
		return result;
	memcpy(&total, bytes, sizeof(total));
	if (!wal_record__crc_matches(bytes, total))
		return end(reader, "the record at " LSN_FORMAT " has another CRC", LSN_ARGS(record->lsn));
	if (wal_record__parse(record, bytes, total, reader->format, options->block_size,
						  reader->message) < 0)
	{
		reader->buffer_bytes = 0;
		return WAL_READER_END;
	}

	record->end_lsn = align(end_lsn);
	/* Nothing follows the record that ends a segment early. */
	if (record->rmid == WAL_RMGR_XLOG &&
		(record->info & ~WAL_INFO_COMMON) == WAL_XLOG_SWITCH)
		record->end_lsn += options->segment_bytes - 1 -
			(record->end_lsn - 1) % options->segment_bytes;
	reader->previous_lsn = record->lsn;
	reader->next_lsn = record->end_lsn;
	return WAL_READER_RECORD;
}

/*
 * Read the next record into reader->record.  Returns WAL_READER_RECORD; or, with a
 * message, WAL_READER_END where valid WAL ends at present, or -errno if it cannot be
 * read.
 */
int
wal_reader__next(struct wal_reader *reader)
{
	bool		buffered = reader->buffer_bytes > 0;
	int			result = next_record(reader);

	/* Where WAL ended when the buffer was filled, more may have been written. */
	if (result == WAL_READER_END && buffered)
		result = next_record(reader);
	return result;
}

/*
 * Find the first record that begins at or after "lsn", a position anywhere in WAL.
 * Returns as wal_reader__next(), which is called next.
 */
int
wal_reader__find(struct wal_reader *reader, uint64_t lsn)
{
	uint64_t	at;
	int			result = WAL_READER_RECORD;

	wal_reader__begin(reader, lsn);
	at = lsn - lsn % reader->options.page_bytes;

	/* Skip the rest of a record from the pages before. */
	for (;;)
	{
		struct wal_page_header header;
		const unsigned char *page;
		uint32_t	header_bytes = wal_page__header_bytes(at, reader->options.segment_bytes);

		result = get_page(reader, at, &page);
		if (result != WAL_READER_RECORD)
			return result;
		memcpy(&header, page, sizeof(header));
		if (!(header.flags & WAL_PAGE_CONTINUES))
			at += header_bytes;
		else if (header.rest_bytes > reader->options.page_bytes - header_bytes)
		{
			at += reader->options.page_bytes;
			continue;
		}
		else
			at = align(at + header_bytes + header.rest_bytes);
		break;
	}

	/* Then records, up to the position. */
	reader->next_lsn = at;
	while (reader->next_lsn < lsn)
	{
		uint64_t	previous = reader->previous_lsn;

		at = reader->next_lsn;
		result = wal_reader__next(reader);
		if (result != WAL_READER_RECORD)
			return result;
		if (reader->record.lsn >= lsn)
		{
			reader->next_lsn = at;
			reader->previous_lsn = previous;
			break;
		}
	}
	return WAL_READER_RECORD;
}
