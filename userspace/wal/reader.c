/*
 * reader.c
 *		Reads records from WAL, one after the other.
 *
 * reader_page.c gets the pages.  A record that lies on one page is used where it is in
 * the buffer; one that spans pages is assembled, without the pages' headers.  Nothing
 * is allocated for a record unless it is larger than all before.
 *
 * WAL ends where the page header, the record header, the pointer to the record before
 * or the CRC are not what a server would have written: there follow old contents of a
 * recycled segment, zeros, or a part that is being written.  wal_reader__next() may be
 * called again then; it reads from where the last record ended.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lsn.h"
#include "wal/page.h"
#include "wal/reader_internal.h"

/* Size of a record that gets its own memory at first; it grows as pages arrive. */
#define ASSEMBLED_BYTES		(64 * 1024)

/* Greatest number of a resource manager that is built in. */
#define MAX_BUILTIN_RMGR	31

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
	reader->buffer = malloc(READER_BUFFER_BYTES);
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
	wal_reader__drop(reader);
}

/* Is this a header that may stand at "lsn"?  Of it, at least total_bytes is there. */
static bool
check_header(struct wal_reader *reader, const struct wal_record_header *header, uint64_t lsn,
			 bool complete)
{
	if (header->total_bytes < WAL_RECORD_HEADER_BYTES ||
		header->total_bytes > WAL_RECORD_MAX_BYTES)
		(void) wal_reader__end(reader, "the record at " LSN_FORMAT " has a size of %u",
							   LSN_ARGS(lsn), header->total_bytes);
	else if (complete && (reader->previous_lsn != 0 ? header->previous != reader->previous_lsn :
						  header->previous >= lsn))
		(void) wal_reader__end(reader, "the record at " LSN_FORMAT " does not follow that at "
							   LSN_FORMAT ", but " LSN_FORMAT, LSN_ARGS(lsn),
							   LSN_ARGS(reader->previous_lsn), LSN_ARGS(header->previous));
	else if (complete && header->rmid > MAX_BUILTIN_RMGR && header->rmid < WAL_RMGR_MIN_CUSTOM)
		(void) wal_reader__end(reader, "the record at " LSN_FORMAT " has the resource manager %u",
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
		(void) wal_reader__end(reader, "not enough memory for a record of %zu bytes", bytes);
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

		result = wal_reader__get_page(reader, at, &page);
		if (result != WAL_READER_RECORD)
			return result;
		if (got > 0)
		{
			struct wal_page_header continued;

			memcpy(&continued, page, sizeof(continued));
			if (continued.flags & reader->format->page_overwrites)
			{
				*lsn = at;
				return WAL_READER_RECORD;
			}
			if (!(continued.flags & WAL_PAGE_CONTINUES) || continued.rest_bytes != total - got)
				return wal_reader__end(reader, "the record at " LSN_FORMAT " does not go on at "
									   LSN_FORMAT, LSN_ARGS(start), LSN_ARGS(at));
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
	int			result = wal_reader__get_page(reader, *lsn, &page);

	if (result != WAL_READER_RECORD || *lsn % reader->options.page_bytes != 0)
		return result;
	memcpy(&header, page, sizeof(header));
	if (header.flags & WAL_PAGE_CONTINUES)
		return wal_reader__end(reader, "the page at " LSN_FORMAT " begins in a record",
							   LSN_ARGS(*lsn));
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
			result = wal_reader__get_page(reader, *lsn, &page);
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
		return wal_reader__end(reader, "the record at " LSN_FORMAT " has another CRC",
							   LSN_ARGS(record->lsn));
	if (wal_record__parse(record, bytes, total, reader->format, options->block_size,
						  reader->message) < 0)
	{
		wal_reader__drop(reader);
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

		result = wal_reader__get_page(reader, at, &page);
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
