/*
 * test_wal_record.c
 *		Which blocks does a record name, and which bytes are no record?
 *
 * That real records are taken apart as pg_waldump does is shown by
 * tests/bats/wal.bats.
 */
#include <errno.h>

#include "unit.h"

#include "common/redoahead_abi.h"
#include "wal/crc.h"
#include "wal_writer.h"

/* The record under test. */
static unsigned char bytes[16384];
static uint32_t size;
static struct wal_record record;
static char message[WAL_MESSAGE_BYTES];

static int
set_up(void **state)
{
	memset(bytes, 0, sizeof(bytes));
	size = WAL_RECORD_HEADER_BYTES;
	memset(&record, 0, sizeof(record));
	return 0;
}

static void
put(const void *value, size_t value_bytes)
{
	memcpy(bytes + size, value, value_bytes);
	size += (uint32_t) value_bytes;
}

#define PUT(type, ...) put(&(type) {__VA_ARGS__}, sizeof(type))

/* A block reference without an image; rel 0: that of the block before. */
static void
put_block(uint8_t id, uint8_t flags, uint16_t data, uint32_t rel, uint32_t block)
{
	PUT(uint8_t, id);
	PUT(uint8_t, flags | (rel == 0 ? 0x80 : 0) | (data > 0 ? 0x20 : 0));
	PUT(uint16_t, data);
	if (rel != 0)
	{
		PUT(uint32_t, 1663);
		PUT(uint32_t, 5);
		PUT(uint32_t, rel);
	}
	PUT(uint32_t, block);
}

/* A block reference with an image; hole_bytes only if there is such a field. */
static void
put_image(uint8_t info, uint16_t length, uint16_t hole_offset, int hole_bytes)
{
	PUT(uint8_t, 0);
	PUT(uint8_t, 0x10);
	PUT(uint16_t, 0);
	PUT(uint16_t, length);
	PUT(uint16_t, hole_offset);
	PUT(uint8_t, info);
	if (hole_bytes >= 0)
		PUT(uint16_t, (uint16_t) hole_bytes);
	PUT(uint32_t, 1663);
	PUT(uint32_t, 5);
	PUT(uint32_t, 16384);
	PUT(uint32_t, 7);
	size += length;
}

static int
parse(int major)
{
	return wal_record__parse(&record, bytes, size, wal_format__of_major(major), WRITER_BLOCK,
							 message);
}

TEST(test_blocks_and_main_data)
{
	put_block(0, REDOAHEAD_FORK_VM, 10, 16384, 3);
	put_block(1, 0x40, 0, 0, 77);
	put_block(4, 0, 5, 16390, 4000000000);
	PUT(uint8_t, 253);
	PUT(uint16_t, 1);
	PUT(uint8_t, 252);
	PUT(uint32_t, 4711);
	PUT(uint8_t, 255);
	PUT(uint8_t, 3);
	size += 15;
	put("abc", 3);
	assert_int_equal(parse(18), 0);
	assert_int_equal(record.block_count, 3);
	assert_int_equal(record.blocks[0].fork, REDOAHEAD_FORK_VM);
	assert_int_equal(record.blocks[0].rel, 16384);
	assert_int_equal(record.blocks[0].block, 3);
	assert_int_equal(record.blocks[1].id, 1);
	assert_int_equal(record.blocks[1].rel, 16384);
	assert_true(record.blocks[1].will_init);
	assert_int_equal(record.blocks[1].fork, REDOAHEAD_FORK_MAIN);
	assert_int_equal(record.blocks[2].id, 4);
	assert_int_equal(record.blocks[2].block, 4000000000);
	assert_int_equal(record.data_len, 3);
	assert_memory_equal(record.data, "abc", 3);
	/* Major 13 has no transaction IDs of the top level in WAL. */
	assert_int_equal(parse(13), -EBADMSG);
	assert_non_null(strstr(message, "ID 252"));
}

/* Which images each major has, and which of them redo restores. */
TEST(test_images_of_each_major)
{
	static const struct
	{
		int			major;
		uint8_t		info;
		uint16_t	length;
		uint16_t	hole_offset;
		int			hole_bytes;
		bool		valid;
		bool		restored;
	}			cases[] = {
		{13, 0x04, 8192, 0, -1, true, true},
		{13, 0x00, 8192, 0, -1, true, false},
		{14, 0x05, 4000, 100, -1, true, true},
		{14, 0x07, 1000, 100, 2000, true, true},
		{14, 0x06, 1000, 0, -1, true, true},
		{15, 0x02, 8192, 0, -1, true, true},
		{15, 0x04, 1000, 0, -1, true, false},
		{15, 0x0B, 1000, 100, 2000, true, true},
		{16, 0x13, 1000, 100, 2000, true, true},
		{17, 0x02, 8192, 0, -1, true, true},
		{18, 0x62, 1000, 0, 7000, true, true},
		{18, 0x02, 8191, 0, -1, false, false},
		{18, 0x03, 8192, 100, -1, false, false},
		{18, 0x03, 4000, 0, -1, false, false},
		{18, 0x06, 8192, 0, -1, false, false},
		{18, 0x02, 8192, 5, -1, false, false},
		{18, 0x02, 8193, 0, -1, false, false},
		{14, 0x07, 1000, 100, 0, false, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		set_up(NULL);
		put_image(cases[i].info, cases[i].length, cases[i].hole_offset, cases[i].hole_bytes);
		if (parse(cases[i].major) != (cases[i].valid ? 0 : -EBADMSG))
			fail_msg("case %zu: %s", i, message);
		if (cases[i].valid)
		{
			assert_true(record.blocks[0].has_image);
			assert_int_equal(record.blocks[0].restored, cases[i].restored);
			assert_int_equal(record.blocks[0].block, 7);
		}
	}
}

/* Lost otherwise: what is written over images, and what is not known of other servers' WAL. */
TEST(test_where_images_are)
{
	uint32_t	infos[2];

	/* Two headers of images, then for each block its image and its data, then main data. */
	put_image(0x02, 8000, 0, -1);
	size -= 8000;
	bytes[26] = 10;				/* bytes of data */
	bytes[25] |= 0x20;
	infos[0] = 24 + 8;
	infos[1] = size + 8;
	put_image(0x06, 1000, 0, -1);
	size -= 1000;
	bytes[infos[1] - 8] = 1;	/* its ID */
	put_block(2, 0, 0, 16390, 3);
	PUT(uint8_t, 255);
	PUT(uint8_t, 3);
	bytes[size] = 'i';
	bytes[size + 8000 + 10] = 'j';
	size += 8000 + 10 + 1000 + 3;
	assert_int_equal(wal_record__parse(&record, bytes, size, wal_format__of_major(18), 8000,
									   message), 0);
	assert_int_equal(record.block_count, 3);
	for (int i = 0; i < 2; i++)
	{
		assert_int_equal(record.blocks[i].image_info_at, infos[i]);
		assert_int_equal(record.bytes[record.blocks[i].image_info_at], i == 0 ? 0x02 : 0x06);
		assert_int_equal(record.bytes[record.blocks[i].image_at], 'i' + i);
		assert_int_equal(record.blocks[i].image_bytes, i == 0 ? 8000 : 1000);
	}
	assert_int_equal(record.blocks[2].image_bytes, 0);
	assert_ptr_equal(record.bytes, bytes);
	/* The size of blocks need not be known; if it is, it must be the right one. */
	assert_int_equal(wal_record__parse(&record, bytes, size, wal_format__of_major(18), 0, message),
					 0);
	assert_int_equal(parse(18), -EBADMSG);
	bytes[infos[1]] |= 0x01;	/* a hole without a place */
	assert_int_equal(wal_record__parse(&record, bytes, size, wal_format__of_major(18), 0, message),
					 -EBADMSG);
}

TEST(test_what_is_no_record)
{
	put_block(0, 0, 0, 0, 3);
	assert_int_equal(parse(18), -EBADMSG);	/* no relation */

	set_up(NULL);
	put_block(1, 0, 0, 16384, 3);
	put_block(1, 0, 0, 16384, 3);
	assert_int_equal(parse(18), -EBADMSG);	/* out of order */

	set_up(NULL);
	put_block(33, 0, 0, 16384, 3);
	assert_int_equal(parse(18), -EBADMSG);	/* no such ID */

	set_up(NULL);
	put_block(0, 4, 0, 16384, 3);
	assert_int_equal(parse(18), -EBADMSG);	/* no such fork */

	set_up(NULL);
	put_block(0, 0x20, 0, 16384, 3);
	assert_int_equal(parse(18), -EBADMSG);	/* data announced, none there */

	set_up(NULL);
	PUT(uint8_t, 255);
	PUT(uint8_t, 30);
	size += 29;
	assert_int_equal(parse(18), -EBADMSG);	/* one byte short */
	size += 2;
	assert_int_equal(parse(18), -EBADMSG);	/* one too many */
	size = 10;
	assert_int_equal(parse(18), -EBADMSG);	/* no header */
}

/* Every record cut short is refused, and nothing is read after it. */
TEST(test_any_length)
{
	uint32_t	whole;

	put_block(0, 0, 0, 16384, 3);
	put_block(1, 0, 0, 0, 4);
	PUT(uint8_t, 254);
	PUT(uint32_t, 5);
	put("hello", 5);
	whole = size;
	assert_int_equal(parse(18), 0);
	for (size = 0; size < whole; size++)
	{
		unsigned char *exact = malloc(size > 0 ? size : 1);

		memcpy(exact, bytes, size);
		/* Without any part, or with whole blocks only, it is one. */
		if (size == 24 || size == 44 || size == 52)
			assert_int_equal(wal_record__parse(&record, exact, size, wal_format__of_major(18),
											   WRITER_BLOCK, message), 0);
		else
			assert_int_equal(wal_record__parse(&record, exact, size, wal_format__of_major(18),
											   WRITER_BLOCK, message), -EBADMSG);
		free(exact);
	}
}

TEST(test_formats)
{
	assert_null(wal_format__of_major(12));
	assert_null(wal_format__of_page(0));
	for (int major = 13; major <= 19; major++)
	{
		const struct wal_format *format = wal_format__of_major(major);

		assert_non_null(format);
		assert_ptr_equal(wal_format__of_page(format->page_magic), format);
	}
}

/* CRC-32C, bit by bit. */
static uint32_t
plain_crc(uint32_t crc, const unsigned char *from, size_t count)
{
	for (size_t i = 0; i < count; i++)
	{
		crc ^= from[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ ((crc & 1) ? 0x82F63B78 : 0);
	}
	return crc;
}

/* Short and long buffers, which have their CRC from different code, at any address. */
TEST(test_crc_of_all_sizes)
{
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char) (i * 31 + i / 256);
	assert_int_equal(crc__add(CRC_START, "123456789", 9) ^ CRC_START, 0xE3069283);
	for (size_t count = 0; count < 1200; count++)
		assert_int_equal(crc__add((uint32_t) count, bytes + count % 9, count),
						 plain_crc((uint32_t) count, bytes + count % 9, count));
	assert_int_equal(crc__add(CRC_START, bytes, sizeof(bytes)),
					 plain_crc(CRC_START, bytes, sizeof(bytes)));
}

UNIT_MAIN(NULL, NULL, set_up, NULL)
