/*
 * bench.c
 *		Times page functions on pages of each shape, and on pages from a file.
 *
 * Prints one line per measurement: shape, functions, nanoseconds per call,
 * separated by tabs.  All functions of a shape take turns, ROUNDS times after
 * one that isn't counted, on the same pages.
 *
 * Pages are copied into a batch that fits into the first level of the cache,
 * then one function works on all of the batch; only that is timed, less what it
 * takes to read the clock.  Branches are predicted as badly as in a server,
 * because pages differ.  The slowest tenth of batches is left out: something
 * came between.
 *
 * With 0 rounds it prints nothing, and under valgrind's callgrind dumps what it
 * counted instead, once for each measurement: the description of the dump ends
 * in shape, functions and number of calls, separated by tabs.
 *
 * usage: bench ROUNDS [PAGES-FILE]
 *        PAGES-FILE  heap pages of BLCKSZ bytes each
 */
#include "postgres.h"

#include <time.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_DUMP_STATS_AT(label) ((void) (label))
#endif

#include "functions.h"

#undef printf
#undef snprintf
#undef fprintf
#undef qsort

#define BATCH		2			/* pages that are worked on without a break */
#define MAX_PAGES	4096		/* different ones of a shape */
#define MADE_PAGES	512			/* those that are made of a shape */
#define COUNTED_PAGES	256		/* those whose instructions are counted */

static Job	jobs[MAX_PAGES];
static char pages[MAX_PAGES][BLCKSZ] pg_attribute_aligned(4096);
static char work[BATCH][BLCKSZ] pg_attribute_aligned(4096);

static int64
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64CONST(1000000000) + time.tv_nsec;
}

/* What reading the clock takes, in nanoseconds. */
static int64 clock_cost;

static void
work_on(const Functions *functions, const Job *batch, int njobs)
{
	for (int i = 0; i < njobs; i++)
		functions__call(functions, &batch[i], work[i]);
}

static int
compare(const void *a, const void *b)
{
	double		x = *(const double *) a,
				y = *(const double *) b;

	return (x > y) - (x < y);
}

/* Nanoseconds per call, of one pass over all jobs. */
static double
time_pass(const Functions *functions, int njobs)
{
	static double times[MAX_PAGES];
	int			nbatches = 0;
	double		total = 0;
	int			used;

	for (int start = 0; start + BATCH <= njobs; start += BATCH)
	{
		int64		begin;

		for (int i = 0; i < BATCH; i++)
			memcpy(work[i], jobs[start + i].page, BLCKSZ);
		begin = now();
		work_on(functions, jobs + start, BATCH);
		times[nbatches++] = (double) (now() - begin - clock_cost) / BATCH;
	}
	qsort(times, nbatches, sizeof(double), compare);
	used = Max(1, nbatches * 9 / 10);
	for (int i = 0; i < used; i++)
		total += times[i];
	return total / used;
}

/* One pass over all jobs, of which only the calls are counted. */
static void
count_pass(const char *name, const Functions *functions, int njobs)
{
	char		label[128];

	for (int start = 0; start + BATCH <= njobs; start += BATCH)
	{
		for (int i = 0; i < BATCH; i++)
			memcpy(work[i], jobs[start + i].page, BLCKSZ);
		CALLGRIND_TOGGLE_COLLECT;
		work_on(functions, jobs + start, BATCH);
		CALLGRIND_TOGGLE_COLLECT;
	}
	snprintf(label, sizeof(label), "%s\t%s\t%d", name, functions->name, njobs / BATCH * BATCH);
	CALLGRIND_DUMP_STATS_AT(label);
}

static void
measure(const char *name, int njobs, int rounds)
{
	for (int round = rounds > 0 ? -1 : 0; round < Max(rounds, 1); round++)
	{
		for (const Functions *each = functions__list(); each->name; each++)
		{
			double		ns;

			if (rounds == 0)
			{
				count_pass(name, each, Min(njobs, COUNTED_PAGES));
				continue;
			}
			ns = time_pass(each, njobs);
			if (round >= 0)
				printf("%s\t%s\t%.2f\n", name, each->name, ns);
		}
	}
	fflush(stdout);
}

static int
read_pages(const char *path)
{
	FILE	   *file = fopen(path, "rb");
	int			npages = 0;

	if (!file)
	{
		fprintf(stderr, "bench: cannot open %s\n", path);
		exit(1);
	}
	while (npages < MAX_PAGES && fread(pages[npages], BLCKSZ, 1, file) == 1)
	{
		jobs[npages].kind = SHAPE_HEAP;
		jobs[npages].page = pages[npages];
		npages++;
	}
	fclose(file);
	return npages;
}

int
main(int argc, char **argv)
{
	int			rounds = argc >= 2 ? atoi(argv[1]) : -1;
	ShapeRandom random = 1;

	if (rounds < 0 || argc > 3)
	{
		fprintf(stderr, "usage: bench ROUNDS [PAGES-FILE]\n");
		return 2;
	}
	clock_cost = INT64_MAX;
	for (int i = 0; i < 10000; i++)
	{
		int64		begin = now();

		clock_cost = Min(clock_cost, now() - begin);
	}
	if (argc > 2)
		measure("redo_pages", read_pages(argv[2]), rounds);
	for (const Shape *shape = shapes__measured; shape->name; shape++)
	{
		for (int i = 0; i < MADE_PAGES; i++)
		{
			jobs[i].page = pages[i];
			shapes__make(shape, &random, &jobs[i]);
		}
		measure(shape->name, MADE_PAGES, rounds);
	}
	return 0;
}
