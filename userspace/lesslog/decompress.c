/*
 * decompress.c
 *		Reads the content of a file that compress.c has written.
 *
 * The content is complete only if the frame ends, its checksum is right, and nothing
 * follows.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lesslog/content.h"
#include "lesslog/decompress.h"

/* Begin to read.  Returns 0 or -ENOMEM; decompress__destroy() is always called. */
int
decompress__begin(struct decompressor *decompressor, enum compress_method method, int fd)
{
	*decompressor = (struct decompressor) {.method = method,.fd = fd};
	if (method == COMPRESS_NONE)
		return 0;
	decompressor->in = malloc(CONTENT_PIECE);
	if (method == COMPRESS_ZSTD)
		decompressor->zstd = ZSTD_createDCtx();
	else if (LZ4F_isError(LZ4F_createDecompressionContext(&decompressor->lz4, LZ4F_VERSION)))
		decompressor->lz4 = NULL;
	return decompressor->in == NULL ||
		(decompressor->zstd == NULL && decompressor->lz4 == NULL) ? -ENOMEM : 0;
}

/* Read from the file.  Returns how many bytes, or -errno. */
static long
read_file(struct decompressor *decompressor, void *out, size_t bytes)
{
	ssize_t		n;

	do
		n = pread(decompressor->fd, out, bytes, (off_t) decompressor->from);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	decompressor->from += (uint64_t) n;
	return n;
}

/* Decompress what is in the buffer.  Returns how much content that made, or -EBADMSG. */
static long
decompress(struct decompressor *decompressor, void *bytes, size_t room)
{
	const char *from = decompressor->in + decompressor->in_at;
	size_t		left = decompressor->in_bytes - decompressor->in_at;
	size_t		result;

	if (decompressor->method == COMPRESS_ZSTD)
	{
		ZSTD_outBuffer out = {bytes, room, 0};
		ZSTD_inBuffer in = {from, left, 0};

		result = ZSTD_decompressStream(decompressor->zstd, &out, &in);
		if (ZSTD_isError(result))
			return -EBADMSG;
		left = in.pos;
		room = out.pos;
	}
	else
	{
		result = LZ4F_decompress(decompressor->lz4, bytes, &room, from, &left, NULL);
		if (LZ4F_isError(result))
			return -EBADMSG;
	}
	decompressor->in_at += left;
	decompressor->complete = result == 0;
	return (long) room;
}

/* Have bytes of the file in the buffer, if there are any left.  Returns 0 or -errno. */
static int
fill(struct decompressor *decompressor)
{
	long		n;

	if (decompressor->in_at < decompressor->in_bytes)
		return 0;
	n = read_file(decompressor, decompressor->in, CONTENT_PIECE);
	decompressor->in_at = 0;
	decompressor->in_bytes = n > 0 ? (size_t) n : 0;
	return n < 0 ? (int) n : 0;
}

/*
 * Read the next bytes of the content.  Returns how many: fewer only at the end of the
 * content, which is complete then; or -errno, -EBADMSG if the file is damaged.
 */
long
decompress__read(struct decompressor *decompressor, void *out, size_t bytes)
{
	bool		plain = decompressor->method == COMPRESS_NONE;
	size_t		done = 0;

	while (done < bytes)
	{
		bool		at_end;
		long		n = plain ? 0 : fill(decompressor);

		if (n < 0)
			return n;
		at_end = decompressor->in_at == decompressor->in_bytes;
		if (decompressor->complete)
			return at_end ? (long) done : -EBADMSG;
		if (plain)
			n = read_file(decompressor, (char *) out + done, bytes - done);
		else
			n = decompress(decompressor, (char *) out + done, bytes - done);
		if (n < 0)
			return n;
		if (plain && n == 0)
			return (long) done;
		/* The file may have ended before the frame. */
		if (n == 0 && at_end && !decompressor->complete)
			return -EBADMSG;
		done += (size_t) n;
	}
	return (long) done;
}

void
decompress__destroy(struct decompressor *decompressor)
{
	ZSTD_freeDCtx(decompressor->zstd);
	LZ4F_freeDecompressionContext(decompressor->lz4);
	free(decompressor->in);
	*decompressor = (struct decompressor) {.fd = -1};
}
