/*
 * html_history.c
 *		The history of a recovery: its charts, and a table of its samples.
 */
#include <math.h>

#include "report/html_internal.h"

/* Greater numbers are not believed. */
#define GREATEST	1e18

/* The error of the estimate counts from this part of redo on. */
#define ESTIMATE_FROM	0.2

/* It is not reported of fewer samples: the first ones say little. */
#define ESTIMATE_SAMPLES	8

/* Read an array of numbers; what is missing is unknown. */
static void
read_values(double *values, struct json_object *history, const char *name)
{
	struct json_object *array = json__member(history, name);
	size_t		length = json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;

	for (size_t i = 0; i < HTML_SAMPLES; i++)
	{
		double		value = i < length ?
			html_text__number(json_object_array_get_idx(array, i), NULL) : NAN;

		values[i] = value >= 0 && value <= GREATEST ? value : NAN;
	}
}

/*
 * When redo ended: the replay LSN advanced last.  What followed is the end-of-recovery
 * checkpoint.
 */
static double
find_redo_end(const struct html_page *page, const struct html_history *history)
{
	double		elapsed = html_text__number(page->recovery, "elapsed_seconds");
	double		stalled = html_text__number(page->recovery, "stalled_seconds");
	double		most = -1;
	double		end = NAN;

	if (elapsed >= stalled && stalled >= 0)
		return elapsed - stalled;
	for (unsigned i = 0; i < history->count; i++)
		if (history->replayed[i] > most)
		{
			most = history->replayed[i];
			end = history->elapsed[i];
		}
	return end;
}

static void
read_history(const struct html_page *page, struct html_history *history)
{
	struct json_object *object = json__member(page->recovery, "history");
	double		elapsed = html_text__number(page->recovery, "elapsed_seconds");

	read_values(history->elapsed, object, "elapsed_seconds");
	read_values(history->replayed, object, "replayed_bytes");
	read_values(history->rate, object, "bytes_per_second");
	read_values(history->in_flight, object, "blocks_in_flight");
	read_values(history->coverage, object, "coverage");
	read_values(history->estimate, object, "time_left_seconds");
	history->end = elapsed > 0 && elapsed <= GREATEST ? elapsed : 0.001;
	history->count = 0;
	for (unsigned i = 0; i < HTML_SAMPLES; i++)
		if (!isnan(history->elapsed[i]))
		{
			history->count = i + 1;
			if (history->elapsed[i] > history->end)
				history->end = history->elapsed[i];
		}
	history->redo_end = find_redo_end(page, history);
	for (unsigned i = 0; i < HTML_SAMPLES; i++)
		history->left[i] = history->elapsed[i] <= history->redo_end ?
			history->redo_end - history->elapsed[i] : NAN;
}

/* The greatest error of the estimate, as a share of the time that redo took; NAN if there is none. */
static double
estimate_error(const struct html_history *history)
{
	double		greatest = NAN;

	for (unsigned i = 0; i < history->count && history->count >= ESTIMATE_SAMPLES; i++)
	{
		double		error = fabs(history->estimate[i] - history->left[i]) / history->redo_end;

		if (history->elapsed[i] >= history->redo_end * ESTIMATE_FROM && !isnan(error) &&
			!(error <= greatest))
			greatest = error;
	}
	return greatest;
}

/* Write the chart of the time left, beside what was left. */
static void
write_time_left(const struct html_page *page, const struct html_history *history)
{
	const char *source = html_text__string(page->recovery, "end_source");
	char		note[160] = "Until redo had replayed what had been received.";
	struct html_chart chart = {
		.title = "Time left",.note = note,.unit = HTML_SECONDS,.level = NAN,
		.series = {{"estimated", history->estimate}, {"left in fact", history->left}}
	};
	double		error = estimate_error(history);
	char		text[HTML_NUMBER_BYTES];

	/* WAL that arrives later is no part of a standby's estimate. */
	if (html_text__string(page->recovery, "received_lsn") != NULL || (source != NULL && source[0] == 'r'))
		chart.series[1].values = NULL;
	else if (isnan(error))
		chart.note = NULL;
	else
	{
		html_text__format(text, error, HTML_SHARE);
		snprintf(note, sizeof(note), "Largest error after the first fifth: %s of the time that redo took.",
				 text);
	}
	html_chart__write(page->file, &chart, history);
}

static void
write_charts(const struct html_page *page, const struct html_history *history)
{
	double		mean = html_text__number(page->recovery, "mean_bytes_per_second");
	const struct html_chart charts[] = {
		{.title = "WAL replayed",.unit = HTML_BYTES,.series = {{"replayed", history->replayed}},.level = NAN},
		{.title = "Rate of redo",.unit = HTML_RATE,.series = {{"WAL replayed per second", history->rate}},
			.level = mean >= 0 && mean <= GREATEST ? mean : NAN,.level_name = "mean"},
		{.title = "Blocks in flight",.unit = HTML_COUNT,.series = {{"blocks", history->in_flight}},.level = NAN,
			.note = "Reads requested and not complete: the I/O depth."},
		{.title = "Coverage",.unit = HTML_SHARE,.series = {{"coverage", history->coverage}},.level = NAN,
			.note = "Share of the blocks that were submitted before redo reached them."},
	};

	fputs("<div class=\"charts\">\n", page->file);
	for (size_t i = 0; i < sizeof(charts) / sizeof(charts[0]); i++)
		html_chart__write(page->file, &charts[i], history);
	write_time_left(page, history);
	fputs("</div>\n", page->file);
}

/* All samples, for who wants numbers. */
static void
write_samples(FILE *file, const struct html_history *history)
{
	static const char *const names[] = {
		"Time", "WAL replayed", "Rate", "In flight", "Coverage", "Estimated left", "Left"
	};

	fputs("<details><summary>Samples as a table</summary>\n<div class=\"scroll\" tabindex=\"0\"><table>"
		  "<thead><tr>", file);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		fprintf(file, "<th class=\"number\">%s</th>", names[i]);
	fputs("</tr></thead>\n<tbody>\n", file);
	for (unsigned i = 0; i < history->count; i++)
	{
		const struct
		{
			double		value;
			enum html_unit unit;
		}			cells[] = {
			{history->elapsed[i], HTML_SECONDS}, {history->replayed[i], HTML_BYTES},
			{history->rate[i], HTML_RATE}, {history->in_flight[i], HTML_COUNT},
			{history->coverage[i], HTML_SHARE}, {history->estimate[i], HTML_SECONDS},
			{history->left[i], HTML_SECONDS}
		};

		fputs("<tr>", file);
		for (size_t c = 0; c < sizeof(cells) / sizeof(cells[0]); c++)
		{
			fputs("<td class=\"number\">", file);
			html_text__value(file, cells[c].value, cells[c].unit);
			fputs("</td>", file);
		}
		fputs("</tr>\n", file);
	}
	fputs("</tbody></table></div></details>\n", file);
}

/* Write the section about the time of the recovery. */
void
html_history__write(const struct html_page *page)
{
	struct html_history history;

	read_history(page, &history);
	fputs("<section>\n<h2>Over time</h2>\n", page->file);
	if (history.count == 0)
		fputs("<p class=\"none\">The recovery ended before a sample was taken.</p>\n", page->file);
	else
	{
		write_charts(page, &history);
		write_samples(page->file, &history);
	}
	fputs("</section>\n", page->file);
}
