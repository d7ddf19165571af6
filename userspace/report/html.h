/*
 * html.h
 *		A recovery that has ended, as an HTML page.
 *
 * The recovery is the status document's "last_recovery"; if that is null or missing, its
 * "recovery".  "relations" may be NULL: then the page has no table of them.
 */
#ifndef REDOAHEAD_REPORT_HTML_H
#define REDOAHEAD_REPORT_HTML_H

#include <json-c/json.h>
#include <stddef.h>
#include <stdio.h>

#include "engine/relations.h"

int			html__write(FILE *file, struct json_object *document,
						const struct relations *relations);
int			html__write_file(const char *directory, struct json_object *document,
							 const struct relations *relations, char *path, size_t size);

#endif							/* REDOAHEAD_REPORT_HTML_H */
