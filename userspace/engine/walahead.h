/*
 * walahead.h
 *		Which part of the WAL to read before it is decoded.
 */
#ifndef REDOAHEAD_ENGINE_WALAHEAD_H
#define REDOAHEAD_ENGINE_WALAHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/block_queue.h"

bool		walahead__next(uint64_t *next, const struct relpath_layout *layout,
						   uint64_t limit_bytes, uint64_t decode_lsn, uint64_t known_lsn,
						   struct block_run *run);

#endif							/* REDOAHEAD_ENGINE_WALAHEAD_H */
