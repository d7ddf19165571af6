/*
 * classify.h
 *		From the events of the BPF programs to the class of each block that redo read.
 */
#ifndef REDOAHEAD_TRACE_CLASSIFY_H
#define REDOAHEAD_TRACE_CLASSIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "trace/files.h"
#include "trace/tally.h"

/* What is known of the daemon now. */
enum classify_daemon
{
	CLASSIFY_DAEMON_UNKNOWN,	/* there may be one whose references cannot be read */
	CLASSIFY_DAEMON_NONE,		/* none is connected to the server */
	CLASSIFY_DAEMON_FOLLOWED	/* the server's references to it are read */
};

struct classify
{
	struct files *files;		/* which file holds what */
	struct hash blocks;			/* blocks that redo has not read yet */
	struct tally *tally;		/* where to count */
	uint32_t	block_size;		/* PostgreSQL's, bytes */
	pid_t		startup;		/* whose reads count */
	enum classify_daemon daemon;	/* the daemon */
	bool		references_complete;	/* no reference was missed so far */
	uint64_t	now_ns;			/* time when references were read last, ns; also that of reads
								 * that have none of their own */
	uint64_t	read_ns;		/* time of the read that is classified, ns; 0: not known */
	uint64_t	pending[TALLY_PREFETCHERS]; /* prefetched and not used yet, blocks */
	uint64_t	lost_blocks;	/* blocks that the table had no room for */
	uint64_t	lost_files;		/* files that the table had no room for */
};

int			classify__create(struct classify *classify, struct files *files,
							 uint32_t block_size, uint64_t max_slots);
void		classify__destroy(struct classify *classify);
void		classify__event(struct classify *classify, const void *event, size_t size);
void		classify__reference(struct classify *classify, const struct relpath_key *key,
								uint32_t block);
void		classify__end(struct classify *classify);

#endif							/* REDOAHEAD_TRACE_CLASSIFY_H */
