/*
 * reader.h
 *		Reads runs of blocks, and counts what became of them.
 */
#ifndef REDOAHEAD_ENGINE_READER_H
#define REDOAHEAD_ENGINE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/absent.h"
#include "engine/fdcache.h"
#include "engine/pool.h"
#include "engine/sink.h"
#include "report/counters.h"
#include "report/trace.h"

struct reader_request;

struct reader
{
	const struct sink_ops *ops; /* how to read */
	struct sink *sink;			/* what reads */
	struct relpath_layout layout;	/* of the present recovery */
	unsigned	depth;			/* most blocks in flight */
	uint32_t	max_run;		/* longest run, blocks */
	struct fdcache *files;		/* open segment files */
	struct absent absent;		/* files and blocks known to be missing */
	struct reader_request *requests;	/* by token: depth of them */
	uint32_t   *free_tokens;	/* stack of unused tokens */
	unsigned	free_count;		/* tokens on the stack */
	struct sink_completion *done;	/* room for depth of them */
	unsigned	in_flight;		/* blocks asked for and not yet there */
	uint64_t	now_us;			/* the time, read now and then, us */
	struct trace *trace;		/* where each block is told of, or NULL */
	struct counters counters;	/* of the present recovery */
};

int			reader__create(struct reader *reader, const struct sink_ops *ops, int dirfd,
						   unsigned depth, unsigned files, struct trace *trace);
void		reader__destroy(struct reader *reader);
void		reader__begin(struct reader *reader, const struct relpath_layout *layout);
unsigned	reader__weight(const struct pool_run *run);
bool		reader__misses(const struct reader *reader, const struct pool_run *run);
void		reader__found(struct reader *reader, const struct pool_run *run);
int			reader__finds(struct reader *reader, const struct pool_run *run);
void		reader__release(struct reader *reader, const struct pool_run *run);
int			reader__ask(struct reader *reader, const struct pool_run *run);
int			reader__reap(struct reader *reader, unsigned want, unsigned wait_us);
unsigned	reader__requests(const struct reader *reader);
void		reader__trace(struct reader *reader, const struct pool_run *run, uint32_t first,
						  uint32_t blocks, const char *result, uint64_t latency_us);

#endif							/* REDOAHEAD_ENGINE_READER_H */
