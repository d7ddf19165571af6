/*
 * reader.h
 *		Reads runs of blocks, and counts the results.
 */
#ifndef REDOAHEAD_ENGINE_READER_H
#define REDOAHEAD_ENGINE_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/fdcache.h"
#include "engine/block_queue.h"
#include "engine/backend.h"
#include "engine/counters.h"
#include "engine/relations.h"

struct reader_request;

struct reader
{
	const struct backend_ops *ops;	/* how to read */
	struct backend *backend;	/* its state */
	struct relpath_layout layout;	/* of the present recovery */
	unsigned	io_depth;		/* most blocks in flight */
	uint32_t	max_run;		/* longest run, blocks */
	struct fdcache *files;		/* open segment files */
	struct reader_request *requests;	/* by token: depth of them */
	uint32_t   *free_tokens;	/* stack of unused tokens */
	unsigned	free_count;		/* tokens on the stack */
	struct backend_completion *done;	/* room for depth of them */
	unsigned	in_flight;		/* blocks submitted and not read yet */
	uint64_t	waits;			/* requests that waited for a device so far */
	uint64_t	waits_us;		/* how long, summed, us */
	uint64_t	wal_lsn;		/* latest position where a page of WAL has been read; 0: none */
	uint64_t	(*clock) (void);	/* returns the time, us */
	uint64_t	now_us;			/* the time at the last reading, us */
	FILE	   *block_log;		/* receives a line for each block, or NULL */
	struct counters counters;	/* of the present recovery */
	struct relations relations; /* whose blocks were requested in it */
};

int			reader__create(struct reader *reader, const struct backend_ops *ops, int dirfd,
						   unsigned depth, unsigned files, FILE *block_log,
						   uint64_t (*clock) (void));
void		reader__destroy(struct reader *reader);
void		reader__begin(struct reader *reader, const struct relpath_layout *layout);
unsigned	reader__weight(const struct block_run *run);
int			reader__residency(struct reader *reader, const struct block_run *run);
void		reader__release(struct reader *reader, const struct block_run *run);
int			reader__submit(struct reader *reader, const struct block_run *run);
void		reader__abandon(struct reader *reader);
int			reader__reap(struct reader *reader, unsigned want, unsigned wait_us);
void		reader__log(struct reader *reader, const struct block_run *run, uint32_t first,
						  uint32_t blocks, const char *result, uint64_t latency_us);

#endif							/* REDOAHEAD_ENGINE_READER_H */
