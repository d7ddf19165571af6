/*
 * needs.c
 *		The list of what redoahead needs, and how it is printed.
 *
 * A need has a name, a status, what was found, the remedy if it is not met, and numbers in
 * base units.  They are members of a JSON object from the beginning, so that both reports
 * have the same.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/utf8.h"
#include "check/needs.h"
#include "report/json.h"

/* Longest text of a need, bytes. */
#define TEXT_BYTES		1024

/* Columns of status and name, with the blanks behind them. */
#define STATUS_COLUMNS	9
#define NAME_COLUMNS	24

/* Least columns for the text; a terminal that is narrower breaks lines itself. */
#define TEXT_COLUMNS	20

static const char *const status_names[NEED_STATUS_COUNT] = {
	[NEED_OK] = "ok",
	[NEED_WARNING] = "warning",
	[NEED_PROBLEM] = "problem",
};

const char *
needs__status_name(enum need_status status)
{
	return status_names[status];
}

/* Make an empty list. */
int
needs__create(struct needs *needs)
{
	*needs = (struct needs) {.list = json_object_new_array()};
	return needs->list == NULL ? -ENOMEM : 0;
}

void
needs__destroy(struct needs *needs)
{
	json_object_put(needs->list);
	needs->list = NULL;
}

/* The object of the newest need. */
static struct json_object *
newest(const struct needs *needs)
{
	return json_object_array_get_idx(needs->list, json_object_array_length(needs->list) - 1);
}

/* Add a text to an object; what is not printable, in names of files for example, becomes '?'. */
static void
add_text(struct json_object *object, const char *name, const char *format, va_list arguments)
{
	char		text[TEXT_BYTES];

	vsnprintf(text, sizeof(text), format, arguments);
	utf8__hide_controls(text);
	json__text(object, name, text);
}

/* Add a need and what was found. */
void
needs__add(struct needs *needs, const char *name, enum need_status status,
		   const char *format,...)
{
	struct json_object *need = json__element(needs->list);
	va_list		arguments;

	json__text(need, "name", name);
	json__text(need, "status", status_names[status]);
	va_start(arguments, format);
	add_text(need, "finding", format, arguments);
	va_end(arguments);
	json__text(need, "remedy", NULL);
	needs->counts[status]++;
}

/* Add the remedy to the newest need. */
void
needs__remedy(struct needs *needs, const char *format,...)
{
	va_list		arguments;

	va_start(arguments, format);
	add_text(newest(needs), "remedy", format, arguments);
	va_end(arguments);
}

/* Add a number to the newest need. */
void
needs__number(struct needs *needs, const char *name, uint64_t number)
{
	json__count(newest(needs), name, number);
}

/* The status of the need that is met least. */
enum need_status
needs__worst(const struct needs *needs)
{
	return needs->counts[NEED_PROBLEM] > 0 ? NEED_PROBLEM :
		needs->counts[NEED_WARNING] > 0 ? NEED_WARNING : NEED_OK;
}

/* Print a text that begins at a column; break it between words before the width, unless that is 0. */
static void
print_text(FILE *out, const char *text, unsigned column, unsigned width)
{
	unsigned	used = 0;

	if (width < column + TEXT_COLUMNS)
		width = 0;
	while (*text != '\0')
	{
		unsigned	length = (unsigned) strcspn(text, " ");

		if (width > 0 && used > 0 && column + used + 1 + length > width)
		{
			fprintf(out, "\n%*s", (int) column, "");
			used = 0;
		}
		used += (unsigned) fprintf(out, "%s%.*s", used > 0 ? " " : "", (int) length, text);
		text += length;
		text += *text == ' ';
	}
}

static const char *
member(struct json_object *need, const char *name)
{
	return json_object_get_string(json_object_object_get(need, name));
}

/* Print a line for each need; a width breaks it between words. */
void
needs__print(const struct needs *needs, FILE *out, unsigned width)
{
	for (size_t i = 0; i < json_object_array_length(needs->list); i++)
	{
		struct json_object *need = json_object_array_get_idx(needs->list, i);
		const char *remedy = member(need, "remedy");
		char		text[2 * TEXT_BYTES + 8];

		fprintf(out, "%-*s%-*s", STATUS_COLUMNS, member(need, "status"),
				NAME_COLUMNS, member(need, "name"));
		snprintf(text, sizeof(text), "%s%s%s", member(need, "finding"),
				 remedy != NULL ? "; " : "", remedy != NULL ? remedy : "");
		print_text(out, text, STATUS_COLUMNS + NAME_COLUMNS, width);
		fputc('\n', out);
	}
}
