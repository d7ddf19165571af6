/*
 * available.h
 *		How much memory is available.
 *
 * Shared by the server extension and the daemon.
 */
#ifndef REDOAHEAD_AVAILABLE_H
#define REDOAHEAD_AVAILABLE_H

#include <stdint.h>

uint64_t	available__bytes(void);
uint64_t	available__free_bytes(void);

#endif							/* REDOAHEAD_AVAILABLE_H */
