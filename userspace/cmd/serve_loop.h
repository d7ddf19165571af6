/*
 * serve_loop.h
 *		The life of the daemon, from its first wait to its last.
 */
#ifndef REDOAHEAD_CMD_SERVE_LOOP_H
#define REDOAHEAD_CMD_SERVE_LOOP_H

#include "cluster/cluster.h"
#include "engine/engine.h"
#include "report/timeline.h"

struct serve_config
{
	struct cluster *cluster;	/* whose recoveries to serve */
	struct engine *engine;		/* what brings blocks in */
	const struct engine_options *engine_options;	/* how it was made */
	const char *socket;			/* path of the socket */
	const char *stats_path;		/* statistics file, or NULL */
	struct timeline *timeline;	/* where each moment is told of, or NULL */
};

int			serve_loop__run(const struct serve_config *config);

#endif							/* REDOAHEAD_CMD_SERVE_LOOP_H */
