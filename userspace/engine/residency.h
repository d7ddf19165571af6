/*
 * residency.h
 *		Is a part of a file in the page cache?
 */
#ifndef REDOAHEAD_ENGINE_RESIDENCY_H
#define REDOAHEAD_ENGINE_RESIDENCY_H

#include <stdint.h>

int			residency__of(int fd, uint64_t offset, uint32_t bytes);

#endif							/* REDOAHEAD_ENGINE_RESIDENCY_H */
