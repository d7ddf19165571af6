/*
 * follow.h
 *		Prefetches for the recoveries of a server that is not patched.
 */
#ifndef REDOAHEAD_FOLLOW_FOLLOW_H
#define REDOAHEAD_FOLLOW_FOLLOW_H

#include <stdint.h>

#include "monitor/monitor.h"

/* What the user chose. */
struct follow_options
{
	const char *pgdata;			/* data directory */
	const char *position;		/* "auto" or the only method that may be used */
	const char *attach;			/* attach method of the BPF program, NULL: the one that works */
	const char *backend;		/* "auto", "io_uring" or "fadvise" */
	const char *block_log;		/* block log, or NULL */
	const char *statistics;		/* statistics file, or NULL */
	const char *timeline;		/* timeline file, or NULL */
	struct monitor_options monitor; /* what shows people the state */
	uint64_t	io_depth;		/* most blocks in flight */
	uint64_t	readahead_limit;	/* most blocks read ahead of redo */
	uint64_t	files;			/* most descriptors of data files */
};

int			follow__run(const struct follow_options *options);

#endif							/* REDOAHEAD_FOLLOW_FOLLOW_H */
