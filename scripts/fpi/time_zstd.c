/*
 * time_zstd.c
 *		Times the calls of libzstd that a server's processes make for images, for
 *		scripts/bench fpi-servers.
 *
 * To be preloaded (LD_PRELOAD).  A process that ends by exit() and has called one
 * of the functions appends a line for each to the file that TIME_ZSTD names: the
 * function, its calls, the bytes that it returned, and the nanoseconds of CPU time
 * that it took, some tenths of a microsecond a call to read the clock among
 * them.  Calls that these functions make of each other count once, and a server
 * must not have other uses for zstd.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef struct Calls
{
	const char *name;
	long		number;
	long		bytes;			/* that they returned */
	double		ns;				/* of CPU time */
} Calls;

enum
{
	COMPRESS, COMPRESS_CCTX, DECOMPRESS, DECOMPRESS_DCTX, NUM_FUNCTIONS
};

static Calls calls[NUM_FUNCTIONS] = {
	{"ZSTD_compress"}, {"ZSTD_compressCCtx"}, {"ZSTD_decompress"}, {"ZSTD_decompressDCtx"},
};
static int	depth;				/* of calls that are under way */

static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static void *
next(int function)
{
	static void *found[NUM_FUNCTIONS];

	if (found[function] == NULL)
		found[function] = dlsym(RTLD_NEXT, calls[function].name);
	if (found[function] == NULL)
		abort();
	return found[function];
}

/* Return what a call of the next definition of a function does, timed. */
#define TIMED(function, name, ...) \
	do { \
		__typeof__(&name) call = next(function); \
		double		start; \
		size_t		result; \
		if (depth > 0) \
			return call(__VA_ARGS__); \
		depth++; \
		start = now(); \
		result = call(__VA_ARGS__); \
		calls[function].ns += now() - start; \
		calls[function].number++; \
		calls[function].bytes += result; \
		depth--; \
		return result; \
	} while (0)

size_t		ZSTD_compress(void *to, size_t room, const void *from, size_t length, int level);
size_t		ZSTD_compressCCtx(void *context, void *to, size_t room, const void *from,
							  size_t length, int level);
size_t		ZSTD_decompress(void *to, size_t room, const void *from, size_t length);
size_t		ZSTD_decompressDCtx(void *context, void *to, size_t room, const void *from,
								size_t length);

size_t
ZSTD_compress(void *to, size_t room, const void *from, size_t length, int level)
{
	TIMED(COMPRESS, ZSTD_compress, to, room, from, length, level);
}

size_t
ZSTD_compressCCtx(void *context, void *to, size_t room, const void *from, size_t length,
				  int level)
{
	TIMED(COMPRESS_CCTX, ZSTD_compressCCtx, context, to, room, from, length, level);
}

size_t
ZSTD_decompress(void *to, size_t room, const void *from, size_t length)
{
	TIMED(DECOMPRESS, ZSTD_decompress, to, room, from, length);
}

size_t
ZSTD_decompressDCtx(void *context, void *to, size_t room, const void *from, size_t length)
{
	TIMED(DECOMPRESS_DCTX, ZSTD_decompressDCtx, context, to, room, from, length);
}

static void __attribute__((destructor))
append_totals(void)
{
	const char *path = getenv("TIME_ZSTD");
	int			file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0644) : -1;

	if (file < 0)
		return;
	for (int i = 0; i < NUM_FUNCTIONS; i++)
	{
		if (calls[i].number > 0)
			dprintf(file, "%s %ld %ld %.0f\n", calls[i].name, calls[i].number, calls[i].bytes,
					calls[i].ns);
	}
	close(file);
}
