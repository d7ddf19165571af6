/*
 * prefault.c
 *		`redoahead prefault`: its options.  What it does is in prefault/.
 */
#include <unistd.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "engine/setup.h"
#include "prefault/prefault.h"

struct prefault_arguments
{
	struct prefault_options options;
	struct option_words words;	/* positions and segments */
};

#define MEMBER(member)	offsetof(struct prefault_arguments, options.member)

static const struct option_spec options[] = {
	{"wal", "DIRECTORY", OPTION_TEXT, MEMBER(wal), .initial_text = "pg_wal",
	.text = "where the WAL is: an archive, for example"},
	{"timeline", "ID", OPTION_INTEGER, MEMBER(timeline), 1, UINT32_MAX,
	.initial_text = "that of the next recovery",
	.text = "timeline of the positions, with those that it branched off from"},
	{"decompress", "COMMAND", OPTION_TEXT, MEMBER(decompress),
	.text = "shell command that decompresses a segment from standard input to standard output, as "
	"in 'zstd -dc'; its name goes on behind a dot"},
	{"relation", "TABLESPACE/DATABASE/RELFILENUMBER", OPTION_TEXT, MEMBER(relation),
	.text = "only blocks of this relation"},
	{"dry-run", NULL, OPTION_FLAG, MEMBER(dry_run), .text = "list the blocks, and read none"},
	{"limit-rate", "MB", OPTION_DECIMAL, MEMBER(limit_rate), 0.1, 1000000,
	.text = "read at most so many MB of blocks in a second"},
	{"io-depth", "BLOCKS", OPTION_INTEGER, MEMBER(io_depth), 1, 4096, SETUP_IO_DEPTH,
	.text = "most blocks in flight"},
	{"backend", "auto|io_uring|fadvise", OPTION_CHOICE, MEMBER(backend), .initial = "auto",
	.text = "how to read; auto is the first that works"},
	{"progress", NULL, OPTION_FLAG, MEMBER(progress), .text = "report progress each second"},
	{"json", NULL, OPTION_FLAG, MEMBER(json), .text = "print a summary as JSON"},
	{0}
};

static const struct options_command command = {
	.options = options,
	.words = "[FROM-LSN..[TO-LSN]|SEGMENT]...",
	.words_offset = offsetof(struct prefault_arguments, words),
	.doc = "Reads the blocks into the page cache that redo of a part of WAL will read, each of "
	"them once. The server, which need not be patched, may run or not.\v"
	"FROM-LSN and TO-LSN are positions such as 0/3000028; SEGMENT is the name of a segment, or the "
	"path of one. Without any, WAL is read from where the next recovery begins to its end. Only reads files; started by root, it becomes the owner of the "
	"data directory.",
};

/* Prefault once. */
int
cmd__prefault(int argc, char **argv)
{
	struct prefault_arguments values = {0};

	if (options__parse(&command, argc, argv, &values.options.pgdata, &values) < 0)
		return EXIT_FAILED;
	values.options.words = values.words.words;
	values.options.word_count = values.words.count;
	/* It would run as the owner, whose other processes could change it, and use our terminal. */
	if (values.options.decompress != NULL && geteuid() == 0)
	{
		log_error("--decompress runs no command for root; start this as the owner of the data "
				  "directory");
		return EXIT_FAILED;
	}
	return prefault__run(&values.options, NULL) < 0 ? EXIT_FAILED : EXIT_OK;
}
