/*
 * lsn.h
 *		How an LSN is printed.
 */
#ifndef REDOAHEAD_BASE_LSN_H
#define REDOAHEAD_BASE_LSN_H

/* For a uint64_t, as PostgreSQL 18 prints it: LSN_ARGS() is LSN_FORMAT's two arguments. */
#define LSN_FORMAT			"%X/%08X"
#define LSN_ARGS(lsn)		(unsigned) ((lsn) >> 32), (unsigned) (lsn)

#endif							/* REDOAHEAD_BASE_LSN_H */
