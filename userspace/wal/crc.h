/*
 * crc.h
 *		The CRC of WAL records.
 */
#ifndef REDOAHEAD_WAL_CRC_H
#define REDOAHEAD_WAL_CRC_H

#include <stddef.h>
#include <stdint.h>

/* A CRC begins with this, and ends by an exclusive or with it. */
#define CRC_START	UINT32_MAX

uint32_t	crc__add(uint32_t crc, const void *bytes, size_t size);

#endif							/* REDOAHEAD_WAL_CRC_H */
