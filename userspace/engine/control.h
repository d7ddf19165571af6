/*
 * control.h
 *		Chooses how many blocks may be in flight, how long a gap may be that a request
 *		reads between two, and how many may be read ahead.
 */
#ifndef REDOAHEAD_ENGINE_CONTROL_H
#define REDOAHEAD_ENGINE_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/* Changes that are remembered. */
#define CONTROL_LOG		32

/* I/O depth at first, blocks: enough for an SSD, and a good start for an array. */
#define CONTROL_START_DEPTH	256

/*
 * Least and largest I/O depth while queries may run beside redo, blocks.  With 3, queries
 * of an array of eight disks wait no longer than beside stock's redo; 16 is the default of
 * maintenance_io_concurrency in PostgreSQL 18.
 */
#define CONTROL_PACED_MIN	3
#define CONTROL_PACED_MAX	16

/* Blocks that are read ahead then before redo has reached any. */
#define CONTROL_PACED_READAHEAD	1024

/* Least read-ahead limit that memory pressure leads to, blocks. */
#define CONTROL_MIN_READAHEAD	64

/*
 * Longest gap between two blocks that a request reads, too: the first that is probed, and the
 * bound, bytes.
 */
#define CONTROL_FIRST_GAP	(64 * 1024)
#define CONTROL_MAX_GAP		(128 * 1024)

/* What the controller chooses. */
enum control_limit
{
	CONTROL_NONE,
	CONTROL_READAHEAD,			/* most blocks read ahead of redo */
	CONTROL_DEPTH,				/* most blocks in flight */
	CONTROL_GAP,				/* longest gap that a request reads, bytes */
	CONTROL_LIMITS				/* how many */
};

/* Why a limit was changed. */
enum control_reason
{
	CONTROL_QUERIES,			/* queries may run beside redo, or no longer */
	CONTROL_FASTER,				/* more in flight, or longer gaps, bring more per second */
	CONTROL_LESS_MEMORY,		/* what is read ahead might be evicted unused */
	CONTROL_MORE_MEMORY			/* there is room for more again */
};

/* A change of a limit. */
struct control_change
{
	uint64_t	at_us;			/* time of the change, us */
	enum control_reason reason; /* why */
	enum control_limit limit;	/* which */
	uint32_t	from;			/* the limit before */
	uint32_t	to;				/* the limit since */
	uint32_t	rate_from;		/* blocks per second with the old limit, or 0 */
	uint32_t	rate_to;		/* and with the new one, or 0 */
};

/* Reads so far; only differences count. */
struct control_reads
{
	uint64_t	blocks;			/* blocks that were read */
	uint64_t	gap_blocks;		/* blocks in gaps that were read */
	uint64_t	waits;			/* requests that waited for a device */
	uint64_t	waits_us;		/* how long, summed, us */
};

struct control
{
	unsigned	io_depth;		/* most blocks in flight now */
	unsigned	settled;		/* I/O depth outside a probe, without queries */
	unsigned	paced_depth;	/* I/O depth while queries may run */
	unsigned	gap_bytes;		/* longest gap that a request reads now, bytes */
	unsigned	settled_gap;	/* the same outside a probe */
	unsigned	max_depth;		/* upper bound of the I/O depth */
	unsigned	readahead_limit;	/* most blocks read ahead of redo now */
	unsigned	memory_limit;	/* most of them that memory allows */
	uint64_t	memory_blocks;	/* what memory allows, without the upper bound */
	unsigned	max_readahead;	/* upper bound of both */
	bool		adaptive;		/* may the I/O depth change? */
	bool		paced;			/* may queries run beside redo? */
	uint64_t	reached;		/* blocks that redo has reached */

	/* Probes. */
	enum control_limit probed;	/* what is probed */
	uint32_t	probe_rate;		/* blocks per second of a probe of gaps that is to be confirmed, or 0 */
	uint64_t	pause[CONTROL_LIMITS];	/* samples until the next probe of a limit */
	uint64_t	next_pause[CONTROL_LIMITS]; /* its pause after the next probe that fails */
	uint32_t	base_rate;		/* blocks per second with the settled limits */

	/* The sample. */
	uint64_t	sample_blocks;	/* blocks read in it */
	uint64_t	sample_us;		/* its duration so far, us */
	uint64_t	sample_waits_us;	/* of that, time in which redo waited, us */
	struct control_reads begin; /* reads before it */
	uint64_t	skip;			/* blocks to come that were submitted with other limits */
	uint64_t	last_us;		/* time of the last call of control__note, us */
	uint64_t	last_blocks;	/* blocks read until then */
	bool		was_limited;	/* was more wanted than could be in flight? */
	bool		was_waiting;	/* did redo wait? */

	/* The record. */
	uint64_t	changes;		/* so far */
	uint64_t	failed_probes;	/* probes that changed nothing */
	struct control_change log[CONTROL_LOG]; /* the last ones; change n is at n % CONTROL_LOG */
};

/* Does memory bound how far to read ahead? */
static inline bool
control__memory_limited(const struct control *control)
{
	return control->memory_limit < control->max_readahead;
}

/* The I/O depth outside a probe. */
static inline unsigned
control__depth(const struct control *control)
{
	return control->paced ? control->paced_depth : control->settled;
}

void		control__init(struct control *control, unsigned max_depth, unsigned max_readahead,
						  bool adaptive);
void		control__begin(struct control *control, uint64_t now_us);
void		control__pace(struct control *control, uint64_t now_us, bool queries, uint64_t reached);
void		control__note(struct control *control, uint64_t now_us,
						  const struct control_reads *reads, bool limited, bool redo_waits);
void		control__fit(struct control *control, uint64_t now_us, uint64_t memory_blocks);
const char *control__reason_name(enum control_reason reason);
const char *control__limit_name(enum control_limit limit);

#endif							/* REDOAHEAD_ENGINE_CONTROL_H */
