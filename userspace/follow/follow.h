/*
 * follow.h
 *		Prefetches for the recoveries of a server that is not patched.
 */
#ifndef REDOAHEAD_FOLLOW_FOLLOW_H
#define REDOAHEAD_FOLLOW_FOLLOW_H

#include "prefetch/prefetch.h"

/* What the user chose. */
struct follow_options
{
	struct prefetch_options prefetch;	/* as for every command that prefetches */
	const char *position;		/* "auto" or the only method that may be used */
	const char *attach;			/* attach method of the BPF program, NULL: the one that works */
};

int			follow__run(const struct follow_options *options);

#endif							/* REDOAHEAD_FOLLOW_FOLLOW_H */
