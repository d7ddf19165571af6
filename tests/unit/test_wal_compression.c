/*
 * test_wal_compression.c
 *		What wal_compression.c of the patched source does in a build that lacks
 *		libraries: it reports that, compresses and decompresses nothing by them, and
 *		does all the rest.
 *
 * run-wal_compression compiles this with all libraries, without each of them, and
 * without any; WITHOUT_LZ4, WITHOUT_ZSTD and WITHOUT_ZLIB set what is left out.
 */
#include "postgres_fe.h"

/* The installed configuration has all of them; nothing includes it again. */
#ifdef WITHOUT_LZ4
#undef USE_LZ4
#endif
#ifdef WITHOUT_ZSTD
#undef USE_ZSTD
#endif
#ifdef WITHOUT_ZLIB
#undef HAVE_LIBZ
#endif

#include "wal_compression.c"

#include <stdio.h>

#undef printf

static int	ntests;
static int	nfailed;

static void
report(bool passed, const char *what, const char *name)
{
	printf("%sok %d - %s: %s\n", passed ? "" : "not ", ++ntests, what, name);
	nfailed += !passed;
}

/* A page that every method makes smaller. */
static void
make_page(char *page)
{
	for (int i = 0; i < BLCKSZ; i++)
		page[i] = "all pages of this are alike, more or less"[i % 40] + i / 1024;
}

/* Does a method do, or not do, all that it should? */
static bool
method_works(WalCompression method, int level, bool expected)
{
	static char page[BLCKSZ];
	static char image[2 * BLCKSZ];
	static char back[BLCKSZ];
	bool		works;
	int32		length;

	make_page(page);
	if (wal_compression_supported(method) != expected)
		return false;
	for (int i = 0; i < 3; i++)
	{
		length = wal_compress(method, level, page, BLCKSZ, image, sizeof(image));
		memset(back, 0x7f, sizeof(back));
		if (!expected)
			works = length == -1 &&
				wal_decompress(method, page, 100, back, BLCKSZ) == -1 && back[0] == 0x7f;
		else
			works = length > 0 && length < BLCKSZ &&
				wal_decompress(method, image, length, back, BLCKSZ) == BLCKSZ &&
				memcmp(back, page, BLCKSZ) == 0;
		if (!works)
			return false;
	}
	return true;
}

int
main(int argc, char **argv)
{
	bool		lz4 = true;
	bool		zstd = true;
	bool		zlib = true;
	const char *what = argc == 2 ? argv[1] : "wal_compression";

#ifdef WITHOUT_LZ4
	lz4 = false;
#endif
#ifdef WITHOUT_ZSTD
	zstd = false;
#endif
#ifdef WITHOUT_ZLIB
	zlib = false;
#endif
	report(method_works(WAL_COMPRESSION_PGLZ, 0, true), what, "pglz works");
	report(method_works(WAL_COMPRESSION_LZ4, 1, lz4), what,
		   lz4 ? "lz4 works" : "lz4 does nothing");
	report(method_works(WAL_COMPRESSION_LZ4, 9, lz4), what,
		   lz4 ? "lz4 at a high level works" : "lz4 at a high level does nothing");
	report(method_works(WAL_COMPRESSION_ZSTD, 3, zstd), what,
		   zstd ? "zstd works" : "zstd does nothing");
	report(method_works(WAL_COMPRESSION_ZLIB, 6, zlib), what,
		   zlib ? "zlib works" : "zlib does nothing");
	report(method_works(WAL_COMPRESSION_ZSTD, 19, zstd) && method_works(WAL_COMPRESSION_ZLIB, 1, zlib) &&
		   method_works(WAL_COMPRESSION_ZLIB, -1, zlib), what, "the level can change");
	/* pg_waldump names what it cannot decompress */
	report(strcmp(wal_image_name(wal_image_info(WAL_COMPRESSION_ZLIB, false)), "zlib") == 0 &&
		   strcmp(wal_image_name(wal_image_info(WAL_COMPRESSION_LZ4, true)), "lz4:transform") == 0 &&
		   strcmp(wal_image_name(wal_image_info(WAL_COMPRESSION_ZSTD, false)), "zstd") == 0,
		   what, "images of all methods have names");
	printf("1..%d\n", ntests);
	return nfailed > 0;
}
