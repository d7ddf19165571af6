/*
 * rest.h
 *		What stays as it is of a record whose images are removed.
 */
#ifndef REDOAHEAD_LESSLOG_REST_H
#define REDOAHEAD_LESSLOG_REST_H

#include <stdbool.h>
#include <stdint.h>

#include "wal/record.h"

uint32_t	rest__add(uint32_t crc, const struct wal_record *record, bool removed);

#endif							/* REDOAHEAD_LESSLOG_REST_H */
