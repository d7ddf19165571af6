/*
 * status.c
 *		`redoahead status`: its options.  What it does is in status/.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/status_document.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "status/client.h"
#include "status/status.h"

#define VALUE(member)	offsetof(struct status_options, member)

static const struct option_spec options[] = {
	{"socket", "PATH", OPTION_TEXT, VALUE(socket), .initial_text = STATUS_DOCUMENT_SOCKET,
	.text = "status socket of the daemon; if not absolute, relative to the data directory"},
	{"watch", "SECONDS", OPTION_DECIMAL, VALUE(watch), 0.1, 3600, .bare = "1",
	.text = "show the status all the time, and read it each so many seconds"},
	{"json", NULL, OPTION_FLAG, VALUE(json), .text = "print the status as JSON"},
	{"prometheus", NULL, OPTION_FLAG, VALUE(prometheus),
	.text = "print the status as metrics for Prometheus"},
	{"probe", "SECONDS", OPTION_INTEGER, VALUE(probe), 1, 86400, .bare = "60",
	.text = "exit with 1 if a recovery has not advanced for so many seconds, else with 0"},
	{0}
};

static bool
check(void *values, char message[OPTIONS_MESSAGE_BYTES])
{
	struct status_options *arguments = values;

	if (arguments->pgdata == NULL)
		arguments->pgdata = getenv("PGDATA");
	if (arguments->socket != NULL && arguments->socket[0] == '\0')
		snprintf(message, OPTIONS_MESSAGE_BYTES, "--socket=: give the path of a socket");
	else if ((arguments->pgdata == NULL || arguments->pgdata[0] == '\0') &&
			 arguments->socket == NULL)
		snprintf(message, OPTIONS_MESSAGE_BYTES, "no data directory; give one with -D or in PGDATA, "
				 "or the daemon's socket with --socket");
	else if ((arguments->watch > 0) + (arguments->probe > 0) + arguments->json +
			 arguments->prometheus > 1)
		snprintf(message, OPTIONS_MESSAGE_BYTES,
				 "give one of --watch, --json, --prometheus and --probe");
	else
		return true;
	return false;
}

static const struct options_command command = {
	.options = options,
	.pgdata_optional = true,
	.doc = "Shows what a daemon and the recovery of its server do: phase, positions, rate, time "
	"left. The server need not take connections.\v"
	"The owner of the data directory, root, and members of the daemon's --status-group may run it.",
	.check = check,
};

/* Show the status. */
int
cmd__status(int argc, char **argv)
{
	struct status_options values = {0};

	if (options__parse(&command, argc, argv, &values.pgdata, &values) < 0)
		return EXIT_FAILED;
	return status__run(&values) < 0 ? EXIT_FAILED : EXIT_OK;
}
