/*
 * summary.h
 *		Logs what the daemon did in a recovery that has ended.
 */
#ifndef REDOAHEAD_REPORT_SUMMARY_H
#define REDOAHEAD_REPORT_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/counters.h"

void		summary__log(const struct counters *counters, bool complete);

#endif							/* REDOAHEAD_REPORT_SUMMARY_H */
