/*
 * follow.c
 *		`redoahead follow`: its options.  What it does is in follow/.
 */
#include "cmd/cmd.h"
#include "cmd/prefetch_options.h"
#include "follow/follow.h"
#include "follow/position.h"
#include "probe/probe.h"

#define VALUE(member)	offsetof(struct follow_options, member)

static const struct option_spec options[] = {
	{"position", "auto|" POSITION_METHODS, OPTION_CHOICE, VALUE(position), .initial = "auto",
	.text = "how to see what redo has reached; auto is the best that works"},
	{"attach", PROBE_PREFERRED "|" PROBE_FALLBACK, OPTION_CHOICE, VALUE(attach),
	.text = "attach the BPF program by this method, or not at all"},
	PREFETCH_OPTIONS(struct follow_options),
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

	if (options__parse(&command, argc, argv, &values.prefetch.pgdata, &values) < 0)
		return EXIT_FAILED;
	return follow__run(&values) < 0 ? EXIT_FAILED : EXIT_OK;
}
