/*
 * follow.c
 *		`redoahead follow`: its options.  What it does is in follow/.
 */
#include "cmd/cmd.h"
#include "cmd/monitor_options.h"
#include "cmd/options.h"
#include "engine/setup.h"
#include "follow/follow.h"
#include "follow/position.h"
#include "probe/probe.h"

#define VALUE(member)	offsetof(struct follow_options, member)

static const struct option_spec options[] = {
	{"position", "auto|" POSITION_METHODS, OPTION_CHOICE, VALUE(position), .initial = "auto",
	.text = "how to see what redo has reached; auto is the best that works"},
	{"attach", PROBE_PREFERRED "|" PROBE_FALLBACK, OPTION_CHOICE, VALUE(attach),
	.text = "attach the BPF program by this method, or not at all"},
	{"io-depth", "BLOCKS", OPTION_INTEGER, VALUE(io_depth), 1, 4096, SETUP_IO_DEPTH,
	.text = "most blocks in flight"},
	{"readahead-limit", "BLOCKS", OPTION_INTEGER, VALUE(readahead_limit), 1, 1048576,
		SETUP_READAHEAD_LIMIT,
	.text = "most blocks read ahead of redo"},
	{"files", "FILES", OPTION_INTEGER, VALUE(files), 1, 1000000, SETUP_FILES,
	.text = "most data files kept open, fewer if the limit of the process is lower"},
	{"backend", "auto|io_uring|fadvise", OPTION_CHOICE, VALUE(backend), .initial = "auto",
	.text = "how to read; auto is the first that works"},
	{"block-log", "FILE", OPTION_TEXT, VALUE(block_log),
	.text = "write a line for each block to FILE"},
	{"stats", "FILE", OPTION_TEXT, VALUE(statistics),
	.text = "keep all counters in FILE, as JSON, from the first recovery on"},
	{"timeline", "FILE", OPTION_TEXT, VALUE(timeline),
	.text = "write a line for each tenth of a second of a recovery to FILE"},
	MONITOR_OPTIONS(struct follow_options),
	{0}
};

static const struct options_command command = {
	.options = options,
	.doc = "Waits for recoveries of a server that is not patched, decodes the WAL ahead of redo and "
	"reads the blocks that redo will need into the page cache.\v"
	"Runs in the foreground until SIGTERM or SIGINT, as the owner of the data directory; "
	"started by root it becomes that user. Only reads the server's files.",
};

/* Follow one cluster until a signal arrives. */
int
cmd__follow(int argc, char **argv)
{
	struct follow_options values = {0};

	if (options__parse(&command, argc, argv, &values.pgdata, &values) < 0)
		return EXIT_FAILED;
	return follow__run(&values) < 0 ? EXIT_FAILED : EXIT_OK;
}
