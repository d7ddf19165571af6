/*
 * test_confined.c
 *		A child without rights: what it may do, and what its answers may be.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confined.h"
#include "cluster/symbol.h"
#include "unit.h"

/* What the child reports of itself. */
struct report
{
	uint32_t	uid;			/* its user */
	uint32_t	capabilities;	/* 1: it has some */
	uint32_t	descriptors;	/* besides the socket and the file */
	uint32_t	opens;			/* 1: it can read a file that only root may */
	uint32_t	becomes_root;	/* 1: it can become root again */
	uint32_t	forks;			/* 1: it can make a process */
	char		byte;			/* of the file */
};

static int
report_rights(int fd, const void *argument, void *answer)
{
	struct report *report = answer;
	char		text[4096];
	const char *line;
	ssize_t		n;
	pid_t		child;
	int			status;

	report->uid = geteuid();
	status = open("/proc/self/status", O_RDONLY);
	n = status < 0 ? -1 : read(status, text, sizeof(text) - 1);
	text[n < 0 ? 0 : n] = '\0';
	line = strstr(text, "CapPrm:");
	report->capabilities = line == NULL || strtoull(line + 7, NULL, 16) != 0;
	close(status);
	for (int i = 0; i < 1024; i++)
		report->descriptors += i != STDIN_FILENO && i != fd && fcntl(i, F_GETFD) >= 0;
	report->opens = open("/etc/shadow", O_RDONLY) >= 0;
	report->becomes_root = setresuid(0, 0, 0) == 0;
	child = fork();
	if (child == 0)
		_exit(0);
	report->forks = child > 0;
	return pread(fd, &report->byte, 1, 0) == 1 ? 0 : -EIO;
}

/* Lost otherwise: root's rights, to who breaks the parser with a file. */
TEST(has_no_rights)
{
	int			file = memfd_create("input", 0);
	struct confined confined;
	struct report report = {0};

	assert_int_equal(write(file, "x", 1), 1);
	assert_int_equal(confined__start(&confined, report_rights, NULL, sizeof(report)), 0);
	assert_int_equal(confined__call(&confined, file, &report), 0);
	assert_int_equal(report.byte, 'x');
	assert_int_equal(report.uid, geteuid() == 0 ? 65534 : geteuid());
	assert_int_equal(report.capabilities, 0);
	assert_int_equal(report.descriptors, 0);
	assert_int_equal(report.opens, 0);
	assert_int_equal(report.becomes_root, 0);
	if (geteuid() == 0)
		assert_int_equal(report.forks, 0);
	assert_int_equal(confined__call(&confined, file, &report), 0);
	confined__end(&confined);
	close(file);
}

/* The child may do anything. */
static int
misbehave(int fd, const void *argument, void *answer)
{
	char		large[1024] = {0};
	void	   *volatile memory = answer;

	memset(answer, 1, 8);
	switch (*(const char *) argument)
	{
		case 'c':				/* crash */
			raise(SIGSEGV);
			break;
		case 'e':				/* end */
			_exit(0);
		case 's':				/* too short */
			send(STDIN_FILENO, large, 3, 0);
			break;
		case 'l':				/* too long */
			send(STDIN_FILENO, large, sizeof(large), 0);
			break;
		case 'p':				/* no errno */
			return 1;
		case 'n':				/* neither */
			return -100000;
		case 'm':				/* all memory */
			while (memory != NULL)
				memory = malloc(1024 * 1024);
			return -ENOMEM;
		case 'h':				/* hang */
			pause();
	}
	return 0;
}

static int
outcome(const char *how)
{
	struct confined confined;
	char		answer[8] = {0};
	pid_t		child;
	int			err;

	assert_int_equal(confined__start(&confined, misbehave, how, sizeof(answer)), 0);
	child = confined.child;
	err = confined__call(&confined, STDERR_FILENO, answer);
	if (err != 0 && err != -ENOMEM)
	{
		/* It is gone, and its answer is not used. */
		assert_int_equal(answer[0], 0);
		assert_int_equal(waitpid(child, NULL, WNOHANG), -1);
		assert_int_equal(confined__call(&confined, STDERR_FILENO, answer), -ESRCH);
	}
	confined__end(&confined);
	return err;
}

/* Lost otherwise: the trace, or its memory, to who answers with something else. */
TEST(malformed_answers_are_errors)
{
	assert_int_equal(outcome("good"), 0);
	assert_int_equal(outcome("crash"), -EPROTO);
	assert_int_equal(outcome("end"), -EPROTO);
	assert_int_equal(outcome("short"), -EPROTO);
	assert_int_equal(outcome("long"), -EPROTO);
	assert_int_equal(outcome("positive"), -EPROTO);
	assert_int_equal(outcome("no errno"), -EPROTO);
	assert_int_equal(outcome("memory"), -ENOMEM);
	assert_int_equal(outcome("hang"), -ETIMEDOUT);
}

TEST(larger_answers_are_refused)
{
	struct confined confined;

	assert_int_equal(confined__start(&confined, misbehave, "", CONFINED_ANSWER_BYTES + 1), -EINVAL);
}

/* A variable of this program that it exports, as servers do theirs. */
__attribute__((visibility("default"))) int symbol_of_test;

/* Lost otherwise: the record in replay, or a trace that crashes by a damaged program. */
TEST(damaged_programs_are_errors)
{
	struct confined reader;
	uint64_t	address = 0;
	char		whole[4096];
	char		program[sizeof(whole)];
	int			own = open("/proc/self/exe", O_RDONLY);
	int			file = memfd_create("program", 0);
	struct symbol_offsets offsets;
	unsigned	seed = 1;

	assert_int_equal(symbol__start(&reader, "symbol_of_test"), 0);
	assert_int_equal(symbol__find(&reader, getpid(), &address), 0);
	assert_ptr_equal((void *) address, &symbol_of_test);

	/* Truncated. */
	assert_int_equal(read(own, whole, sizeof(whole)), sizeof(whole));
	assert_true(confined__call(&reader, file, &offsets) < 0);
	for (size_t length = 0; length < sizeof(whole); length = length * 2 + 1)
	{
		assert_int_equal(ftruncate(file, 0), 0);
		assert_int_equal(pwrite(file, whole, length, 0), length);
		assert_true(confined__call(&reader, file, &offsets) < 0);
	}
	/* Random from some byte on, ELF header or not. */
	for (int round = 0; round < 200; round++)
	{
		memcpy(program, whole, sizeof(program));
		for (size_t i = (size_t) round % 64; i < sizeof(program); i++)
			program[i] = (char) rand_r(&seed);
		assert_int_equal(pwrite(file, program, sizeof(program), 0), sizeof(program));
		(void) confined__call(&reader, file, &offsets);
		if (reader.child == 0)
			assert_int_equal(symbol__start(&reader, "symbol_of_test"), 0);
	}
	assert_int_equal(symbol__find(&reader, getpid(), &address), 0);
	confined__end(&reader);
	close(own);
	close(file);
}

UNIT_MAIN(NULL, NULL, NULL, NULL)
