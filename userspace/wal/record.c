/*
 * record.c
 *		Takes a WAL record apart: its block references and its main data.
 *
 * Behind the fixed header come headers of parts, each with an ID, and then the
 * parts' data in the same order: for each block reference its page image and its
 * data, and the main data last.  Whatever the bytes are, nothing outside of them is
 * read; what a server would refuse is refused here.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/lsn.h"
#include "common/redoahead_abi.h"
#include "wal/crc.h"
#include "wal/record.h"

/* IDs of parts; smaller ones are block references. */
#define ID_MAIN_DATA_SHORT	255
#define ID_MAIN_DATA_LONG	254
#define ID_ORIGIN			253
#define ID_TOPLEVEL_XID		252

/* Largest block that a server can have, bytes. */
#define MAX_BLOCK_BYTES		32768

/* Bit of bimg_info that is the same in all majors. */
#define IMAGE_HAS_HOLE		0x01

/* The parts of a record, from the first byte that has not been read. */
struct cursor
{
	const unsigned char *start; /* of the record */
	const unsigned char *next;	/* first byte not read */
	size_t		left;			/* bytes of headers and data from there to the end */
	size_t		data;			/* bytes of data that the headers have announced */
	char	   *message;		/* receives what is wrong */
	uint64_t	lsn;			/* of the record, for the message */
};

static int __attribute__((format(printf, 2, 3)))
refuse(const struct cursor *cursor, const char *format,...)
{
	va_list		args;
	int			n;

	n = snprintf(cursor->message, WAL_MESSAGE_BYTES, "invalid record at " LSN_FORMAT ": ",
				 LSN_ARGS(cursor->lsn));
	va_start(args, format);
	vsnprintf(cursor->message + n, WAL_MESSAGE_BYTES - (size_t) n, format, args);
	va_end(args);
	return -EBADMSG;
}

/* Copy the next bytes of a header.  False if there are not so many. */
static inline bool
take(struct cursor *cursor, void *out, size_t size)
{
	if (cursor->left < size)
		return false;
	memcpy(out, cursor->next, size);
	cursor->next += size;
	cursor->left -= size;
	return true;
}

/* The CRC that the header of a record must have. */
uint32_t
wal_record__crc(const void *bytes, uint32_t total_bytes)
{
	const unsigned char *start = bytes;
	uint32_t	crc = crc__add(CRC_START, start + WAL_RECORD_HEADER_BYTES,
							   total_bytes - WAL_RECORD_HEADER_BYTES);

	return crc__add(crc, start, offsetof(struct wal_record_header, crc)) ^ CRC_START;
}

/* Is the CRC in the header that of the record? */
bool
wal_record__crc_matches(const void *bytes, uint32_t total_bytes)
{
	uint32_t	stored;

	memcpy(&stored, (const char *) bytes + offsetof(struct wal_record_header, crc),
		   sizeof(stored));
	return wal_record__crc(bytes, total_bytes) == stored;
}

/*
 * Read the header of a page image, which lies behind the data announced so far.  Returns 0,
 * or -EBADMSG with a message.
 */
static int
parse_image(struct cursor *cursor, const struct wal_format *format, uint32_t block_size,
			struct wal_block *block)
{
	struct
	{
		uint16_t	bytes;
		uint16_t	hole_offset;
	}			image;
	uint16_t	hole_bytes = 0;
	uint8_t		info;
	bool		has_hole;
	bool		compressed;
	bool		extended;

	block->image_header_at = (uint32_t) (cursor->next - cursor->start);
	if (!take(cursor, &image, sizeof(image)) || !take(cursor, &info, sizeof(info)))
		return refuse(cursor, "it ends in the header of an image");
	block->image_info_at = (uint32_t) (cursor->next - cursor->start) - 1;
	has_hole = (info & IMAGE_HAS_HOLE) != 0;
	compressed = (info & format->image_compressed) != 0;
	extended = (info & format->image_extended) != 0;
	if ((extended || (compressed && has_hole)) &&
		!take(cursor, &hole_bytes, sizeof(hole_bytes)))
		return refuse(cursor, "it ends in the header of an image");
	block->image_header_bytes =
		(uint8_t) ((uint32_t) (cursor->next - cursor->start) - block->image_header_at);
	if (block_size == 0)			/* not known: an image shows it, or has nothing to check */
		block_size = has_hole || compressed || extended ? MAX_BLOCK_BYTES : image.bytes;
	if (has_hole && !compressed && !extended)
		hole_bytes = (uint16_t) (block_size - image.bytes);

	if (image.bytes > block_size ||
		(has_hole && (image.hole_offset == 0 || hole_bytes == 0 || image.bytes == block_size)) ||
		(!has_hole && !extended && image.hole_offset != 0) ||
		(!has_hole && !extended && !compressed && image.bytes != block_size) ||
		(compressed && image.bytes == block_size))
		return refuse(cursor, "block reference %u has an image of %u bytes with a hole of %u at %u",
					  block->id, image.bytes, hole_bytes, image.hole_offset);
	block->has_image = true;
	block->restored = (info & format->image_applies) != 0;
	block->image_bytes = image.bytes;
	block->image_at = (uint32_t) cursor->data;
	cursor->data += image.bytes;
	return 0;
}

/* Read the header of a block reference.  Returns 0, or -EBADMSG with a message. */
static int
parse_block(struct cursor *cursor, uint8_t id, uint32_t block_size, struct wal_record *record)
{
	struct wal_block *block = &record->blocks[record->block_count];
	const struct wal_block *previous = record->block_count > 0 ? block - 1 : NULL;
	uint8_t		flags;
	uint16_t	data_bytes;

	if (previous != NULL && id <= previous->id)
		return refuse(cursor, "block reference %u follows %u", id, previous->id);
	if (!take(cursor, &flags, sizeof(flags)) || !take(cursor, &data_bytes, sizeof(data_bytes)))
		return refuse(cursor, "it ends in a block reference");
	block->id = id;
	block->fork = flags & WAL_BLOCK_FORK;
	block->will_init = (flags & WAL_BLOCK_WILL_INIT) != 0;
	block->has_image = block->restored = false;
	block->image_bytes = 0;
	if (block->fork >= REDOAHEAD_FORK_COUNT)
		return refuse(cursor, "block reference %u has fork %u", id, block->fork);
	if (((flags & WAL_BLOCK_HAS_DATA) != 0) != (data_bytes > 0))
		return refuse(cursor, "block reference %u has %u bytes of data, against its flags", id,
					  data_bytes);
	if (flags & WAL_BLOCK_HAS_IMAGE)
	{
		int			err = parse_image(cursor, record->format, block_size, block);

		if (err < 0)
			return err;
	}
	cursor->data += data_bytes;
	if (flags & WAL_BLOCK_SAME_REL)
	{
		if (previous == NULL)
			return refuse(cursor, "the first block reference has no relation");
		block->spc = previous->spc;
		block->db = previous->db;
		block->rel = previous->rel;
	}
	else
	{
		uint32_t	relation[3];

		if (!take(cursor, relation, sizeof(relation)))
			return refuse(cursor, "it ends in a block reference");
		block->spc = relation[0];
		block->db = relation[1];
		block->rel = relation[2];
	}
	if (!take(cursor, &block->block, sizeof(block->block)))
		return refuse(cursor, "it ends in a block reference");
	record->block_count++;
	return 0;
}

/* Read the size of the main data, whose header is the last one. */
static int
parse_main_data(struct cursor *cursor, uint8_t id, struct wal_record *record)
{
	uint8_t		short_bytes = 0;
	uint32_t	long_bytes = 0;

	if (id == ID_MAIN_DATA_SHORT ? !take(cursor, &short_bytes, sizeof(short_bytes)) :
		!take(cursor, &long_bytes, sizeof(long_bytes)))
		return refuse(cursor, "it ends in the header of its main data");
	record->data_len = id == ID_MAIN_DATA_SHORT ? short_bytes : long_bytes;
	cursor->data += record->data_len;
	return 0;
}

/*
 * Take a record apart that lies at "bytes", at any address; record->lsn must be set.
 * block_size may be 0, if it is not known.  Returns 0, or -EBADMSG with a message if no
 * server writes such a record.  The CRC is not verified.
 */
int
wal_record__parse(struct wal_record *record, const void *bytes, uint32_t total_bytes,
				  const struct wal_format *format, uint32_t block_size,
				  char message[WAL_MESSAGE_BYTES])
{
	struct wal_record_header header;
	struct cursor cursor = {
		.start = bytes,.next = bytes,.left = total_bytes,.message = message,.lsn = record->lsn
	};
	bool		main_data = false;

	if (!take(&cursor, &header, sizeof(header)))
		return refuse(&cursor, "%u bytes are less than a header", total_bytes);
	record->format = format;
	record->total_bytes = total_bytes;
	record->xid = header.xid;
	record->rmid = header.rmid;
	record->info = header.info;
	record->data_len = 0;
	record->block_count = 0;
	record->bytes = bytes;

	/* The headers end where only the data that they announce is left. */
	while (cursor.left > cursor.data && !main_data)
	{
		unsigned char ignored[sizeof(uint32_t)];
		uint8_t		id;
		int			err = 0;

		(void) take(&cursor, &id, sizeof(id));
		if (id == ID_MAIN_DATA_SHORT || id == ID_MAIN_DATA_LONG)
		{
			err = parse_main_data(&cursor, id, record);
			main_data = true;
		}
		else if (id == ID_ORIGIN || (id == ID_TOPLEVEL_XID && format->major >= 14))
		{
			if (!take(&cursor, ignored, id == ID_ORIGIN ? 2 : 4))
				err = refuse(&cursor, "it ends in a header");
		}
		else if (id < WAL_RECORD_MAX_BLOCKS)
			err = parse_block(&cursor, id, block_size, record);
		else
			err = refuse(&cursor, "it has a part with ID %u", id);
		if (err < 0)
			return err;
	}
	if (cursor.left != cursor.data)
		return refuse(&cursor, "its parts have %zu bytes of data, but %zu are there",
					  cursor.data, cursor.left);
	record->data = cursor.next + cursor.left - record->data_len;
	for (unsigned i = 0; i < record->block_count; i++)
		if (record->blocks[i].has_image)
			record->blocks[i].image_at += (uint32_t) (cursor.next - cursor.start);
	return 0;
}
