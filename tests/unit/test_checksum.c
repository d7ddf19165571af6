/*
 * test_checksum.c
 *		Are checksums of pages those of stock?
 *
 * Lost otherwise: a page whose checksum stock does not accept, or a damaged one that
 * we accept.
 *
 * Prints TAP, without a library, because it's also run on an emulated CPU for
 * which there is none.  Run by tests/unit/run-checksum.
 *
 * usage: test_checksum WHAT PAGES
 *        WHAT   goes into the names of tests
 *        PAGES  how many
 */
#include "postgres_fe.h"

#include "storage/bufpage.h"

#undef printf

extern uint16 checksum_stock(char *page, BlockNumber blkno);
extern uint16 checksum_base(char *page, BlockNumber blkno);
extern uint16 checksum_best(char *page, BlockNumber blkno);

static int	ntests = 0;
static bool all_passed = true;

static void
report(bool passed, const char *what, const char *name)
{
	printf("%s %d - %s: %s\n", passed ? "ok" : "not ok", ++ntests, what, name);
	all_passed = all_passed && passed;
}

/* Random bytes, of which some runs are equal; not a new page, which has no checksum. */
static void
make_page(char *page)
{
	for (int i = 0; i < BLCKSZ; i++)
		page[i] = (char) random();
	if (random() % 2)
		memset(page + random() % (BLCKSZ / 2), random() % 2 ? 0 : 0xff, BLCKSZ / 2);
	((PageHeader) page)->pd_upper |= 1;
}

int
main(int argc, char **argv)
{
	/* Aligned to 4 bytes and no more, which is all that the function requires. */
	char	   *memory = malloc(BLCKSZ + 4);
	char	   *page = memory + 4;
	char	   *before = malloc(BLCKSZ);
	bool		base = true;
	bool		best = true;
	bool		unchanged = true;

	srandom(1);
	for (int n = atoi(argv[2]); n > 0; n--)
	{
		BlockNumber blkno = (BlockNumber) random() << 1;
		uint16		expected;

		make_page(page);
		memcpy(before, page, BLCKSZ);
		expected = checksum_stock(page, blkno);
		base = base && checksum_base(page, blkno) == expected;
		best = best && checksum_best(page, blkno) == expected;
		unchanged = unchanged && memcmp(before, page, BLCKSZ) == 0;
	}
	report(base, argv[1], "checksums without AVX2 are those of stock");
	report(best, argv[1], "checksums with the best instructions of this CPU are those of stock");
	report(unchanged, argv[1], "pages are not changed");
	printf("1..%d\n", ntests);
	free(memory);
	free(before);
	return all_passed ? 0 : 1;
}
