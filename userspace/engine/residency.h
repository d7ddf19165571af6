/*
 * residency.h
 *		How much of a file's range is in the page cache; removes it from there.
 */
#ifndef REDOAHEAD_ENGINE_RESIDENCY_H
#define REDOAHEAD_ENGINE_RESIDENCY_H

#include <stdbool.h>
#include <stdint.h>

int			residency__of(int fd, uint64_t offset, uint32_t bytes);
bool		residency__works(int dir, const char *tablespace_dir);
bool		residency__release(int fd, uint64_t offset, uint32_t bytes);

#endif							/* REDOAHEAD_ENGINE_RESIDENCY_H */
