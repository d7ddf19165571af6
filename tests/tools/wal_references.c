/*
 * wal_references.c
 *		Prints the records of WAL with their block references, to be compared with
 *		pg_waldump's output; or reads them only, as a benchmark of the decoder.
 *
 * usage: wal_references [--quiet] [--decompress=COMMAND] DIRECTORY TIMELINE SEGMENT-BYTES FROM-LSN
 *
 * A line for each record: its position, the size of the whole, its transaction, and
 * then for each block reference its ID, relation, fork, block, and FPW for an image, as
 * pg_waldump calls them; and INIT.  Ends with status 0 where WAL ends, and reports
 * on standard error why it ends there.  --quiet prints the number of records, their bytes,
 * and how many bytes were read in a second of CPU time.
 */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lsn.h"
#include "cluster/relpath.h"
#include "wal/reader.h"
#include "wal/segments.h"

/* Size of pages and blocks in all servers that the tests build. */
#define PAGE_BYTES	8192

struct arguments
{
	bool		quiet;
	const char *decompress;
	const char *words[4];
};

static error_t
parse(int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key)
	{
		case 'q':
			arguments->quiet = true;
			break;
		case 'd':
			arguments->decompress = value;
			break;
		case ARGP_KEY_ARG:
			if (state->arg_num >= 4)
				argp_usage(state);
			arguments->words[state->arg_num] = value;
			break;
		case ARGP_KEY_END:
			if (state->arg_num < 4)
				argp_usage(state);
			break;
		default:
			return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void
print_record(const struct wal_record *record)
{
	printf(LSN_FORMAT " %u %u", LSN_ARGS(record->lsn), record->total_bytes, record->xid);
	for (unsigned i = 0; i < record->block_count; i++)
	{
		const struct wal_block *block = &record->blocks[i];

		printf(" #%u %u/%u/%u %s %u%s%s", block->id, block->spc, block->db, block->rel,
			   relpath__fork_name(block->fork), block->block, block->has_image ? " FPW" : "",
			   block->will_init ? " INIT" : "");
		if (block->has_image && !block->restored)
			printf(" UNUSED");
	}
	putchar('\n');
}

int
main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"quiet", 'q', NULL, 0, "measure only", 0},
		{"decompress", 'd', "COMMAND", 0, "decompress segments", 0},
		{0}
	};
	static const struct argp parser = {
		options, parse, "DIRECTORY TIMELINE SEGMENT-BYTES FROM-LSN", NULL, NULL, NULL, NULL
	};
	struct arguments arguments = {0};
	struct wal_segments segments;
	struct wal_reader reader;
	unsigned	high;
	unsigned	low;
	uint64_t	records = 0;
	uint64_t	begin_us;
	uint64_t	from;
	int			result;

	argp_parse(&parser, argc, argv, 0, NULL, &arguments);
	if (sscanf(arguments.words[3], "%X/%X", &high, &low) != 2)
	{
		fprintf(stderr, "%s is no position\n", arguments.words[3]);
		return 2;
	}
	from = (uint64_t) high << 32 | low;
	if (wal_segments__open(&segments, arguments.words[0],
						   (uint32_t) strtoul(arguments.words[2], NULL, 10),
						   (uint32_t) strtoul(arguments.words[1], NULL, 10),
						   arguments.decompress) < 0)
	{
		fprintf(stderr, "%s\n", segments.message);
		return 1;
	}
	if (wal_reader__create(&reader, &(struct wal_reader_options)
						   {
							   .source = {wal_segments__read, &segments},
								   .segment_bytes = segments.segment_bytes,
								   .page_bytes = PAGE_BYTES,.block_size = PAGE_BYTES,
						   }) < 0)
		return 1;
	begin_us = clock__cpu_us();
	result = wal_reader__find(&reader, from);
	while (result == WAL_READER_RECORD &&
		   (result = wal_reader__next(&reader)) == WAL_READER_RECORD)
	{
		records++;
		if (!arguments.quiet)
			print_record(&reader.record);
	}
	if (arguments.quiet)
	{
		uint64_t	bytes = reader.next_lsn - from;

		printf("%" PRIu64 " records, %" PRIu64 " bytes, %.2f GB/s\n", records, bytes,
			   (double) bytes / 1e3 / (double) (clock__cpu_us() - begin_us + 1));
	}
	fprintf(stderr, "%s\n", segments.message[0] != '\0' ? segments.message : reader.message);
	wal_reader__destroy(&reader);
	wal_segments__close(&segments);
	return result < 0 ? 1 : 0;
}
