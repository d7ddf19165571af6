/*
 * test_verify.c
 *		Is it noticed if more is changed in a segment than its images?
 *
 * Each test makes a segment, and changes what segment__scan() would have changed in a way in
 * which it might be wrong; the CRCs of the records are right.
 */
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lesslog_fixture.h"

#include "lesslog/content.h"
#include "lesslog/verify.h"

#define IMAGE_BYTES	700

/* A segment that begins with a record of two blocks with images and data, as content. */
static struct content
make_content(uint8_t rmid, uint8_t info)
{
	struct content content = {.bytes = WRITER_SEGMENT};

	begin_body();
	put_block(0, 0x06, IMAGE_BYTES, rmid == WAL_RMGR_XLOG ? 0 : 50);
	if (rmid != WAL_RMGR_XLOG)
	{
		put_block(1, 0x06, IMAGE_BYTES, 50);
		put_main_data(30);
	}
	end_body(rmid, info);
	end_segment();
	change();
	content.edits = edits;
	content.fd = memfd_create("segment", MFD_CLOEXEC);
	assert_true(content.fd >= 0);
	assert_int_equal(write(content.fd, before, sizeof(before)), sizeof(before));
	return content;
}

static int
verify(struct content *content)
{
	return verify__segment(content, &segment, message);
}

/* The first record with the changes, and where its CRC is changed. */
static uint32_t
crc_of_first(void)
{
	uint32_t	total_bytes;

	memcpy(after, before, sizeof(after));
	edits__apply(&edits, 0, after, sizeof(after));
	memcpy(&total_bytes, after + WAL_PAGE_LONG_BYTES, sizeof(total_bytes));
	return wal_record__crc(after + WAL_PAGE_LONG_BYTES, total_bytes);
}

/* Move the edit that makes zeros, with a right CRC; the rest of the record must be noticed. */
static void
expect_noticed(struct content *content, size_t edit, int move)
{
	struct edit was = edits.list[edit];
	uint32_t	crc = edits.list[0].value;

	edits.list[edit].at = (uint32_t) ((int) edits.list[edit].at + move);
	edits.list[0].value = crc_of_first();
	assert_int_equal(verify(content), -EBADMSG);
	assert_string_equal(message, "it would have other records");
	edits.list[edit] = was;
	edits.list[0].value = crc;
	assert_int_equal(verify(content), 0);
}

/* Lost otherwise: data of blocks, which redo would apply from zeros. */
TEST(test_data_that_would_be_changed)
{
	struct content content = make_content(RMGR_BTREE, OPTIONAL);

	assert_int_equal(segment.counts.images_removed, 2);
	/* The CRC, two marks, two images. */
	assert_int_equal(edits.count, 5);
	assert_int_equal(edits.list[0].at,
					 WAL_PAGE_LONG_BYTES + offsetof(struct wal_record_header, crc));
	assert_int_equal(edits.list[3].bytes, IMAGE_BYTES);
	assert_int_equal(verify(&content), 0);
	for (size_t edit = 3; edit <= 4; edit++)
		for (int move = 1; move < 60; move += 7)
			expect_noticed(&content, edit, move);
	close(content.fd);
}

/* Lost otherwise: which block it was. */
TEST(test_block_of_a_hint_that_would_be_changed)
{
	struct content content = make_content(WAL_RMGR_XLOG, WAL_XLOG_FPI_FOR_HINT | OPTIONAL);
	unsigned	noticed = 0;

	assert_int_equal(segment.counts.hints_removed, 1);
	assert_int_equal(verify(&content), 0);
	for (size_t i = 1; i < edits.count - 1; i++)
	{
		struct edit was = edits.list[i];
		uint32_t	crc = edits.list[0].value;

		/* Headers' words; not all of their bits matter. */
		assert_int_equal(was.bytes, sizeof(uint32_t));
		edits.list[i].value ^= 0x00010000;
		edits.list[0].value = crc_of_first();
		noticed += verify(&content) == -EBADMSG;
		edits.list[i] = was;
		edits.list[0].value = crc;
	}
	assert_true(noticed >= edits.count - 3);
	assert_int_equal(verify(&content), 0);
	close(content.fd);
}

/* Lost otherwise: an image that redo restores, from zeros. */
TEST(test_an_image_that_is_to_be_restored)
{
	struct content content = make_content(RMGR_BTREE, OPTIONAL);
	uint32_t	crc = edits.list[0].value;

	/* The mark of the first image stays. */
	edits.list[1].value |= 0x02;
	edits.list[0].value = crc_of_first();
	assert_int_equal(verify(&content), -EBADMSG);
	edits.list[1].value &= ~0x02u;
	edits.list[0].value = crc;
	assert_int_equal(verify(&content), 0);
	/* Another mark of the second one: that it has a hole. */
	edits.list[2].value |= 0x01;
	edits.list[0].value = crc_of_first();
	assert_int_equal(verify(&content), -EBADMSG);
	edits.list[2].value &= ~0x01u;
	edits.list[0].value = crc;
	assert_int_equal(verify(&content), 0);
	/* A wrong CRC. */
	edits.list[0].value ^= 1;
	assert_int_equal(verify(&content), -EBADMSG);
	assert_non_null(strstr(message, "CRC"));
	edits.list[0].value = crc;
	close(content.fd);
}

UNIT_MAIN(NULL, NULL, set_up, tear_down)
