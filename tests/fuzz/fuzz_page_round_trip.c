/*
 * fuzz_page_round_trip.c
 *		Fuzzes round trips of the page transform: a page, its stream, and the
 *		page again.
 *
 * The first byte of the input has the block size, and in its next three bits the
 * shape of the page.  Of the last one, the rest of the input are the page's first
 * bytes; of others, the next four bytes choose a page of that shape, and then
 * each three bytes change one: two with its offset, and one with its value.
 */
#include "fuzz_page.h"

#include "page_shapes.h"

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	static PageTransformScratch scratch;
	char	   *page;
	uint32		block_size;
	uint16		hole_offset;
	uint16		hole_length;
	int			shape;

	if (size < 1)
		return 0;
	block_size = fuzz_block_size(data[0]);
	shape = data[0] >> 3 & 7;
	data++;
	size--;
	page = calloc(1, block_size);
	fuzz_check(page != NULL);
	if (shape >= NUM_SHAPES)
		memcpy(page, data, Min(size, block_size));
	else
	{
		PageRandom	random = {0};

		memcpy(&random.state, data, Min(size, 4));
		data += Min(size, 4);
		size -= Min(size, 4);
		page_shapes__make(&random, shape, block_size, page);
		for (; size >= 3; data += 3, size -= 3)
			page[(data[0] | data[1] << 8) % block_size] = data[2];
	}
	page_shapes__find_hole(page, block_size, &hole_offset, &hole_length);
	fuzz_round_trip(page, block_size, hole_offset, hole_length, &scratch);
	free(page);
	return 0;
}
