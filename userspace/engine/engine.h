/*
 * engine.h
 *		Reads the blocks that references name into the page cache, in a good order.
 */
#ifndef REDOAHEAD_ENGINE_ENGINE_H
#define REDOAHEAD_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cluster/relpath.h"
#include "engine/control.h"
#include "engine/backend.h"
#include "engine/counters.h"
#include "engine/relations.h"

/*
 * Part of available memory that may hold blocks read ahead.  Redo modifies most of the
 * pages that it reads, new pages pass a list that holds half of the page cache, and
 * other processes use memory, too.  With an eighth, in 160 MB, 1 to 8 % of what was read
 * ahead was evicted unused, and redo took 1.2 times as long (bench memory --size small).
 */
#define ENGINE_MEMORY_PART		16

/* What the engine reads of the machine; passed in so that tests decide it. */
struct engine_environment
{
	uint64_t	(*now_us) (void);	/* time that never jumps, us */
	uint64_t	(*available_bytes) (void);	/* memory that could hold page cache, bytes */
	uint64_t	(*free_bytes) (void);	/* memory that nobody uses, bytes */
};

struct engine_options
{
	struct engine_environment environment;	/* time and memory */
	const struct backend_ops *backend;	/* how to read */
	int			dirfd;			/* the data directory; the caller closes it */
	unsigned	io_depth;		/* most blocks in flight */
	unsigned	readahead_limit;	/* most blocks read ahead of redo */
	unsigned	files;			/* most descriptors of data files */
	FILE	   *block_log;		/* receives a line for each block, or NULL */
	bool		no_redo;		/* there is no redo: queries bound the I/O depth, but not the read-ahead
								 * limit */
	bool		release_used;	/* under memory pressure, remove what redo has used from the page cache:
								 * it is in shared buffers */
};

/* What the engine has to do. */
struct engine_state
{
	unsigned	queued;			/* blocks not submitted yet */
	unsigned	in_flight;		/* blocks submitted and not read yet */
	unsigned	ahead;			/* blocks submitted and not reached by redo */
	unsigned	open_files;		/* data files open */
	bool		gathers;		/* queued blocks wait until there are more of them */
	bool		limited;		/* more is wanted than may be in flight */
};

struct engine;

int			engine__create(struct engine **engine, const struct engine_options *options);
void		engine__destroy(struct engine *engine);
void		engine__begin(struct engine *engine, const struct relpath_layout *layout,
						  bool residency_works);
void		engine__share(struct engine *engine, bool queries);
int			engine__end(struct engine *engine);
unsigned	engine__room(const struct engine *engine);
void		engine__offer(struct engine *engine, const struct redoahead_ref *refs,
						  unsigned count);
int			engine__run(struct engine *engine, uint64_t replay_lsn, uint64_t decode_lsn,
						unsigned busy_wait_us, unsigned spare_wait_us);
void		engine__sweep(struct engine *engine);
struct engine_state engine__state(const struct engine *engine);
struct counters *engine__counters(struct engine *engine);
const struct relations *engine__relations(const struct engine *engine);
const struct control *engine__control(const struct engine *engine);

#endif							/* REDOAHEAD_ENGINE_ENGINE_H */
