/*
 * page_shapes.c
 *		Pages of many shapes, valid and damaged ones, for tests of the page
 *		transform.
 *
 * The bytes of rows are made column by column, so that there are columns for
 * each way to store them.
 */
#include "page_shapes.h"

#include "storage/bufpage.h"

#define ROW_ALIGN	8			/* bytes; on every machine */

uint32
page_shapes__random(PageRandom *random, uint32 limit)
{
	uint64		x = random->state += UINT64CONST(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64CONST(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64CONST(0x94d049bb133111eb);
	return (uint32) (((x ^ (x >> 31)) >> 32) * limit >> 32);
}

/* The byte of a column in the row of a number */
static uint8
column_byte(PageRandom *random, uint32 seed, int column, int row)
{
	uint32		hash = (seed + column) * 2654435761u;
	uint32		group_hash = (seed + column / 8) * 2246822519u;
	uint8		value = hash >> 24;

	/* often eight columns side by side are constant, or sixteen */
	if (group_hash >> 31)
		return value;
	switch ((hash >> 8) % 7)
	{
		case 0:
			return page_shapes__random(random, 256);
		case 1:
			return value + row;
		case 2:
			return value + row * ((hash >> 16) & 0xff);
		case 3:
			return value + row / 23;
		case 4:
			return page_shapes__random(random, 12) == 0 ? value + row : value;
		case 5:
			return value + row * row / 3;
		default:
			return value;
	}
}

static void
set_item(char *page, int number, uint32 off, uint32 flags, uint32 len)
{
	uint32		item = off | flags << 15 | len << 17;

	memcpy(page + SizeOfPageHeaderData + number * sizeof(ItemIdData), &item, sizeof(item));
}

/* Exchange two line pointers. */
static void
swap_items(char *page, int a, int b)
{
	char	   *items = page + SizeOfPageHeaderData;
	char		item[sizeof(ItemIdData)];

	memcpy(item, items + a * sizeof(item), sizeof(item));
	memcpy(items + a * sizeof(item), items + b * sizeof(item), sizeof(item));
	memcpy(items + b * sizeof(item), item, sizeof(item));
}

static void
set_header(PageRandom *random, char *page, uint32 block_size, int lower, int upper, int special)
{
	PageHeaderData header = {0};

	header.pd_checksum = page_shapes__random(random, 65536);
	header.pd_lower = lower;
	header.pd_upper = upper;
	header.pd_special = special;
	header.pd_pagesize_version = block_size | PG_PAGE_LAYOUT_VERSION;
	memcpy(page, &header, SizeOfPageHeaderData);
}

static void
make_rows(PageRandom *random, PageShape shape, uint32 block_size, char *page)
{
	static const int longest_rows[] = {8, 16, 24, 32, 48, 64, 128, 160, 264, 400};
	int			longest = longest_rows[page_shapes__random(random, lengthof(longest_rows))];
	int			special = block_size - (page_shapes__random(random, 2) ? 16 : 0);
	int			upper = special;
	int			lower = SizeOfPageHeaderData;
	int			stop = page_shapes__random(random, 4) ? 0 : page_shapes__random(random, special);
	uint32		seed = page_shapes__random(random, 1 << 20);
	bool		variable = shape == SHAPE_VARIABLE || shape == SHAPE_AGED;
	int			nitems = 0;

	/* what is in the hole must not matter */
	memset(page, 1 + page_shapes__random(random, 255), block_size);
	for (;;)
	{
		int			length = longest - page_shapes__random(random, 4) / 3;
		int			gap = 0;
		int			space;

		if (variable)
			length = 1 + page_shapes__random(random, longest);
		if (shape == SHAPE_AGED && page_shapes__random(random, 8) == 0)
			gap = ROW_ALIGN * page_shapes__random(random, 4);
		space = TYPEALIGN(ROW_ALIGN, length) + gap;
		if (upper - space < lower + (int) sizeof(ItemIdData) || upper - space < stop)
			break;
		upper -= space;
		for (int i = 0; i < space; i++)
			page[upper + i] = column_byte(random, seed, i, nitems);
		set_item(page, nitems, upper, LP_NORMAL, length);
		if (shape == SHAPE_AGED && page_shapes__random(random, 6) == 0)
		{
			int			flags = page_shapes__random(random, 4);

			if (flags != LP_NORMAL)
				set_item(page, nitems, flags == LP_REDIRECT ? nitems + 1 : 0, flags, 0);
		}
		nitems++;
		lower += sizeof(ItemIdData);
	}
	set_header(random, page, block_size, lower, upper, special);
	if (shape == SHAPE_HIGH_KEY)
	{
		for (int i = nitems - 1; i > 0; i--)
			swap_items(page, i, i - 1);
	}
	if (shape == SHAPE_AGED && nitems > 0)
	{
		for (int i = page_shapes__random(random, nitems); i > 0; i--)
			swap_items(page, page_shapes__random(random, nitems), page_shapes__random(random, nitems));
	}
}

void
page_shapes__make(PageRandom *random, PageShape shape, uint32 block_size, char *page)
{
	if (shape == SHAPE_DAMAGED)
	{
		int			limit = page_shapes__random(random, 2) ? block_size : 300;

		make_rows(random, page_shapes__random(random, SHAPE_DAMAGED), block_size, page);
		for (int i = 1 + page_shapes__random(random, 12); i > 0; i--)
			page[page_shapes__random(random, limit)] = page_shapes__random(random, 256);
	}
	else if (shape == SHAPE_NOISE)
	{
		int			lower = SizeOfPageHeaderData + 4 * page_shapes__random(random, block_size / 16);
		int			upper = TYPEALIGN(ROW_ALIGN, lower + page_shapes__random(random, block_size / 2));

		for (uint32 i = 0; i < block_size; i += sizeof(uint32))
		{
			uint32		noise = page_shapes__random(random, UINT32_MAX);

			memcpy(page + i, &noise, sizeof(noise));
		}
		if (page_shapes__random(random, 4) > 0)
			set_header(random, page, block_size, lower, upper, block_size);
	}
	else
		make_rows(random, shape, block_size, page);
}

void
page_shapes__find_hole(const char *page, uint32 block_size, uint16 *hole_offset,
					   uint16 *hole_length)
{
	PageHeaderData header;

	memcpy(&header, page, SizeOfPageHeaderData);
	*hole_offset = 0;
	*hole_length = 0;
	if (header.pd_lower >= SizeOfPageHeaderData && header.pd_upper > header.pd_lower &&
		header.pd_upper <= block_size)
	{
		*hole_offset = header.pd_lower;
		*hole_length = header.pd_upper - header.pd_lower;
	}
}
