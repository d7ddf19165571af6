/*
 * serve.c
 *		`redoahead serve`: its options.  What the daemon does is in daemon/.
 */
#include "cmd/cmd.h"
#include "cmd/prefetch_options.h"
#include "common/redoahead_abi.h"
#include "daemon/daemon.h"

#define VALUE(member)	offsetof(struct daemon_options, member)

static const struct option_spec options[] = {
	{"socket", "PATH", OPTION_TEXT, VALUE(socket), .initial = REDOAHEAD_DEFAULT_SOCKET,
	.text = "socket the server connects to, relative to the data directory"},
	PREFETCH_OPTIONS(struct daemon_options),
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

	if (options__parse(&command, argc, argv, &values.prefetch.pgdata, &values) < 0)
		return EXIT_FAILED;
	return daemon__run(&values) < 0 ? EXIT_FAILED : EXIT_OK;
}
