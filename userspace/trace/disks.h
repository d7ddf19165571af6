/*
 * disks.h
 *		The disks below a directory.
 */
#ifndef REDOAHEAD_TRACE_DISKS_H
#define REDOAHEAD_TRACE_DISKS_H

#include <sys/types.h>

unsigned	disks__below(int dirfd, dev_t *found, unsigned max);

#endif							/* REDOAHEAD_TRACE_DISKS_H */
