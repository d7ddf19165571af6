/*
 * test_query.c
 *		The client that follow keeps connected to a hot standby: here, a psql that does not
 *		answer.  The server is a copy of this program, beside which psql is found.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "follow/query.h"
#include "unit.h"

#define SECOND	UINT64_C(1000000)

/* A psql. */
#define NEVER_ANSWERS	"#!/bin/sh\nexec sleep 600\n"

static char directory[] = "/var/tmp/redoahead-query.XXXXXX";
static struct cluster cluster;
static pid_t server;

static void
write_file(const char *name, const char *text, mode_t mode)
{
	int			fd = openat(cluster.dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int
make_server(void **state)
{
	char		text[1024];
	int			ready[2];
	struct stat st;

	if (mkdtemp(directory) == NULL || stat(directory, &st) < 0 || pipe(ready) < 0)
		return -1;
	cluster = (struct cluster) {
		.dirfd = open(directory, O_RDONLY | O_DIRECTORY),.device = st.st_dev,.inode = st.st_ino,
		.uid = st.st_uid,.gid = st.st_gid,.major = 18
	};
	snprintf(cluster.path, sizeof(cluster.path), "%s", directory);
	write_file("psql", NEVER_ANSWERS, 0700);
	snprintf(text, sizeof(text), "cp /proc/%d/exe %s/postgres", (int) getpid(), directory);
	if (system(text) != 0)
		return -1;
	server = fork();
	if (server == 0)
	{
		if (chdir(directory) == 0 && dup2(ready[1], STDOUT_FILENO) >= 0)
			execl("./postgres", "postgres", "--serve", (char *) NULL);
		_exit(127);
	}
	if (read(ready[0], text, 1) != 1)
		return -1;
	snprintf(text, sizeof(text), "%d\n%s\n1\n5432\n/tmp\n*\n1 2\nready   \n", (int) server, directory);
	write_file("postmaster.pid", text, 0600);
	return 0;
}

static int
remove_server(void **state)
{
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	unlinkat(cluster.dirfd, "psql", 0);
	unlinkat(cluster.dirfd, "postgres", 0);
	unlinkat(cluster.dirfd, "postmaster.pid", 0);
	cluster__close(&cluster);
	return rmdir(directory);
}

/* Lost otherwise: the position of redo, for the rest of a recovery. */
TEST(a_client_that_does_not_answer_is_replaced)
{
	struct query query = {0};
	pid_t		first;

	assert_int_equal(query__position(&query, &cluster, 10 * SECOND), 0);
	first = query.psql;
	assert_true(first > 0);
	assert_true(query.pending);
	assert_int_equal(query__position(&query, &cluster, 14 * SECOND), 0);
	assert_int_equal(query.psql, first);
	assert_int_equal(query__position(&query, &cluster, 16 * SECOND), 0);
	assert_int_equal(query.psql, 0);
	assert_int_equal(kill(first, 0), -1);
	assert_int_equal(query__position(&query, &cluster, 17 * SECOND), 0);
	assert_true(query.psql > 0);
	query__end(&query);
}

/* Lost otherwise: likewise. */
TEST(a_client_that_ends_is_replaced)
{
	struct query query = {0};
	pid_t		first;

	assert_int_equal(query__position(&query, &cluster, 10 * SECOND), 0);
	first = query.psql;
	kill(first, SIGKILL);
	/* While it is waited for an answer. */
	while (query.psql == first)
		assert_int_equal(query__position(&query, &cluster, 11 * SECOND), 0);
	assert_int_equal(query.psql, 0);
	assert_int_equal(query__position(&query, &cluster, 12 * SECOND), 0);
	first = query.psql;
	assert_true(first > 0);
	kill(first, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t) first, NULL, WEXITED | WNOWAIT), 0);
	/* As after an answer. */
	query.pending = false;
	assert_int_equal(query__position(&query, &cluster, 13 * SECOND), 0);
	assert_int_equal(query.psql, 0);
	assert_int_equal(query__position(&query, &cluster, 14 * SECOND), 0);
	assert_true(query.psql > 0);
	query__end(&query);
}

/* Lost otherwise: a server's log without errors of answers that cannot be sent. */
TEST(a_client_is_left_when_it_has_answered)
{
	struct query query = {0};
	pid_t		psql;

	assert_int_equal(query__position(&query, &cluster, 10 * SECOND), 0);
	psql = query.psql;
	assert_true(psql > 0);
	query__leave(&query, 11 * SECOND);
	assert_int_equal(query.psql, psql);
	assert_int_equal(kill(psql, 0), 0);
	/* As after an answer. */
	query.pending = false;
	query__leave(&query, 12 * SECOND);
	assert_int_equal(query.psql, 0);
	assert_int_equal(kill(psql, 0), -1);
	/* It is not waited for any longer than otherwise. */
	assert_int_equal(query__position(&query, &cluster, 20 * SECOND), 0);
	assert_true(query.psql > 0);
	query__leave(&query, 26 * SECOND);
	assert_int_equal(query.psql, 0);
	query__leave(&query, 27 * SECOND);
}

/* How many clients are started from one time to another, s, if each ends at once. */
static unsigned
count_attempts(struct query *query, uint64_t begin, uint64_t end, uint64_t *lsn)
{
	unsigned	count = 0;

	for (uint64_t second = begin; second < end; second++)
	{
		*lsn |= query__position(query, &cluster, second * SECOND);
		/* It may have ended already. */
		if (query->begin_us != second * SECOND)
			continue;
		count++;
		while (query->psql != 0 && query->pending)
			*lsn |= query__position(query, &cluster, second * SECOND);
		query__end(query);
	}
	return count;
}

/* Lost otherwise: a standby's log, to the errors of a client that is refused each second. */
TEST(pauses_get_longer_until_there_is_an_answer)
{
	struct query query = {0};
	uint64_t	second = 819;
	uint64_t	lsn = 0;

	write_file("psql", "#!/bin/sh\nexit 2\n", 0700);
	/* After 0, 1, 3, 7, 15, 31 and 63 s, and then each 64 s. */
	assert_int_equal(count_attempts(&query, 100, 164, &lsn), 7);
	assert_in_range(count_attempts(&query, 164, 804, &lsn), 9, 11);
	assert_int_equal(lsn, 0);

	/* Another recovery. */
	query__begin(&query);
	assert_int_equal(count_attempts(&query, 804, 812, &lsn), 4);

	/* It answers once. */
	write_file("psql", "#!/bin/sh\nread -r line\necho '0/10|'\n", 0700);
	for (; lsn == 0 && second < 1000; second++)
		(void) count_attempts(&query, second, second + 1, &lsn);
	assert_int_equal(lsn, 0x10);
	write_file("psql", "#!/bin/sh\nexit 2\n", 0700);
	assert_int_equal(count_attempts(&query, second, second + 8, &lsn), 3);
	write_file("psql", NEVER_ANSWERS, 0700);
}

int
main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--serve") == 0)
	{
		if (write(STDOUT_FILENO, ".", 1) == 1)
			pause();
		return 0;
	}
	return _cmocka_run_group_tests("tests", unit_tests, unit_test_count, make_server, remove_server);
}
