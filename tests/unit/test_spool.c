/*
 * test_spool.c
 *		Who waits for whom in the spool, and for how long?
 *
 * Who waits for ever holds up the server; who does not wait has the server end recovery.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "archive/spool.h"
#include "base/clock.h"

#define SEGMENT	"000000010000000000000001"

static char directory[] = "/tmp/redoahead-spool.XXXXXX";
static struct spool spool;

static int
set_up(void **state)
{
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	return mkdtemp(directory) == NULL || spool__open(&spool, directory) < 0;
}

static int
tear_down(void **state)
{
	char		path[PATH_MAX];

	(void) spool__clear(&spool);
	if (spool__path(&spool, "fetching", "", path) == 0)
		(void) unlink(path);
	return rmdir(spool.path) | rmdir(directory);
}

static void
make_file(const char *name)
{
	char		path[PATH_MAX];
	int			fd;

	assert_int_equal(spool__path(&spool, name, "", path), 0);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
}

/* Lost otherwise: the server, which waits for a command that hangs. */
TEST(segment_is_waited_for_so_long)
{
	int			lock = spool__lock(&spool, SEGMENT, 0);
	uint64_t	begin_us = clock__now_us();

	assert_true(lock >= 0);
	assert_int_equal(spool__lock(&spool, SEGMENT, 0), -EWOULDBLOCK);
	assert_int_equal(spool__lock(&spool, SEGMENT, 20000), -EWOULDBLOCK);
	assert_true(clock__now_us() - begin_us >= 20000);
	spool__unlock(&spool, SEGMENT, lock);
	lock = spool__lock(&spool, SEGMENT, 0);
	assert_true(lock >= 0);
	spool__unlock(&spool, SEGMENT, lock);
}

/* Lost otherwise: the end of the WAL, where commands beside the server's let that fail. */
TEST(it_is_idle_when_the_last_process_has_ended)
{
	int			fetching;
	pid_t		pid;

	assert_true(spool__is_idle(&spool, 0));
	fetching = spool__begin_fetching(&spool);
	assert_true(fetching >= 0);
	pid = fork();
	if (pid == 0)
	{
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	close(fetching);
	assert_false(spool__is_idle(&spool, 0));
	assert_false(spool__is_idle(&spool, 20000));
	/* Another request may begin beside it. */
	fetching = spool__begin_fetching(&spool);
	assert_true(fetching >= 0);
	close(fetching);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(spool__is_idle(&spool, 0));
}

/* Lost otherwise: space that the server's own request needs, or what is known of the recovery. */
TEST(all_segments_are_cleared)
{
	assert_int_equal(spool__clear(&spool), 0);
	make_file(SEGMENT);
	make_file("000000010000000000000002");
	make_file("000000010000000000000003.12.tmp");
	make_file("recovery");
	make_file(SEGMENT ".lock");
	assert_int_equal(spool__clear(&spool), 3);
	assert_int_equal(spool__clear(&spool), 0);
	assert_int_equal(chdir(spool.path), 0);
	assert_int_equal(unlink(SEGMENT ".lock") | unlink("recovery"), 0);
	assert_int_equal(chdir("/"), 0);
}

UNIT_MAIN(NULL, NULL, set_up, tear_down)
