/*
 * histogram.h
 *		Times as a histogram of powers of two.
 */
#ifndef REDOAHEAD_REPORT_HISTOGRAM_H
#define REDOAHEAD_REPORT_HISTOGRAM_H

#include <linux/types.h>
#include <stdio.h>

void		histogram__print(FILE *file, const char *title, const __u64 *slots,
							 unsigned slot_count);

#endif							/* REDOAHEAD_REPORT_HISTOGRAM_H */
