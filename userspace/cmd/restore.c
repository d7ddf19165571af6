/*
 * restore.c
 *		`redoahead restore`: its options.  What it does is in archive/.
 */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "archive/fetch.h"
#include "archive/restore.h"
#include "cmd/cmd.h"
#include "cmd/options.h"

struct restore_arguments
{
	struct restore_options options;
	struct option_words words;	/* the command, the file and the path */
};

static const struct option_spec options[] = {
	{"jobs", "SEGMENTS", OPTION_INTEGER, offsetof(struct restore_arguments, options.jobs), 0, 64, "8",
	.text = "segments to fetch ahead, at the same time"},
	{"no-prefault", NULL, OPTION_FLAG, offsetof(struct restore_arguments, options.no_prefault),
	.text = "do not read the blocks into the page cache that redo of these segments will need"},
	{0}
};

static bool
check(void *values, char message[OPTIONS_MESSAGE_BYTES])
{
	const struct restore_arguments *arguments = values;

	if (arguments->words.count != 3)
	{
		snprintf(message, OPTIONS_MESSAGE_BYTES, "give COMMAND, %%f and %%p: %u words are not three",
				 arguments->words.count);
		return false;
	}
	/* All segments would be fetched into the server's file, while it reads the first one. */
	if (strstr(arguments->words.words[0], "%f") == NULL ||
		strstr(arguments->words.words[0], "%p") == NULL)
	{
		snprintf(message, OPTIONS_MESSAGE_BYTES, "COMMAND names no file: write %%%%f and %%%%p in it, "
				 "for the server replaces %%f and %%p");
		return false;
	}
	return true;
}

static const struct options_command command = {
	.options = options,
	.words = "COMMAND %f %p",
	.words_offset = offsetof(struct restore_arguments, words),
	.doc = "For restore_command: has COMMAND, a shell command as restore_command takes it, restore "
	"the file that the server requests, and fetch the next segments at the same time.\v"
	"In postgresql.conf, write %%f and %%p in COMMAND, and %f and %p behind it: "
	"restore_command = 'redoahead restore \"cp /archive/%%f %%p\" %f %p'",
	.check = check,
};

/* Restore one file. */
int
cmd__restore(int argc, char **argv)
{
	struct restore_arguments values = {0};

	/* Of a smaller status the server concludes that the archive has no such file. */
	argp_err_exit_status = FETCH_CANNOT_RUN;
	if (options__parse(&command, argc, argv, NULL, &values) < 0)
		return FETCH_CANNOT_RUN;
	values.options.command = values.words.words[0];
	values.options.file = values.words.words[1];
	values.options.path = values.words.words[2];
	return restore__run(&values.options);
}
