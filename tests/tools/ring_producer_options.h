/*
 * ring_producer_options.h
 *		The options of ring_producer: what it claims, emits and does wrong.
 */
#ifndef REDOAHEAD_TESTS_RING_PRODUCER_OPTIONS_H
#define REDOAHEAD_TESTS_RING_PRODUCER_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct settings
{
	const char *socket;			/* path of the daemon's socket */
	const char *data_directory; /* as sent to the daemon */
	uint64_t	identifier;		/* system identifier, as sent */
	uint64_t	version;		/* ABI version, as sent */
	uint64_t	server_version; /* as sent */
	uint64_t	block_size;		/* as sent, bytes */
	uint64_t	segment_blocks; /* as sent */
	uint64_t	capacity;		/* of the ring, references */
	const char *tablespace_dir; /* as sent */
	uint64_t	spc;			/* of all references */
	uint64_t	db;				/* of all references */
	uint64_t	rel;			/* first relation */
	uint64_t	rels;			/* relations, numbered from rel on */
	uint64_t	fork;			/* of all references */
	uint64_t	kind;			/* of all references */
	uint64_t	blocks;			/* blocks in each relation to choose from */
	uint64_t	first_block;	/* the first of them */
	uint64_t	count;			/* references to emit */
	uint64_t	rate;			/* references per second, 0: as fast as it goes */
	uint64_t	replay;			/* replay_lsn to publish */
	uint64_t	dropped;		/* references that it claims to have dropped */
	uint64_t	lsn_step;		/* between two references, bytes of WAL */
	uint64_t	seed;			/* of the random numbers */
	bool		hot_standby;	/* queries may run */
	bool		sequential;		/* consecutive blocks, not random ones */
	bool		garbage;		/* references of random bytes */
	bool		no_wait;		/* do not wait until all is done */
	bool		hold;			/* stay connected until stdin ends, and follow it */
	const char *fault;			/* what to do wrong, or NULL: unsealed, truncated, oversized, no-fds,
								 * three-fds, not-eventfd, empty-handshake, short-handshake,
								 * long-handshake, magic,
								 * ring-magic, ring-version, ref-size, odd-capacity, refs-offset,
								 * used-ring, silent, leave, head-jump, head-back */
};

static const struct setting
{
	const char *name;			/* of the option */
	size_t		offset;			/* of its member in struct settings, bytes */
	enum
	{
		NUMBER, TEXT, FLAG
	}			type;			/* of the member */
}			options[] = {
#define OPTION(name, member, type)	{name, offsetof(struct settings, member), type}
	OPTION("data-directory", data_directory, TEXT),
	OPTION("socket", socket, TEXT),
	OPTION("tablespace-dir", tablespace_dir, TEXT),
	OPTION("fault", fault, TEXT),
	OPTION("hot-standby", hot_standby, FLAG),
	OPTION("sequential", sequential, FLAG),
	OPTION("garbage", garbage, FLAG),
	OPTION("no-wait", no_wait, FLAG),
	OPTION("hold", hold, FLAG),
	OPTION("identifier", identifier, NUMBER),
	OPTION("abi-version", version, NUMBER),
	OPTION("server-version", server_version, NUMBER),
	OPTION("block-size", block_size, NUMBER),
	OPTION("segment-blocks", segment_blocks, NUMBER),
	OPTION("capacity", capacity, NUMBER),
	OPTION("spc", spc, NUMBER),
	OPTION("db", db, NUMBER),
	OPTION("rel", rel, NUMBER),
	OPTION("rels", rels, NUMBER),
	OPTION("fork", fork, NUMBER),
	OPTION("kind", kind, NUMBER),
	OPTION("blocks", blocks, NUMBER),
	OPTION("first-block", first_block, NUMBER),
	OPTION("count", count, NUMBER),
	OPTION("rate", rate, NUMBER),
	OPTION("dropped", dropped, NUMBER),
	OPTION("replay-lsn", replay, NUMBER),
	OPTION("lsn-step", lsn_step, NUMBER),
	OPTION("seed", seed, NUMBER),
};

#define OPTIONS		(sizeof(options) / sizeof(options[0]))

/* Wrong usage ends the program. */
static void
parse_options(int argc, char **argv, struct settings *settings)
{
	struct option known[OPTIONS + 1] = {0};
	int			index = 0;

	for (size_t i = 0; i < OPTIONS; i++)
		known[i] = (struct option)
		{
			.name = options[i].name,.has_arg = options[i].type != FLAG
		};
	for (int key; (key = getopt_long(argc, argv, "D:", known, &index)) != -1; index = 0)
	{
		void	   *member = (char *) settings + options[index].offset;

		if (key == '?')
			exit(2);
		if (options[index].type == NUMBER)
			*(uint64_t *) member = strtoull(optarg, NULL, 0);
		else if (options[index].type == TEXT)
			*(const char **) member = optarg;
		else
			*(bool *) member = true;
	}
	if (optind < argc || settings->data_directory == NULL)
	{
		fprintf(stderr, "usage: ring_producer -D DIRECTORY [--OPTION [VALUE]]...\n");
		exit(2);
	}
}

#endif							/* REDOAHEAD_TESTS_RING_PRODUCER_OPTIONS_H */
