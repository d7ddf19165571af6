/*
 * fuzz_page.h
 *		What the fuzzers of the page transform share: blocks of memory in which
 *		nothing beyond their ends is touched unnoticed, and round trips.
 */
#ifndef FUZZ_PAGE_H
#define FUZZ_PAGE_H

#include "postgres_fe.h"

#include "variants.h"

#define FUZZ_MIN_BLOCK	1024	/* bytes, as PostgreSQL has it */

int			LLVMFuzzerTestOneInput(const uint8 *data, size_t size);

static inline void
fuzz_check(bool holds)
{
	if (!holds)
		abort();
}

/* The block size, in bytes, that the lowest bits of an input's first byte stand for */
static inline uint32
fuzz_block_size(uint8 code)
{
	static const uint8 shifts[8] = {0, 1, 2, 3, 4, 5, 0, 1};

	return FUZZ_MIN_BLOCK << shifts[code & 7];
}

/* A copy of bytes that a sanitizer watches the ends of */
static inline void *
fuzz_copy(const void *bytes, size_t size)
{
	void	   *copy = malloc(size);

	fuzz_check(copy != NULL);
	memcpy(copy, bytes, size);
	return copy;
}

/*
 * Encode a page with each variant, and decode with each; all have to agree, and
 * the page has to come back with zeroes in its hole.
 */
static inline void
fuzz_round_trip(const char *page, uint32 block_size, uint16 hole_offset, uint16 hole_length,
				PageTransformScratch *scratch)
{
	uint32		capacity = PAGE_TRANSFORM_BOUND(block_size - hole_length);
	uint32		after = hole_offset + hole_length;
	char	   *streams[lengthof(transform_variants)];
	int32		length = -1;

	for (int i = 0; i < lengthof(transform_variants); i++)
	{
		int32		made;

		streams[i] = malloc(capacity);
		fuzz_check(streams[i] != NULL);
		made = transform_variants[i].encode(page, block_size, hole_offset, hole_length,
											streams[i], capacity, scratch);
		fuzz_check(i == 0 || made == length);
		fuzz_check(made <= (int32) capacity);
		length = made;
		fuzz_check(length < 0 || memcmp(streams[i], streams[0], length) == 0);
	}
	for (int i = 0; length >= 0 && i < lengthof(transform_variants); i++)
	{
		char	   *stream = fuzz_copy(streams[0], length);
		char	   *back = malloc(block_size);

		fuzz_check(back != NULL);
		fuzz_check(transform_variants[i].decode(stream, length, back, block_size, hole_offset,
												hole_length, scratch) == 0);
		fuzz_check(memcmp(back, page, hole_offset) == 0);
		fuzz_check(memcmp(back + after, page + after, block_size - after) == 0);
		for (uint32 j = hole_offset; j < after; j++)
			fuzz_check(back[j] == 0);
		free(stream);
		free(back);
	}
	for (int i = 0; i < lengthof(transform_variants); i++)
		free(streams[i]);
}

#endif							/* FUZZ_PAGE_H */
