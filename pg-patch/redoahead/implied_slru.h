/*
 * implied_slru.h
 *		SLRU pages that redo of a WAL record reads.
 *
 * Called by implied.c, but for implied_slru__forget().
 */
#ifndef REDOAHEAD_IMPLIED_SLRU_H
#define REDOAHEAD_IMPLIED_SLRU_H

#include "access/xlogreader.h"

#include "common/redoahead_abi.h"

/* Most pages of one SLRU that a record implies; more are not reported. */
#define IMPLIED_MAX_PER_SLRU	32

/* A range of SLRU pages; empty if both are the same. */
typedef struct SlruPageRange
{
	uint32		first;			/* first page */
	uint32		end;			/* page after the last */
} SlruPageRange;

/* What the WAL that has been decoded shows about SLRUs.  Initially zeroed. */
typedef struct ImpliedSlru
{
	/*
	 * Pages that the WAL has created, so that redo finds them in the buffers
	 * of the SLRU, or has written them itself not long ago.  They are created
	 * in order; after a gap, which is a wraparound, the range begins anew.
	 */
	SlruPageRange created[REDOAHEAD_SLRU_COUNT];

	/*
	 * Whether commit timestamps are kept.  Until that is known, our own
	 * setting decides; a primary's may differ.
	 */
	bool		commit_ts_known;
	bool		commit_ts_kept;
} ImpliedSlru;

/* As implied__of_record, for SLRU pages. */
extern int	implied_slru__of_record(ImpliedSlru *known, const DecodedXLogRecord *record,
									struct redoahead_ref *out);

/* Reading starts at another place of the WAL. */
extern void implied_slru__forget(ImpliedSlru *known);

#endif							/* REDOAHEAD_IMPLIED_SLRU_H */
