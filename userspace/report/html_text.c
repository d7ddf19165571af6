/*
 * html_text.c
 *		Text, numbers and times of the report, from a document that may hold anything.
 *
 * A member that is missing, null, of another type or not a finite number is unknown: NAN
 * or NULL here, a dash on the page.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/utf8.h"
#include "report/html_internal.h"

/* What stands for a value that is unknown: an en dash. */
#define UNKNOWN	"\xe2\x80\x93"

/* Thousands are separated by this: a narrow space that does not break. */
#define THOUSANDS	"\xe2\x80\xaf"

/* The number that a member is, NAN if it is none. */
double
html_text__number(struct json_object *object, const char *name)
{
	struct json_object *member = name == NULL ? object : json__member(object, name);
	double		value;

	if (!json_object_is_type(member, json_type_int) &&
		!json_object_is_type(member, json_type_double))
		return NAN;
	value = json_object_get_double(member);
	return isfinite(value) ? value : NAN;
}

/* The text that a member is, NULL if it is none. */
const char *
html_text__string(struct json_object *object, const char *name)
{
	struct json_object *member = json__member(object, name);

	return json_object_is_type(member, json_type_string) ? json_object_get_string(member) : NULL;
}

/* The recovery to report, NULL if there is none. */
struct json_object *
html_text__recovery(struct json_object *document)
{
	struct json_object *recovery = json__member(document, "last_recovery");

	if (!json_object_is_type(recovery, json_type_object))
		recovery = json__member(document, "recovery");
	return json_object_is_type(recovery, json_type_object) ? recovery : NULL;
}

/* Unix time at which the recovery ended, s; that of the document if it is not known. */
double
html_text__end_time(struct json_object *document, struct json_object *recovery)
{
	double		begin = html_text__number(recovery, "begin_time");
	double		elapsed = html_text__number(recovery, "elapsed_seconds");

	return isnan(begin) || isnan(elapsed) ? html_text__number(document, "time") : begin + elapsed;
}

/* Is the sequence a control character, or one that reverses the text that follows? */
static bool
is_control(const unsigned char *text)
{
	return utf8__is_control((const char *) text) ||
		(text[0] == 0xe2 && text[1] == 0x80 && text[2] >= 0xaa && text[2] <= 0xae) ||
		(text[0] == 0xe2 && text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9);
}

/*
 * Write a text so that none of it is markup, in an element or in a quoted attribute.
 * What is not UTF-8, and control characters, become U+FFFD.  NULL is unknown.
 */
void
html_text__write(FILE *file, const char *text)
{
	unsigned	length;

	if (text == NULL)
		text = UNKNOWN;
	while (*text != '\0')
	{
		const char *character = utf8__next(&text, &length);

		if (is_control((const unsigned char *) character))
			fputs(UTF8_REPLACEMENT, file);
		else if (strchr("<>&\"'", *character) != NULL)
			fprintf(file, "&#%d;", *character);
		else
			fwrite(character, 1, length, file);
	}
}

/* A whole number with separated thousands. */
static void
format_count(char text[HTML_NUMBER_BYTES], double value)
{
	char		digits[HTML_NUMBER_BYTES];
	size_t		length;
	char	   *to = text;

	if (fabs(value) >= 1e15)
	{
		snprintf(text, HTML_NUMBER_BYTES, "%.3g", value);
		return;
	}
	length = (size_t) snprintf(digits, sizeof(digits), "%.0f", fabs(value));
	if (value <= -0.5)
		*to++ = '-';
	for (size_t i = 0; i < length; i++)
	{
		if (i > 0 && (length - i) % 3 == 0)
		{
			memcpy(to, THOUSANDS, strlen(THOUSANDS));
			to += strlen(THOUSANDS);
		}
		*to++ = digits[i];
	}
	*to = '\0';
}

/* Three significant digits, without an exponent where possible. */
static void
format_scaled(char text[HTML_NUMBER_BYTES], double value, const char *unit)
{
	const char *gap = unit[0] == '\0' ? "" : " ";
	double		size = fabs(value);
	int			digits = size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : 2;

	if (size >= 1e6)
		snprintf(text, HTML_NUMBER_BYTES, "%.3g%s%s", value, gap, unit);
	else
		snprintf(text, HTML_NUMBER_BYTES, "%.*f%s%s", digits, value, gap, unit);
}

/* Bytes in units of 1000. */
static void
format_bytes(char text[HTML_NUMBER_BYTES], double value, const char *per)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	char		unit[16];
	int			i = 0;

	for (; i < 4 && fabs(value) >= 1000; i++)
		value /= 1000;
	snprintf(unit, sizeof(unit), "%s%s", units[i], per);
	if (i == 0)
		snprintf(text, HTML_NUMBER_BYTES, "%.0f %s", value, unit);
	else
		format_scaled(text, value, unit);
}

static void
format_seconds(char text[HTML_NUMBER_BYTES], double value)
{
	long		seconds = value >= 0 && value < 1e9 ? (long) value : 0;

	if (fabs(value) < 1 && value != 0)
		format_scaled(text, value * 1000, "ms");
	else if (value < 100)
		format_scaled(text, value, "s");
	else if (value < 3600)
		snprintf(text, HTML_NUMBER_BYTES, "%ld min %02ld s", seconds / 60, seconds % 60);
	else if (value >= 48 * 3600 && value < 1e9)
		snprintf(text, HTML_NUMBER_BYTES, "%ld d %02ld h", seconds / 86400, seconds / 3600 % 24);
	else if (value < 1e9)
		snprintf(text, HTML_NUMBER_BYTES, "%ld h %02ld min", seconds / 3600,
				 seconds / 60 % 60);
	else
		snprintf(text, HTML_NUMBER_BYTES, "%.3g s", value);
}

/* A number with its unit; NAN is unknown. */
void
html_text__format(char text[HTML_NUMBER_BYTES], double value, enum html_unit unit)
{
	if (isnan(value))
	{
		strcpy(text, UNKNOWN);
		return;
	}
	switch (unit)
	{
		case HTML_COUNT:
			format_count(text, value);
			break;
		case HTML_RATIO:
			format_scaled(text, value, "");
			break;
		case HTML_BYTES:
			format_bytes(text, value, "");
			break;
		case HTML_RATE:
			format_bytes(text, value, "/s");
			break;
		case HTML_SECONDS:
			format_seconds(text, value);
			break;
		case HTML_SHARE:
			/* 100 % is said of all only. */
			if (value < 1 && value > 0.9995)
				value = 0.999;
			snprintf(text, HTML_NUMBER_BYTES, fabs(value) < 1e6 ? "%.*f %%" : "%.*g %%",
					 value == 0 || value == 1 ? 0 : 1, value * 100);
			break;
	}
}

/* Write a number with its unit, on one line; NAN is unknown. */
void
html_text__value(FILE *file, double value, enum html_unit unit)
{
	char		text[HTML_NUMBER_BYTES];

	html_text__format(text, value, unit);
	for (const char *at = text; *at != '\0'; at++)
		fputs(*at == ' ' ? "\xc2\xa0" : (const char[]) {*at, '\0'}, file);
}

/* Unix time as local time, in a format of strftime(3); NAN is unknown. */
void
html_text__time(char text[HTML_NUMBER_BYTES], double time, const char *format)
{
	struct tm	parts;
	time_t		seconds;

	/* Up to the year 9999. */
	if (isnan(time) || time < 0 || time > 253402000000.0)
	{
		strcpy(text, UNKNOWN);
		return;
	}
	seconds = (time_t) time;
	if (localtime_r(&seconds, &parts) == NULL ||
		strftime(text, HTML_NUMBER_BYTES, format, &parts) == 0)
		strcpy(text, UNKNOWN);
}
