/*
 * implied_slru.c
 *		SLRU pages that redo of a WAL record reads.
 *
 * - Commit and abort set bits in pg_xact, for the transaction and all its
 *   subtransactions.  Commit also sets timestamps in pg_commit_ts, if these
 *   are kept.
 *
 * - Creation of a multixact writes its members, its offset and the offset of
 *   the next one.
 *
 * Most of these pages are new: the WAL creates them, and redo never reads
 * them.  So this file follows their creation.
 *
 * Redo also reads pages that no record stands for: the last ones of pg_xact
 * and pg_multixact when recovery ends, those of the running transactions when
 * a hot standby gets its first snapshot, and those of pg_subtrans that a hot
 * standby has evicted.  They are few, and not known here.
 *
 * Nothing is assumed about the bytes of a record except that the WAL reader
 * has decoded it: counts and lengths are checked against main_data_len.
 */
#include "postgres.h"

#include "access/clog.h"
#include "access/commit_ts.h"
#include "access/multixact.h"
#include "access/rmgr.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog_internal.h"
#include "catalog/pg_control.h"

#include "implied_slru.h"

/* Entries in an SLRU page. */
#define XACT_PER_PAGE				(BLCKSZ * 4)
#define MULTIXACT_OFFSET_PER_PAGE	(BLCKSZ / sizeof(MultiXactOffset))

/* Members come in groups of four: a byte of flags for each, then their IDs. */
#define MULTIXACT_MEMBER_PER_PAGE \
	(BLCKSZ / (4 + 4 * sizeof(TransactionId)) * 4)

/* A commit timestamp is followed by the replication origin, unaligned. */
#define COMMIT_TS_PER_PAGE \
	(BLCKSZ / (sizeof(TimestampTz) + sizeof(RepOriginId)))

/* A position in a record's main data. */
typedef struct Cursor
{
	const char *next;			/* first byte not read */
	size_t		left;			/* bytes from there to the end */
} Cursor;


/*
 * The record's main data as "type", or NULL if it is shorter than "size".
 */
#define main_data(record, type, size) \
	((record)->main_data_len >= (size) ? \
	 (const type *) (record)->main_data : NULL)

/*
 * Append a reference to a page of an SLRU, unless the WAL has created it.
 */
static inline int
add_page(const ImpliedSlru *known, struct redoahead_ref *out, int n,
		 const DecodedXLogRecord *record, uint32 slru, uint32 page)
{
	if (page >= known->created[slru].first && page < known->created[slru].end)
		return n;

	out[n] = (struct redoahead_ref)
	{
		.lsn = record->lsn,
			.rel = slru,
			.block = page,
			.kind = REDOAHEAD_KIND_SLRU,
			.flags = REDOAHEAD_REF_IMPLIED,
	};
	return n + 1;
}

/*
 * Take "size" bytes of a record, or NULL if there are not so many.
 */
static const void *
take(Cursor *cursor, size_t size)
{
	const char *taken = cursor->next;

	if (cursor->left < size)
		return NULL;
	cursor->next += size;
	cursor->left -= size;
	return taken;
}

/*
 * Take an int, and an array of so many elements that follows it.  NULL if the
 * record ends before.
 */
static const void *
take_array(Cursor *cursor, size_t element_size, int *nelements)
{
	const int  *count = take(cursor, sizeof(int));

	if (!count || *count < 0 || (size_t) *count > cursor->left / element_size)
		return NULL;
	*nelements = *count;
	return take(cursor, *count * element_size);
}

/*
 * Append the pages that a transaction and its subtransactions have in an SLRU
 * with a number of entries for each transaction ID.
 */
static inline int
add_xact_pages(const ImpliedSlru *known, struct redoahead_ref *out, int n,
			   const DecodedXLogRecord *record, uint32 slru, uint32 xacts_per_page,
			   TransactionId xid, const TransactionId *subxids, int nsubxids)
{
	int			limit = n + IMPLIED_MAX_PER_SLRU;
	uint32		page = xid / xacts_per_page;

	n = add_page(known, out, n, record, slru, page);

	/* They ascend from their parent's, so usually the last one is on the same page. */
	if (nsubxids == 0 || subxids[nsubxids - 1] / xacts_per_page == page)
		return n;

	for (int i = 0; i < nsubxids && n < limit; i++)
	{
		if (subxids[i] / xacts_per_page != page)
		{
			page = subxids[i] / xacts_per_page;
			n = add_page(known, out, n, record, slru, page);
		}
	}
	return n;
}

/*
 * Commit or abort, of a prepared transaction or another.
 */
static int
of_xact(const ImpliedSlru *known, const DecodedXLogRecord *record,
		struct redoahead_ref *out)
{
	uint8		op = record->header.xl_info & XLOG_XACT_OPMASK;
	bool		commit = op == XLOG_XACT_COMMIT || op == XLOG_XACT_COMMIT_PREPARED;
	bool		abort = op == XLOG_XACT_ABORT || op == XLOG_XACT_ABORT_PREPARED;
	Cursor		cursor = {record->main_data, record->main_data_len};
	TransactionId xid = record->header.xl_xid;
	const TransactionId *subxids = NULL;
	int			nsubxids = 0;
	uint32		xinfo = 0;
	int			n = 0;

	if (!commit && !abort)
		return 0;

	/* Both kinds of record begin with the time. */
	StaticAssertStmt(MinSizeOfXactCommit == MinSizeOfXactAbort,
					 "commit and abort records begin alike");
	if (!take(&cursor, MinSizeOfXactCommit))
		return 0;

	if (record->header.xl_info & XLOG_XACT_HAS_INFO)
	{
		const xl_xact_xinfo *info = take(&cursor, sizeof(xl_xact_xinfo));

		if (!info)
			return 0;
		xinfo = info->xinfo;
	}

	if ((xinfo & XACT_XINFO_HAS_DBINFO) && !take(&cursor, sizeof(xl_xact_dbinfo)))
		return 0;

	if (xinfo & XACT_XINFO_HAS_SUBXACTS)
	{
		subxids = take_array(&cursor, sizeof(TransactionId), &nsubxids);
		if (!subxids)
			return 0;
	}

	if (op == XLOG_XACT_COMMIT_PREPARED || op == XLOG_XACT_ABORT_PREPARED)
	{
		const xl_xact_twophase *twophase;
		int			ignored;

		if ((xinfo & XACT_XINFO_HAS_RELFILELOCATORS) &&
			!take_array(&cursor, sizeof(RelFileLocator), &ignored))
			return 0;
		if ((xinfo & XACT_XINFO_HAS_DROPPED_STATS) &&
			!take_array(&cursor, sizeof(xl_xact_stats_item), &ignored))
			return 0;
		if (commit && (xinfo & XACT_XINFO_HAS_INVALS) &&
			!take_array(&cursor, sizeof(SharedInvalidationMessage), &ignored))
			return 0;
		if (!(xinfo & XACT_XINFO_HAS_TWOPHASE))
			return 0;
		twophase = take(&cursor, sizeof(xl_xact_twophase));
		if (!twophase)
			return 0;
		xid = twophase->xid;
	}

	if (!TransactionIdIsNormal(xid))
		return 0;

	n = add_xact_pages(known, out, n, record, REDOAHEAD_SLRU_XACT, XACT_PER_PAGE,
					   xid, subxids, nsubxids);
	if (commit &&
		(known->commit_ts_known ? known->commit_ts_kept : track_commit_timestamp))
		n = add_xact_pages(known, out, n, record, REDOAHEAD_SLRU_COMMIT_TS,
						   COMMIT_TS_PER_PAGE, xid, subxids, nsubxids);
	return n;
}

/*
 * Creation of an SLRU page: the record has its number only.
 */
static void
learn_page(ImpliedSlru *known, const DecodedXLogRecord *record, uint32 slru)
{
	SlruPageRange *range = &known->created[slru];
	const int64 *page = main_data(record, int64, sizeof(int64));

	if (!page || *page < 0 || *page >= PG_UINT32_MAX)
		return;
	if ((uint32) *page != range->end)
		range->first = (uint32) *page;
	range->end = (uint32) *page + 1;
}

/*
 * Creation of a multixact.
 */
static int
of_multixact(const ImpliedSlru *known, const DecodedXLogRecord *record,
			 struct redoahead_ref *out)
{
	const xl_multixact_create *xlrec =
		main_data(record, xl_multixact_create, SizeOfMultiXactCreate);
	uint32		members_left;
	MultiXactOffset member;
	uint32		page;
	int			n = 0;

	if (!xlrec)
		return 0;

	/*
	 * Its own offset, and where the next one begins.  Older minor releases
	 * don't touch the latter; there, one page in 2048 multixacts comes early.
	 */
	page = xlrec->mid / MULTIXACT_OFFSET_PER_PAGE;
	n = add_page(known, out, n, record, REDOAHEAD_SLRU_MULTIXACT_OFFSET, page);
	if (xlrec->mid == MaxMultiXactId)
		n = add_page(known, out, n, record, REDOAHEAD_SLRU_MULTIXACT_OFFSET,
					 FirstMultiXactId / MULTIXACT_OFFSET_PER_PAGE);
	else if ((xlrec->mid + 1) / MULTIXACT_OFFSET_PER_PAGE != page)
		n = add_page(known, out, n, record, REDOAHEAD_SLRU_MULTIXACT_OFFSET, page + 1);

	if (xlrec->nmembers <= 0 ||
		(record->main_data_len - SizeOfMultiXactCreate) / sizeof(MultiXactMember) <
		(size_t) xlrec->nmembers)
		return n;

	/* The members, in pages; their numbers wrap around at 2^32. */
	member = xlrec->moff;
	members_left = xlrec->nmembers;
	while (members_left > 0 && n < IMPLIED_MAX_PER_SLRU)
	{
		uint32		in_page = MULTIXACT_MEMBER_PER_PAGE -
			member % MULTIXACT_MEMBER_PER_PAGE;

		/* The last page ends early, because 2^32 isn't a multiple of a page. */
		if (member > PG_UINT32_MAX - in_page)
			in_page = PG_UINT32_MAX - member + 1;

		n = add_page(known, out, n, record, REDOAHEAD_SLRU_MULTIXACT_MEMBER,
					 member / MULTIXACT_MEMBER_PER_PAGE);
		member += in_page;
		members_left -= Min(members_left, in_page);
	}
	return n;
}

/*
 * A change of settings on the primary.
 */
static void
learn_settings(ImpliedSlru *known, const DecodedXLogRecord *record)
{
	const xl_parameter_change *xlrec =
		main_data(record, xl_parameter_change, sizeof(xl_parameter_change));

	/* Not read as a bool, which must not be anything but 0 or 1. */
	if (xlrec)
	{
		known->commit_ts_known = true;
		known->commit_ts_kept = *(const uint8 *) &xlrec->track_commit_timestamp != 0;
	}
}

int
implied_slru__of_record(ImpliedSlru *known, const DecodedXLogRecord *record,
						struct redoahead_ref *out)
{
	uint8		info = record->header.xl_info & ~XLR_INFO_MASK;

	switch (record->header.xl_rmid)
	{
		case RM_XACT_ID:
			return of_xact(known, record, out);
		case RM_MULTIXACT_ID:
			if (info == XLOG_MULTIXACT_CREATE_ID)
				return of_multixact(known, record, out);
			if (info == XLOG_MULTIXACT_ZERO_OFF_PAGE)
				learn_page(known, record, REDOAHEAD_SLRU_MULTIXACT_OFFSET);
			else if (info == XLOG_MULTIXACT_ZERO_MEM_PAGE)
				learn_page(known, record, REDOAHEAD_SLRU_MULTIXACT_MEMBER);
			return 0;
		case RM_CLOG_ID:
			if (info == CLOG_ZEROPAGE)
				learn_page(known, record, REDOAHEAD_SLRU_XACT);
			return 0;
		case RM_COMMIT_TS_ID:
			if (info == COMMIT_TS_ZEROPAGE)
				learn_page(known, record, REDOAHEAD_SLRU_COMMIT_TS);
			return 0;
		case RM_XLOG_ID:
			if (info == XLOG_PARAMETER_CHANGE)
				learn_settings(known, record);
			return 0;
	}
	return 0;
}

void
implied_slru__forget(ImpliedSlru *known)
{
	memset(known, 0, sizeof(*known));
}
