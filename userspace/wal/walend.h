/*
 * walend.h
 *		Where the WAL in a directory ends.
 */
#ifndef REDOAHEAD_WAL_WALEND_H
#define REDOAHEAD_WAL_WALEND_H

#include <stdint.h>

#include "wal/page.h"
#include "wal/segments.h"

uint64_t	walend__find(struct wal_segments *segments, struct wal_page_expected expected,
						 uint64_t lsn);

#endif							/* REDOAHEAD_WAL_WALEND_H */
