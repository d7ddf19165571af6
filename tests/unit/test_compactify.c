/*
 * test_compactify.c
 *		Do the page functions of the patched server do the same as stock's?
 *
 * Random pages, valid and damaged ones, are given to stock's functions and to
 * each implementation that this CPU can run.  Errors must have the same text,
 * and pages must be the same outside of the hole.  Nothing else may be written
 * to; under a sanitizer, pages are blocks of memory of their own, so that
 * reading beyond their ends is noticed, too.
 *
 * Stock's code can be made to write beyond its own memory by a line pointer
 * that reaches beyond pd_special.  It isn't called for pages where it would;
 * implementations have to leave those to it, unchanged.
 *
 * With clear_page_space, what was vacated has to be zero.
 *
 * How much room there is for a heap tuple has to follow the rules.
 *
 * Prints TAP, without a library, because it's also run on an emulated CPU for
 * which there is none.  Run by tests/unit/run-compactify.
 *
 * usage: test_compactify WHAT PAGES [SEED]
 *        WHAT   goes into the names of tests
 *        PAGES  how many of each sort, for each implementation
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "functions.h"
#include "storage/compactify.h"

#undef printf
#undef vprintf
#undef fprintf

static char *page_stock;		/* what stock makes of a page */
static char *page_other;		/* what the other makes of it */
static char *page_before;		/* the page as made */
static const char *what;		/* goes into the names of tests */
static int	ntests;
static int	nfailed;

/* Print the result of a test. */
static void
report(bool passed, const char *format,...)
{
	va_list		args;

	printf("%sok %d - %s: ", passed ? "" : "not ", ++ntests, what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	nfailed += !passed;
}

typedef struct Call
{
	const Functions *functions;
	const Job  *job;
	char	   *page;
} Call;

static void
call_it(void *arg)
{
	Call	   *call = arg;

	functions__call(call->functions, call->job, call->page);
}

/* Would stock's PageRepairFragmentation leave its memory? */
static bool
stock_overruns(const char *page)
{
	PageHeader	header = (PageHeader) page;
	int			nitems = PageGetMaxOffsetNumber((Page) page);
	bool		beyond = false;
	Size		total = 0;

	if (header->pd_lower < SizeOfPageHeaderData || header->pd_lower > header->pd_upper ||
		header->pd_upper > header->pd_special || header->pd_special > BLCKSZ ||
		header->pd_special != MAXALIGN(header->pd_special))
		return false;			/* an error */
	for (int i = 0; i < nitems; i++)
	{
		ItemId		item = &header->pd_linp[i];

		if (!ItemIdIsUsed(item) || !ItemIdHasStorage(item))
			continue;
		if (ItemIdGetOffset(item) < header->pd_upper ||
			ItemIdGetOffset(item) >= header->pd_special)
			return false;		/* an error */
		total += MAXALIGN(ItemIdGetLength(item));
		if (ItemIdGetOffset(item) + MAXALIGN(ItemIdGetLength(item)) > header->pd_special)
			beyond = true;
	}
	return beyond && total <= (Size) (header->pd_special - header->pd_lower);
}

/* The fast path of an implementation, by its name. */
static bool
leaves_to_stock(const Functions *functions, char *page)
{
	if (PageGetMaxOffsetNumber(page) < COMPACTIFY_MIN_ITEMS)
		return true;
#ifdef USE_COMPACTIFY_AVX2_WITH_RUNTIME_CHECK
	if (strcmp(functions->name, "avx2") == 0)
		return !compactify_heap_avx2(page);
#endif
#ifdef USE_COMPACTIFY
	return !compactify_heap_base(page);
#else
	return true;
#endif
}

/* Is all the same but the hole?  If there is no sane hole, all must be. */
static bool
same_page(const char *a, const char *b)
{
	PageHeader	header = (PageHeader) a;

	if (header->pd_lower > header->pd_upper || header->pd_upper > BLCKSZ)
		return memcmp(a, b, BLCKSZ) == 0;
	return memcmp(a, b, header->pd_lower) == 0 &&
		memcmp(a + header->pd_upper, b + header->pd_upper, BLCKSZ - header->pd_upper) == 0;
}

/*
 * Has the space between the old and the new pd_upper been cleared, and nothing
 * below?
 */
static bool
cleared_page(const Functions *functions, const char *page)
{
	PageHeader	before = (PageHeader) page_before;
	PageHeader	header = (PageHeader) page;

	if (!*functions->clear_page_space)
		return true;
	for (int i = before->pd_upper; i < header->pd_upper; i++)
	{
		if (page[i] != 0)
			return false;
	}
	/* no tuple has moved down, so nothing else is to be written to */
	return header->pd_upper < before->pd_upper ||
		memcmp(page + before->pd_lower, page_before + before->pd_lower,
			   before->pd_upper - before->pd_lower) == 0;
}

/* One page; false if the two differ, after saying how. */
static bool
check(const Functions *functions, const Job *job, int *errors)
{
	const Functions *stock = functions__find("stock");
	Call		call = {stock, job, page_stock};
	char		error[256] = "";
	const char *text;

	memcpy(page_before, job->page, BLCKSZ);
	if (job->kind == SHAPE_HEAP && stock_overruns(job->page))
	{
		memcpy(page_other, job->page, BLCKSZ);
		if (leaves_to_stock(functions, page_other) &&
			memcmp(page_other, page_before, BLCKSZ) == 0)
			return true;
		printf("# a tuple beyond pd_special was not left alone\n");
		return false;
	}

	memcpy(page_stock, job->page, BLCKSZ);
	text = functions__error_of(call_it, &call);
	if (text)
	{
		strcpy(error, text);
		++*errors;
	}

	memcpy(page_other, job->page, BLCKSZ);
	call.functions = functions;
	call.page = page_other;
	text = functions__error_of(call_it, &call);
	if (strcmp(error, text ? text : "") != 0)
	{
		printf("# stock: \"%s\", %s: \"%s\"\n", error, functions->name, text ? text : "");
		return false;
	}
	if (!text && !cleared_page(functions, page_other))
	{
		printf("# the vacated space is not clear, or other space is\n");
		return false;
	}
	if (same_page(page_stock, page_other))
		return true;
	for (int i = 0; i < BLCKSZ; i++)
	{
		if (page_stock[i] != page_other[i])
		{
			printf("# first difference at %d; lower %u, upper %u, before %u, %u\n", i,
				   ((PageHeader) page_stock)->pd_lower, ((PageHeader) page_stock)->pd_upper,
				   ((PageHeader) page_before)->pd_lower, ((PageHeader) page_before)->pd_upper);
			break;
		}
	}
	return false;
}

/* Does the fast path take most of the heap pages that it is for? */
static bool
takes_most(const Functions *functions, int npages, uint64 seed)
{
	ShapeRandom random = seed;
	int			wanted = 0;
	int			taken = 0;
	Job			job;

	job.page = malloc(BLCKSZ);
	for (int i = 0; i < npages; i++)
	{
		Shape		shape = shapes__any(&random);

		shapes__make(&shape, &random, &job);
		if (job.kind != SHAPE_HEAP ||
			PageGetMaxOffsetNumber(job.page) < COMPACTIFY_MIN_ITEMS)
			continue;
		wanted++;
		memcpy(page_other, job.page, BLCKSZ);
		taken += !leaves_to_stock(functions, page_other);
	}
	free(job.page);
	printf("# %s: the fast path took %d of %d heap pages\n", functions->name, taken, wanted);
	return wanted > 0 && taken * 10 >= wanted * 9;
}

static bool
check_many(const Functions *functions, bool damaged, int npages, uint64 seed, int *errors)
{
	ShapeRandom random = seed;
	Job			job;

	job.page = malloc(BLCKSZ);
	for (int i = 0; i < npages; i++)
	{
		ShapeRandom start = random;
		Shape		shape;

		do
		{
			shape = shapes__any(&random);
			shapes__make(&shape, &random, &job);
		} while (job.nitemnos == 0 && (job.kind == SHAPE_SINGLE || job.kind == SHAPE_NO_COMPACT));
		if (damaged)
			shapes__damage(&random, &job);
		if (!check(functions, &job, errors))
		{
			printf("# page %d, random state %llu, kind %d, order %d, %d line pointers\n", i,
				   (unsigned long long) start, shape.kind, shape.order,
				   (int) PageGetMaxOffsetNumber(page_before));
			free(job.page);
			return false;
		}
	}
	free(job.page);
	return true;
}

/* Can a heap page that has room take one more line pointer? */
static bool
has_line_pointer(PageHeader header, int nitems)
{
	if (nitems < MaxHeapTuplesPerPage)
		return true;
	for (int i = 0; i < nitems; i++)
	{
		if (!ItemIdIsUsed(&header->pd_linp[i]))
			return (header->pd_flags & PD_HAS_FREE_LINES) != 0;
	}
	return false;
}

/*
 * PageGetHeapFreeSpace() on pages with about as many line pointers as there may
 * be, none, one or many of them unused, all zeroes or with something left in
 * them.  The block of memory ends with the line pointers, for sanitizers.
 */
static bool
check_free_space(int npages, uint64 seed)
{
	extern Size PageGetHeapFreeSpace_base(const char *page);
	ShapeRandom random = seed;

	for (int i = 0; i < npages; i++)
	{
		int			nitems = MaxHeapTuplesPerPage - 4 + shapes__random(&random, 40);
		Size		size = SizeOfPageHeaderData + nitems * sizeof(ItemIdData);
		PageHeader	header = calloc(1, size);
		Size		room = shapes__random(&random, 3) * 40;
		int			unused = shapes__random(&random, 4);
		Size		expected;
		Size		found;

		header->pd_lower = size;
		header->pd_upper = size + room;
		header->pd_special = BLCKSZ;
		header->pd_flags = shapes__random(&random, 3) ? PD_HAS_FREE_LINES : 0;
		for (int j = 0; j < nitems; j++)
			ItemIdSetNormal(&header->pd_linp[j], 4096 + j % 64 * 64, 28);
		while (unused-- > 0)
		{
			ItemId		item = &header->pd_linp[shapes__random(&random, nitems)];

			ItemIdSetUnused(item);
			if (shapes__random(&random, 2))
				item->lp_off = 8;
		}

		expected = room > sizeof(ItemIdData) && has_line_pointer(header, nitems) ?
			room - sizeof(ItemIdData) : 0;
		found = PageGetHeapFreeSpace_base((Page) header);
		free(header);
		if (found != expected)
		{
			printf("# page %d, %d line pointers: %d bytes free, expected %d\n", i, nitems,
				   (int) found, (int) expected);
			return false;
		}
	}
	return true;
}

int
main(int argc, char **argv)
{
	int			npages = argc > 2 ? atoi(argv[2]) : 0;
	uint64		seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 20261121;
	int			errors;

	if (npages < 1 || seed == 0)
	{
		fprintf(stderr, "usage: test_compactify WHAT PAGES [SEED]\n");
		return 2;
	}
	what = argv[1];
	page_stock = malloc(BLCKSZ);
	page_other = malloc(BLCKSZ);
	page_before = malloc(BLCKSZ);
	for (const Functions *each = functions__list(); each->name; each++)
	{
		if (strcmp(each->name, "stock") == 0)
			continue;
		for (int damaged = 0; damaged <= 1; damaged++)
		{
			bool		same;

			/* Lost otherwise: pages as stock leaves them, errors as stock raises them. */
			errors = 0;
			*each->clear_page_space = false;
			same = check_many(each, damaged, npages, seed, &errors);
			report(same, "%s as stock on %d %s pages, %d errors", each->name, npages,
				   damaged ? "damaged" : "valid", errors);
		}
		/* Lost otherwise: all speed, as stock's code would do it all, where there are vectors. */
		if (strcmp(each->name, "plain") != 0)
			report(takes_most(each, npages, seed), "%s does most pages itself", each->name);
		/* Lost otherwise: what was deleted stays on compressing storage, or more than it goes. */
		*each->clear_page_space = true;
		report(check_many(each, false, npages, seed + 1, &errors),
			   "%s clears what was vacated on %d pages", each->name, npages);
	}
	/* Lost otherwise: room on full pages, or inserts that fail where there's none. */
	report(check_free_space(npages, seed),
		   "free space is found on %d pages full of line pointers", npages);
	printf("1..%d\n", ntests);
	free(page_stock);
	free(page_other);
	free(page_before);
	return nfailed > 0;
}
