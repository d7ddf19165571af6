/*
 * stock.c
 *		The pristine bufpage.c, with larger arrays.
 *
 * Its own hold as many line pointers as valid pages have, and it writes beyond
 * their end if a page's header claims more.  With larger ones it does the same
 * for all pages that it can handle, and something definite for the others.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/itup.h"

#undef MaxHeapTuplesPerPage
#undef MaxIndexTuplesPerPage
#define MaxHeapTuplesPerPage	((int) ((BLCKSZ - SizeOfPageHeaderData) / sizeof(ItemIdData)))
#define MaxIndexTuplesPerPage	MaxHeapTuplesPerPage

#include "storage/page/bufpage.c"
