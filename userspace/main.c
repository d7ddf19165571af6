/*
 * main.c
 *		The `redoahead` program: finds the subcommand and hands over to it.
 *
 * Knows the names of subcommands and nothing of what they do.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/signals.h"
#include "base/version.h"
#include "cmd/cmd.h"

struct subcommand
{
	const char *name;			/* as typed */
	const char *summary;		/* for --help */
	int			(*run) (int argc, char **argv);
};

static const struct subcommand subcommands[] = {
	{"check", "check what kernel, file system and server offer", cmd__check},
	{"follow", "read blocks ahead of redo of a server that is not patched", cmd__follow},
	{"lesslog", "archive WAL without full-page images, for archive_command", cmd__lesslog},
	{"prefault", "read the blocks that redo of a part of WAL will need", cmd__prefault},
	{"restore", "restore WAL from an archive ahead of redo, for restore_command", cmd__restore},
	{"serve", "bring blocks into memory for a patched server's recovery", cmd__serve},
	{"status", "show how far a recovery is and how long it will take", cmd__status},
	{"trace", "show what a recovery waits for, block by block", cmd__trace},
};

#define SUBCOMMAND_COUNT	(sizeof(subcommands) / sizeof(subcommands[0]))

static void
print_usage(FILE *out)
{
	fprintf(out, "Usage: redoahead COMMAND [OPTION...]\n"
			"Makes PostgreSQL recovery faster.\n\nCommands:\n");
	for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
		fprintf(out, "  %-10s %s\n", subcommands[i].name, subcommands[i].summary);
	fprintf(out, "\n  --help     show this help; COMMAND --help shows a command's options\n"
			"  --version  show the program's version\n");
}

/* Run a subcommand under the name that its messages and its help shall show. */
static int
run_subcommand(const struct subcommand *subcommand, int argc, char **argv)
{
	char		name[64];

	snprintf(name, sizeof(name), "redoahead %s", subcommand->name);
	argv[0] = name;
	argp_err_exit_status = EXIT_USAGE;
	argp_program_version = "redoahead " REDOAHEAD_VERSION;
	return subcommand->run(argc, argv);
}

int
main(int argc, char **argv)
{
	signals__protect();
	if (argc < 2)
	{
		print_usage(stderr);
		return EXIT_NO_COMMAND;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0)
	{
		print_usage(stdout);
		return EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
	{
		puts("redoahead " REDOAHEAD_VERSION);
		return EXIT_OK;
	}
	for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
		if (strcmp(argv[1], subcommands[i].name) == 0)
			return run_subcommand(&subcommands[i], argc - 1, argv + 1);

	fprintf(stderr, "redoahead: there is no command \"%s\"; see redoahead --help\n", argv[1]);
	return EXIT_NO_COMMAND;
}
