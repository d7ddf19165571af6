/*
 * findings.h
 *		Reports of what a trace found: as text, and as JSON.
 */
#ifndef REDOAHEAD_REPORT_FINDINGS_H
#define REDOAHEAD_REPORT_FINDINGS_H

#include <stdio.h>

#include "trace/findings.h"

/* Names of outcomes, as in the reports. */
extern const char *const findings__outcome_names[];

const char *findings__rmgr_name(unsigned rmid, char buffer[16]);
double		findings__share(uint64_t part, uint64_t whole);
int			findings__text(const struct findings *findings, FILE *file);
int			findings__json(const struct findings *findings, FILE *file);

#endif							/* REDOAHEAD_REPORT_FINDINGS_H */
