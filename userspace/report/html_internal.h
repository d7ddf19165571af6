/*
 * html_internal.h
 *		What the parts of the report share: html.c has its sections, html_text.c writes
 *		text and numbers, html_chart.c draws, html_style.c has colors and layout.
 */
#ifndef REDOAHEAD_REPORT_HTML_INTERNAL_H
#define REDOAHEAD_REPORT_HTML_INTERNAL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Room for a number with its unit, or a time, bytes. */
#define HTML_NUMBER_BYTES	64

/* What a number is. */
enum html_unit
{
	HTML_COUNT,					/* blocks, references, files */
	HTML_BYTES,					/* bytes */
	HTML_RATE,					/* bytes per second */
	HTML_SECONDS,				/* time, s */
	HTML_SHARE					/* between 0 and 1 */
};

/* html_text.c */
struct json_object *html_text__member(struct json_object *object, const char *name);
double		html_text__number(struct json_object *object, const char *name);
const char *html_text__string(struct json_object *object, const char *name);
void		html_text__write(FILE *file, const char *text);
void		html_text__format(char text[HTML_NUMBER_BYTES], double value, enum html_unit unit);
void		html_text__time(char text[HTML_NUMBER_BYTES], double time, const char *format);
double		html_text__end_time(struct json_object *document, struct json_object *recovery);
struct json_object *html_text__recovery(struct json_object *document);

#endif							/* REDOAHEAD_REPORT_HTML_INTERNAL_H */
