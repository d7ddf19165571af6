/*
 * trace.c
 *		`redoahead trace`: options and output.
 *
 * What it then does is in trace/tracer.c.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "trace/tracer.h"
#include "base/log.h"
#include "base/signals.h"

#define DEFAULT_BUFFER	(16 * 1024 * 1024)
#define MIN_BUFFER		4096
#define MAX_BUFFER		(1024 * 1024 * 1024)
#define MAX_INTERVAL	86400

struct trace_arguments
{
	const char *pgdata;			/* data directory */
	const char *output;			/* file for reports, or NULL */
	double		interval;		/* time between reports, s; 0: one at the end */
	uint64_t	count;			/* reports until we stop, 0: no limit */
	uint32_t	buffer;			/* ring buffer, bytes */
	bool		json;			/* JSON, not text */
	bool		names;			/* look up names of relations */
	struct attach_choice attach;	/* how to attach */
};

enum
{
	OPTION_INTERVAL = 256,
	OPTION_COUNT,
	OPTION_JSON,
	OPTION_OUTPUT,
	OPTION_ATTACH,
	OPTION_BUFFER,
	OPTION_NAMES
};

static const struct argp_option options[] = {
	{"pgdata", 'D', "DIRECTORY", 0, "data directory of the server (default: $PGDATA)", 0},
	{"interval", OPTION_INTERVAL, "SECONDS", 0,
	"report so often while recovery runs, 0.1 to 86400 (default: only at the end)", 0},
	{"count", OPTION_COUNT, "REPORTS", 0, "stop after so many intervals (default: never)", 0},
	{"json", OPTION_JSON, NULL, 0, "report as JSON, one object on each line", 0},
	{"output", OPTION_OUTPUT, "FILE", 0, "write reports to FILE (default: standard output)", 0},
	{"attach", OPTION_ATTACH, "POINT=WAY,...", 0,
	"how to observe something, or fail (default: the best way that works)", 0},
	{"buffer", OPTION_BUFFER, "BYTES", 0,
		"ring buffer for events, a power of two from 4096 to 1073741824 (default: 16777216)",
	0},
	{"names", OPTION_NAMES, "auto|off", 0,
		"in the last report, ask a server that takes connections for names of relations "
		"(default: auto)",
	0},
	{"verbose", 'v', NULL, 0, "log more", 0},
	{0}
};

static double
parse_interval(struct argp_state *state, const char *text)
{
	char	   *end;
	double		seconds;

	errno = 0;
	seconds = strtod(text, &end);
	if (errno != 0 || end == text || *end != '\0' ||
		!(seconds >= 0.1 && seconds <= MAX_INTERVAL))
		argp_error(state, "--interval=%s: not a number from 0.1 to %d", text, MAX_INTERVAL);
	return seconds;
}

static void
parse_attach(struct argp_state *state, struct attach_choice *choice, const char *text)
{
	const char *wrong = text;
	char	   *copy = strdup(text);	/* the choice points into it */

	if (copy == NULL || attach__parse(choice, copy, &wrong) < 0)
		argp_error(state, "--attach=%s: \"%s\" is no POINT=WAY; --help lists them", text, wrong);
}

static error_t
parse_option(int key, char *value, struct argp_state *state)
{
	struct trace_arguments *arguments = state->input;

	switch (key)
	{
		case OPTION_INTERVAL:
			arguments->interval = parse_interval(state, value);
			break;
		case OPTION_COUNT:
			arguments->count = options__number(state, "count", value, 1, UINT32_MAX);
			break;
		case OPTION_JSON:
			arguments->json = true;
			break;
		case OPTION_OUTPUT:
			arguments->output = value;
			break;
		case OPTION_ATTACH:
			parse_attach(state, &arguments->attach, value);
			break;
		case OPTION_BUFFER:
			arguments->buffer = (uint32_t) options__number(state, "buffer", value,
														MIN_BUFFER, MAX_BUFFER);
			if ((arguments->buffer & (arguments->buffer - 1)) != 0)
				argp_error(state, "--buffer=%s: not a power of two", value);
			break;
		case OPTION_NAMES:
			arguments->names = strcmp(value, "auto") == 0;
			if (!arguments->names && strcmp(value, "off") != 0)
				argp_error(state, "--names=%s: neither \"auto\" nor \"off\"", value);
			break;
		case ARGP_KEY_END:
			if (arguments->count > 0 && arguments->interval == 0)
				argp_error(state, "--count needs --interval");
			return options__common(key, value, state, &arguments->pgdata);
		default:
			return options__common(key, value, state, &arguments->pgdata);
	}
	return 0;
}

/* Add the points and their ways to --help. */
static char *
filter_help(int key, const char *text, void *input)
{
	char	   *all;

	(void) input;
	if (key != ARGP_KEY_HELP_POST_DOC || asprintf(&all, "%s\n%s", text, attach__help()) < 0)
		return (char *) text;
	return all;
}

static const struct argp parser = {
	.options = options,
	.parser = parse_option,
	.doc = "Follows the recovery that runs on a data directory, or the next one, and tells "
	"for each block that redo read whether it was there in time, and if not, why not.\v"
	"Runs until recovery has ended, or until SIGINT or SIGTERM; reports then. Needs root, or "
	"CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE. Points to observe, and ways to do it:",
	.help_filter = filter_help,
};

/* Trace one recovery. */
int
cmd__trace(int argc, char **argv)
{
	struct trace_arguments arguments = {.buffer = DEFAULT_BUFFER,.names = true};
	struct trace_config config;
	struct cluster cluster;
	FILE	   *output = stdout;
	int			signal_fd;
	int			err;

	if (argp_parse(&parser, argc, argv, 0, NULL, &arguments) != 0)
		return EXIT_USAGE;
	if (cluster__open(&cluster, arguments.pgdata) < 0)
		return EXIT_FAILED;
	if (arguments.output != NULL)
		output = fopen(arguments.output, "we");
	if (output == NULL)
	{
		log_error("report file \"%s\" cannot be written: %s; give another one with --output",
				  arguments.output, strerror(errno));
		cluster__close(&cluster);
		return EXIT_FAILED;
	}
	signal_fd = signals__open();
	if (signal_fd < 0)
	{
		log_error("cannot start: %s; give this process more descriptors", strerror(-signal_fd));
		return EXIT_FAILED;
	}
	config = (struct trace_config)
	{
		.cluster = &cluster,
		.attach = &arguments.attach,
		.buffer_bytes = arguments.buffer,
		.interval_us = (uint64_t) (arguments.interval * 1e6),
		.count = arguments.count,
		.json = arguments.json,
		.names = arguments.names,
		.signal_fd = signal_fd,
		.output = output,
	};
	err = tracer__run(&config);
	if (output != stdout && fclose(output) != 0)
	{
		log_error("report file \"%s\" is incomplete: %s; make room for it",
				  arguments.output, strerror(errno));
		err = -EIO;
	}
	cluster__close(&cluster);
	return err < 0 ? EXIT_FAILED : EXIT_OK;
}
