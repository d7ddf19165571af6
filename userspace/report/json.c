/*
 * json.c
 *		Adds members to JSON objects, in the forms that all reports have.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "report/json.h"

/* A new object that is a member of another one. */
struct json_object *
json__object(struct json_object *parent, const char *name)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(parent, name, object);
	return object;
}

/* A new array that is a member of an object. */
struct json_object *
json__array(struct json_object *parent, const char *name)
{
	struct json_object *array = json_object_new_array();

	json_object_object_add(parent, name, array);
	return array;
}

/* A new object at the end of an array. */
struct json_object *
json__element(struct json_object *array)
{
	struct json_object *object = json_object_new_object();

	json_object_array_add(array, object);
	return object;
}

void
json__count(struct json_object *object, const char *name, uint64_t value)
{
	json_object_object_add(object, name, json_object_new_uint64(value));
}

/* A text, as JSON must be UTF-8: what is not becomes U+FFFD.  NULL is null. */
void
json__text(struct json_object *object, const char *name, const char *value)
{
	struct json_object *text = NULL;
	size_t		size = 0;
	char	   *copy = value == NULL ? NULL :
		malloc(strlen(value) * (sizeof(UTF8_REPLACEMENT) - 1) + 1);

	if (copy != NULL)
	{
		while (*value != '\0')
		{
			unsigned	length;
			const char *character = utf8__next(&value, &length);

			memcpy(copy + size, character, length);
			size += length;
		}
		text = json_object_new_string_len(copy, (int) size);
		free(copy);
	}
	json_object_object_add(object, name, text);
}

void
json__flag(struct json_object *object, const char *name, bool value)
{
	json_object_object_add(object, name, json_object_new_boolean(value));
}

/* A time in seconds, with the digits that it has and no more. */
void
json__seconds(struct json_object *object, const char *name, uint64_t time, uint64_t per_second)
{
	char		text[32];

	snprintf(text, sizeof(text), "%" PRIu64 ".%0*" PRIu64, time / per_second,
			 per_second == JSON_NANOSECONDS ? 9 : 6, time % per_second);
	json_object_object_add(object, name,
						   json_object_new_double_s((double) time / (double) per_second, text));
}

void
json__lsn(struct json_object *object, const char *name, uint64_t lsn)
{
	char		text[32];

	snprintf(text, sizeof(text), "%X/%08X", (unsigned) (lsn >> 32), (unsigned) lsn);
	json__text(object, name, text);
}

/* A number with so many digits behind the point; below 0, which none can be, null. */
struct json_object *
json__new_number(double value, int digits)
{
	char		text[64];

	if (!(value >= 0 && value <= 1e18))
		return NULL;
	snprintf(text, sizeof(text), "%.*f", digits, value);
	return json_object_new_double_s(value, text);
}

void
json__number(struct json_object *object, const char *name, double value, int digits)
{
	json_object_object_add(object, name, json__new_number(value, digits));
}

/* A member of an object; NULL if it is null or missing, or if that is none. */
struct json_object *
json__member(struct json_object *object, const char *name)
{
	struct json_object *member = NULL;

	if (json_object_is_type(object, json_type_object))
		json_object_object_get_ex(object, name, &member);
	return member;
}
