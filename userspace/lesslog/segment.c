/*
 * segment.c
 *		Which full-page images of a WAL segment redo can do without, and what is to be
 *		changed so that it does.
 *
 * A patched server marks records that redo can replay from an image or from the block's
 * data.  Where the image is not marked as one to restore, every server takes the data.  So
 * that mark is cleared, the image becomes zeros, which any compression makes disappear, and
 * the record gets the CRC that it then has.  Nothing moves: lengths, positions, pointers to
 * the record before and page headers stay.  A hint bit's image has no data beside it, and
 * redo of such a record fails if its image is not to be restored; so it becomes a record
 * without an image, of the same size, which still names the block.  pg_rewind needs that:
 * on the server that it rewinds, the hint has changed the page's LSN.
 *
 * Only a segment that decodes from its first record to its end is changed.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lesslog/rest.h"
#include "lesslog/segment.h"
#include "wal/crc.h"
#include "wal/segments.h"

/* WAL of one segment, for the reader. */
struct bounded
{
	struct wal_source source;	/* where it comes from */
	uint64_t	end_lsn;		/* end of the segment */
	bool		end_reached;	/* WAL behind it was wanted */
};

/* A segment that is being decoded. */
struct scan
{
	struct segment *segment;
	struct wal_reader reader;
	struct bounded bounded;		/* the reader's source */
	struct edits *edits;		/* receives what is to be changed */
	unsigned char *changed;		/* a record as it will be */
	size_t		changed_bytes;	/* room for it */
};

/* Is this the name of a segment, and not of a file that belongs to one? */
bool
segment__is_name(const char *name)
{
	return strlen(name) == WAL_SEGMENT_NAME_LENGTH &&
		strspn(name, "0123456789ABCDEF") == WAL_SEGMENT_NAME_LENGTH;
}

/* A reason's name in reports. */
const char *
segment__kept_name(enum segment_kept reason)
{
	static const char *const names[SEGMENT_KEPT_COUNT] = {
		[SEGMENT_NOT_OPTIONAL] = "not_optional",
		[SEGMENT_CONSISTENCY_CHECK] = "consistency_check",
		[SEGMENT_CUSTOM_RMGR] = "custom_rmgr",
		[SEGMENT_IMAGE_ONLY] = "image_only",
		[SEGMENT_SPANS_SEGMENTS] = "spans_segments",
	};

	return names[reason];
}

static bool
is_power_of_2(uint32_t number, uint32_t least, uint32_t most)
{
	return number >= least && number <= most && (number & (number - 1)) == 0;
}

/*
 * Find out sizes and position of a segment of "bytes" bytes from its long header.  Of one
 * without a name (NULL), the header shows the position, too.  Returns 0; or with a message
 * -ENODATA if no WAL page that we know begins here, and -EBADMSG if it is no complete segment.
 */
int
segment__identify(struct segment *segment, const char *name,
				  const struct wal_long_page_header *header, uint64_t bytes,
				  char message[WAL_MESSAGE_BYTES])
{
	uint64_t	number;

	*segment = (struct segment) {0};
	if (bytes < sizeof(*header) || wal_format__of_page(header->page.magic) == NULL)
	{
		snprintf(message, WAL_MESSAGE_BYTES,
				 "it does not begin with a WAL page of a known version of PostgreSQL");
		return -ENODATA;
	}
	segment->segment_bytes = header->segment_bytes;
	segment->page_bytes = header->page_bytes;
	if (!(header->page.flags & WAL_PAGE_LONG) ||
		!is_power_of_2(header->segment_bytes, WAL_SEGMENT_MIN_BYTES, WAL_SEGMENT_MAX_BYTES) ||
		!is_power_of_2(header->page_bytes, WAL_PAGE_MIN_BYTES, WAL_PAGE_MAX_BYTES))
	{
		snprintf(message, WAL_MESSAGE_BYTES, "it does not begin as a segment does");
		return -EBADMSG;
	}
	if (bytes != header->segment_bytes)
	{
		snprintf(message, WAL_MESSAGE_BYTES, "it has %llu bytes, and its segments have %u",
				 (unsigned long long) bytes, header->segment_bytes);
		return -EBADMSG;
	}
	if (name == NULL)
	{
		segment->timeline = header->page.timeline;
		number = header->page.lsn / header->segment_bytes;
	}
	else if (!wal_segments__parse(name, header->segment_bytes, &segment->timeline, &number))
	{
		snprintf(message, WAL_MESSAGE_BYTES, "no segment of %u bytes has this name",
				 header->segment_bytes);
		return -EBADMSG;
	}
	segment->lsn = number * header->segment_bytes;
	return 0;
}

/* The "read" of the reader's source: what is behind the segment is not there. */
static long
read_bounded(void *context, uint64_t lsn, void *out, size_t bytes)
{
	struct bounded *bounded = context;

	if (lsn >= bounded->end_lsn)
	{
		bounded->end_reached = true;
		return 0;
	}
	if (bytes > bounded->end_lsn - lsn)
		bytes = (size_t) (bounded->end_lsn - lsn);
	return bounded->source.read(bounded->source.context, lsn, out, bytes);
}

/* Where in the segment a byte of a record is. */
static uint64_t
place(const struct scan *scan, uint32_t at)
{
	const struct segment *segment = scan->segment;
	uint32_t	page_bytes = segment->page_bytes;
	uint64_t	begin = scan->reader.record.lsn - segment->lsn;
	uint32_t	first = page_bytes - (uint32_t) (begin % page_bytes);
	uint32_t	per_page = page_bytes - WAL_PAGE_SHORT_BYTES;

	if (at < first)
		return begin + at;
	return begin + first + (uint64_t) ((at - first) / per_page) * page_bytes +
		WAL_PAGE_SHORT_BYTES + (at - first) % per_page;
}

/* Make bytes of a record zeros, but not the page headers between them. */
static void
add_zeros(struct scan *scan, uint32_t at, uint32_t bytes)
{
	uint32_t	page_bytes = scan->segment->page_bytes;

	while (bytes > 0)
	{
		uint64_t	begin = place(scan, at);
		uint32_t	part = page_bytes - (uint32_t) (begin % page_bytes);

		if (part > bytes)
			part = bytes;
		edits__add(scan->edits, begin, part, 0);
		at += part;
		bytes -= part;
	}
}

/* A copy of the record, to be changed.  NULL without memory. */
static unsigned char *
copy_record(struct scan *scan)
{
	const struct wal_record *record = &scan->reader.record;

	if (record->total_bytes > scan->changed_bytes)
	{
		unsigned char *grown = realloc(scan->changed, record->total_bytes);

		if (grown == NULL)
			return NULL;
		scan->changed = grown;
		scan->changed_bytes = record->total_bytes;
	}
	return memcpy(scan->changed, record->bytes, record->total_bytes);
}

/*
 * Make the record of a hint one without an image, as servers write it without
 * full_page_writes: redo ignores it, and pg_rewind and the WAL summarizer find the block.
 * What the image and its header took becomes data of the block, zeros; the headers behind
 * move up.
 */
static void
make_data(struct scan *scan, unsigned char *changed)
{
	const struct wal_block *block = &scan->reader.record.blocks[0];
	unsigned char *header = changed + block->image_header_at;
	uint32_t	flags_at = block->image_header_at - sizeof(uint16_t) - 1;
	uint32_t	data_at = block->image_at - block->image_header_bytes;
	uint32_t	data_end = block->image_at + block->image_bytes;
	uint16_t	data_bytes = (uint16_t) (data_end - data_at);
	uint32_t	at;

	changed[flags_at] = (unsigned char) ((changed[flags_at] & ~WAL_BLOCK_HAS_IMAGE) |
										 WAL_BLOCK_HAS_DATA);
	memcpy(changed + flags_at + 1, &data_bytes, sizeof(data_bytes));
	memmove(header, header + block->image_header_bytes, data_at - block->image_header_at);
	memset(changed + data_at, 0, data_bytes);
	/* In aligned words, which no page header splits. */
	for (at = flags_at - flags_at % sizeof(uint32_t); at < data_at; at += sizeof(uint32_t))
	{
		uint32_t	word;

		memcpy(&word, changed + at, sizeof(word));
		edits__add(scan->edits, place(scan, at), sizeof(word), word);
	}
	add_zeros(scan, at, data_end - at);
}

/* Clear the marks of images that redo would restore, then the images. */
static void
clear_images(struct scan *scan, unsigned char *changed)
{
	const struct wal_record *record = &scan->reader.record;

	for (unsigned i = 0; i < record->block_count; i++)
	{
		uint32_t	at = record->blocks[i].image_info_at;

		if (!record->blocks[i].restored)
			continue;
		changed[at] &= (unsigned char) ~record->format->image_applies;
		edits__add(scan->edits, place(scan, at), 1, changed[at]);
	}
	for (unsigned i = 0; i < record->block_count; i++)
	{
		const struct wal_block *block = &record->blocks[i];

		if (!block->restored)
			continue;
		memset(changed + block->image_at, 0, block->image_bytes);
		add_zeros(scan, block->image_at, block->image_bytes);
	}
}

/*
 * Remove the images of a record that redo would restore.  Records are aligned to eight bytes
 * and pages end at such, so none of the numbers that are changed is split by a page header.
 */
static int
remove_images(struct scan *scan)
{
	const struct wal_record *record = &scan->reader.record;
	struct segment_counts *counts = &scan->segment->counts;
	bool		hint = record->rmid == WAL_RMGR_XLOG;
	unsigned char *changed = copy_record(scan);
	size_t		crc_edit;

	if (changed == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < record->block_count; i++)
		if (record->blocks[i].restored)
		{
			counts->images_removed++;
			counts->image_bytes_removed += record->blocks[i].image_bytes;
		}
	counts->hints_removed += hint;
	crc_edit = scan->edits->count;
	edits__add(scan->edits, place(scan, offsetof(struct wal_record_header, crc)),
			   sizeof(uint32_t), 0);
	if (hint)
		make_data(scan, changed);
	else
		clear_images(scan, changed);
	if (scan->edits->err == 0)
		scan->edits->list[crc_edit].value = wal_record__crc(changed, record->total_bytes);
	return scan->edits->err;
}

/*
 * Is this the record of a hint as servers write it: an image of one block, and no data?  Its
 * room then fits the size of data.
 */
static bool
is_hint(const struct wal_record *record)
{
	const struct wal_block *block = &record->blocks[0];

	return (record->info & ~WAL_INFO_COMMON) == WAL_XLOG_FPI_FOR_HINT &&
		record->block_count == 1 && record->data_len == 0 &&
		block->image_at + block->image_bytes == record->total_bytes &&
		block->image_header_bytes + (uint32_t) block->image_bytes <= UINT16_MAX;
}

/* Why a record with images keeps them; SEGMENT_KEPT_COUNT if it does not. */
static enum segment_kept
why_kept(const struct wal_record *record)
{
	if (record->info & WAL_INFO_CHECK_CONSISTENCY)
		return SEGMENT_CONSISTENCY_CHECK;
	if (record->rmid >= WAL_RMGR_MIN_CUSTOM)
		return SEGMENT_CUSTOM_RMGR;
	if (!(record->info & WAL_INFO_IMAGES_OPTIONAL))
		return SEGMENT_NOT_OPTIONAL;
	if (record->rmid == WAL_RMGR_XLOG && !is_hint(record))
		return SEGMENT_IMAGE_ONLY;
	return SEGMENT_KEPT_COUNT;
}

/* Count a record, and remove its images if redo can do without.  Returns 0 or -ENOMEM. */
static int
take_record(struct scan *scan)
{
	const struct wal_record *record = &scan->reader.record;
	struct segment_counts *counts = &scan->segment->counts;
	unsigned	images = 0;
	bool		removed;

	counts->records++;
	for (unsigned i = 0; i < record->block_count; i++)
		images += record->blocks[i].restored;
	counts->images += images;
	removed = images > 0 && why_kept(record) == SEGMENT_KEPT_COUNT;
	scan->segment->rest_crc = rest__add(scan->segment->rest_crc, record, removed);
	if (removed)
		return remove_images(scan);
	if (images > 0)
		counts->kept[why_kept(record)]++;
	return 0;
}

/* Decode the segment, of which the reader has the first page. */
static int
take_records(struct scan *scan)
{
	struct wal_reader *reader = &scan->reader;
	int			result = wal_reader__find(reader, scan->segment->lsn);
	int			err;

	/* All of it may be the middle of one record. */
	if (result == WAL_READER_END && scan->bounded.end_reached)
	{
		scan->segment->counts.kept[SEGMENT_SPANS_SEGMENTS]++;
		return 0;
	}
	if (result == WAL_READER_RECORD)
		scan->segment->counts.kept[SEGMENT_SPANS_SEGMENTS] +=
			reader->next_lsn > scan->segment->lsn + WAL_PAGE_LONG_BYTES;
	while (result == WAL_READER_RECORD && reader->next_lsn < scan->bounded.end_lsn &&
		   (result = wal_reader__next(reader)) == WAL_READER_RECORD)
	{
		err = take_record(scan);
		if (err < 0)
			return err;
	}
	if (result == WAL_READER_END && scan->bounded.end_reached)
		scan->segment->counts.kept[SEGMENT_SPANS_SEGMENTS]++;
	else if (result == WAL_READER_END)
		return -EBADMSG;
	return result < 0 ? result : 0;
}

/*
 * Find the images of a segment that redo can do without, and enter what is to be changed.
 * Returns 0; or with a message -EBADMSG if the segment does not decode, or another -errno if
 * it cannot be read.  Then nothing may be changed.
 */
int
segment__scan(struct segment *segment, struct wal_source source, struct edits *edits,
			  char message[WAL_MESSAGE_BYTES])
{
	struct scan scan = {
		.segment = segment,.edits = edits,
		.bounded = {.source = source,.end_lsn = segment->lsn + segment->segment_bytes},
	};
	const struct wal_reader_options options = {
		.source = {read_bounded, &scan.bounded},.segment_bytes = segment->segment_bytes,
		.page_bytes = segment->page_bytes,
	};
	int			err = wal_reader__create(&scan.reader, &options);

	segment->counts = (struct segment_counts) {0};
	segment->rest_crc = CRC_START;
	if (err == 0)
		err = take_records(&scan);
	if (err == -ENOMEM)
		snprintf(message, WAL_MESSAGE_BYTES, "%s", strerror(ENOMEM));
	else if (err < 0)
		snprintf(message, WAL_MESSAGE_BYTES, "%s", scan.reader.message);
	if (err < 0)
		segment->counts = (struct segment_counts) {0};
	free(scan.changed);
	wal_reader__destroy(&scan.reader);
	return err;
}
