/*
 * html_internal.h
 *		What the parts of the report share: html.c has the page, html_tables.c what is no
 *		chart, html_history.c which charts there are, html_chart.c draws one,
 *		html_text.c writes text and numbers, html_style.c has colors and layout.
 */
#ifndef REDOAHEAD_REPORT_HTML_INTERNAL_H
#define REDOAHEAD_REPORT_HTML_INTERNAL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/relations.h"
#include "report/json.h"

/* Room for a number with its unit, or a time, bytes. */
#define HTML_NUMBER_BYTES	64

/* Most samples of a history; what follows is ignored. */
#define HTML_SAMPLES		240

/* Series of a chart, at most. */
#define HTML_SERIES			2

/* What a number is. */
enum html_unit
{
	HTML_COUNT,					/* blocks, references, files */
	HTML_RATIO,					/* of two of them */
	HTML_BYTES,					/* bytes */
	HTML_RATE,					/* bytes per second */
	HTML_SECONDS,				/* time, s */
	HTML_SHARE					/* between 0 and 1 */
};

/* What is reported. */
struct html_page
{
	FILE	   *file;			/* receives the page */
	struct json_object *document;	/* as given */
	struct json_object *recovery;	/* part of it */
	const struct relations *relations;	/* whose blocks were requested, or NULL */
};

/* Samples of a recovery, oldest first; NAN is unknown. */
struct html_history
{
	unsigned	count;			/* samples */
	double		end;			/* when the recovery ended, s since its begin */
	double		redo_end;		/* when redo ended, s; NAN: not known */
	double		elapsed[HTML_SAMPLES];	/* time of the sample, s */
	double		replayed[HTML_SAMPLES]; /* WAL replayed, bytes */
	double		rate[HTML_SAMPLES]; /* replayed per second, bytes */
	double		in_flight[HTML_SAMPLES];	/* blocks */
	double		coverage[HTML_SAMPLES]; /* share of the blocks submitted in time */
	double		estimate[HTML_SAMPLES]; /* time left as estimated, s */
	double		left[HTML_SAMPLES]; /* time that was left, s */
};

/* A line of a chart. */
struct html_series
{
	const char *name;			/* in the legend */
	const double *values;		/* by sample */
};

/* A chart over the time of the recovery. */
struct html_chart
{
	const char *title;			/* what it shows */
	const char *note;			/* a sentence about it, or NULL */
	enum html_unit unit;		/* of all values */
	struct html_series series[HTML_SERIES]; /* the first one's area is filled; values NULL: none */
	double		level;			/* a horizontal line; NAN: none */
	const char *level_name;		/* its name in the legend */
};

/* html_text.c */
double		html_text__number(struct json_object *object, const char *name);
const char *html_text__string(struct json_object *object, const char *name);
void		html_text__write(FILE *file, const char *text);
void		html_text__format(char text[HTML_NUMBER_BYTES], double value, enum html_unit unit);
void		html_text__value(FILE *file, double value, enum html_unit unit);
void		html_text__time(char text[HTML_NUMBER_BYTES], double time, const char *format);
double		html_text__end_time(struct json_object *document, struct json_object *recovery);
struct json_object *html_text__recovery(struct json_object *document);

/* html_style.c */
extern const char html_style[];

/* html_chart.c */
void		html_chart__write(FILE *file, const struct html_chart *chart,
							  const struct html_history *history);

/* html_history.c */
void		html_history__write(const struct html_page *page);

/* html_tables.c */
void		html_tables__limits(const struct html_page *page);
void		html_tables__relations(const struct html_page *page);
void		html_tables__counters(const struct html_page *page);
const char *html_tables__main_limit(const struct html_page *page, double *share);

#endif							/* REDOAHEAD_REPORT_HTML_INTERNAL_H */
