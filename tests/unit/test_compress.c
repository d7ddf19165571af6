/*
 * test_compress.c
 *		Is what lesslog compresses read again, and is a file that is not what was written
 *		told from one that is?
 *
 * That the programs zstd and lz4 read it, too, is shown by tests/bats/lesslog-files.bats.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

#include "lesslog/decompress.h"
#include "lesslog/verify.h"

#define MAX_BYTES	(3 * CONTENT_PIECE)

static const enum compress_method methods[] = {COMPRESS_NONE, COMPRESS_LZ4, COMPRESS_ZSTD};

#define METHOD_COUNT	(sizeof(methods) / sizeof(methods[0]))

static struct content content;
static unsigned char original[MAX_BYTES];
static char message[WAL_MESSAGE_BYTES];

/* The file in the archive. */
static int	archived;

static int
set_up(void **state)
{
	/* Parts that compress well, and parts that do not. */
	srandom(7);
	for (size_t i = 0; i < MAX_BYTES; i++)
		original[i] = (unsigned char) (i / 5000 % 2 == 0 ? (long) i / 777 : random());
	content = (struct content) {.fd = memfd_create("content", 0)};
	archived = memfd_create("archived", 0);
	return content.fd < 0 || archived < 0 ? -1 : 0;
}

static int
tear_down(void **state)
{
	content__close(&content);
	close(archived);
	return 0;
}

static void
set_content(size_t bytes)
{
	content.bytes = bytes;
	assert_int_equal(ftruncate(content.fd, 0), 0);
	assert_int_equal(pwrite(content.fd, original, bytes, 0), bytes);
}

/* Write the content to the archived file.  Returns its size. */
static size_t
compress_content(enum compress_method method)
{
	static unsigned char piece[CONTENT_PIECE];
	struct compressor compressor;
	uint64_t	written;

	assert_int_equal(ftruncate(archived, 0), 0);
	assert_int_equal(lseek(archived, 0, SEEK_SET), 0);
	assert_int_equal(compress__begin(&compressor, method, 1, archived, content.bytes), 0);
	for (uint64_t at = 0; at < content.bytes; at += CONTENT_PIECE)
	{
		uint64_t	left = content.bytes - at;
		size_t		bytes = left < CONTENT_PIECE ? (size_t) left : CONTENT_PIECE;

		assert_int_equal(content__read(&content, at, piece, bytes), 0);
		assert_int_equal(compress__add(&compressor, piece, bytes), 0);
	}
	assert_int_equal(compress__end(&compressor), 0);
	written = compressor.written;
	assert_int_equal(written, lseek(archived, 0, SEEK_END));
	compress__destroy(&compressor);
	return written;
}

static int
compare(enum compress_method method)
{
	return verify__same(&content, archived, method, message);
}

static const size_t sizes[] = {
	0, 1, 1000, CONTENT_PIECE - 1, CONTENT_PIECE, CONTENT_PIECE + 1, 2 * CONTENT_PIECE, MAX_BYTES
};

TEST(test_all_methods_and_sizes)
{
	for (size_t m = 0; m < METHOD_COUNT; m++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		{
			set_content(sizes[i]);
			compress_content(methods[m]);
			if (compare(methods[m]) != 0)
				fail_msg("method %zu, %zu bytes: %s", m, sizes[i], message);
		}
}

/* It is read in pieces of any size. */
TEST(test_pieces_of_any_size)
{
	static unsigned char read[MAX_BYTES + 1];

	set_content(MAX_BYTES);
	for (size_t m = 0; m < METHOD_COUNT; m++)
	{
		compress_content(methods[m]);
		for (size_t piece = 1000; piece < MAX_BYTES; piece *= 7)
		{
			struct decompressor decompressor;
			size_t		done = 0;
			long		n;

			assert_int_equal(decompress__begin(&decompressor, methods[m], archived), 0);
			while ((n = decompress__read(&decompressor, read + done,
										 piece < sizeof(read) - done ? piece :
										 sizeof(read) - done)) > 0)
				done += (size_t) n;
			assert_int_equal(n, 0);
			assert_int_equal(done, MAX_BYTES);
			assert_memory_equal(read, original, MAX_BYTES);
			assert_int_equal(decompress__read(&decompressor, read, 1), 0);
			decompress__destroy(&decompressor);
		}
	}
}

/* Lost otherwise: WAL that was archived and cannot be restored. */
TEST(test_a_bit_that_the_device_has_changed)
{
	set_content(20000);
	for (size_t m = 0; m < METHOD_COUNT; m++)
	{
		size_t		written = compress_content(methods[m]);

		for (size_t at = 0; at < written; at += 1 + at / 20)
		{
			unsigned char byte;
			int			result;

			assert_int_equal(pread(archived, &byte, 1, (off_t) at), 1);
			byte ^= 0x08;
			assert_int_equal(pwrite(archived, &byte, 1, (off_t) at), 1);
			result = compare(methods[m]);
			if (result != -EBADMSG && result != -EILSEQ)
				fail_msg("method %zu, byte %zu of %zu: %d", m, at, written, result);
			byte ^= 0x08;
			assert_int_equal(pwrite(archived, &byte, 1, (off_t) at), 1);
		}
		assert_int_equal(compare(methods[m]), 0);
	}
}

TEST(test_a_file_that_is_shorter_or_longer)
{
	set_content(20000);
	for (size_t m = 0; m < METHOD_COUNT; m++)
	{
		size_t		written = compress_content(methods[m]);
		int			damaged = methods[m] == COMPRESS_NONE ? -EILSEQ : -EBADMSG;

		assert_int_equal(ftruncate(archived, (off_t) written + 1), 0);
		assert_int_equal(compare(methods[m]), damaged);
		for (size_t bytes = written - 1; bytes > 0; bytes -= 1 + bytes / 20)
		{
			assert_int_equal(ftruncate(archived, (off_t) bytes), 0);
			assert_int_equal(compare(methods[m]), damaged);
		}
		/* The content is longer or shorter, the file is what it should be. */
		compress_content(methods[m]);
		content.bytes--;
		assert_int_equal(compare(methods[m]), -EILSEQ);
		assert_string_equal(message, "it is longer");
		content.bytes++;
		set_content(20001);
		assert_int_equal(compare(methods[m]), -EILSEQ);
		assert_string_equal(message, "it is shorter");
		set_content(20000);
	}
}

/* Lost otherwise: the process, or a segment that is not the server's. */
TEST(test_content_that_becomes_shorter)
{
	static char out[20000];

	set_content(20000);
	assert_int_equal(content__read(&content, 0, out, 20000), 0);
	compress_content(COMPRESS_ZSTD);
	assert_int_equal(ftruncate(content.fd, 19999), 0);
	assert_int_equal(content__read(&content, 0, out, 20000), -ESTALE);
	assert_int_equal(compare(COMPRESS_ZSTD), -ESTALE);
	assert_string_equal(message, "it became shorter while it was read");
}

/* A full disk. */
TEST(test_what_cannot_be_written)
{
	static unsigned char piece[CONTENT_PIECE];
	struct compressor compressor;
	int			full = memfd_create("full", MFD_ALLOW_SEALING);

	assert_int_equal(fcntl(full, F_ADD_SEALS, F_SEAL_GROW), 0);
	for (size_t m = 0; m < METHOD_COUNT; m++)
	{
		int			err = compress__begin(&compressor, methods[m], 1, full, sizeof(piece));

		if (err == 0)
			err = compress__add(&compressor, piece, sizeof(piece));
		if (err == 0)
			err = compress__end(&compressor);
		assert_int_equal(err, -EPERM);
		assert_int_equal(compressor.written, 0);
		compress__destroy(&compressor);
	}
	close(full);
}

UNIT_MAIN(NULL, NULL, set_up, tear_down)
