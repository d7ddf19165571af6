/*
 * lesslog.c
 *		`redoahead lesslog`: its options.  What it does is in lesslog/.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "lesslog/content.h"
#include "lesslog/lesslog.h"

struct lesslog_arguments
{
	struct lesslog_options options;
	const char *compress;		/* method and level */
	struct option_words words;	/* the file, and what it becomes */
};

#define STRING(number)	#number
#define NUMBER(macro)	STRING(macro)
#define LEVELS	NUMBER(COMPRESS_MIN_LEVEL) " to " NUMBER(COMPRESS_MAX_LEVEL)

static const struct option_spec options[] = {
	{"compress", "none|lz4|zstd[:LEVEL]", OPTION_TEXT, offsetof(struct lesslog_arguments, compress),
		.initial = "none",
	.text = "how to compress each file, also one that is no segment; LEVEL is " LEVELS},
	{"json", NULL, OPTION_FLAG, offsetof(struct lesslog_arguments, options.json),
	.text = "print a summary as JSON"},
	{0}
};

/* Set method and level from --compress.  False if it has none. */
static bool
set_method(struct lesslog_options *chosen, const char *text)
{
	unsigned long level;
	char	   *end;

	chosen->level = COMPRESS_DEFAULT_LEVEL;
	chosen->method = strcmp(text, "none") == 0 ? COMPRESS_NONE :
		strcmp(text, "lz4") == 0 ? COMPRESS_LZ4 : COMPRESS_ZSTD;
	if (chosen->method != COMPRESS_ZSTD || strcmp(text, "zstd") == 0)
		return true;
	if (strncmp(text, "zstd:", strlen("zstd:")) != 0)
		return false;
	text += strlen("zstd:");
	level = strtoul(text, &end, 10);
	chosen->level = (int) level;
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' &&
		level >= COMPRESS_MIN_LEVEL && level <= COMPRESS_MAX_LEVEL;
}

static bool
check(void *values, char message[OPTIONS_MESSAGE_BYTES])
{
	struct lesslog_arguments *arguments = values;

	if (!set_method(&arguments->options, arguments->compress))
		snprintf(message, OPTIONS_MESSAGE_BYTES,
				 "--compress=%s: not none, lz4, zstd, or zstd:LEVEL with a number from " LEVELS,
				 arguments->compress);
	else if (arguments->words.count != 2)
		snprintf(message, OPTIONS_MESSAGE_BYTES, "give PATH and OUT: %u words are not two",
				 arguments->words.count);
	else if (arguments->options.json && strcmp(arguments->words.words[1], CONTENT_STREAM) == 0)
		snprintf(message, OPTIONS_MESSAGE_BYTES,
				 "--json and the content cannot both go to standard output");
	else
		return true;
	return false;
}

static const struct options_command command = {
	.options = options,
	.words = "PATH OUT",
	.words_offset = offsetof(struct lesslog_arguments, words),
	.doc = "For archive_command: archives the file PATH as OUT, a segment of WAL without the "
	"full-page images that redo can do without.\v"
	"PATH - is standard input, OUT - is standard output. In postgresql.conf: archive_command = "
	"'redoahead lesslog --compress zstd %p /archive/%f.zst'. redoahead-lesslog(1) has a "
	"restore_command for that.",
	.check = check,
};

/* Archive one file. */
int
cmd__lesslog(int argc, char **argv)
{
	struct lesslog_arguments values = {0};

	if (options__parse(&command, argc, argv, NULL, &values) < 0)
		return EXIT_FAILED;
	values.options.path = values.words.words[0];
	values.options.out = values.words.words[1];
	return lesslog__run(&values.options) < 0 ? EXIT_FAILED : EXIT_OK;
}
