/*
 * control.h
 *		Finds out how many blocks to have in flight, and how far to read ahead.
 */
#ifndef REDOAHEAD_ENGINE_CONTROL_H
#define REDOAHEAD_ENGINE_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/* Changes that are remembered. */
#define CONTROL_LOG		32

/* Depth at first, blocks. */
#define CONTROL_START_DEPTH	256

/* Least depth and readahead_limit, blocks. */
#define CONTROL_MIN_DEPTH	8
#define CONTROL_MIN_READAHEAD	64

/* Why a limit was changed. */
enum control_reason
{
	CONTROL_START,				/* redo waits, and the best depth is not known yet */
	CONTROL_FASTER,				/* more in flight brings more per second */
	CONTROL_AS_FAST,			/* less in flight brings as much */
	CONTROL_LESS_MEMORY,		/* what is read ahead might be evicted unused */
	CONTROL_MORE_MEMORY			/* there is room for more again */
};

/* A change of a limit. */
struct control_change
{
	uint64_t	at_us;			/* when, us */
	enum control_reason reason; /* why */
	bool		io_depth;		/* is it of the depth, or of the window? */
	uint32_t	from;			/* the limit before, blocks */
	uint32_t	to;				/* the limit since, blocks */
	uint32_t	rate_from;		/* blocks per second with the old depth, or 0 */
	uint32_t	rate_to;		/* and with the new one, or 0 */
};

/* What a measurement is made of. */
struct control_sample
{
	uint64_t	blocks;			/* that came */
	uint64_t	busy_us;		/* time in which they came, us */
	uint64_t	waits_us;		/* of that, time in which redo stood still, us */
};

struct control
{
	unsigned	io_depth;			/* most blocks in flight now */
	unsigned	settled;		/* the same while nothing else is tried */
	unsigned	max_depth;		/* never more than this */
	unsigned	readahead_limit;			/* most blocks to read ahead of redo now */
	unsigned	max_readahead;		/* never more than this */
	bool		trials;			/* may the depth be changed? */

	/* The trial of another depth: a measurement before, in and after it. */
	int			step;			/* 0 before, 1 in, 2 after the trial */
	bool		up;				/* is a larger depth tried? */
	unsigned	trial;			/* the depth that was tried; when starting, the one before */
	bool		starting;		/* does the depth double without trials? */
	unsigned	successes;		/* trials in a row that found it better */
	uint32_t	before;			/* blocks per second before */
	uint32_t	tried;			/* blocks per second in it */
	unsigned	lost_permille;	/* speed given up by halvings in a row */
	unsigned	pause[2];		/* measurements until a smaller, a larger one is tried */
	unsigned	backoff[2];		/* pause after the next trial that fails */

	/* The measurement. */
	struct control_sample sample;	/* so far */
	uint64_t	sample_us;		/* time that it takes at least, us */
	uint64_t	skip;			/* blocks that still come from another depth */
	uint64_t	last_us;		/* when control__note was called last, us */
	uint64_t	last_blocks;	/* what it was told then */
	uint64_t	idle_us;		/* since more was wanted than may be in flight, us */
	bool		was_limited;	/* likewise */
	bool		was_waiting;	/* likewise */

	/* The record. */
	uint64_t	changes;		/* so far */
	uint64_t	failed_trials;	/* trials that changed nothing */
	struct control_change log[CONTROL_LOG]; /* the last ones; change n is at n % CONTROL_LOG */
};

/* Does memory bound how far to read ahead? */
static inline bool
control__memory_limited(const struct control *control)
{
	return control->readahead_limit < control->max_readahead;
}

void		control__init(struct control *control, unsigned depth, unsigned max_depth,
						  unsigned max_readahead, bool trials);
void		control__begin(struct control *control, uint64_t now_us);
void		control__note(struct control *control, uint64_t now_us, uint64_t blocks,
						  bool limited, bool redo_waits);
void		control__fit(struct control *control, uint64_t now_us, uint64_t memory_blocks);
const char *control__reason_name(enum control_reason reason);

#endif							/* REDOAHEAD_ENGINE_CONTROL_H */
