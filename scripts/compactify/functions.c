/*
 * functions.c
 *		The table of page functions, and what little of a server they need.
 *
 * The functions raise errors by ereport().  Here that keeps the text and jumps
 * back to functions__error_of(); outside of it, an error ends the program.
 * Nothing else of the server is here: the linker drops what would need it.
 */
#include "postgres.h"

#include <setjmp.h>

#include "functions.h"
#include "storage/compactify.h"

#undef fprintf
#undef vsnprintf

#define DECLARE(suffix) \
	extern void PageRepairFragmentation##suffix(Page page); \
	extern void PageIndexMultiDelete##suffix(Page page, OffsetNumber *itemnos, int nitems); \
	extern void PageIndexTupleDelete##suffix(Page page, OffsetNumber offnum); \
	extern void PageIndexTupleDeleteNoCompact##suffix(Page page, OffsetNumber offnum); \
	extern bool clear_page_space##suffix;
#define FUNCTIONS(suffix) PageRepairFragmentation##suffix, PageIndexMultiDelete##suffix, \
	PageIndexTupleDelete##suffix, PageIndexTupleDeleteNoCompact##suffix

DECLARE(_stock)					/* without the setting */
DECLARE(_base)
#ifdef USE_COMPACTIFY_AVX2_WITH_RUNTIME_CHECK
DECLARE(_avx2)
#endif

static const Functions all[] = {
	{"stock", FUNCTIONS(_stock), NULL},
#if defined(USE_SSE2)
	{"sse2", FUNCTIONS(_base), &clear_page_space_base},
#elif defined(USE_NEON)
	{"neon", FUNCTIONS(_base), &clear_page_space_base},
#else
	{"plain", FUNCTIONS(_base), &clear_page_space_base},
#endif
#ifdef USE_COMPACTIFY_AVX2_WITH_RUNTIME_CHECK
	{"avx2", FUNCTIONS(_avx2), &clear_page_space_avx2},
#endif
	{NULL, NULL, NULL, NULL, NULL, NULL}
};

static sigjmp_buf *catcher;		/* where errors go, or NULL */
static char error_text[256];	/* the last one */

const Functions *
functions__list(void)
{
#ifdef USE_COMPACTIFY_AVX2_WITH_RUNTIME_CHECK
	static Functions known[lengthof(all)];

	/* AVX2 comes last */
	memcpy(known, all, sizeof(all));
	if (!__builtin_cpu_supports("avx2"))
		known[lengthof(all) - 2].name = NULL;
	return known;
#else
	return all;
#endif
}

const Functions *
functions__find(const char *name)
{
	for (const Functions *each = functions__list(); each->name; each++)
	{
		if (strcmp(each->name, name) == 0)
			return each;
	}
	return NULL;
}

const char *
functions__error_of(void (*call) (void *arg), void *arg)
{
	sigjmp_buf	here;
	const char *volatile text = NULL;

	if (sigsetjmp(here, 0) == 0)
	{
		catcher = &here;
		call(arg);
	}
	else
		text = error_text;
	catcher = NULL;
	return text;
}

/* ---------- the server's error reporting ---------- */

bool
errstart(int elevel, const char *domain)
{
	return true;
}

bool		errstart_cold(int elevel, const char *domain) __attribute__((alias("errstart")));

int
errcode(int sqlerrcode)
{
	return 0;
}

int
errmsg(const char *fmt, ...)
{
	va_list		args;

	va_start(args, fmt);
	vsnprintf(error_text, sizeof(error_text), fmt, args);
	va_end(args);
	return 0;
}

int			errmsg_internal(const char *fmt, ...) __attribute__((alias("errmsg")));

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	if (catcher)
		siglongjmp(*catcher, 1);
	fprintf(stderr, "%s:%d: %s\n", filename, lineno, error_text);
	abort();
}
