/*
 * routine.h
 *		The XLogPrefetchRoutine.
 */
#ifndef REDOAHEAD_ROUTINE_H
#define REDOAHEAD_ROUTINE_H

extern void routine__register(void);

#endif							/* REDOAHEAD_ROUTINE_H */
