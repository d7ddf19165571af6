/*
 * variant.c
 *		The patched bufpage.c, bound to one implementation of compactify.h.
 *
 * Compiled once for each, with VARIANT its suffix and all names that bufpage.c
 * defines renamed by the compiler's options; see scripts/compactify/build.
 */
#include "postgres.h"

#include "storage/compactify.h"

/* Elsewhere, bufpage.c is as it is. */
#ifdef USE_COMPACTIFY

#define BOUND_TO(name, suffix)	CppConcat(name, suffix)
#define BOUND(name, suffix)		BOUND_TO(name, suffix)

#undef compactify_heap
#undef compactify_index
#undef compactify_close_gap
#define compactify_heap			BOUND(compactify_heap, VARIANT)
#define compactify_index		BOUND(compactify_index, VARIANT)
#define compactify_close_gap	BOUND(compactify_close_gap, VARIANT)

extern bool compactify_heap(Page page);
extern bool compactify_index(Page page, const OffsetNumber *itemnos, int nitems);
extern void compactify_close_gap(ItemId items, int nitems, int removed,
								 unsigned int offset, unsigned int size);

#endif							/* USE_COMPACTIFY */

#include "storage/page/bufpage.c"
