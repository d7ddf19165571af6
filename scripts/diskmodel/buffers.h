/*
 * buffers.h
 *		Page-aligned buffers, kept for reuse.
 */
#ifndef DISKMODEL_BUFFERS_H
#define DISKMODEL_BUFFERS_H

#include <stdint.h>

/* Size of the largest buffer, bytes. */
#define BUFFERS_MAX_BYTES	(256 * 1024)

void	   *buffers__get(uint32_t bytes);
void		buffers__put(void *buffer, uint32_t bytes);

#endif							/* DISKMODEL_BUFFERS_H */
