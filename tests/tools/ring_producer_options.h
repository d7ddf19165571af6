/*
 * ring_producer_options.h
 *		The options of ring_producer: what it claims, emits and does wrong.
 */
#ifndef REDOAHEAD_TESTS_RING_PRODUCER_OPTIONS_H
#define REDOAHEAD_TESTS_RING_PRODUCER_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct settings
{
	const char *socket;			/* path of the daemon's socket */
	const char *data_directory; /* as sent to the daemon */
	uint64_t	identifier;		/* system identifier, as sent */
	uint32_t	version;		/* ABI version, as sent */
	uint32_t	server_version; /* as sent */
	uint32_t	block_size;		/* as sent, bytes */
	uint32_t	segment_blocks; /* as sent */
	uint32_t	capacity;		/* of the ring, references */
	const char *tablespace_dir; /* as sent */
	uint32_t	spc;			/* of all references */
	uint32_t	db;				/* of all references */
	uint32_t	rel;			/* first relation */
	uint32_t	rels;			/* relations, numbered from rel on */
	uint32_t	fork;			/* of all references */
	uint32_t	kind;			/* of all references */
	uint32_t	blocks;			/* blocks in each relation to choose from */
	uint32_t	first_block;	/* the first of them */
	uint64_t	count;			/* references to emit */
	uint64_t	rate;			/* references per second, 0: as fast as it goes */
	uint64_t	replay;			/* replay_lsn to publish */
	uint64_t	lsn_step;		/* between two references, bytes of WAL */
	uint64_t	seed;			/* of the random numbers */
	bool		sequential;		/* consecutive blocks, not random ones */
	bool		garbage;		/* references of random bytes */
	bool		no_wait;		/* do not wait until all is done */
	bool		hold;			/* stay connected until stdin ends, and follow it */
	const char *fault;			/* what to do wrong, or NULL */
};

enum
{
	KEY_ID = 256, KEY_VERSION, KEY_SERVER, KEY_BLOCK_SIZE, KEY_SEGMENT, KEY_CAPACITY,
	KEY_TABLESPACE_DIR, KEY_SPC, KEY_DB, KEY_REL, KEY_RELS, KEY_FORK, KEY_KIND, KEY_BLOCKS,
	KEY_FIRST, KEY_COUNT, KEY_RATE, KEY_REPLAY, KEY_LSN_STEP, KEY_SEED, KEY_SEQUENTIAL, KEY_GARBAGE,
	KEY_NO_WAIT, KEY_HOLD, KEY_FAULT
};

static const struct argp_option options[] = {
	{"data-directory", 'D', "PATH", 0, "data directory to claim", 0},
	{"socket", 's', "PATH", 0, "the daemon's socket", 0},
	{"identifier", KEY_ID, "N", 0, "system identifier to claim (default: from pg_control)", 0},
	{"abi-version", KEY_VERSION, "N", 0, "ABI version to claim", 0},
	{"server-version", KEY_SERVER, "N", 0, "server version to claim (default: 180006)", 0},
	{"block-size", KEY_BLOCK_SIZE, "BYTES", 0, "BLCKSZ to claim", 0},
	{"segment-blocks", KEY_SEGMENT, "N", 0, "RELSEG_SIZE to claim", 0},
	{"capacity", KEY_CAPACITY, "N", 0, "references in the ring", 0},
	{"tablespace-dir", KEY_TABLESPACE_DIR, "NAME", 0, "TABLESPACE_VERSION_DIRECTORY to claim", 0},
	{"spc", KEY_SPC, "OID", 0, "tablespace", 0},
	{"db", KEY_DB, "OID", 0, "database", 0},
	{"rel", KEY_REL, "N", 0, "first relfilenumber or SLRU", 0},
	{"rels", KEY_RELS, "N", 0, "number of consecutive relations", 0},
	{"fork", KEY_FORK, "N", 0, "fork", 0},
	{"kind", KEY_KIND, "N", 0, "kind of reference", 0},
	{"blocks", KEY_BLOCKS, "N", 0, "blocks to choose from in each relation", 0},
	{"first-block", KEY_FIRST, "N", 0, "the first of them", 0},
	{"count", KEY_COUNT, "N", 0, "references to emit", 0},
	{"rate", KEY_RATE, "N", 0, "references per second", 0},
	{"replay-lsn", KEY_REPLAY, "N", 0, "replay position to publish (LSNs are 1000 + index * step)", 0},
	{"lsn-step", KEY_LSN_STEP, "BYTES", 0, "WAL between two references (default: 1)", 0},
	{"seed", KEY_SEED, "N", 0, "seed of the random numbers", 0},
	{"sequential", KEY_SEQUENTIAL, NULL, 0, "consecutive blocks", 0},
	{"garbage", KEY_GARBAGE, NULL, 0, "references of random bytes", 0},
	{"no-wait", KEY_NO_WAIT, NULL, 0, "exit without waiting for the daemon", 0},
	{"hold", KEY_HOLD, NULL, 0, "stay connected until stdin ends; its lines are new replay positions", 0},
	{"fault", KEY_FAULT, "NAME", 0,
		"unsealed, truncated, oversized, no-fds, three-fds, not-eventfd, short-handshake, long-handshake, "
		"magic, ring-magic, ring-version, ref-size, odd-capacity, refs-offset, used-ring, silent, "
	"leave, head-jump, head-back", 0},
	{0}
};

static error_t
parse_option(int key, char *value, struct argp_state *state)
{
	struct settings *s = state->input;
	uint64_t	number = value != NULL ? strtoull(value, NULL, 0) : 0;

	switch (key)
	{
		case 'D': s->data_directory = value; break;
		case 's': s->socket = value; break;
		case KEY_ID: s->identifier = number; break;
		case KEY_VERSION: s->version = (uint32_t) number; break;
		case KEY_SERVER: s->server_version = (uint32_t) number; break;
		case KEY_BLOCK_SIZE: s->block_size = (uint32_t) number; break;
		case KEY_SEGMENT: s->segment_blocks = (uint32_t) number; break;
		case KEY_CAPACITY: s->capacity = (uint32_t) number; break;
		case KEY_TABLESPACE_DIR: s->tablespace_dir = value; break;
		case KEY_SPC: s->spc = (uint32_t) number; break;
		case KEY_DB: s->db = (uint32_t) number; break;
		case KEY_REL: s->rel = (uint32_t) number; break;
		case KEY_RELS: s->rels = (uint32_t) number; break;
		case KEY_FORK: s->fork = (uint32_t) number; break;
		case KEY_KIND: s->kind = (uint32_t) number; break;
		case KEY_BLOCKS: s->blocks = (uint32_t) number; break;
		case KEY_FIRST: s->first_block = (uint32_t) number; break;
		case KEY_COUNT: s->count = number; break;
		case KEY_RATE: s->rate = number; break;
		case KEY_REPLAY: s->replay = number; break;
		case KEY_LSN_STEP: s->lsn_step = number; break;
		case KEY_SEED: s->seed = number; break;
		case KEY_SEQUENTIAL: s->sequential = true; break;
		case KEY_GARBAGE: s->garbage = true; break;
		case KEY_NO_WAIT: s->no_wait = true; break;
		case KEY_HOLD: s->hold = true; break;
		case KEY_FAULT: s->fault = value; break;
		case ARGP_KEY_END:
			if (s->data_directory == NULL)
				argp_error(state, "no data directory; give one with -D");
			break;
		default:
			return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

#endif							/* REDOAHEAD_TESTS_RING_PRODUCER_OPTIONS_H */
