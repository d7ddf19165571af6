/*
 * check.c
 *		`redoahead check`: its options.  What it does is in check/.
 */
#include "check/check.h"
#include "cmd/cmd.h"
#include "cmd/options.h"

#define VALUE(member)	offsetof(struct check_options, member)

static const struct option_spec options[] = {
	{"bindir", "DIRECTORY", OPTION_TEXT, VALUE(bindir),
	.initial_text = "that of the last start, or else where packages have it",
	.text = "directory of the server's programs"},
	{"config-file", "FILE", OPTION_TEXT, VALUE(config_file),
	.initial_text = "that of the last start, or else where packages have it",
	.text = "the server's postgresql.conf"},
	{"json", NULL, OPTION_FLAG, VALUE(json), .text = "print the report as JSON"},
	{0}
};

static const struct options_command command = {
	.options = options,
	.doc = "Checks what redoahead needs of kernel, file system and server: a line for each need, "
	"which is ok, a warning, or a problem with its remedy.\v"
	"The server may run or not, and nothing is changed. Started by root, it becomes the owner of "
	"the data directory. The exit status is 0 without a problem, 1 with one, and 2 if the data "
	"directory cannot be checked.",
};

/* Check once. */
int
cmd__check(int argc, char **argv)
{
	struct check_options values = {0};
	bool		problems = false;

	if (options__parse(&command, argc, argv, &values.pgdata, &values) < 0 ||
		check__run(&values, &problems) < 0)
		return EXIT_USAGE;
	return problems ? EXIT_FAILED : EXIT_OK;
}
