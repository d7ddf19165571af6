/*
 * memory.h
 *		How much memory the page cache could have.
 */
#ifndef REDOAHEAD_ENGINE_MEMORY_H
#define REDOAHEAD_ENGINE_MEMORY_H

#include <stdint.h>

uint64_t	memory__available(void);

#endif							/* REDOAHEAD_ENGINE_MEMORY_H */
