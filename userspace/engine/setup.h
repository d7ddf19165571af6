/*
 * setup.h
 *		Makes an engine as the user wants it, or as the machine allows.
 */
#ifndef REDOAHEAD_ENGINE_SETUP_H
#define REDOAHEAD_ENGINE_SETUP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/engine.h"

/* Default limits. */
#define SETUP_IO_DEPTH			"1024"
#define SETUP_IO_DEPTH_NUMBER	1024
#define SETUP_READAHEAD_LIMIT	"65536"
#define SETUP_READAHEAD_LIMIT_NUMBER	65536
#define SETUP_FILES				"1000"
#define SETUP_FILES_NUMBER		1000

/* Descriptors that are not of data files. */
#define SETUP_OTHER_DESCRIPTORS	32

struct setup
{
	const char *backend;		/* "auto", "io_uring" or "fadvise" */
	uint64_t	io_depth;		/* most blocks in flight */
	uint64_t	readahead_limit;	/* most blocks read ahead of redo */
	uint64_t	files;			/* most descriptors of data files */
	int			dirfd;			/* the data directory; the caller closes it */
	FILE	   *block_log;		/* receives a line for each block, or NULL */
	bool		no_redo;		/* as in struct engine_options */
	bool		release_used;	/* likewise */
	bool		no_uring;		/* io_uring failed before: take something else for "auto" */
};

int			setup__engine(struct engine **engine, const struct setup *setup,
						  const struct backend_ops **backend);

#endif							/* REDOAHEAD_ENGINE_SETUP_H */
