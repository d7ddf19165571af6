/*
 * defer.h
 *		Lets clients connect before the checkpoint after crash recovery.
 */
#ifndef REDOAHEAD_DEFER_H
#define REDOAHEAD_DEFER_H

extern void defer__init(void);

#endif							/* REDOAHEAD_DEFER_H */
