/*
 * conclusion.h
 *		Reports a recovery that has ended.
 */
#ifndef REDOAHEAD_MONITOR_CONCLUSION_H
#define REDOAHEAD_MONITOR_CONCLUSION_H

#include <json-c/json.h>

#include "engine/relations.h"
#include "monitor/recovery.h"

void		conclusion__log(const struct recovery *recovery);
void		conclusion__check(const char *directory);
void		conclusion__report(const char *directory, struct json_object *document,
							   const struct relations *relations);

#endif							/* REDOAHEAD_MONITOR_CONCLUSION_H */
