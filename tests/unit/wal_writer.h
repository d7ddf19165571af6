/*
 * wal_writer.h
 *		WAL made by hand, in memory, for the tests of userspace/wal.
 *
 * Records are put into pages as a server does.  Included by tests only; all is static.
 */
#ifndef WAL_WRITER_H
#define WAL_WRITER_H

#include <isa-l/crc.h>
#include <stdlib.h>
#include <string.h>

#include "wal/page.h"
#include "wal/reader.h"

#define WRITER_IDENTIFIER	UINT64_C(0x1122334455667788)
#define WRITER_SEGMENT		(1024 * 1024)
#define WRITER_PAGE			8192
#define WRITER_BLOCK		8192

/* Where the WAL begins: the start of a segment. */
#define WRITER_START		(UINT64_C(3) * WRITER_SEGMENT)

/* WAL from WRITER_START on. */
struct wal_writer
{
	unsigned char *wal;
	size_t		room;			/* bytes in "wal" */
	size_t		end;			/* where the next byte goes */
	uint64_t	previous;		/* start of the last record */
	uint32_t	timeline;		/* of new pages */
	uint16_t	magic;			/* of pages */
	uint16_t	flags;			/* more flags of the next page */
};

/* Begin with room for so many segments. */
static inline void
writer_begin(struct wal_writer *writer, unsigned segments)
{
	*writer = (struct wal_writer)
	{
		.wal = calloc(segments, WRITER_SEGMENT),.room = (size_t) segments * WRITER_SEGMENT,
			.timeline = 1,.magic = 0xD118,
	};
}

static inline uint64_t
writer_lsn(const struct wal_writer *writer)
{
	return WRITER_START + writer->end;
}

/* Write the header of a page, of which rest bytes belong to a record before. */
static inline void
writer_page(struct wal_writer *writer, uint32_t rest)
{
	bool		is_long = writer->end % WRITER_SEGMENT == 0;
	struct wal_long_page_header header = {
		.page = {
			.magic = writer->magic,.timeline = writer->timeline,.lsn = writer_lsn(writer),
			.rest_bytes = rest,
			.flags = (uint16_t) ((rest > 0 ? WAL_PAGE_CONTINUES : 0) |
								 (is_long ? WAL_PAGE_LONG : 0) | writer->flags),
		},
		.system_identifier = WRITER_IDENTIFIER,
		.segment_bytes = WRITER_SEGMENT,
		.page_bytes = WRITER_PAGE,
	};
	size_t		bytes = is_long ? WAL_PAGE_LONG_BYTES : WAL_PAGE_SHORT_BYTES;

	memcpy(writer->wal + writer->end, &header, bytes);
	writer->end += bytes;
	writer->flags = 0;
}

/* Where the next record will begin. */
static inline uint64_t
writer_next(struct wal_writer *writer)
{
	if (writer->end % WRITER_PAGE == 0)
		writer_page(writer, 0);
	return writer_lsn(writer);
}

/* Set the CRC of a record. */
static inline void
writer_seal(unsigned char *record, uint32_t bytes)
{
	uint32_t	crc = crc32_iscsi(record + WAL_RECORD_HEADER_BYTES,
								  (int) (bytes - WAL_RECORD_HEADER_BYTES), UINT32_MAX);

	crc = crc32_iscsi(record, offsetof(struct wal_record_header, crc), crc) ^ UINT32_MAX;
	memcpy(record + offsetof(struct wal_record_header, crc), &crc, sizeof(crc));
}

/* Append a record with this body; only the first "written" bytes of it get there. */
static inline uint64_t
writer_add_part(struct wal_writer *writer, uint8_t rmid, uint8_t info, const void *body,
				uint32_t body_bytes, uint32_t written)
{
	uint32_t	bytes = WAL_RECORD_HEADER_BYTES + body_bytes;
	unsigned char *record = calloc(1, bytes);
	struct wal_record_header header = {
		.total_bytes = bytes,.xid = 700,.previous = writer->previous,.info = info,.rmid = rmid
	};
	uint64_t	lsn = writer_next(writer);
	uint32_t	done = 0;

	memcpy(record, &header, sizeof(header));
	memcpy(record + sizeof(header), body, body_bytes);
	writer_seal(record, bytes);
	while (done < bytes && done < written)
	{
		uint32_t	part = WRITER_PAGE - writer->end % WRITER_PAGE;

		if (part == WRITER_PAGE)
		{
			writer_page(writer, bytes - done);
			continue;
		}
		if (part > bytes - done)
			part = bytes - done;
		memcpy(writer->wal + writer->end, record + done, part);
		writer->end += part;
		done += part;
	}
	writer->end = (writer->end + 7) & ~(size_t) 7;
	writer->previous = lsn;
	free(record);
	return lsn;
}

static inline uint64_t
writer_add(struct wal_writer *writer, uint8_t rmid, uint8_t info, const void *body,
		   uint32_t body_bytes)
{
	return writer_add_part(writer, rmid, info, body, body_bytes, UINT32_MAX);
}

/* Append a record that has main data of a size, up to 255 bytes short, only. */
static inline uint64_t
writer_add_data(struct wal_writer *writer, uint8_t rmid, uint8_t info, uint32_t bytes)
{
	unsigned char *body = malloc(bytes + 5);
	uint32_t	head = bytes < 256 ? 2 : 5;
	uint64_t	lsn;

	body[0] = bytes < 256 ? 255 : 254;
	memcpy(body + 1, &bytes, head - 1);
	for (uint32_t i = 0; i < bytes; i++)
		body[head + i] = (unsigned char) (i * 7 + bytes);
	lsn = writer_add(writer, rmid, info, body, head + bytes);
	free(body);
	return lsn;
}

/* The "read" of a wal_source. */
static inline long
writer_read(void *context, uint64_t lsn, void *out, size_t bytes)
{
	struct wal_writer *writer = context;
	uint64_t	at = lsn - WRITER_START;

	if (lsn < WRITER_START || at >= writer->room)
		return 0;
	/* As from files: not beyond the end of a segment. */
	if (bytes > WRITER_SEGMENT - at % WRITER_SEGMENT)
		bytes = WRITER_SEGMENT - at % WRITER_SEGMENT;
	memcpy(out, writer->wal + at, bytes);
	return (long) bytes;
}

static inline void
writer_open_reader(struct wal_writer *writer, struct wal_reader *reader)
{
	const struct wal_reader_options options = {
		.source = {writer_read, writer},.system_identifier = WRITER_IDENTIFIER,
		.segment_bytes = WRITER_SEGMENT,.page_bytes = WRITER_PAGE,.block_size = WRITER_BLOCK,
	};

	if (wal_reader__create(reader, &options) < 0)
		abort();
	wal_reader__begin(reader, WRITER_START);
}

#endif							/* WAL_WRITER_H */
