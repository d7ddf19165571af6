/*
 * service.h
 *		The status line of the service.
 */
#ifndef REDOAHEAD_MONITOR_SERVICE_H
#define REDOAHEAD_MONITOR_SERVICE_H

#include <json-c/json.h>
#include <stdbool.h>

bool		service__report(struct json_object *document);

#endif							/* REDOAHEAD_MONITOR_SERVICE_H */
