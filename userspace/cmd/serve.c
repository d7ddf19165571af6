/*
 * serve.c
 *		`redoahead serve`: its options.  What the daemon does is in daemon/.
 */
#include "cmd/cmd.h"
#include "cmd/monitor_options.h"
#include "cmd/options.h"
#include "common/redoahead_abi.h"
#include "daemon/daemon.h"
#include "engine/setup.h"

#define VALUE(member)	offsetof(struct daemon_options, member)

static const struct option_spec options[] = {
	{"socket", "PATH", OPTION_TEXT, VALUE(socket), .initial = REDOAHEAD_DEFAULT_SOCKET,
	.text = "socket the server connects to, relative to the data directory"},
	{"io-depth", "BLOCKS", OPTION_INTEGER, VALUE(io_depth), 1, 4096, SETUP_IO_DEPTH,
	.text = "most blocks in flight"},
	{"readahead-limit", "BLOCKS", OPTION_INTEGER, VALUE(readahead_limit), 1, 1048576, SETUP_READAHEAD_LIMIT,
	.text = "most blocks read ahead of redo"},
	{"files", "FILES", OPTION_INTEGER, VALUE(files), 1, 1000000, SETUP_FILES,
	.text = "most data files kept open, fewer if the limit of the process is lower"},
	{"backend", "auto|io_uring|fadvise", OPTION_CHOICE, VALUE(backend), .initial = "auto",
	.text = "how to read; auto is the first that works"},
	{"block-log", "FILE", OPTION_TEXT, VALUE(block_log),
	.text = "write a line for each block to FILE"},
	{"stats", "FILE", OPTION_TEXT, VALUE(statistics),
	.text = "keep all counters in FILE, as JSON"},
	{"timeline", "FILE", OPTION_TEXT, VALUE(timeline),
	.text = "write a line for each tenth of a second of a recovery to FILE"},
	MONITOR_OPTIONS(struct daemon_options),
	{0}
};

static const struct options_command command = {
	.options = options,
	.doc = "Waits for a patched server's startup process and reads the blocks that "
	"recovery will need into the page cache.\v"
	"Runs in the foreground until SIGTERM or SIGINT, as the owner of the data directory; "
	"started by root it becomes that user.",
};

/* Serve one cluster until a signal arrives. */
int
cmd__serve(int argc, char **argv)
{
	struct daemon_options values = {0};

	if (options__parse(&command, argc, argv, &values.pgdata, &values) < 0)
		return EXIT_FAILED;
	return daemon__run(&values) < 0 ? EXIT_FAILED : EXIT_OK;
}
