/*
 * wal_segment.c
 *		Writes a segment of WAL to standard output, as a server would have it in
 *		000000010000000000000003 with segments of 1 MB.
 *
 * Its records have images of pages, which cannot be compressed, and are marked as ones that
 * redo can do without, or are not; some are of hint bits.  The last one ends behind the
 * segment.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/wal_writer.h"

#define RMGR_BTREE	11

/* A block reference with an image and, unless that is a hint's, data. */
struct __attribute__((packed)) reference
{
	uint8_t		id;
	uint8_t		flags;
	uint16_t	data_bytes;
	uint16_t	image_bytes;
	uint16_t	hole_offset;
	uint8_t		image_info;
	uint32_t	relation[3];
	uint32_t	block;
};

/* Append a record with an image of a page. */
static void
add_image(struct wal_writer *writer, uint8_t rmid, uint8_t info, uint32_t block)
{
	static unsigned char body[sizeof(struct reference) + WRITER_BLOCK + 100];
	uint16_t	data_bytes = rmid == WAL_RMGR_XLOG ? 0 : 60;
	struct reference reference = {
		.flags = data_bytes > 0 ? 0x30 : 0x10,.data_bytes = data_bytes,
		.image_bytes = WRITER_BLOCK,.image_info = wal_format__of_major(18)->image_applies,
		.relation = {1663, 5, 16384},.block = block,
	};
	size_t		bytes = sizeof(reference);

	memcpy(body, &reference, bytes);
	for (unsigned i = 0; i < WRITER_BLOCK; i++)
		body[bytes++] = (unsigned char) random();
	for (unsigned i = 0; i < data_bytes; i++)
		body[bytes++] = (unsigned char) i;
	writer_add(writer, rmid, info, body, (uint32_t) bytes);
}

int
main(int argc, char **argv)
{
	uint8_t		mark = argc == 2 && strcmp(argv[1], "marked") == 0 ? WAL_INFO_IMAGES_OPTIONAL : 0;
	struct wal_writer writer;
	size_t		written;

	if (argc != 2 || (mark == 0 && strcmp(argv[1], "unmarked") != 0))
	{
		fprintf(stderr, "usage: wal_segment marked|unmarked\n");
		return 2;
	}
	writer_begin(&writer, 2);
	for (uint32_t block = 0; writer.end < WRITER_SEGMENT; block++)
	{
		if (block % 7 == 3)
			add_image(&writer, WAL_RMGR_XLOG, WAL_XLOG_FPI_FOR_HINT | mark, block);
		else
			add_image(&writer, RMGR_BTREE, mark, block);
		writer_add_data(&writer, 15, 0, block * 5 % 300);
	}
	written = fwrite(writer.wal, 1, WRITER_SEGMENT, stdout);
	free(writer.wal);
	return written == WRITER_SEGMENT && fflush(stdout) == 0 ? 0 : 1;
}
