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
 * Nothing is assumed about the bytes of a record: counts and lengths are checked
 * against data_len.
 */
#include <string.h>

#include "implied.h"

/* Numbers that PostgreSQL reserves. */
#define FIRST_NORMAL_XID	3
#define FIRST_MULTIXACT		1

/* Entries in an SLRU page; block_size in bytes. */
#define XACT_PER_PAGE(block_size)				((block_size) * 4)
#define MULTIXACT_OFFSET_PER_PAGE(block_size, bytes)	((block_size) / (bytes))

/* Members come in groups of four: a byte of flags for each, then their IDs. */
#define MULTIXACT_MEMBER_PER_PAGE(block_size)	((block_size) / (4 + 4 * 4) * 4)

/* A commit timestamp is followed by the replication origin, unaligned. */
#define COMMIT_TS_PER_PAGE(block_size)			((block_size) / (8 + 2))

/* A position in a record's main data. */
struct cursor
{
	const char *next;			/* first byte not read */
	size_t		left;			/* bytes from there to the end */
};

/* Transaction IDs in a record, at any address. */
struct xids
{
	const char *first;			/* the first one */
	uint32_t	count;			/* how many there are */
};


/* A 32-bit number at any address. */
static inline uint32_t
number_at(const char *bytes)
{
	uint32_t	number;

	memcpy(&number, bytes, sizeof(number));
	return number;
}

static inline uint32_t
xid_at(const struct xids *xids, uint32_t index)
{
	return number_at(xids->first + index * sizeof(uint32_t));
}

/*
 * Append a reference to a page of an SLRU, unless the WAL has created it.
 */
static inline int
add_page(const struct implied_slru *known, struct redoahead_ref *out, int n,
		 const struct implied_record *record, uint32_t slru, uint32_t page)
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
static const char *
take(struct cursor *cursor, size_t size)
{
	const char *taken = cursor->next;

	if (cursor->left < size)
		return NULL;
	cursor->next += size;
	cursor->left -= size;
	return taken;
}

/*
 * Take a count, and an array of so many elements that follows it.  NULL if the
 * record ends before.
 */
static const char *
take_array(struct cursor *cursor, size_t element_size, uint32_t *nelements)
{
	const char *count = take(cursor, sizeof(uint32_t));

	if (!count)
		return NULL;
	*nelements = number_at(count);
	if (*nelements > INT32_MAX || *nelements > cursor->left / element_size)
		return NULL;
	return take(cursor, *nelements * element_size);
}

/*
 * Append the pages that a transaction and its subtransactions have in an SLRU
 * with a number of entries for each transaction ID.
 */
static inline int
add_xact_pages(const struct implied_slru *known, struct redoahead_ref *out, int n,
			   const struct implied_record *record, uint32_t slru,
			   uint32_t xacts_per_page, uint32_t xid, const struct xids *subxids)
{
	int			limit = n + IMPLIED_MAX_PER_SLRU;
	uint32_t	page = xid / xacts_per_page;

	n = add_page(known, out, n, record, slru, page);

	/* They ascend from their parent's, so usually the last one is on the same page. */
	if (subxids->count == 0 || xid_at(subxids, subxids->count - 1) / xacts_per_page == page)
		return n;

	for (uint32_t i = 0; i < subxids->count && n < limit; i++)
	{
		uint32_t	own = xid_at(subxids, i) / xacts_per_page;

		if (own != page)
		{
			page = own;
			n = add_page(known, out, n, record, slru, page);
		}
	}
	return n;
}

/*
 * Commit or abort, of a prepared transaction or another.
 */
static int
of_xact(const struct implied_slru *known, const struct implied_record *record,
		bool commit_ts, struct redoahead_ref *out)
{
	uint8_t		op = record->info & WAL_XACT_OPERATION;
	bool		prepared = op == WAL_XACT_COMMIT_PREPARED || op == WAL_XACT_ABORT_PREPARED;
	bool		commit = op == WAL_XACT_COMMIT || op == WAL_XACT_COMMIT_PREPARED;
	bool		abort = op == WAL_XACT_ABORT || op == WAL_XACT_ABORT_PREPARED;
	uint32_t	block_size = record->layout->block_size;
	struct cursor cursor = {record->data, record->data_len};
	uint32_t	xid = record->xid;
	struct xids subxids = {0};
	uint32_t	xinfo = 0;
	int			n = 0;

	if (!commit && !abort)
		return 0;
	if (!take(&cursor, WAL_XACT_TIME_BYTES))
		return 0;

	if (record->info & WAL_XACT_HAS_INFO)
	{
		const char *info = take(&cursor, sizeof(uint32_t));

		if (!info)
			return 0;
		xinfo = number_at(info);
	}

	if ((xinfo & WAL_XINFO_DATABASE) && !take(&cursor, WAL_XACT_DATABASE_BYTES))
		return 0;

	if (xinfo & WAL_XINFO_SUBXACTS)
	{
		subxids.first = take_array(&cursor, sizeof(uint32_t), &subxids.count);
		if (!subxids.first)
			return 0;
	}

	if (prepared)
	{
		const char *twophase;
		uint32_t	ignored;

		if ((xinfo & WAL_XINFO_RELATIONS) &&
			!take_array(&cursor, WAL_XACT_RELATION_BYTES, &ignored))
			return 0;
		if ((xinfo & WAL_XINFO_DROPPED_STATS) &&
			!take_array(&cursor, record->format->dropped_stats_bytes, &ignored))
			return 0;
		if (commit && (xinfo & WAL_XINFO_INVALIDATIONS) &&
			!take_array(&cursor, WAL_XACT_INVALIDATION_BYTES, &ignored))
			return 0;
		if (!(xinfo & WAL_XINFO_TWOPHASE))
			return 0;
		twophase = take(&cursor, sizeof(uint32_t));
		if (!twophase)
			return 0;
		xid = number_at(twophase);
	}

	if (xid < FIRST_NORMAL_XID)
		return 0;

	n = add_xact_pages(known, out, n, record, REDOAHEAD_SLRU_XACT,
					   XACT_PER_PAGE(block_size), xid, &subxids);
	if (commit && (known->commit_ts_known ? known->commit_ts_kept : commit_ts))
		n = add_xact_pages(known, out, n, record, REDOAHEAD_SLRU_COMMIT_TS,
						   COMMIT_TS_PER_PAGE(block_size), xid, &subxids);
	return n;
}

/*
 * Creation of an SLRU page: the record has its number only.
 */
static void
learn_page(struct implied_slru *known, const struct implied_record *record, uint32_t slru)
{
	struct implied_pages *range = &known->created[slru];
	int32_t		narrow;
	int64_t		page;

	if (record->data_len < record->format->slru_page_bytes)
		return;
	if (record->format->slru_page_bytes == sizeof(page))
		memcpy(&page, record->data, sizeof(page));
	else
	{
		memcpy(&narrow, record->data, sizeof(narrow));
		page = narrow;
	}
	if (page < 0 || page >= UINT32_MAX)
		return;
	if ((uint32_t) page != range->end)
		range->first = (uint32_t) page;
	range->end = (uint32_t) page + 1;
}

/*
 * Creation of a multixact.
 */
static int
of_multixact(const struct implied_slru *known, const struct implied_record *record,
			 struct redoahead_ref *out)
{
	uint32_t	bytes = record->format->multixact_bytes;
	uint32_t	offsets_per_page = MULTIXACT_OFFSET_PER_PAGE(record->layout->block_size, bytes);
	uint32_t	members_per_page = MULTIXACT_MEMBER_PER_PAGE(record->layout->block_size);
	uint64_t	last_member = bytes == sizeof(uint64_t) ? UINT64_MAX : UINT32_MAX;
	const char *data = record->data;
	uint32_t	multixact;
	uint64_t	member;			/* the first one */
	uint32_t	members_left;
	uint32_t	page;
	int			n = 0;

	if (record->data_len < WAL_MULTIXACT_BYTES(bytes))
		return 0;
	multixact = number_at(data);
	if (bytes == sizeof(member))
		memcpy(&member, data + WAL_MULTIXACT_FIRST_AT(bytes), sizeof(member));
	else
		member = number_at(data + WAL_MULTIXACT_FIRST_AT(bytes));
	members_left = number_at(data + WAL_MULTIXACT_COUNT_AT(bytes));

	/*
	 * Its own offset, and where the next one begins.  Older minor releases
	 * don't touch the latter; there, one page in 2048 multixacts comes early.
	 */
	page = multixact / offsets_per_page;
	n = add_page(known, out, n, record, REDOAHEAD_SLRU_MULTIXACT_OFFSET, page);
	if (multixact == UINT32_MAX)
		n = add_page(known, out, n, record, REDOAHEAD_SLRU_MULTIXACT_OFFSET,
					 FIRST_MULTIXACT / offsets_per_page);
	else if ((multixact + 1) / offsets_per_page != page)
		n = add_page(known, out, n, record, REDOAHEAD_SLRU_MULTIXACT_OFFSET, page + 1);

	if (members_left > INT32_MAX ||
		(record->data_len - WAL_MULTIXACT_BYTES(bytes)) / WAL_MULTIXACT_MEMBER_BYTES < members_left)
		return n;

	/*
	 * The members, in pages.  Numbers of 32 bits wrap around; a reference has no
	 * room for pages behind 2^32 of those of 64 bits.
	 */
	while (members_left > 0 && n < IMPLIED_MAX_PER_SLRU && member / members_per_page <= UINT32_MAX)
	{
		uint32_t	in_page = members_per_page - (uint32_t) (member % members_per_page);

		/* The last page ends early, because 2^32 isn't a multiple of a page. */
		if (member > last_member - in_page)
			in_page = (uint32_t) (last_member - member) + 1;

		n = add_page(known, out, n, record, REDOAHEAD_SLRU_MULTIXACT_MEMBER,
					 (uint32_t) (member / members_per_page));
		member = (member + in_page) & last_member;
		members_left -= members_left < in_page ? members_left : in_page;
	}
	return n;
}

/*
 * A change of settings on the primary.
 */
static void
learn_settings(struct implied_slru *known, const struct implied_record *record)
{
	if (record->data_len < WAL_PARAMETERS_BYTES)
		return;
	known->commit_ts_known = true;
	known->commit_ts_kept = ((const uint8_t *) record->data)[WAL_PARAMETERS_COMMIT_TS_AT] != 0;
}

int
implied_slru__of_record(struct implied_slru *known, const struct implied_record *record,
						bool commit_ts, struct redoahead_ref *out)
{
	uint8_t		info = record->info & ~WAL_INFO_COMMON;

	switch (record->rmid)
	{
		case WAL_RMGR_XACT:
			return of_xact(known, record, commit_ts, out);
		case WAL_RMGR_MULTIXACT:
			if (info == WAL_MULTIXACT_CREATE)
				return of_multixact(known, record, out);
			if (info == WAL_MULTIXACT_ZERO_OFFSETS)
				learn_page(known, record, REDOAHEAD_SLRU_MULTIXACT_OFFSET);
			else if (info == WAL_MULTIXACT_ZERO_MEMBERS)
				learn_page(known, record, REDOAHEAD_SLRU_MULTIXACT_MEMBER);
			return 0;
		case WAL_RMGR_CLOG:
			if (info == WAL_CLOG_ZERO_PAGE)
				learn_page(known, record, REDOAHEAD_SLRU_XACT);
			return 0;
		case WAL_RMGR_COMMIT_TS:
			if (info == WAL_COMMIT_TS_ZERO_PAGE)
				learn_page(known, record, REDOAHEAD_SLRU_COMMIT_TS);
			return 0;
		case WAL_RMGR_XLOG:
			if (info == WAL_XLOG_PARAMETER_CHANGE)
				learn_settings(known, record);
			return 0;
	}
	return 0;
}
