/*
 * page_seed.c
 *		Writes an input of fuzz_page_decode.c: the stream of the first page of a
 *		file that can be transformed.
 *
 * scripts/bench fpi leaves such files in its directory.  To be compiled by
 * scripts/fpi/build.
 *
 * usage: page_seed PAGES-FILE >tests/fuzz/corpus/fuzz_page_decode/NAME
 */
#include "fuzz_page.h"

#include "page_shapes.h"

#include <stdio.h>

#undef printf
#undef fprintf

#define BLOCK_CODE	3			/* of pages of 8 kB */

int
main(int argc, char **argv)
{
	static PageTransformScratch scratch;
	static char page[FUZZ_MIN_BLOCK << BLOCK_CODE];
	static char stream[PAGE_TRANSFORM_BOUND(sizeof(page))];
	FILE	   *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
	int32		length = -1;

	if (file == NULL)
	{
		fprintf(stderr, "usage: page_seed PAGES-FILE >SEED\n");
		return 2;
	}
	while (length < 0 && fread(page, sizeof(page), 1, file) == 1)
	{
		uint16		hole_offset;
		uint16		hole_length;

		page_shapes__find_hole(page, sizeof(page), &hole_offset, &hole_length);
		length = page_transform_encode(page, sizeof(page), hole_offset, hole_length,
									   stream, sizeof(stream), &scratch);
	}
	fclose(file);
	if (length < 0)
	{
		fprintf(stderr, "page_seed: %s has no page that can be transformed\n", argv[1]);
		return 1;
	}
	putchar(BLOCK_CODE);
	fwrite(stream, length, 1, stdout);
	return 0;
}
