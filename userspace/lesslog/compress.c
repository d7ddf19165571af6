/*
 * compress.c
 *		Writes a file compressed, in one of several ways.
 *
 * The result is what the programs zstd and lz4 read, in one frame, with the size of the
 * content and a checksum of it.
 */
#include <errno.h>
#include <stdlib.h>

#include "lesslog/compress.h"
#include "lesslog/content.h"

static int
begin_zstd(struct compressor *compressor, int level, uint64_t content_bytes)
{
	ZSTD_CCtx  *zstd = compressor->zstd = ZSTD_createCCtx();

	if (zstd == NULL ||
		ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level)) ||
		ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1)) ||
		ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(zstd, content_bytes)))
		return -ENOMEM;
	compressor->room = ZSTD_CStreamOutSize();
	return 0;
}

/* What a frame of lz4 is like. */
static LZ4F_preferences_t
lz4_preferences(uint64_t content_bytes)
{
	return (LZ4F_preferences_t)
	{
		.frameInfo = {
			.blockSizeID = LZ4F_max256KB,.blockMode = LZ4F_blockLinked,
				.contentChecksumFlag = LZ4F_contentChecksumEnabled,.contentSize = content_bytes,
		},
	};
}

/* Write what is in the buffer.  Returns 0 or -errno. */
static int
write_out(struct compressor *compressor, const char *bytes, size_t count)
{
	int			err = content__write(compressor->fd, bytes, count);

	if (err == 0)
		compressor->written += count;
	return err;
}

/*
 * Begin to write content of a size, at most CONTENT_PIECE bytes at once.  Returns 0 or
 * -errno; compress__destroy() is always called.
 */
int
compress__begin(struct compressor *compressor, enum compress_method method, int level, int fd,
				uint64_t content_bytes)
{
	const LZ4F_preferences_t preferences = lz4_preferences(content_bytes);
	int			err = 0;
	size_t		n;

	*compressor = (struct compressor) {.method = method,.fd = fd};
	if (method == COMPRESS_NONE)
		return 0;
	if (method == COMPRESS_ZSTD)
		err = begin_zstd(compressor, level, content_bytes);
	else if (LZ4F_isError(LZ4F_createCompressionContext(&compressor->lz4, LZ4F_VERSION)))
		err = -ENOMEM;
	else
		compressor->room = LZ4F_compressBound(CONTENT_PIECE, &preferences);
	if (err == 0)
		compressor->out = malloc(compressor->room);
	if (compressor->out == NULL)
		return -ENOMEM;
	if (method == COMPRESS_ZSTD)
		return 0;
	n = LZ4F_compressBegin(compressor->lz4, compressor->out, compressor->room, &preferences);
	return LZ4F_isError(n) ? -ENOMEM : write_out(compressor, compressor->out, n);
}

/* Compress by zstd, to the end of the frame if "last". */
static int
add_zstd(struct compressor *compressor, const void *bytes, size_t count, ZSTD_EndDirective last)
{
	ZSTD_inBuffer in = {bytes, count, 0};
	size_t		left;

	do
	{
		ZSTD_outBuffer out = {compressor->out, compressor->room, 0};
		int			err;

		left = ZSTD_compressStream2(compressor->zstd, &out, &in, last);
		if (ZSTD_isError(left))
			return -EIO;
		err = write_out(compressor, compressor->out, out.pos);
		if (err < 0)
			return err;
	} while (in.pos < in.size || (last == ZSTD_e_end && left > 0));
	return 0;
}

/* The next bytes of the content.  Returns 0 or -errno. */
int
compress__add(struct compressor *compressor, const void *bytes, size_t count)
{
	size_t		n;

	if (compressor->method == COMPRESS_NONE)
		return write_out(compressor, bytes, count);
	if (compressor->method == COMPRESS_ZSTD)
		return add_zstd(compressor, bytes, count, ZSTD_e_continue);
	n = LZ4F_compressUpdate(compressor->lz4, compressor->out, compressor->room, bytes, count, NULL);
	return LZ4F_isError(n) ? -EIO : write_out(compressor, compressor->out, n);
}

/* The content is complete.  Returns 0 or -errno. */
int
compress__end(struct compressor *compressor)
{
	size_t		n;

	if (compressor->method == COMPRESS_NONE)
		return 0;
	if (compressor->method == COMPRESS_ZSTD)
		return add_zstd(compressor, NULL, 0, ZSTD_e_end);
	n = LZ4F_compressEnd(compressor->lz4, compressor->out, compressor->room, NULL);
	return LZ4F_isError(n) ? -EIO : write_out(compressor, compressor->out, n);
}

void
compress__destroy(struct compressor *compressor)
{
	ZSTD_freeCCtx(compressor->zstd);
	LZ4F_freeCompressionContext(compressor->lz4);
	free(compressor->out);
	*compressor = (struct compressor) {.fd = -1};
}
