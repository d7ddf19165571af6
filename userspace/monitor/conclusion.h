/*
 * conclusion.h
 *		Reports a recovery that has ended.
 */
#ifndef REDOAHEAD_MONITOR_CONCLUSION_H
#define REDOAHEAD_MONITOR_CONCLUSION_H

#include "monitor/recovery.h"

void		conclusion__log(const struct recovery *recovery);

#endif							/* REDOAHEAD_MONITOR_CONCLUSION_H */
