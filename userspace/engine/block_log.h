/*
 * block_log.h
 *		A log with a line for each block.
 */
#ifndef REDOAHEAD_ENGINE_BLOCK_LOG_H
#define REDOAHEAD_ENGINE_BLOCK_LOG_H

#include <stdint.h>

struct block_log;

int			block_log__open(struct block_log **log, const char *path);
void		block_log__add(struct block_log *log, const char *kind, const char *path,
						   uint32_t block, uint64_t lsn, const char *result,
						   uint64_t latency_us);
void		block_log__flush(struct block_log *log);
void		block_log__close(struct block_log *log);

#endif							/* REDOAHEAD_ENGINE_BLOCK_LOG_H */
