/*
 * functions.h
 *		The same four page functions, as several pieces of code have them.
 *
 * "stock" is bufpage.c of the pristine source.  The others are bufpage.c of
 * the patched source, made to use one set of instructions each.
 */
#ifndef COMPACTIFY_FUNCTIONS_H
#define COMPACTIFY_FUNCTIONS_H

#include "shapes.h"

typedef struct Functions
{
	const char *name;			/* stock, sse2, avx2, neon or plain */
	void		(*heap) (Page page);	/* PageRepairFragmentation */
	void		(*multi) (Page page, OffsetNumber *itemnos, int nitems);	/* PageIndexMultiDelete */
	void		(*single) (Page page, OffsetNumber offnum); /* PageIndexTupleDelete */
	void		(*no_compact) (Page page, OffsetNumber offnum); /* PageIndexTupleDeleteNoCompact */
	bool	   *clear_page_space;	/* the setting; NULL if there is none */
} Functions;

/* Those that this CPU can run, stock first; ends with a NULL name. */
extern const Functions *functions__list(void);

/* The one with that name, or NULL. */
extern const Functions *functions__find(const char *name);

/* Call the function that a job is for, on a page like the job's. */
static inline void
functions__call(const Functions *functions, const Job *job, char *page)
{
	OffsetNumber *itemnos = (OffsetNumber *) job->itemnos;

	switch (job->kind)
	{
		case SHAPE_HEAP:
			functions->heap(page);
			break;
		case SHAPE_MULTI:
			functions->multi(page, itemnos, job->nitemnos);
			break;
		case SHAPE_SINGLE:
			functions->single(page, itemnos[0]);
			break;
		case SHAPE_NO_COMPACT:
			functions->no_compact(page, itemnos[0]);
			break;
	}
}

/*
 * Run call(arg) and return the text of the error that it raised, or NULL.
 * The text lasts until the next call.
 */
extern const char *functions__error_of(void (*call) (void *arg), void *arg);

#endif
