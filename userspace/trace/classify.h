/*
 * classify.h
 *		From what was seen to what it means for redo.
 */
#ifndef REDOAHEAD_TRACE_CLASSIFY_H
#define REDOAHEAD_TRACE_CLASSIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/blocks.h"
#include "trace/files.h"
#include "trace/tally.h"

/* What is known of the daemon at the moment. */
enum classify_engine
{
	CLASSIFY_ENGINE_UNKNOWN,	/* we may not look, or have not yet */
	CLASSIFY_ENGINE_DOWN,		/* none is attached to the server */
	CLASSIFY_ENGINE_FOLLOWED,	/* the server's references are followed */
};

struct classify
{
	struct files *files;		/* what files are */
	struct blocks blocks;		/* what waits for redo */
	struct tally *tally;		/* where to count */
	uint32_t	block_size;		/* PostgreSQL's, bytes */
	pid_t		startup;		/* whose reads count */
	enum classify_engine engine;	/* the daemon */
	bool		references_complete;	/* none was missed so far */
	uint64_t	failed;			/* blocks that the daemon could not read, not told of */
	uint64_t	now_ns;			/* time of what is not told with its own, ns */
	uint64_t	pending[TALLY_PREFETCHERS]; /* prefetched and not used yet, blocks */
};

int			classify__create(struct classify *classify, struct files *files,
							 uint32_t block_size, uint64_t max_blocks);
void		classify__destroy(struct classify *classify);
void		classify__event(struct classify *classify, const void *event, size_t size);
void		classify__reference(struct classify *classify, const struct relpath_key *key,
								uint32_t block);
void		classify__end(struct classify *classify);

#endif							/* REDOAHEAD_TRACE_CLASSIFY_H */
