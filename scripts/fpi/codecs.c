/*
 * codecs.c
 *		Ways to compress a full-page image, as the server has them.
 *
 * Each does what XLogCompressBackupBlock() and RestoreBlockImage() would do with
 * it.  Those called "fresh" make a context for each image, which for zstd is what
 * stock PostgreSQL does; the others reuse one.  lz4 has no context to speak of.
 */
#include "codecs.h"

#include <lz4.h>
#include <zlib.h>
#include <zstd.h>

#include "common/pg_lzcompress.h"
#include "storage/bufpage.h"
#include "variants.h"

static ZSTD_CCtx *zstd_compressor;
static ZSTD_DCtx *zstd_decompressor;
static z_stream deflater[10];	/* one for each level */
static z_stream inflater;
static PageTransformScratch scratch;
static char image_copy[BLCKSZ];
static char stream[PAGE_TRANSFORM_BOUND(BLCKSZ)];

static int
compress_pglz(const char *from, int length, char *to, int room, int level)
{
	int			made = pglz_compress(from, length, to, PGLZ_strategy_default);

	return Max(made, 0);
}

static int
decompress_pglz(const char *from, int length, char *to, int room)
{
	/* The length has to be known, as it is in the server. */
	int			made = pglz_decompress(from, length, to, room, false);

	return Max(made, 0);
}

static int
compress_lz4(const char *from, int length, char *to, int room, int level)
{
	return LZ4_compress_default(from, to, length, room);
}

static int
decompress_lz4(const char *from, int length, char *to, int room)
{
	int			made = LZ4_decompress_safe(from, to, length, room);

	return Max(made, 0);
}

static int
compress_zstd_fresh(const char *from, int length, char *to, int room, int level)
{
	size_t		made = ZSTD_compress(to, room, from, length, level);

	return ZSTD_isError(made) ? 0 : (int) made;
}

static int
decompress_zstd_fresh(const char *from, int length, char *to, int room)
{
	size_t		made = ZSTD_decompress(to, room, from, length);

	return ZSTD_isError(made) ? 0 : (int) made;
}

static int
compress_zstd(const char *from, int length, char *to, int room, int level)
{
	size_t		made = ZSTD_compressCCtx(zstd_compressor, to, room, from, length, level);

	return ZSTD_isError(made) ? 0 : (int) made;
}

static int
decompress_zstd(const char *from, int length, char *to, int room)
{
	size_t		made = ZSTD_decompressDCtx(zstd_decompressor, to, room, from, length);

	return ZSTD_isError(made) ? 0 : (int) made;
}

static void
set_buffers(z_stream *z, const char *from, int length, char *to, int room)
{
	z->next_in = (Bytef *) from;
	z->avail_in = length;
	z->next_out = (Bytef *) to;
	z->avail_out = room;
}

static int
compress_zlib(const char *from, int length, char *to, int room, int level)
{
	z_stream   *z = &deflater[level];

	deflateReset(z);
	set_buffers(z, from, length, to, room);
	return deflate(z, Z_FINISH) == Z_STREAM_END ? (int) z->total_out : 0;
}

static int
decompress_zlib(const char *from, int length, char *to, int room)
{
	inflateReset(&inflater);
	set_buffers(&inflater, from, length, to, room);
	return inflate(&inflater, Z_FINISH) == Z_STREAM_END ? (int) inflater.total_out : 0;
}

#define PGLZ		compress_pglz, decompress_pglz
#define LZ4			compress_lz4, decompress_lz4
#define ZSTD		compress_zstd, decompress_zstd
#define ZSTD_FRESH	compress_zstd_fresh, decompress_zstd_fresh
#define ZLIB		compress_zlib, decompress_zlib
#define VECTORS		&transform_variants[0]
#define PLAIN_C		&transform_variants[1]
#define AVX2		&transform_variants[2]

const FpiMethod codecs__methods[] = {
	{"pglz", PGLZ, 0, NULL},
	{"lz4", LZ4, 0, NULL},
	{"lz4:transform", LZ4, 0, VECTORS},
	{"lz4:transform,c", LZ4, 0, PLAIN_C},
#ifdef TRANSFORM_AVX2
	{"lz4:transform,avx2", LZ4, 0, AVX2},
#endif
	{"zstd:1", ZSTD, 1, NULL},
	{"zstd:1,fresh", ZSTD_FRESH, 1, NULL},
	{"zstd:1,transform", ZSTD, 1, VECTORS},
	{"zstd:3", ZSTD, 3, NULL},
	{"zstd:3,fresh", ZSTD_FRESH, 3, NULL},
	{"zstd:3,transform", ZSTD, 3, VECTORS},
	{"zstd:6", ZSTD, 6, NULL},
	{"zstd:6,fresh", ZSTD_FRESH, 6, NULL},
	{"zlib:1", ZLIB, 1, NULL},
	{"zlib:2", ZLIB, 2, NULL},
	{"zlib:6", ZLIB, 6, NULL},
};

const int	codecs__nmethods = lengthof(codecs__methods);

void
codecs__start(void)
{
	zstd_compressor = ZSTD_createCCtx();
	zstd_decompressor = ZSTD_createDCtx();
	for (int level = 1; level <= 9; level++)
	{
		if (deflateInit(&deflater[level], level) != Z_OK)
			abort();
	}
	if (zstd_compressor == NULL || zstd_decompressor == NULL || inflateInit(&inflater) != Z_OK)
		abort();
}

void
codecs__find_hole(FpiPage *page)
{
	PageHeader	header = (PageHeader) page->bytes;
	bool		has_hole = header->pd_lower >= SizeOfPageHeaderData &&
		header->pd_upper > header->pd_lower && header->pd_upper <= BLCKSZ;

	page->hole_offset = has_hole ? header->pd_lower : 0;
	page->hole_length = has_hole ? header->pd_upper - header->pd_lower : 0;
}

static void
remove_hole(const FpiPage *page, char *to)
{
	int			after = page->hole_offset + page->hole_length;

	memcpy(to, page->bytes, page->hole_offset);
	memcpy(to + page->hole_offset, page->bytes + after, BLCKSZ - after);
}

void
codecs__compress(const FpiMethod *method, const FpiPage *page, FpiImage *image)
{
	int			length = BLCKSZ - page->hole_length;
	const char *from = page->bytes;
	int			from_length = -1;

	image->hole_offset = page->hole_offset;
	image->hole_length = page->hole_length;
	image->form = FPI_TRANSFORMED;
	if (method->transform)
	{
		from_length = method->transform->encode(page->bytes, BLCKSZ, page->hole_offset,
												page->hole_length, stream, sizeof(stream),
												&scratch);
		from = stream;
	}
	if (from_length < 0)
	{
		image->form = FPI_COMPRESSED;
		from = page->bytes;
		from_length = length;
		if (page->hole_length > 0)
		{
			remove_hole(page, image_copy);
			from = image_copy;
		}
	}
	image->length = method->compress(from, from_length, image->bytes, FPI_MAX_IMAGE,
									 method->level);
	if (image->length == 0 || image->length >= length)
	{
		image->form = FPI_PLAIN;
		image->length = length;
		remove_hole(page, image->bytes);
	}
}

bool
codecs__decompress(const FpiMethod *method, const FpiImage *image, char *page)
{
	int			length = BLCKSZ - image->hole_length;
	const char *from = image->bytes;

	if (image->form == FPI_TRANSFORMED)
	{
		int			made = method->decompress(image->bytes, image->length, stream, sizeof(stream));

		return made > 0 &&
			method->transform->decode(stream, made, page, BLCKSZ, image->hole_offset,
									  image->hole_length, &scratch) == 0;
	}
	if (image->form == FPI_COMPRESSED)
	{
		if (method->decompress(image->bytes, image->length, image_copy, length) != length)
			return false;
		from = image_copy;
	}
	memcpy(page, from, image->hole_offset);
	memset(page + image->hole_offset, 0, image->hole_length);
	memcpy(page + image->hole_offset + image->hole_length, from + image->hole_offset,
		   length - image->hole_offset);
	return true;
}
