/*
 * test_recovery.c
 *		Where does the WAL of a recovery end?
 *
 * With a wrong end, a DBA is shown the wrong time left, or that redo is complete when it is
 * not.
 */
#include "unit.h"

#include "monitor/recovery.h"

#define REPLAYED	0x3000000

/* The end that is shown, and where it is from, of a recovery that has replayed REPLAYED. */
static uint64_t
end_lsn(enum phase phase, uint64_t scanned_lsn, uint64_t received_lsn, const char **source)
{
	struct recovery recovery = {
		.phase = phase,
		.scanned_lsn = scanned_lsn,
		.server.received_lsn = received_lsn,
		.progress.replay_lsn = REPLAYED,
	};

	return recovery__end_lsn(&recovery, source);
}

/* Nothing is known before the position of redo is, or before WAL was scanned. */
TEST(unknown)
{
	struct recovery recovery = {.phase = PHASE_CRASH_RECOVERY, .scanned_lsn = REPLAYED};
	const char *source = "";

	assert_int_equal(recovery__end_lsn(&recovery, &source), 0);
	assert_null(source);
	assert_int_equal(end_lsn(PHASE_CRASH_RECOVERY, 0, 0, &source), 0);
	assert_null(source);
}

TEST(crash_recovery)
{
	const char *source;

	assert_int_equal(end_lsn(PHASE_CRASH_RECOVERY, REPLAYED + 5, 0, &source), REPLAYED + 5);
	assert_string_equal(source, "scan");
}

/* After a switch of segments, redo is beyond the last page that the scan found. */
TEST(switched_segment)
{
	static const enum phase phases[] = {PHASE_CRASH_RECOVERY, PHASE_CHECKPOINT};
	const char *source;

	for (int i = 0; i < 2; i++)
	{
		assert_int_equal(end_lsn(phases[i], REPLAYED - 0x800000, 0, &source), REPLAYED);
		assert_string_equal(source, "scan");
	}
}

/* An archive may have more than what was there when pg_wal was scanned. */
TEST(archive)
{
	const char *source;

	assert_int_equal(end_lsn(PHASE_ARCHIVE_RECOVERY, REPLAYED + 5, 0, &source), REPLAYED + 5);
	assert_string_equal(source, "scan");
	assert_int_equal(end_lsn(PHASE_ARCHIVE_RECOVERY, REPLAYED - 5, 0, &source), 0);
	assert_null(source);
}

/* The position of redo is read more often than that of the WAL receiver. */
TEST(streaming)
{
	const char *source;

	assert_int_equal(end_lsn(PHASE_STREAMING, REPLAYED - 5, REPLAYED + 5, &source), REPLAYED + 5);
	assert_string_equal(source, "received");
	assert_int_equal(end_lsn(PHASE_STREAMING, 0, REPLAYED - 5, &source), REPLAYED);
	assert_string_equal(source, "received");
}

/*
 * In crash recovery, the checkpoint after redo means that all was replayed.  Lost otherwise:
 * how far a recovery with a target went; it leaves the rest of pg_wal.
 */
TEST(checkpoint_after_redo)
{
	for (int replays_all = 0; replays_all < 2; replays_all++)
	{
		struct recovery recovery = {
			.phase = PHASE_CHECKPOINT,.scanned_lsn = REPLAYED + 5,.replays_all = replays_all
		};
		struct monitor_snapshot snapshot = {.replay_lsn = REPLAYED};

		recovery__update(&recovery, &snapshot, NULL, 1000000);
		assert_int_equal(recovery.progress.replay_lsn, REPLAYED + (replays_all ? 5 : 0));
	}
}

UNIT_MAIN(NULL, NULL, NULL, NULL)
