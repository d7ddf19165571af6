/*
 * test_activity.c
 *		What do the titles of a server's processes report, and what does /proc of one?
 *
 * With a wrong answer, the status has the wrong phase, or the wrong limit of redo.
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "base/clock.h"
#include "cluster/activity.h"
#include "cluster/processes.h"

static struct activity_server
parse(const char *title)
{
	struct activity_server server = {0};

	activity__parse_title(&server, title);
	return server;
}

TEST(startup_process)
{
	assert_int_equal(parse("postgres: startup recovering 00000002000000000000000A").timeline, 2);
	assert_int_equal(parse("postgres: 18/main: startup recovering 0000000A0000000000000003").timeline,
					 10);
	assert_false(parse("postgres: startup recovering 000000010000000000000001").waiting);
	assert_true(parse("postgres: startup recovering 000000010000000000000001 waiting").waiting);
	/* It waits for WAL there, not for a query. */
	assert_false(parse("postgres: startup waiting for 000000010000000000000001").waiting);
}

TEST(checkpoint)
{
	assert_true(parse("postgres: checkpointer performing end-of-recovery checkpoint").checkpoint);
	assert_true(parse("postgres: 18/main: startup performing end-of-recovery checkpoint").checkpoint);
	assert_false(parse("postgres: checkpointer performing restartpoint").checkpoint);
	assert_false(parse("postgres: checkpointer ").checkpoint);
}

TEST(wal_receiver)
{
	struct activity_server server = parse("postgres: walreceiver streaming 1F/A0000028");

	assert_true(server.streaming);
	assert_int_equal(server.received_lsn, 0x1FA0000028);
	assert_false(parse("postgres: walreceiver ").streaming);
}

/* Titles of sessions have what clients choose: names of roles and databases. */
TEST(sessions_are_not_believed)
{
	struct activity_server server = parse("postgres: startup-user postgres [local] idle");

	assert_int_equal(server.timeline, 0);
	assert_false(parse("postgres: startup postgres [local] UPDATE waiting").waiting);
	assert_false(parse("psql: walreceiver streaming 1F/A0000028").streaming);
	assert_false(parse("postgres: walreceiver-1: u db [local] streaming 1F/A0000028").streaming);
	assert_false(parse("").streaming);
}

/* Lost otherwise: all of a recovery, where a cluster's name begins like "startup". */
TEST(names_of_clusters)
{
	assert_null(processes__activity("postgres: startup-prod: checkpointer ", "startup"));
	assert_null(processes__activity("postgres: startup: checkpointer ", "startup"));
	assert_null(processes__activity("postgres: startup x: checkpointer ", "startup"));
	assert_string_equal(processes__activity("postgres: startup: startup recovering 1", "startup"),
						" recovering 1");
	assert_string_equal(processes__activity("postgres: a: b: startup", "startup"), "");
	assert_null(processes__activity("redoahead: startup", "startup"));
}

TEST(work_of_a_process)
{
	struct activity_work before;
	struct activity_work after;
	uint64_t	begin_us = clock__cpu_us();

	/* Time that the host takes is in none of these. */
	assert_int_equal(activity__read_work(getpid(), &before), 0);
	assert_int_equal(before.state, 'R');
	while (clock__cpu_us() - begin_us < 50000)
		continue;
	assert_int_equal(activity__read_work(getpid(), &after), 0);
	if (access("/proc/self/schedstat", R_OK) == 0)
		assert_in_range(after.run_us + after.queued_us, before.run_us + before.queued_us + 10000,
						UINT32_MAX);
}

/* A process that has ended, but is not awaited yet, has no work. */
TEST(ended_process)
{
	struct activity_work work;
	pid_t		child = fork();
	siginfo_t	info;

	if (child == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t) child, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(activity__read_work(child, &work), -ESRCH);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(activity__read_work(child, &work), -ESRCH);
}

UNIT_MAIN(NULL, NULL, NULL, NULL)
