/*
 * pg13.c
 *		How PostgreSQL defragmented pages before version 14: sort the tuples by
 *		offset, then move one after the other up.
 *
 * Written anew as a yardstick for measurements.  It checks what a server checks,
 * because that takes time, but not in the same words.  The order of tuples is
 * that of their offsets, so pages differ from those of later versions.
 */
#include "postgres.h"

#include "functions.h"

typedef struct Moved
{
	uint16		index;			/* of its line pointer */
	uint16		off;			/* page offset */
	uint16		space;			/* aligned length in bytes */
} Moved;

/* pg_qsort() of the server; highest offset first. */
static int
by_offset(const void *a, const void *b)
{
	return (int) ((const Moved *) b)->off - (int) ((const Moved *) a)->off;
}

static void
move_up(Moved *moved, int nmoved, Page page)
{
	PageHeader	header = (PageHeader) page;
	int			upper = header->pd_special;

	pg_qsort(moved, nmoved, sizeof(Moved), by_offset);
	for (int i = 0; i < nmoved; i++)
	{
		upper -= moved[i].space;
		memmove(page + upper, page + moved[i].off, moved[i].space);
		header->pd_linp[moved[i].index].lp_off = upper;
	}
	header->pd_upper = upper;
}

static void
check_header(PageHeader header)
{
	if (header->pd_lower < SizeOfPageHeaderData || header->pd_lower > header->pd_upper ||
		header->pd_upper > header->pd_special || header->pd_special > BLCKSZ ||
		header->pd_special != MAXALIGN(header->pd_special))
		elog(ERROR, "corrupted page pointers");
}

void
PageRepairFragmentation_pg13(Page page)
{
	PageHeader	header = (PageHeader) page;
	int			nline = PageGetMaxOffsetNumber(page);
	Moved		moved[BLCKSZ / sizeof(ItemIdData)];
	int			nmoved = 0;
	int			nunused = 0;
	Size		total = 0;

	check_header(header);
	for (int i = 0; i < nline; i++)
	{
		ItemId		item = &header->pd_linp[i];

		if (!ItemIdIsUsed(item))
		{
			ItemIdSetUnused(item);
			nunused++;
			continue;
		}
		if (!ItemIdHasStorage(item))
			continue;
		if (ItemIdGetOffset(item) < header->pd_upper ||
			ItemIdGetOffset(item) >= header->pd_special)
			elog(ERROR, "corrupted line pointer");
		moved[nmoved].index = i;
		moved[nmoved].off = ItemIdGetOffset(item);
		moved[nmoved].space = MAXALIGN(ItemIdGetLength(item));
		total += moved[nmoved++].space;
	}
	if (total > header->pd_special - header->pd_lower)
		elog(ERROR, "corrupted item lengths");
	move_up(moved, nmoved, page);
	if (nunused > 0)
		PageSetHasFreeLinePointers(page);
	else
		PageClearHasFreeLinePointers(page);
}

void
PageIndexMultiDelete_pg13(Page page, OffsetNumber *itemnos, int nitems)
{
	PageHeader	header = (PageHeader) page;
	int			nline = PageGetMaxOffsetNumber(page);
	Moved		moved[BLCKSZ / sizeof(ItemIdData)];
	ItemIdData	kept[BLCKSZ / sizeof(ItemIdData)];
	int			nkept = 0;
	int			next = 0;
	Size		total = 0;

	check_header(header);
	for (int i = 0; i < nline; i++)
	{
		ItemId		item = &header->pd_linp[i];

		if (ItemIdGetOffset(item) < header->pd_upper ||
			ItemIdGetOffset(item) + ItemIdGetLength(item) > header->pd_special ||
			ItemIdGetOffset(item) != MAXALIGN(ItemIdGetOffset(item)))
			elog(ERROR, "corrupted line pointer");
		if (next < nitems && itemnos[next] == i + 1)
		{
			next++;
			continue;
		}
		moved[nkept].index = nkept;
		moved[nkept].off = ItemIdGetOffset(item);
		moved[nkept].space = MAXALIGN(ItemIdGetLength(item));
		total += moved[nkept].space;
		kept[nkept++] = *item;
	}
	if (next != nitems)
		elog(ERROR, "incorrect index offsets supplied");
	if (total > header->pd_special - header->pd_lower)
		elog(ERROR, "corrupted item lengths");
	memcpy(header->pd_linp, kept, nkept * sizeof(ItemIdData));
	header->pd_lower = SizeOfPageHeaderData + nkept * sizeof(ItemIdData);
	move_up(moved, nkept, page);
}
