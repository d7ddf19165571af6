/*
 * bench.c
 *		Times the compression of full-page images, for scripts/bench fpi.
 *
 * Every method takes its turn on the pages of each file.  As in the server, an
 * image is the page without its hole, stored as it is where compression doesn't
 * make it smaller; and to remove the hole and to put it back is part of the time.
 * All pages are compared before anything is timed.  No server runs, no WAL is
 * written.
 *
 * Pages are worked on in batches that fit into the second level of the cache, as
 * pages are there that were just changed: images of all of a batch, then pages of
 * all these images.  That is done three times, and the fastest counts, because
 * something came between in the others.
 *
 * usage: bench ROUNDS METHODS FILE...
 *        METHODS  names with a space before and behind each, or "all"
 *        FILE     pages of BLCKSZ bytes
 * Prints lines of FILE's name, method, bytes per page, and the nanoseconds per
 * page to compress and to decompress, with tabs between them; one for each round.
 */
#include "codecs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* PostgreSQL's own versions of these would have to be linked. */
#undef printf
#undef fprintf
#undef snprintf

#define MAX_PAGES	4096
#define BATCH		16			/* pages that are worked on without a break */
#define TRIES		3			/* how often each batch is timed in a round */

/* The pages of one file, and what a method makes of them. */
typedef struct Sample
{
	const char *name;			/* the file's name without directories */
	int			npages;
	FpiPage		pages[MAX_PAGES];
	FpiImage	images[MAX_PAGES];
} Sample;

static void
die(const char *object, const char *reason)
{
	fprintf(stderr, "bench: %s: %s\n", object, reason);
	exit(1);
}

static void *
allocate(size_t size)
{
	void	   *memory = aligned_alloc(64, (size + 63) & ~(size_t) 63);

	if (memory == NULL)
		die("memory", "there is not enough");
	return memory;
}

static Sample *
read_sample(const char *path)
{
	Sample	   *sample = allocate(sizeof(Sample));
	FILE	   *file = fopen(path, "rb");

	if (file == NULL)
		die(path, "cannot be opened; scripts/bench fpi makes such files");
	sample->name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	for (sample->npages = 0; sample->npages < MAX_PAGES; sample->npages++)
	{
		FpiPage    *page = &sample->pages[sample->npages];

		page->bytes = allocate(BLCKSZ);
		if (fread(page->bytes, BLCKSZ, 1, file) != 1)
			break;
		codecs__find_hole(page);
		sample->images[sample->npages].bytes = allocate(FPI_MAX_IMAGE);
	}
	fclose(file);
	if (sample->npages == 0)
		die(path, "has no pages");
	return sample;
}

static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static void
compress_pages(const FpiMethod *method, Sample *sample, int from, int to)
{
	for (int i = from; i < to; i++)
		codecs__compress(method, &sample->pages[i], &sample->images[i]);
}

static void
decompress_pages(const FpiMethod *method, const Sample *sample, int from, int to, char *page)
{
	for (int i = from; i < to; i++)
		codecs__decompress(method, &sample->images[i], page);
}

/* Does each page come back, with zeroes in the hole? */
static void
check(const FpiMethod *method, Sample *sample, char *page)
{
	compress_pages(method, sample, 0, sample->npages);
	for (int i = 0; i < sample->npages; i++)
	{
		const FpiPage *before = &sample->pages[i];
		char		expected[BLCKSZ];

		memcpy(expected, before->bytes, BLCKSZ);
		memset(expected + before->hole_offset, 0, before->hole_length);
		if (!codecs__decompress(method, &sample->images[i], page) ||
			memcmp(page, expected, BLCKSZ) != 0)
		{
			fprintf(stderr, "bench: %s: page %d of %s does not come back\n", method->name, i,
					sample->name);
			exit(1);
		}
	}
}

static void
measure(const FpiMethod *method, Sample *sample, char *page)
{
	double		compress = 0;
	double		decompress = 0;
	double		bytes = 0;

	for (int from = 0; from < sample->npages; from += BATCH)
	{
		int			to = from + BATCH < sample->npages ? from + BATCH : sample->npages;
		double		fastest[2] = {HUGE_VAL, HUGE_VAL};

		for (int i = 0; i < TRIES; i++)
		{
			double		start = now();
			double		middle;
			double		end;

			compress_pages(method, sample, from, to);
			middle = now();
			decompress_pages(method, sample, from, to, page);
			end = now();
			fastest[0] = fmin(fastest[0], middle - start);
			fastest[1] = fmin(fastest[1], end - middle);
		}
		compress += fastest[0];
		decompress += fastest[1];
	}
	for (int i = 0; i < sample->npages; i++)
		bytes += sample->images[i].length;
	printf("%s\t%s\t%.1f\t%.0f\t%.0f\n", sample->name, method->name, bytes / sample->npages,
		   compress / sample->npages, decompress / sample->npages);
}

/* Is a name one of those in a list with a space before and behind each? */
static bool
chosen(const char *methods, const char *name)
{
	char		word[64];

	snprintf(word, sizeof(word), " %s ", name);
	return strcmp(methods, "all") == 0 || strstr(methods, word) != NULL;
}

int
main(int argc, char **argv)
{
	int			rounds = argc >= 4 ? atoi(argv[1]) : 0;
	char	   *page = allocate(BLCKSZ);
	int			nsamples = argc - 3;
	Sample	  **samples;

	if (rounds < 1)
	{
		fprintf(stderr, "usage: bench ROUNDS METHODS FILE...\n");
		return 2;
	}
	samples = allocate(nsamples * sizeof(Sample *));
	for (int i = 0; i < nsamples; i++)
		samples[i] = read_sample(argv[3 + i]);
	codecs__start();
	for (int round = -1; round < rounds; round++)
	{
		for (int i = 0; i < nsamples; i++)
		{
			for (int j = 0; j < codecs__nmethods; j++)
			{
				if (!chosen(argv[2], codecs__methods[j].name))
					continue;
				if (round < 0)
					check(&codecs__methods[j], samples[i], page);
				else
					measure(&codecs__methods[j], samples[i], page);
			}
		}
		fflush(stdout);
	}
	return 0;
}
