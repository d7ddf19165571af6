/*
 * engine_internal.h
 *		What the parts of the engine have in common.
 */
#ifndef REDOAHEAD_ENGINE_ENGINE_INTERNAL_H
#define REDOAHEAD_ENGINE_ENGINE_INTERNAL_H

#include "engine/engine.h"
#include "engine/block_queue.h"
#include "engine/reader.h"
#include "engine/revalidate.h"
#include "engine/walahead.h"

struct engine
{
	struct engine_options options;	/* as given */
	struct reader reader;		/* what reads blocks */
	struct block_queue queue;			/* blocks to ask for, as they were decoded */
	struct block_queue out_of_order;			/* those asked for late: redo comes to them soon */
	uint64_t	newest_lsn;		/* latest record whose block is in the queue */
	unsigned	recent_refs;	/* the latest references */
	unsigned	recent_out_of_order;	/* of those, the ones that came late */
	struct walahead wal;		/* WAL to ask for */
	struct revalidate revalidate;		/* what was read and is gone */
	struct revalidate out_of_order_revalidate;	/* of what was asked for late */
	struct control control;		/* how many blocks, and how far ahead */
	bool		blocked;		/* no descriptor until a request completes */
	bool		full;			/* less memory is unused than blocks may be ahead in */
	bool		limited;		/* more is wanted than may be in flight */
	uint64_t	memory_us;		/* when memory was looked at last, us */
	uint64_t	replay_lsn;		/* where redo is */
	uint64_t	moved_us;		/* when it was seen to move last, us */
	uint64_t	suspected_us;	/* moved_us when blocks were suspected to be gone, us */
};

/* engine_steer.c */
void		engine_steer(struct engine *engine);

#endif							/* REDOAHEAD_ENGINE_ENGINE_INTERNAL_H */
