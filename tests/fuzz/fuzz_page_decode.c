/*
 * fuzz_page_decode.c
 *		Fuzzes the decoder of the page transform, and round trips of the pages
 *		that it makes of damaged streams.
 *
 * The first byte of the input has the block size; if its bit 3 is set, the next
 * four bytes are the hole's offset and length, else that's what the page header
 * in the stream has.  The rest is the stream.  The corpus has a stream of a real
 * page of each kind that scripts/bench fpi makes.
 */
#include "fuzz_page.h"

#include "storage/bufpage.h"

#define STREAM_HEADER	3		/* bytes before the page header */

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	static PageTransformScratch scratch;
	char	   *pages[lengthof(transform_variants)];
	int			results[lengthof(transform_variants)];
	uint32		block_size;
	uint16		hole[2] = {0, 0};	/* offset, length */
	char	   *stream;
	uint8		code;

	if (size < 1)
		return 0;
	code = *data++;
	size--;
	block_size = fuzz_block_size(code);
	if (code & 8)
	{
		if (size < sizeof(hole))
			return 0;
		memcpy(hole, data, sizeof(hole));
		data += sizeof(hole);
		size -= sizeof(hole);
		/* the server checks this of a record */
		if ((uint32) hole[0] + hole[1] > block_size)
			return 0;
	}
	else if (size >= STREAM_HEADER + SizeOfPageHeaderData)
	{
		PageHeaderData header;

		memcpy(&header, data + STREAM_HEADER, SizeOfPageHeaderData);
		if (header.pd_lower < header.pd_upper && header.pd_upper <= block_size)
		{
			hole[0] = header.pd_lower;
			hole[1] = header.pd_upper - header.pd_lower;
		}
	}

	stream = fuzz_copy(data, size);
	for (int i = 0; i < lengthof(transform_variants); i++)
	{
		pages[i] = malloc(block_size);
		fuzz_check(pages[i] != NULL);
		results[i] = transform_variants[i].decode(stream, size, pages[i], block_size,
												  hole[0], hole[1], &scratch);
		fuzz_check(results[i] == 0 || results[i] == -1);
		fuzz_check(results[i] == results[0]);
		fuzz_check(results[i] != 0 || memcmp(pages[i], pages[0], block_size) == 0);
	}
	if (results[0] == 0)
		fuzz_round_trip(pages[0], block_size, hole[0], hole[1], &scratch);
	for (int i = 0; i < lengthof(transform_variants); i++)
		free(pages[i]);
	free(stream);
	return 0;
}
