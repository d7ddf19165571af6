/*
 * implied_slru.h
 *		SLRU pages that redo of a WAL record reads.  For implied.c only.
 */
#ifndef REDOAHEAD_IMPLIED_SLRU_H
#define REDOAHEAD_IMPLIED_SLRU_H

#include "access/xlogreader.h"

#include "common/redoahead_abi.h"

/* As implied__of_record, for SLRU pages. */
extern int	implied_slru__of_record(const DecodedXLogRecord *record,
									struct redoahead_ref *out);

extern void implied_slru__forget(void);

#endif							/* REDOAHEAD_IMPLIED_SLRU_H */
