/*
 * wal_format.c
 *		The table of majors.
 */
#include <stddef.h>

#include "wal_format.h"

static const struct wal_format formats[] = {
	{13, 0xD106, 0x04, 0x02, 0x00, WAL_PRUNE_FIRST, 0x10, 4, 12, 4, 0x0F, 0x08},
	{14, 0xD10D, 0x04, 0x02, 0x00, WAL_PRUNE_FIRST_TWO, 0x10, 4, 12, 4, 0x0F, 0x08},
	{15, 0xD110, 0x02, 0x1C, 0x00, WAL_PRUNE_FIRST_TWO, 0x20, 4, 12, 4, 0x0F, 0x08},
	{16, 0xD113, 0x02, 0x1C, 0x00, WAL_PRUNE_FIRST_TWO, 0x20, 4, 12, 4, 0x0F, 0x08},
	{17, 0xD116, 0x02, 0x1C, 0xE0, WAL_PRUNE_BY_FLAGS, 0x20, 8, 12, 4, 0x0F, 0x08},
	{18, 0xD118, 0x02, 0x1C, 0xE0, WAL_PRUNE_BY_FLAGS, 0x20, 8, 16, 4, 0x0F, 0x08},
	/* of 19beta1, and may change until the release */
	{19, 0xD120, 0x02, 0x1C, 0xE0, WAL_PRUNE_BY_WIDE_FLAGS, 0x20, 8, 16, 8, 0x07, 0x04},
};

#define FORMAT_COUNT	(sizeof(formats) / sizeof(formats[0]))

/* The format of a major's WAL, NULL if it is not known. */
const struct wal_format *
wal_format__of_major(int major)
{
	for (size_t i = 0; i < FORMAT_COUNT; i++)
		if (formats[i].major == major)
			return &formats[i];
	return NULL;
}

/* The format of a page, from the magic number that it begins with. */
const struct wal_format *
wal_format__of_page(uint16_t page_magic)
{
	for (size_t i = 0; i < FORMAT_COUNT; i++)
		if (formats[i].page_magic == page_magic)
			return &formats[i];
	return NULL;
}
