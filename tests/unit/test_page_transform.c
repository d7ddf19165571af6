/*
 * test_page_transform.c
 *		Does the page transform give each page back, and the same stream with
 *		all instructions, today and in years?
 *
 * Pages, streams and what is made of them are blocks of memory of their own, so
 * that under a sanitizer nothing beyond their ends is touched unnoticed.  WAL may
 * contain streams like the golden ones: an encoder that makes others needs another
 * format number, and decoders have to understand both.
 *
 * Prints TAP, without a library, because it's also run on an emulated CPU for
 * which there is none.  Run by tests/unit/run-page_transform.
 *
 * usage: test_page_transform WHAT PAGES
 *        WHAT   goes into the names of tests
 *        PAGES  how many of each shape, for each block size
 */
#include "postgres_fe.h"

#include "page_shapes.h"
#include "storage/bufpage.h"
#include "variants.h"

#undef printf
#undef fprintf
#undef snprintf

#define MIN_BLOCK	1024		/* bytes, as PostgreSQL has it */

#ifdef WORDS_BIGENDIAN
static const bool big_endian = true;
#else
static const bool big_endian = false;
#endif

static const char *const shape_names[NUM_SHAPES] = {
	"fixed", "high key", "variable", "aged", "damaged", "noise"
};

/* A page, its hole, and the stream that was made of it; lengths in bytes */
typedef struct Case
{
	char	   *page;
	uint32		block_size;
	uint16		hole_offset;
	uint16		hole_length;
	char	   *stream;
	int32		length;			/* -1 if there is none */
} Case;

static PageTransformScratch *scratch;
static int	ntests = 0;
static int	nfailed = 0;

static void
report(bool passed, const char *what, const char *name)
{
	ntests++;
	nfailed += !passed;
	printf("%s %d - %s: %s\n", passed ? "ok" : "not ok", ntests, what, name);
}

static void *
allocate(size_t size)
{
	void	   *memory = malloc(size);

	if (memory == NULL)
		abort();
	return memory;
}

/* A page as an image gives it back: with zeroes in the hole */
static bool
same_page(const Case *each, const char *page)
{
	uint32		after = each->hole_offset + each->hole_length;

	for (uint32 i = each->hole_offset; i < after; i++)
	{
		if (page[i] != 0)
			return false;
	}
	return memcmp(page, each->page, each->hole_offset) == 0 &&
		memcmp(page + after, each->page + after, each->block_size - after) == 0;
}

static void
make_case(PageRandom *random, PageShape shape, uint32 block_size, Case *each)
{
	uint32		capacity;

	each->block_size = block_size;
	each->page = allocate(block_size);
	page_shapes__make(random, shape, block_size, each->page);
	page_shapes__find_hole(each->page, block_size, &each->hole_offset, &each->hole_length);
	capacity = PAGE_TRANSFORM_BOUND(block_size - each->hole_length);
	each->stream = allocate(capacity);
	each->length = page_transform_encode(each->page, block_size, each->hole_offset,
										 each->hole_length, each->stream, capacity, scratch);
}

static void
free_case(Case *each)
{
	free(each->page);
	free(each->stream);
}

/* Decode a stream of a length that may be wrong; 0 or -1, and the page. */
static int
decode(const TransformVariant *variant, const Case *each, const char *stream, uint32 length,
	   char *page)
{
	char	   *copy = allocate(length);
	int			result;

	memcpy(copy, stream, length);
	/* what was there before must not matter */
	memset(scratch, length, sizeof(*scratch));
	result = variant->decode(copy, length, page, each->block_size, each->hole_offset,
							 each->hole_length, scratch);
	free(copy);
	return result;
}

/* Does every variant make the same stream, and the page of it? */
static bool
check_case(const Case *each)
{
	uint32		capacity = PAGE_TRANSFORM_BOUND(each->block_size - each->hole_length);
	bool		passed = true;

	for (int i = 0; i < lengthof(transform_variants); i++)
	{
		const TransformVariant *variant = &transform_variants[i];
		char	   *stream = allocate(capacity);
		char	   *page = allocate(each->block_size);
		int32		length;

		memset(scratch, 0x55 + i, sizeof(*scratch));
		length = variant->encode(each->page, each->block_size, each->hole_offset,
								 each->hole_length, stream, capacity, scratch);
		if (length != each->length ||
			(length >= 0 && memcmp(stream, each->stream, length) != 0))
		{
			printf("# %s makes another stream\n", variant->name);
			passed = false;
		}
		else if (length >= 0 &&
				 (decode(variant, each, each->stream, length, page) != 0 ||
				  !same_page(each, page)))
		{
			printf("# %s makes another page\n", variant->name);
			passed = false;
		}
		free(stream);
		free(page);
	}
	return passed;
}

static void
test_round_trips(const char *what, int npages)
{
	for (int shape = 0; shape < NUM_SHAPES; shape++)
	{
		PageRandom	random = {shape};
		bool		passed = true;
		int			made = 0;
		int			all = 0;
		char		name[80];

		for (uint32 size = MIN_BLOCK; size <= PAGE_TRANSFORM_MAX_BLOCK; size *= 2)
		{
			for (int i = 0; i < npages; i++)
			{
				Case		each;

				make_case(&random, shape, size, &each);
				passed = check_case(&each) && passed;
				made += each.length >= 0;
				all++;
				free_case(&each);
			}
		}
		/* few pages have less than eight rows; a test of nothing passes nothing */
		if (made * 4 < all * (shape < SHAPE_DAMAGED ? 3 : shape == SHAPE_DAMAGED ? 2 : 0))
			passed = false;
		snprintf(name, sizeof(name), "%s pages come back (%d of %d transformed)",
				 shape_names[shape], made, all);
		report(passed, what, name);
	}
}

/*
 * Streams that are too short or too long are rejected; damaged ones may be, and
 * do no harm.
 */
static void
test_damaged_streams(const char *what, int npages)
{
	PageRandom	random = {1};
	bool		truncated = true;
	bool		extended = true;
	bool		agreed = true;
	int			rejected = 0;
	int			tried = 0;

	for (int i = 0; i < npages; i++)
	{
		Case		each;
		char	   *pages[lengthof(transform_variants)];
		char	   *longer;

		make_case(&random, i % SHAPE_DAMAGED, MIN_BLOCK << (i / 16 % 6), &each);
		if (each.length < 0)
		{
			free_case(&each);
			continue;
		}
		longer = allocate(each.length + 1);
		memcpy(longer, each.stream, each.length);
		longer[each.length] = 0;
		for (int j = 0; j < lengthof(transform_variants); j++)
		{
			const TransformVariant *variant = &transform_variants[j];

			pages[j] = allocate(each.block_size);
			for (int length = each.length - 1; length >= 0;
				 length -= 1 + page_shapes__random(&random, 1 + each.length / 16))
				truncated = decode(variant, &each, each.stream, length, pages[j]) == -1 && truncated;
			extended = decode(variant, &each, longer, each.length + 1, pages[j]) == -1 && extended;
		}
		for (int j = 0; j < 20; j++)
		{
			int			results[lengthof(transform_variants)];

			memcpy(longer, each.stream, each.length);
			for (int k = page_shapes__random(&random, 4); k >= 0; k--)
				longer[page_shapes__random(&random, k & 1 ? each.length : Min(each.length, 100))] =
					page_shapes__random(&random, 256);
			for (int k = 0; k < lengthof(transform_variants); k++)
				results[k] = decode(&transform_variants[k], &each, longer, each.length, pages[k]);
			if (results[0] != results[1] ||
				(results[0] == 0 && memcmp(pages[0], pages[1], each.block_size) != 0))
				agreed = false;
			rejected += results[0] == -1;
			tried++;
		}
		for (int j = 0; j < lengthof(transform_variants); j++)
			free(pages[j]);
		free(longer);
		free_case(&each);
	}
	report(truncated, what, "streams that are cut off are rejected");
	report(extended, what, "streams with a byte too much are rejected");
	report(agreed && rejected > 0 && rejected < tried, what,
		   "damaged streams are rejected, or give the same page everywhere");
}

/* What callers may get wrong. */
static void
test_arguments(const char *what)
{
	PageRandom	random = {2};
	Case		each;
	char	   *page = allocate(BLCKSZ);
	uint32		enough = PAGE_TRANSFORM_BOUND(BLCKSZ * 8);
	char	   *stream = allocate(enough);
	char	   *large = allocate(BLCKSZ * 8);
	uint32		capacity;
	uint16		lower;

	do
		make_case(&random, SHAPE_FIXED, BLCKSZ, &each);
	while (each.length < 0 || each.hole_length < 16);
	capacity = PAGE_TRANSFORM_BOUND(BLCKSZ - each.hole_length);
	report(page_transform_encode(each.page, BLCKSZ, each.hole_offset, each.hole_length,
								 each.stream, capacity - 1, scratch) == -1,
		   what, "less room than there must be is refused");
	report(page_transform_encode(each.page, BLCKSZ, each.hole_offset, each.hole_length - 8,
								 each.stream, capacity + 8, scratch) == -1,
		   what, "a hole that is not the page's is refused");
	memset(large, 0, BLCKSZ * 8);
	memcpy(large, each.page, BLCKSZ);
	report(page_transform_encode(large, BLCKSZ * 8, 0, 0, stream, enough, scratch) == -1,
		   what, "a block size that no page has is refused");
	each.length = page_transform_encode(each.page, BLCKSZ, each.hole_offset, each.hole_length,
										each.stream, capacity, scratch);
	report(page_transform_decode(each.stream, each.length, page, BLCKSZ, each.hole_offset,
								 each.hole_length - 8, scratch) == -1 &&
		   page_transform_decode(each.stream, each.length, page, BLCKSZ, each.hole_offset + 4,
								 each.hole_length, scratch) == -1,
		   what, "a stream is rejected if the record has another hole");
	report(page_transform_decode(each.stream, each.length, page, BLCKSZ / 2, each.hole_offset,
								 each.hole_length, scratch) == -1,
		   what, "a stream is rejected for another block size");
	each.stream[0]++;
	report(page_transform_decode(each.stream, each.length, page, BLCKSZ, each.hole_offset,
								 each.hole_length, scratch) == -1,
		   what, "a stream of another format is rejected");
	/* more line pointers than rows, so that vectors would leave the page */
	lower = BLCKSZ - 16;
	memcpy(each.page + offsetof(PageHeaderData, pd_lower), &lower, sizeof(lower));
	memcpy(each.page + offsetof(PageHeaderData, pd_upper), &lower, sizeof(lower));
	report(page_transform_encode(each.page, BLCKSZ, 0, 0, stream, enough, scratch) == -1,
		   what, "a page of line pointers is refused");
	free_case(&each);
	free(stream);
	free(large);
	free(page);
}

/*
 * The page of a golden stream: the shapes' pages must stay what they are, too.
 * Rows are short in 1 kB, so streams are.
 */
static void
make_golden_case(int number, Case *each)
{
	PageRandom	random = {1000 + number};

	do
	{
		make_case(&random, number % SHAPE_DAMAGED, MIN_BLOCK << (number / SHAPE_DAMAGED), each);
		if (each->length >= 0)
			return;
		free_case(each);
	} while (true);
}

/* Length and digest of each golden stream */
static const struct
{
	int			length;			/* bytes */
	uint64		digest;			/* FNV-1a of its bytes */
}			golden_streams[] = {
	{162, UINT64CONST(0xee9be544e2abb5af)},
	{175, UINT64CONST(0xeb580f2a900f224a)},
	{798, UINT64CONST(0x2612bfbcbb420ab3)},
	{930, UINT64CONST(0x3fdb048d6a0a666f)},
	{611, UINT64CONST(0xf061d08cd43ab471)},
	{603, UINT64CONST(0x141c5dd89b663c74)},
	{1540, UINT64CONST(0x0f708877a7296cfb)},
	{1810, UINT64CONST(0x42207de277a6081c)},
};

static uint64
digest(const char *bytes, int length)
{
	uint64		found = UINT64CONST(0xcbf29ce484222325);

	for (int i = 0; i < length; i++)
		found = (found ^ (uint8) bytes[i]) * UINT64CONST(0x100000001b3);
	return found;
}

static void
test_golden(const char *what)
{
	for (int i = 0; i < lengthof(golden_streams); i++)
	{
		Case		each;
		char	   *page;
		char		name[80];
		bool		decoded = true;

		make_golden_case(i, &each);
		page = allocate(each.block_size);
		for (int j = 0; j < lengthof(transform_variants); j++)
			decoded = decode(&transform_variants[j], &each, each.stream, each.length, page) == 0 &&
				same_page(&each, page) && decoded;
		snprintf(name, sizeof(name), "stream %d is understood", i);
		report(decoded, what, name);
		snprintf(name, sizeof(name), "stream %d is what it was", i);
		report(each.length == golden_streams[i].length &&
			   digest(each.stream, each.length) == golden_streams[i].digest, what, name);
		free(page);
		free_case(&each);
	}
}

/* Lost otherwise: a stream that no page can be had from. */
static void
test_big_endian(const char *what, int npages)
{
	PageRandom	random = {3};
	bool		none = true;

	for (int i = 0; i < npages * NUM_SHAPES; i++)
	{
		Case		each;
		char	   *page;

		make_case(&random, i % NUM_SHAPES, MIN_BLOCK << (i / NUM_SHAPES % 6), &each);
		page = allocate(each.block_size);
		memset(each.stream, 1, 100);
		none = none && each.length == -1 &&
			decode(&transform_variants[0], &each, each.stream, 100, page) == -1;
		free(page);
		free_case(&each);
	}
	report(none, what, "no page is transformed, and no stream decoded");
}

int
main(int argc, char **argv)
{
	int			npages = argc == 3 ? atoi(argv[2]) : -1;

	if (npages < 0)
	{
		fprintf(stderr, "usage: test_page_transform WHAT PAGES\n");
		return 2;
	}
	scratch = allocate(sizeof(*scratch));
	memset(scratch, 0, sizeof(*scratch));
	if (big_endian)
		test_big_endian(argv[1], npages);
	else
	{
		test_round_trips(argv[1], npages);
		test_damaged_streams(argv[1], npages);
		test_arguments(argv[1]);
		test_golden(argv[1]);
	}
	printf("1..%d\n", ntests);
	free(scratch);
	return nfailed > 0;
}
