/*
 * test_readers.c
 *		Are sessions of a server distinguished from its own processes, and does what they
 *		did long ago not count?
 *
 * Our own children pass for those of a postmaster: this process has a data directory with
 * a postmaster.pid.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/controlfile.h"
#include "cluster/readers.h"
#include "unit.h"

#define SECOND	UINT64_C(1000000)

static char directory[] = "/var/tmp/redoahead-readers.XXXXXX";
static struct cluster cluster;

static void
write_file(const char *name, const char *text)
{
	FILE	   *file;
	char		path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int
make_server(void **state)
{
	char		text[32];
	struct stat st;

	if (mkdtemp(directory) == NULL || chmod(directory, 0700) < 0 || chdir(directory) < 0)
		return -1;
	snprintf(text, sizeof(text), "%d\n", (int) getpid());
	write_file("postmaster.pid", text);
	write_file("file", "text\n");
	if (stat(directory, &st) < 0)
		return -1;
	cluster = (struct cluster) {
		.dirfd = open(directory, O_RDONLY | O_DIRECTORY),.device = st.st_dev,.inode = st.st_ino,
		.uid = st.st_uid,.gid = st.st_gid,.major = 18
	};
	return cluster.dirfd < 0;
}

static int
remove_server(void **state)
{
	cluster__close(&cluster);
	return unlink("file") | unlink("postmaster.pid") | rmdir(directory);
}

/* How much a process has read from devices, bytes. */
static unsigned long long
read_bytes(pid_t pid)
{
	unsigned long long bytes = 0;
	char		path[64];
	char		line[128];
	FILE	   *file;

	snprintf(path, sizeof(path), "/proc/%d/io", (int) pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL)
		(void) sscanf(line, "read_bytes: %llu", &bytes);
	fclose(file);
	return bytes;
}

/* Evict the file that a process reads over and over, until it has read it once more. */
static void
wait_for_read(pid_t pid)
{
	unsigned long long before = read_bytes(pid);
	int			fd = open("file", O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(fdatasync(fd), 0);
	for (int i = 0; read_bytes(pid) == before; i++)
	{
		assert_true(i < 10000000);
		(void) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	close(fd);
}

/* Is this the title of a process that counts, while it reads or is stopped? */
static bool
counts(const char *title, bool reads)
{
	struct readers readers = {0};
	bool		active;
	pid_t		pid = fork();

	if (pid == 0)
	{
		execl("/bin/sh", title, "-c", reads ? "while :; do read x <file; done" : "kill -STOP $$",
			  (char *) NULL);
		_exit(127);
	}
	if (reads)
		wait_for_read(pid);
	else
		assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	/* The first seconds count in any case. */
	assert_true(readers__active(&readers, &cluster, true, 10 * SECOND));
	if (reads)
		wait_for_read(pid);
	active = readers__active(&readers, &cluster, true, 20 * SECOND);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return active;
}

/* Lost otherwise: queries that wait for us. */
static void
sessions_that_read_count(void **state)
{
	assert_true(counts("postgres: joe shop [local] SELECT", true));
	assert_true(counts("postgres: main: joe shop 10.0.0.1(5432) SELECT", true));
	assert_true(counts("postgres: io worker 0", true));
	assert_true(counts("postgres: walsender backup 10.0.0.1(5432) sending backup", true));
}

/* Lost otherwise: speed, for nobody's sake. */
static void
others_do_not(void **state)
{
	assert_false(counts("postgres: joe shop [local] idle", false));
	assert_false(counts("postgres: checkpointer ", true));
	assert_false(counts("postgres: main: walreceiver streaming 0/5000000", true));
	assert_false(counts("postgres: startup recovering 000000010000000000000001", true));
	assert_false(counts("sh", true));
}

static void
without_connections_nobody_does(void **state)
{
	struct readers readers = {0};

	assert_false(readers__active(&readers, &cluster, false, 10 * SECOND));
	assert_true(readers__active(&readers, &cluster, true, 11 * SECOND));
	assert_false(readers__active(&readers, &cluster, true, 17 * SECOND));
	/* Where it cannot be known, they may. */
	assert_int_equal(unlink("postmaster.pid"), 0);
	assert_true(readers__active(&readers, &cluster, true, 20 * SECOND));
	write_file("postmaster.pid", "");
}

/* Lost otherwise: prefetching while the files of thousands of sessions are read. */
static void
many_sessions_are_checked_less_often(void **state)
{
	struct readers readers = {0};

	assert_int_equal(readers__pause_us(0), SECOND / 4);
	assert_int_equal(readers__pause_us(20000), SECOND);
	/* Before what was read last does not count any more. */
	assert_true(readers__pause_us(10 * SECOND) < 5 * SECOND);
	(void) readers__active(&readers, &cluster, true, 10 * SECOND);
	assert_in_range(readers.pause_us, SECOND / 4, 5 * SECOND - 1);
	assert_int_equal(readers.checked_us, 10 * SECOND);
	(void) readers__active(&readers, &cluster, true, 10 * SECOND + readers.pause_us - 1);
	assert_int_equal(readers.checked_us, 10 * SECOND);
	(void) readers__active(&readers, &cluster, true, 10 * SECOND + readers.pause_us);
	assert_int_not_equal(readers.checked_us, 10 * SECOND);
}

/* Does the server take connections, by its file with this socket's directory and state? */
static bool
takes_connections(const char *socket_directory, const char *server_state)
{
	struct readers readers = {0};
	char		text[256];

	snprintf(text, sizeof(text), "%d\n%s\n1\n5432\n%s\n*\n1 2\n%s\n", (int) getpid(), directory,
			 socket_directory, server_state);
	write_file("postmaster.pid", text);
	return readers__of_server(&readers, &cluster, 10 * SECOND);
}

/* Lost otherwise: queries of a server that listens on TCP only. */
static void
only_a_ready_server_takes_connections(void **state)
{
	assert_true(takes_connections("/tmp", "ready   "));
	assert_true(takes_connections("", "ready   "));
	assert_false(takes_connections("/tmp", "starting"));
	assert_false(takes_connections("/tmp", "standby "));
	assert_false(takes_connections("/tmp", "stopping"));
}

/* Lost otherwise: the speed of a recovery from a crash of a backend, without any session. */
static void
in_crash_recovery_it_takes_none(void **state)
{
	static const uint32_t sizes[] = {8192, 131072, 8192, 16777216};
	static const double mark = 1234567.0;
	unsigned char control[CONTROLFILE_BYTES] = {[16] = CONTROLFILE_IN_CRASH_RECOVERY};
	int			fd;

	memcpy(control + 208, &mark, sizeof(mark));
	memcpy(control + 216, sizes, sizeof(sizes));

	assert_true(takes_connections("/tmp", "ready   "));
	assert_int_equal(mkdirat(cluster.dirfd, "global", 0700), 0);
	fd = openat(cluster.dirfd, "global/pg_control", O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, control, sizeof(control)), sizeof(control));
	close(fd);
	assert_false(takes_connections("/tmp", "ready   "));
	assert_int_equal(unlinkat(cluster.dirfd, "global/pg_control", 0), 0);
	assert_int_equal(unlinkat(cluster.dirfd, "global", AT_REMOVEDIR), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sessions_that_read_count),
		cmocka_unit_test(others_do_not),
		cmocka_unit_test(without_connections_nobody_does),
		cmocka_unit_test(many_sessions_are_checked_less_often),
		cmocka_unit_test(only_a_ready_server_takes_connections),
		cmocka_unit_test(in_crash_recovery_it_takes_none),
	};

	return cmocka_run_group_tests(tests, make_server, remove_server);
}
