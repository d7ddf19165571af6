/*
 * monitor.h
 *		Starts and stops prefetching as daemons come and go.
 */
#ifndef REDOAHEAD_MONITOR_H
#define REDOAHEAD_MONITOR_H

#include "prefetcher.h"

extern void monitor__check(Prefetcher *p);

#endif							/* REDOAHEAD_MONITOR_H */
