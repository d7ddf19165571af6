/*
 * setup.h
 *		Makes an engine as the user wants it, or as the machine allows.
 */
#ifndef REDOAHEAD_ENGINE_SETUP_H
#define REDOAHEAD_ENGINE_SETUP_H

#include <stdbool.h>

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

int			setup__engine(struct engine **engine, struct engine_options options,
						  const char *backend, bool no_uring, const struct backend_ops **chosen);

#endif							/* REDOAHEAD_ENGINE_SETUP_H */
