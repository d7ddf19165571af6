/*
 * prometheus.h
 *		The status document as metrics for Prometheus.
 */
#ifndef REDOAHEAD_REPORT_PROMETHEUS_H
#define REDOAHEAD_REPORT_PROMETHEUS_H

#include <json-c/json.h>
#include <stdio.h>

int			prometheus__write(FILE *file, struct json_object *document);
int			prometheus__write_file(const char *path, struct json_object *document);
int			prometheus__remove_file(const char *path);

#endif							/* REDOAHEAD_REPORT_PROMETHEUS_H */
