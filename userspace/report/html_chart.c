/*
 * html_chart.c
 *		Draws a chart over the time of a recovery.
 *
 * The SVG has lines only and is stretched to the width that there is; text is HTML beside
 * it, so that its size is the same on every screen.  Each sample has a column that shows
 * its values where the pointer is.
 */
#include <math.h>

#include "report/html_internal.h"

/* Size of the drawing, in units of its own. */
#define WIDTH	1000.0
#define HEIGHT	100.0

/* Steps of a vertical axis, and of that of time, at most. */
#define MAX_STEPS		4
#define MAX_TIME_STEPS	6

/* The time axis has no labels beyond this part of it: they would be cut off. */
#define EDGE			0.94

/* An axis that begins at zero. */
struct axis
{
	double		step;			/* between two ticks */
	double		end;			/* value at the end */
	double		scale;			/* size of the unit that labels have */
	const char *unit;			/* its name */
};

/* Round steps of time, s; longer ones double. */
static const double time_steps[] = {
	0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600,
	900, 1800, 3600, 7200, 14400, 28800, 43200, 86400
};

/* Choose at most so many steps of time for values up to max. */
static void
fit_time(struct axis *axis, double max, int steps)
{
	size_t		i = 0;

	while (i < sizeof(time_steps) / sizeof(time_steps[0]) - 1 && max > time_steps[i] * steps)
		i++;
	axis->step = time_steps[i];
	while (max > axis->step * steps)
		axis->step *= 2;
	axis->scale = axis->step < 60 ? 1 : axis->step < 3600 ? 60 : axis->step < 86400 ? 3600 : 86400;
	axis->unit = axis->step < 60 ? " s" : axis->step < 3600 ? " min" :
		axis->step < 86400 ? " h" : " d";
}

/* Choose steps of 1, 2 or 5 times a power of ten, in bytes of their greatest unit. */
static void
fit_numbers(struct axis *axis, double max, enum html_unit unit)
{
	static const char *const bytes[] = {" B", " kB", " MB", " GB", " TB"};
	static const char *const rates[] = {" B/s", " kB/s", " MB/s", " GB/s", " TB/s"};
	static const double factors[] = {2, 2.5, 2};
	int			power = 0;

	axis->scale = 1;
	axis->unit = "";
	if (unit == HTML_BYTES || unit == HTML_RATE)
	{
		for (; power < 4 && max / axis->scale >= 1000; power++)
			axis->scale *= 1000;
		axis->unit = unit == HTML_BYTES ? bytes[power] : rates[power];
	}
	axis->step = power == 0 ? 1 : axis->scale / 100;
	for (int i = 0; max > axis->step * MAX_STEPS; i++)
		axis->step *= factors[i % 3];
}

static struct axis
fit_axis(double max, enum html_unit unit, int steps)
{
	struct axis axis = {.step = 0.25,.end = 1,.scale = 0.01,.unit = " %"};

	if (unit == HTML_SHARE)
		return axis;
	if (unit == HTML_SECONDS)
		fit_time(&axis, max, steps);
	else
		fit_numbers(&axis, max, unit);
	axis.end = axis.step;
	while (axis.end < max)
		axis.end += axis.step;
	return axis;
}

static void
write_label(FILE *file, const struct axis *axis, double value)
{
	char		text[HTML_NUMBER_BYTES];

	if (axis->unit[0] == '\0')
	{
		html_text__format(text, value, HTML_COUNT);
		fputs(text, file);
	}
	else
		fprintf(file, "%.4g%s", value / axis->scale, axis->unit);
}

/* The point of a sample in the drawing; false if there is none. */
static bool
point(const struct html_history *history, const double *values, unsigned i, const struct axis *axis,
	  double *x, double *y)
{
	if (isnan(history->elapsed[i]) || isnan(values[i]))
		return false;
	*x = history->elapsed[i] / history->end * WIDTH;
	*y = HEIGHT - (values[i] > axis->end ? axis->end : values[i]) / axis->end * HEIGHT;
	return true;
}

/* What is drawn of a series. */
enum part
{
	PART_AREA,					/* what is below its lines */
	PART_LINES,					/* between samples that follow each other */
	PART_DOTS					/* samples alone: lines of no length, with round ends */
};

/* Write a part of a series; a sample that is not known ends a line. */
static void
write_path(FILE *file, const struct html_history *history, const double *values,
		   const struct axis *axis, enum part part)
{
	double		first = 0;		/* x of the first point of a line */
	double		last = 0;		/* x of its last one */
	unsigned	length = 0;		/* its points so far */
	double		x = 0;
	double		y = 0;

	for (unsigned i = 0; i <= history->count; i++)
	{
		bool		known = i < history->count && point(history, values, i, axis, &x, &y);
		double		next_x;
		double		next_y;
		bool		alone = known && length == 0 && !(i + 1 < history->count &&
													 point(history, values, i + 1, axis, &next_x, &next_y));

		if (known && alone == (part == PART_DOTS))
			fprintf(file, alone ? "M%.1f %.2fh0" : length == 0 ? "M%.1f %.2f" : "L%.1f %.2f", x, y);
		if (!known && part == PART_AREA && length > 1)
			fprintf(file, "L%.1f %.0fL%.1f %.0fZ", last, HEIGHT, first, HEIGHT);
		first = length == 0 ? x : first;
		last = x;
		length = known ? length + 1 : 0;
	}
}

/* Write a series' lines and dots. */
static void
write_series(FILE *file, const struct html_history *history, const double *values,
			 const struct axis *axis, int number)
{
	fprintf(file, "<path class=\"line s%d\" d=\"", number);
	write_path(file, history, values, axis, PART_LINES);
	fprintf(file, "\"/>\n<path class=\"line dot s%d\" d=\"", number);
	write_path(file, history, values, axis, PART_DOTS);
	fputs("\"/>\n", file);
}

/* A column for each sample, which shows the values. */
static void
write_columns(FILE *file, const struct html_chart *chart, const struct html_history *history)
{
	for (unsigned i = 0; i < history->count; i++)
	{
		double		from = i == 0 ? 0 : history->elapsed[i - 1];
		double		to = history->elapsed[i];

		if (isnan(from) || isnan(to) || to <= from)
			continue;
		fprintf(file, "<rect x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"%.0f\"><title>",
				from / history->end * WIDTH, (to - from) / history->end * WIDTH, HEIGHT);
		html_text__value(file, to, HTML_SECONDS);
		for (int s = 0; s < HTML_SERIES && chart->series[s].values != NULL; s++)
		{
			fprintf(file, ", %s: ", chart->series[s].name);
			html_text__value(file, chart->series[s].values[i], chart->unit);
		}
		fputs("</title></rect>\n", file);
	}
}

static void
write_svg(FILE *file, const struct html_chart *chart, const struct html_history *history,
		  const struct axis *x_axis, const struct axis *y_axis)
{
	fprintf(file, "<svg viewBox=\"0 0 %.0f %.0f\" preserveAspectRatio=\"none\" role=\"img\""
			" aria-label=\"%s\">\n", WIDTH, HEIGHT, chart->title);
	for (double value = 0; value <= y_axis->end * 1.001; value += y_axis->step)
		fprintf(file, "<path class=\"grid\" d=\"M0 %.2fH%.0f\"/>", HEIGHT - value / y_axis->end * HEIGHT,
				WIDTH);
	for (double value = 0; value <= history->end; value += x_axis->step)
		fprintf(file, "<path class=\"grid\" d=\"M%.1f 0V%.0f\"/>", value / history->end * WIDTH, HEIGHT);
	fputs("\n<path class=\"area\" d=\"", file);
	write_path(file, history, chart->series[0].values, y_axis, PART_AREA);
	fputs("\"/>\n", file);
	if (!isnan(chart->level))
		fprintf(file, "<path class=\"line level\" d=\"M0 %.2fH%.0f\"/>\n",
				HEIGHT - chart->level / y_axis->end * HEIGHT, WIDTH);
	for (int s = HTML_SERIES - 1; s >= 0; s--)
		if (chart->series[s].values != NULL)
			write_series(file, history, chart->series[s].values, y_axis, s);
	write_columns(file, chart, history);
	fputs("</svg>\n", file);
}

/* The greatest value of a chart, NAN if none is known. */
static double
greatest(const struct html_chart *chart, const struct html_history *history)
{
	double		max = NAN;

	for (int s = 0; s < HTML_SERIES && chart->series[s].values != NULL; s++)
		for (unsigned i = 0; i < history->count; i++)
			if (!isnan(chart->series[s].values[i]) && !(chart->series[s].values[i] <= max))
				max = chart->series[s].values[i];
	return chart->level > max ? chart->level : max;
}

static void
write_legend(FILE *file, const struct html_chart *chart)
{
	if (chart->series[1].values == NULL && isnan(chart->level))
		return;
	fputs("<p class=\"legend\">", file);
	for (int s = 0; s < HTML_SERIES && chart->series[s].values != NULL; s++)
		fprintf(file, "<span><i class=\"key s%d\"></i>%s</span> ", s, chart->series[s].name);
	if (!isnan(chart->level))
	{
		fprintf(file, "<span><i class=\"key level\"></i>%s ", chart->level_name);
		html_text__value(file, chart->level, chart->unit);
		fputs("</span>", file);
	}
	fputs("</p>\n", file);
}

/* Write a chart, or that there is nothing to draw. */
void
html_chart__write(FILE *file, const struct html_chart *chart, const struct html_history *history)
{
	double		max = greatest(chart, history);
	struct axis x_axis = fit_axis(history->end, HTML_SECONDS, MAX_TIME_STEPS);
	struct axis y_axis;

	fprintf(file, "<figure>\n<figcaption><h3>%s</h3>", chart->title);
	if (chart->note != NULL)
		fprintf(file, "<p>%s</p>", chart->note);
	fputs("</figcaption>\n", file);
	if (isnan(max))
	{
		fputs("<p class=\"none\">Not known in this recovery.</p>\n</figure>\n", file);
		return;
	}
	y_axis = fit_axis(max, chart->unit, MAX_STEPS);
	write_legend(file, chart);
	fputs("<div class=\"plot\"><div class=\"y\">", file);
	for (double value = 0; value <= y_axis.end * 1.001; value += y_axis.step)
	{
		fputs("<span>", file);
		write_label(file, &y_axis, value);
		fputs("</span>", file);
	}
	fputs("</div>\n", file);
	write_svg(file, chart, history, &x_axis, &y_axis);
	fputs("<div class=\"x\">", file);
	for (double value = 0; value <= history->end * EDGE; value += x_axis.step)
	{
		fprintf(file, "<span style=\"left:%.2f%%\">", value / history->end * 100);
		write_label(file, &x_axis, value);
		fputs("</span>", file);
	}
	fputs("</div></div>\n</figure>\n", file);
}
