/*
 * trace.c
 *		`redoahead trace`: its options.
 *
 * What it does is in trace/tracer.c, and its reports are in report/.
 */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"
#include "base/textfile.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "probe/probe.h"
#include "report/findings.h"
#include "trace/tracer.h"

struct trace_arguments
{
	const char *output;			/* file for reports, or NULL */
	double		interval;		/* time between reports, s; 0: one at the end */
	uint64_t	count;			/* reports until the trace stops, 0: no limit */
	uint64_t	buffer;			/* ring buffer, bytes */
	bool		json;			/* JSON, not text */
	const char *names;			/* auto or off */
	const char *attach;			/* attach method, or NULL */
};

#define MEMBER(name)	offsetof(struct trace_arguments, name)

static const struct option_spec options[] = {
	{"interval", "SECONDS", OPTION_DECIMAL, MEMBER(interval), 0.1, 86400, NULL, NULL,
	.text = "time between reports while recovery runs; without it there is one at the end"},
	{"count", "REPORTS", OPTION_INTEGER, MEMBER(count), 1, UINT32_MAX, NULL, NULL,
	.text = "stop after this many intervals"},
	{"json", NULL, OPTION_FLAG, MEMBER(json), 0, 0, NULL, NULL,
	.text = "report as JSON, one object on each line"},
	{"output", "FILE", OPTION_TEXT, MEMBER(output), 0, 0, NULL, "standard output",
	.text = "write reports to FILE"},
	{"attach", PROBE_PREFERRED "|" PROBE_FALLBACK, OPTION_CHOICE, MEMBER(attach), 0, 0, NULL,
		"the first one that works",
	.text = "attach the BPF programs by this method, or fail"},
	{"buffer", "BYTES", OPTION_INTEGER, MEMBER(buffer), 4096, 1073741824, "16777216", NULL,
	.text = "ring buffer for events, a power of two"},
	{"names", "auto|off", OPTION_CHOICE, MEMBER(names), 0, 0, "auto", NULL,
	.text = "get names of relations for the last report from a server that takes connections"},
	{0}
};

static bool
check(void *values, char message[OPTIONS_MESSAGE_BYTES])
{
	const struct trace_arguments *arguments = values;

	if (arguments->count > 0 && arguments->interval == 0)
		snprintf(message, OPTIONS_MESSAGE_BYTES, "--count needs --interval");
	else if ((arguments->buffer & (arguments->buffer - 1)) != 0)
		snprintf(message, OPTIONS_MESSAGE_BYTES, "--buffer=%llu: not a power of two",
				 (unsigned long long) arguments->buffer);
	else
		return true;
	return false;
}

static const struct options_command command = {
	.options = options,
	.doc = "Follows the recovery that runs on a data directory, or the next one, and reports "
	"for each block that redo read whether it was in the page cache in time, and if not, why."
	"\vRuns until recovery has ended, or until SIGINT or SIGTERM; reports then. Needs root, or "
	"CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE.",
	.check = check,
};

/* Trace one recovery, with reports to a file. */
static int
trace(const struct cluster *cluster, const struct trace_arguments *arguments, FILE *output)
{
	const struct trace_config config = {
		.cluster = cluster,
		.attach_method = arguments->attach,
		.buffer_bytes = (uint32_t) arguments->buffer,
		.interval_us = (uint64_t) (arguments->interval * 1e6),
		.count = arguments->count,
		.names = strcmp(arguments->names, "auto") == 0,
		.signal_fd = signals__open(),
		.report = arguments->json ? findings__json : findings__text,
		.output = output,
	};
	int			err;

	if (config.signal_fd < 0)
	{
		log_error("cannot start: %s; give this process more descriptors",
				  strerror(-config.signal_fd));
		return config.signal_fd;
	}
	err = tracer__run(&config);
	close(config.signal_fd);
	return err;
}

/* The subcommand. */
int
cmd__trace(int argc, char **argv)
{
	struct trace_arguments arguments = {0};
	const char *pgdata = NULL;
	struct cluster cluster;
	FILE	   *output = stdout;
	int			err = 0;

	if (options__parse(&command, argc, argv, &pgdata, &arguments) < 0)
		return EXIT_FAILED;
	if (cluster__open(&cluster, pgdata) < 0)
		return EXIT_FAILED;
	err = cluster__check_owner(&cluster);
	if (err == 0 && arguments.output != NULL)
		err = textfile__open_own(&output, arguments.output, "--output");
	/* Root's groups would add to the owner's rights. */
	if (err == 0 && geteuid() == 0)
		(void) setgroups(0, NULL);
	if (err == 0)
		err = trace(&cluster, &arguments, output);
	if (output != stdout && textfile__close(output, "--output") < 0)
		err = -EIO;
	cluster__close(&cluster);
	return err < 0 ? EXIT_FAILED : EXIT_OK;
}
