/*
 * json.h
 *		Adds members to JSON objects, in the forms that all reports have; finds them.
 */
#ifndef REDOAHEAD_REPORT_JSON_H
#define REDOAHEAD_REPORT_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

/* Values of time as they are kept: so many in a second. */
#define JSON_MICROSECONDS	UINT64_C(1000000)
#define JSON_NANOSECONDS	UINT64_C(1000000000)

struct json_object *json__object(struct json_object *parent, const char *name);
struct json_object *json__array(struct json_object *parent, const char *name);
struct json_object *json__element(struct json_object *array);
void		json__count(struct json_object *object, const char *name, uint64_t value);
void		json__text(struct json_object *object, const char *name, const char *value);
void		json__flag(struct json_object *object, const char *name, bool value);
void		json__seconds(struct json_object *object, const char *name, uint64_t time,
						  uint64_t per_second);
struct json_object *json__new_number(double value, int digits);
void		json__number(struct json_object *object, const char *name, double value,
						 int digits);
void		json__lsn(struct json_object *object, const char *name, uint64_t lsn);
struct json_object *json__member(struct json_object *object, const char *name);

#endif							/* REDOAHEAD_REPORT_JSON_H */
