/*
 * test_implied_slru.c
 *		Does common/implied_slru.c know where PostgreSQL keeps its SLRU pages, which
 *		records make redo read them, and which the WAL creates?
 *
 * As in test_implied.c, the addresses are compared with PostgreSQL's own code,
 * and the records are made by hand.  Run by tests/unit/run-implied.
 */
#include "postgres.h"

#include "access/clog.h"
#include "access/commit_ts.h"
#include "access/multixact.h"
#include "access/xact.h"
#include "access/xlog_internal.h"
#include "catalog/pg_control.h"

#include "implied_record.h"

TEST(test_commit_and_abort)
{
	for (uint64 xid = FirstNormalTransactionId; xid <= MaxTransactionId; xid += 12347)
	{
		begin(RM_XACT_ID, XLOG_XACT_COMMIT);
		record->header.xl_xid = xid;
		add_value(TimestampTz, 0);
		assert_int_equal(record_view__implied_by_record(&known, record, refs), 1);
		check_page(0, REDOAHEAD_SLRU_XACT, truth__xact(xid));

		track_commit_timestamp = true;
		assert_int_equal(record_view__implied_by_record(&known, record, refs), 2);
		check_page(0, REDOAHEAD_SLRU_XACT, truth__xact(xid));
		check_page(1, REDOAHEAD_SLRU_COMMIT_TS, truth__commit_ts(xid));

		record->header.xl_info = XLOG_XACT_ABORT;
		assert_int_equal(record_view__implied_by_record(&known, record, refs), 1);
		check_page(0, REDOAHEAD_SLRU_XACT, truth__xact(xid));
		track_commit_timestamp = false;
	}

	/* Preparation does not read pg_xact. */
	begin(RM_XACT_ID, XLOG_XACT_PREPARE);
	record->header.xl_xid = 1000;
	add_value(TimestampTz, 0);
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 0);
}

TEST(test_subtransactions)
{
	begin(RM_XACT_ID, XLOG_XACT_COMMIT | XLOG_XACT_HAS_INFO);
	record->header.xl_xid = 32767;
	add_value(TimestampTz, 0);
	add_value(uint32, XACT_XINFO_HAS_SUBXACTS | XACT_XINFO_HAS_DBINFO);
	add_value(Oid, 5);
	add_value(Oid, 1663);
	add_value(int, 70000);
	for (int i = 0; i < 70000; i++)
		add_value(TransactionId, 32768 + i);
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 4);
	for (int i = 0; i < 4; i++)
		check_page(i, REDOAHEAD_SLRU_XACT, i);

	/* So many pages that they don't fit. */
	track_commit_timestamp = true;
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 4 + IMPLIED_MAX_PER_SLRU);
	check_page(4, REDOAHEAD_SLRU_COMMIT_TS, truth__commit_ts(32767));
	check_page(5, REDOAHEAD_SLRU_COMMIT_TS, truth__commit_ts(32767) + 1);
	track_commit_timestamp = false;

	/* An array that goes beyond the record's end. */
	record->main_data_len -= 1;
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 0);
	*(int *) (data + 20) = -1;
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 0);
	*(int *) (data + 20) = PG_INT32_MAX;
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 0);
}

TEST(test_prepared)
{
	/* The transaction ID comes after everything else. */
	begin(RM_XACT_ID, XLOG_XACT_COMMIT_PREPARED | XLOG_XACT_HAS_INFO);
	record->header.xl_xid = 5000000;
	add_value(TimestampTz, 0);
	add_value(uint32, XACT_XINFO_HAS_SUBXACTS | XACT_XINFO_HAS_RELFILELOCATORS |
			  XACT_XINFO_HAS_DROPPED_STATS | XACT_XINFO_HAS_INVALS |
			  XACT_XINFO_HAS_TWOPHASE);
	add_value(int, 1);
	add_value(TransactionId, 100001);
	add_value(int, 1);
	add_value(RelFileLocator, ((RelFileLocator) {1663, 5, 1}));
	add_value(int, 1);
	add_value(xl_xact_stats_item, ((xl_xact_stats_item) {0}));
	add_value(int, 2);
	add_value(SharedInvalidationMessage, ((SharedInvalidationMessage) {0}));
	add_value(SharedInvalidationMessage, ((SharedInvalidationMessage) {0}));
	add_value(TransactionId, 65535);
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 2);
	check_page(0, REDOAHEAD_SLRU_XACT, 1);
	check_page(1, REDOAHEAD_SLRU_XACT, 3);

	record->main_data_len--;
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 0);

	begin(RM_XACT_ID, XLOG_XACT_ABORT_PREPARED | XLOG_XACT_HAS_INFO);
	add_value(TimestampTz, 0);
	add_value(uint32, XACT_XINFO_HAS_TWOPHASE);
	add_value(TransactionId, 65535);
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 1);
	check_page(0, REDOAHEAD_SLRU_XACT, 1);
}

/* Start a record that creates a multixact; its members follow. */
static void
begin_multixact(MultiXactId multi, MultiXactOffset offset, int nmembers)
{
	xl_multixact_create create = {.mid = multi,.moff = offset,.nmembers = nmembers};

	begin(RM_MULTIXACT_ID, XLOG_MULTIXACT_CREATE_ID);
	add_data(&create, SizeOfMultiXactCreate);
}

/*
 * Creation of a multixact: compare with what its redo would do, member by
 * member.
 */
static void
check_multixact(MultiXactId multi, MultiXactOffset offset, int nmembers)
{
	int			n = 0;
	int			got;
	uint32		page;

	begin_multixact(multi, offset, nmembers);
	for (int i = 0; i < nmembers; i++)
		add_value(MultiXactMember, ((MultiXactMember) {3, MultiXactStatusUpdate}));
	got = record_view__implied_by_record(&known, record, refs);

	page = truth__multixact_offset(multi);
	check_page(n++, REDOAHEAD_SLRU_MULTIXACT_OFFSET, page);
	multi = multi == MaxMultiXactId ? FirstMultiXactId : multi + 1;
	if (truth__multixact_offset(multi) != page)
		check_page(n++, REDOAHEAD_SLRU_MULTIXACT_OFFSET, truth__multixact_offset(multi));

	for (int i = 0; i < nmembers && n < got; i++, offset++)
	{
		if (i == 0 || truth__multixact_member(offset) != page)
		{
			page = truth__multixact_member(offset);
			check_page(n++, REDOAHEAD_SLRU_MULTIXACT_MEMBER, page);
		}
	}
	assert_int_equal(got, n);
	assert_true(got <= IMPLIED_MAX_PER_SLRU);
}

TEST(test_multixact)
{
	check_multixact(1, 1, 2);
	check_multixact(1023, 1635, 2);
	check_multixact(2046, 1635, 2);
	check_multixact(2047, 1636, 2);
	check_multixact(2048, 1635, 1);
	check_multixact(5, 100, 5000);
	check_multixact(5, 100, 100000);
	check_multixact(MaxMultiXactId - 1, 0xFFFFFFFF, 2);
	check_multixact(MaxMultiXactId, 0xFFFFFF00, 3000);
	if (sizeof(MultiXactOffset) > sizeof(uint32))
	{
		check_multixact(5, (MultiXactOffset) UINT32_MAX * 1000, 5000);
		check_multixact(5, (MultiXactOffset) UINT32_MAX * 1636 + 1600, 1);
		/* Behind the pages that a reference can name. */
		begin_multixact(5, (MultiXactOffset) UINT32_MAX * 1637, 1);
		add_value(MultiXactMember, ((MultiXactMember) {3, MultiXactStatusUpdate}));
		assert_int_equal(record_view__implied_by_record(&known, record, refs), 1);
	}
	for (uint32 i = 0; i < 100000; i++)
		check_multixact(i * 42949, i * 42943, i % 7);

	/* Members that aren't there. */
	check_multixact(5, 100, 100);
	record->main_data_len--;
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 1);
	((xl_multixact_create *) data)->nmembers = -1;
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 1);
	record->main_data_len = SizeOfMultiXactCreate - 1;
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 0);
}

/* Pages that the WAL has created needn't be read. */
TEST(test_created_pages)
{
	static const struct
	{
		RmgrId		rmid;
		uint8		info;
		int64		page;
	}			created[] = {
		{RM_CLOG_ID, CLOG_ZEROPAGE, 7},
		{RM_CLOG_ID, CLOG_ZEROPAGE, 8},
		{RM_COMMIT_TS_ID, COMMIT_TS_ZEROPAGE, 640},
		{RM_MULTIXACT_ID, XLOG_MULTIXACT_ZERO_OFF_PAGE, 5},
		{RM_MULTIXACT_ID, XLOG_MULTIXACT_ZERO_MEM_PAGE, 12},
		/* Not pages: too large, negative, another record. */
		{RM_CLOG_ID, CLOG_ZEROPAGE, INT64CONST(1) << 40},
		{RM_CLOG_ID, CLOG_ZEROPAGE, -1},
		{RM_CLOG_ID, CLOG_TRUNCATE, 9},
	};

	for (size_t i = 0; i < lengthof(created); i++)
	{
		begin(created[i].rmid, created[i].info);
		add_value(int64, created[i].page);
		assert_int_equal(record_view__implied_by_record(&known, record, refs), 0);
	}

	/* Before, within and after. */
	for (uint32 page = 6; page <= 9; page++)
	{
		begin(RM_XACT_ID, XLOG_XACT_COMMIT);
		record->header.xl_xid = page * 32768 + 17;
		add_value(TimestampTz, 0);
		assert_int_equal(record_view__implied_by_record(&known, record, refs),
						 page == 7 || page == 8 ? 0 : 1);
	}
	begin(RM_XACT_ID, XLOG_XACT_COMMIT);
	record->header.xl_xid = 640 * 819;
	add_value(TimestampTz, 0);
	track_commit_timestamp = true;
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 1);
	check_page(0, REDOAHEAD_SLRU_XACT, 640 * 819 / 32768);
	track_commit_timestamp = false;

	begin_multixact(5 * (BLCKSZ / sizeof(MultiXactOffset)), 12 * 1636, 1);
	add_value(MultiXactMember, ((MultiXactMember) {3, MultiXactStatusUpdate}));
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 0);

	/* IDs wrap around. */
	begin(RM_CLOG_ID, CLOG_ZEROPAGE);
	add_value(int64, 0);
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 0);
	begin(RM_XACT_ID, XLOG_XACT_ABORT);
	record->header.xl_xid = 7 * 32768;
	add_value(TimestampTz, 0);
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 1);
	record->header.xl_xid = 32767;
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 0);
}

TEST(test_learns_setting)
{
	xl_parameter_change change = {.track_commit_timestamp = true};

	for (int i = 0; i < 2; i++)
	{
		begin(RM_XLOG_ID, XLOG_PARAMETER_CHANGE);
		add_value(xl_parameter_change, change);
		assert_int_equal(record_view__implied_by_record(&known, record, refs), 0);

		track_commit_timestamp = !change.track_commit_timestamp;
		begin(RM_XACT_ID, XLOG_XACT_COMMIT);
		record->header.xl_xid = 50 * 32768;
		add_value(TimestampTz, 0);
		assert_int_equal(record_view__implied_by_record(&known, record, refs),
						 change.track_commit_timestamp ? 2 : 1);
		change.track_commit_timestamp = false;
	}
}

/* What was learned of an earlier place in the WAL is not held against this. */
TEST(test_forgets)
{
	begin(RM_CLOG_ID, CLOG_ZEROPAGE);
	add_value(int64, 3);
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 0);
	begin(RM_XLOG_ID, XLOG_PARAMETER_CHANGE);
	add_value(xl_parameter_change, ((xl_parameter_change) {.track_commit_timestamp = true}));
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 0);

	memset(&known, 0, sizeof(known));
	track_commit_timestamp = false;
	begin(RM_XACT_ID, XLOG_XACT_COMMIT);
	record->header.xl_xid = 3 * 32768;
	add_value(TimestampTz, 0);
	assert_int_equal(record_view__implied_by_record(&known, record, refs), 1);
	check_page(0, REDOAHEAD_SLRU_XACT, 3);
}

UNIT_MAIN(knows_wal, NULL, NULL, NULL)
