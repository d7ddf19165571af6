/*
 * record.h
 *		A WAL record, taken apart.
 */
#ifndef REDOAHEAD_WAL_RECORD_H
#define REDOAHEAD_WAL_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wal_format.h"

/* Size of the header, and the alignment of records, bytes. */
#define WAL_RECORD_HEADER_BYTES	24
#define WAL_RECORD_ALIGNMENT	8

/* Largest record that a server of any major can write, bytes. */
#define WAL_RECORD_MAX_BYTES	0x3fffffff

/* Most block references of a record. */
#define WAL_RECORD_MAX_BLOCKS	33

/* The byte of flags that follows the ID of a block reference; the size of its data is next. */
#define WAL_BLOCK_FORK			0x0F
#define WAL_BLOCK_HAS_IMAGE		0x10
#define WAL_BLOCK_HAS_DATA		0x20
#define WAL_BLOCK_WILL_INIT		0x40
#define WAL_BLOCK_SAME_REL		0x80

/* Room for a message about a record or a page that is wrong, bytes. */
#define WAL_MESSAGE_BYTES		256

/* The fixed part that every record begins with, as it is in WAL. */
struct wal_record_header
{
	uint32_t	total_bytes;	/* size of the record, with this header */
	uint32_t	xid;			/* its transaction, 0 if none */
	uint64_t	previous;		/* start of the record before */
	uint8_t		info;			/* flags and operation */
	uint8_t		rmid;			/* resource manager */
	uint8_t		padding[2];		/* not defined */
	uint32_t	crc;			/* CRC-32C of what follows this header, and of it up to here */
};

_Static_assert(sizeof(struct wal_record_header) == WAL_RECORD_HEADER_BYTES,
			   "wal_record_header has no holes");

/* A reference to a block. */
struct wal_block
{
	uint32_t	spc;			/* tablespace OID */
	uint32_t	db;				/* database OID, 0 for shared relations */
	uint32_t	rel;			/* relfilenumber */
	uint32_t	block;			/* block number in the fork */
	uint8_t		fork;			/* REDOAHEAD_FORK_* */
	uint8_t		id;				/* of the reference in the record, 0 to 32 */
	bool		has_image;		/* the record has an image of the page */
	bool		restored;		/* redo restores the page from it */
	bool		will_init;		/* redo initializes the page without reading it */
	uint8_t		image_header_bytes; /* size of the image's header, if there is one */
	uint16_t	image_bytes;	/* size of the image, 0 if there is none */
	uint32_t	image_header_at;	/* place of its header in the record, bytes */
	uint32_t	image_info_at;	/* place of the image's bimg_info in the record, bytes */
	uint32_t	image_at;		/* place of the image in the record, bytes */
};

struct wal_record
{
	const struct wal_format *format;	/* of the WAL that it is in */
	uint64_t	lsn;			/* its start */
	uint64_t	end_lsn;		/* end, aligned: where the next one may begin */
	uint32_t	total_bytes;	/* size, with headers */
	uint32_t	xid;			/* its transaction, 0 if none */
	uint8_t		rmid;			/* resource manager */
	uint8_t		info;			/* flags and operation */
	uint32_t	data_len;		/* size of the main data, bytes */
	const void *data;			/* main data, valid until the next record is read */
	const unsigned char *bytes; /* all of it, likewise */
	unsigned	block_count;	/* references in "blocks" */
	struct wal_block blocks[WAL_RECORD_MAX_BLOCKS]; /* in ascending order of ID */
};

/*
 * Does redo of a record restore or change a block that it names?  A hint without an image to
 * restore only informs backup tools.
 */
static inline bool
wal_record__uses_block(const struct wal_record *record, const struct wal_block *block)
{
	return block->restored || record->rmid != WAL_RMGR_XLOG ||
		(record->info & ~WAL_INFO_COMMON) != WAL_XLOG_FPI_FOR_HINT;
}

uint32_t	wal_record__crc(const void *bytes, uint32_t total_bytes);
bool		wal_record__crc_matches(const void *bytes, uint32_t total_bytes);
int			wal_record__parse(struct wal_record *record, const void *bytes, uint32_t total_bytes,
							  const struct wal_format *format, uint32_t block_size,
							  char message[WAL_MESSAGE_BYTES]);

#endif							/* REDOAHEAD_WAL_RECORD_H */
