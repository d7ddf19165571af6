/*
 * engine_internal.h
 *		The state that engine.c and submit.c share.
 */
#ifndef REDOAHEAD_ENGINE_ENGINE_INTERNAL_H
#define REDOAHEAD_ENGINE_ENGINE_INTERNAL_H

#include "engine/block_queue.h"
#include "engine/engine.h"
#include "engine/reader.h"
#include "engine/walahead.h"

struct engine
{
	struct engine_options options;	/* as given */
	struct reader reader;		/* reads blocks */
	struct control control;		/* how many blocks, and how far ahead */
	struct block_queue queue;	/* blocks to read */
	uint64_t	wal_next;		/* WAL before this LSN has been submitted */
	uint64_t	offered_us;		/* time at which the last references came, us */
	uint64_t	newest_lsn;		/* latest record with a reference */
	bool		limited;		/* more is wanted than may be in flight */
	bool		busy;			/* was more wanted in the last round? */
	bool		gathers;		/* queued blocks wait until there are more of them */
	bool		memory_full;	/* less memory is unused than may hold blocks read ahead */
	uint64_t	memory_us;		/* time of the last reading of memory, us */
	uint64_t	replay_lsn;		/* position of redo */
	uint64_t	moved_us;		/* time of its last change, us */
	uint64_t	checked_us;		/* moved_us when revalidation began last, us */
	uint64_t	revalidate;		/* position in the queue to revalidate next */
	uint64_t	revalidate_end;	/* position to stop at */
	bool		queries;		/* they may run beside redo */
	bool		no_residency;	/* the kernel does not report residency */
};

/* The time, us. */
static inline uint64_t
engine_now_us(const struct engine *engine)
{
	return engine->options.environment.now_us();
}

/* submit.c */
void		submit__all(struct engine *engine, uint64_t decode_lsn);
void		submit__revalidate(struct engine *engine);

#endif							/* REDOAHEAD_ENGINE_ENGINE_INTERNAL_H */
