/*
 * serve.c
 *		`redoahead serve`: options, privileges, limits, and the choice of how
 *		to read.
 *
 * What the daemon then does is in serve_loop.c.
 */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/serve_loop.h"
#include "engine/block_queue.h"
#include "base/log.h"

/* Descriptors that are not of data files. */
#define OTHER_DESCRIPTORS	32

#define DEFAULT_IO_DEPTH		1024
#define DEFAULT_READAHEAD_LIMIT		65536
#define DEFAULT_FILES		1000

#define MAX_IO_DEPTH			4096
#define MAX_READAHEAD_LIMIT			BLOCK_QUEUE_MAX_ENTRIES
#define MAX_FILES			1000000

struct serve_arguments
{
	const char *pgdata;			/* data directory */
	const char *socket;			/* path of the socket */
	const char *backend;		/* auto, io_uring or fadvise */
	const char *block_log;			/* trace file, or NULL */
	const char *stats;			/* statistics file, or NULL */
	const char *timeline;		/* timeline file, or NULL */
	unsigned	io_depth;			/* most blocks in flight */
	unsigned	readahead_limit;			/* most blocks read ahead of redo */
	unsigned	files;			/* most descriptors of data files */
};

enum
{
	OPTION_SOCKET = 256,
	OPTION_IO_DEPTH,
	OPTION_READAHEAD_LIMIT,
	OPTION_FILES,
	OPTION_BACKEND,
	OPTION_BLOCK_LOG,
	OPTION_STATS,
	OPTION_TIMELINE
};

static const struct argp_option options[] = {
	{"pgdata", 'D', "DIRECTORY", 0, "data directory of the server (default: $PGDATA)", 0},
	{"socket", OPTION_SOCKET, "PATH", 0,
		"socket the server connects to, relative to the data directory (default: "
	REDOAHEAD_DEFAULT_SOCKET ")", 0},
	{"io-depth", OPTION_IO_DEPTH, "BLOCKS", 0,
	"never more blocks than this in flight, 1 to 4096 (default: 1024)", 0},
	{"readahead-limit", OPTION_READAHEAD_LIMIT, "BLOCKS", 0,
	"never more blocks than this read ahead of redo, 1 to 1048576 (default: 65536)", 0},
	{"files", OPTION_FILES, "FILES", 0,
	"most data files kept open, fewer if the limit of the process is lower (default: 1000)", 0},
	{"backend", OPTION_BACKEND, "NAME", 0,
	"how to read: io_uring, fadvise, or auto for the first that works (default: auto)", 0},
	{"block-log", OPTION_BLOCK_LOG, "FILE", 0, "write a line for each block to FILE", 0},
	{"stats", OPTION_STATS, "FILE", 0, "keep all counters in FILE, as JSON", 0},
	{"timeline", OPTION_TIMELINE, "FILE", 0,
	"write a line for each tenth of a second of a recovery to FILE", 0},
	{"verbose", 'v', NULL, 0, "log more", 0},
	{0}
};

static error_t
parse_option(int key, char *value, struct argp_state *state)
{
	struct serve_arguments *arguments = state->input;

	switch (key)
	{
		case OPTION_SOCKET:
			arguments->socket = value;
			break;
		case OPTION_IO_DEPTH:
			arguments->io_depth = (unsigned) options__number(state, "io-depth", value, 1, MAX_IO_DEPTH);
			break;
		case OPTION_READAHEAD_LIMIT:
			arguments->readahead_limit = (unsigned) options__number(state, "readahead-limit", value, 1, MAX_READAHEAD_LIMIT);
			break;
		case OPTION_FILES:
			arguments->files = (unsigned) options__number(state, "files", value, 1, MAX_FILES);
			break;
		case OPTION_BACKEND:
			if (strcmp(value, "auto") != 0 && strcmp(value, "io_uring") != 0 &&
				strcmp(value, "fadvise") != 0)
				argp_error(state, "--backend=%s: not auto, io_uring or fadvise", value);
			arguments->backend = value;
			break;
		case OPTION_BLOCK_LOG:
			arguments->block_log = value;
			break;
		case OPTION_STATS:
			arguments->stats = value;
			break;
		case OPTION_TIMELINE:
			arguments->timeline = value;
			break;
		default:
			return options__common(key, value, state, &arguments->pgdata);
	}
	return 0;
}

static const struct argp parser = {
	.options = options,
	.parser = parse_option,
	.doc = "Waits for a patched server's startup process and brings the blocks that "
	"recovery will need into the page cache before it asks for them.\v"
	"Runs in the foreground until SIGTERM or SIGINT, as the owner of the data directory; "
	"started by root it becomes that user.",
};

/* Allow as many descriptors as we may, and want no more than that. */
static unsigned
fit_files(unsigned wanted)
{
	struct rlimit limit;
	rlim_t		usable;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return wanted;
	if (limit.rlim_cur < limit.rlim_max && limit.rlim_cur < wanted + OTHER_DESCRIPTORS)
	{
		rlim_t		before = limit.rlim_cur;

		limit.rlim_cur = limit.rlim_max;
		if (limit.rlim_cur > wanted + OTHER_DESCRIPTORS)
			limit.rlim_cur = wanted + OTHER_DESCRIPTORS;
		if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
			limit.rlim_cur = before;
	}
	usable = limit.rlim_cur > OTHER_DESCRIPTORS ? limit.rlim_cur - OTHER_DESCRIPTORS : 1;
	if (usable >= wanted)
		return wanted;
	log_info("keeping %u data files open, not %u: RLIMIT_NOFILE is %llu",
			 (unsigned) usable, wanted, (unsigned long long) limit.rlim_cur);
	return (unsigned) usable;
}

/* What to do about a refusal of io_uring. */
static const char *
uring_remedy(int err)
{
	switch (-err)
	{
		case EPERM:
			return "allow it in sysctl kernel.io_uring_disabled or in the seccomp filter";
		case ENOSYS:
			return "allow it in the seccomp filter or use a kernel with io_uring";
		case ENOMEM:
			return "raise RLIMIT_MEMLOCK or the memory limit";
		default:
			return "use --backend=fadvise";
	}
}

/* Make the engine with the backend that was asked for, or that works. */
static int
make_engine(struct engine **engine, struct engine_options *engine_options,
			const char *backend)
{
	int			err;

	if (strcmp(backend, "fadvise") != 0)
	{
		engine_options->backend = &backend_uring;
		err = engine__create(engine, engine_options);
		if (err == 0)
			return 0;
		if (strcmp(backend, "io_uring") == 0)
		{
			log_error("io_uring cannot be used: %s; %s", strerror(-err), uring_remedy(err));
			return err;
		}
		log_warning("io_uring cannot be used: %s; using posix_fadvise, which is slower; %s",
					strerror(-err), uring_remedy(err));
	}
	engine_options->backend = &backend_fadvise;
	err = engine__create(engine, engine_options);
	if (err < 0)
		log_error("cannot start: %s; lower --io-depth, --readahead-limit or --files", strerror(-err));
	return err;
}

/* Serve one cluster until told to stop. */
int
cmd__serve(int argc, char **argv)
{
	struct serve_arguments arguments = {
		.socket = REDOAHEAD_DEFAULT_SOCKET,
		.backend = "auto",
		.io_depth = DEFAULT_IO_DEPTH,
		.readahead_limit = DEFAULT_READAHEAD_LIMIT,
		.files = DEFAULT_FILES,
	};
	struct cluster cluster;
	struct block_log *block_log = NULL;
	struct timeline *timeline = NULL;
	struct engine *engine = NULL;
	struct engine_options engine_options;
	struct serve_config config;
	int			err;

	if (argp_parse(&parser, argc, argv, 0, NULL, &arguments) != 0)
		return EXIT_USAGE;

	if (cluster__open(&cluster, arguments.pgdata) < 0)
		return EXIT_FAILED;
	engine_options = (struct engine_options)
	{
		.dirfd = cluster.dirfd,
		.io_depth = arguments.io_depth,
		.readahead_limit = arguments.readahead_limit,
		.files = fit_files(arguments.files),
	};
	err = cluster__become_owner(&cluster);
	if (err == 0 && arguments.block_log != NULL)
		err = block_log__open(&block_log, arguments.block_log);
	if (err == 0 && arguments.timeline != NULL)
		err = timeline__open(&timeline, arguments.timeline);
	engine_options.block_log = block_log;
	if (err == 0)
		err = make_engine(&engine, &engine_options, arguments.backend);
	if (err == 0)
	{
		config = (struct serve_config)
		{
			.cluster = &cluster,
			.engine = engine,
			.engine_options = &engine_options,
			.socket = arguments.socket,
			.stats_path = arguments.stats,
			.timeline = timeline,
		};
		err = serve_loop__run(&config);
	}

	engine__destroy(engine);
	timeline__close(timeline);
	block_log__close(block_log);
	cluster__close(&cluster);
	return err < 0 ? EXIT_FAILED : EXIT_OK;
}
