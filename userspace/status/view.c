/*
 * view.c
 *		Lays out the full-screen view as lines of text, for a terminal of any size.
 *
 * The lines are in the order of their importance, so that a low terminal loses the least
 * important ones.  A narrow one loses the indentation of values, then their ends.
 */
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "status/text.h"
#include "status/view.h"

/* From this width on, values stand below each other. */
#define WIDE			44

/* Width of the names of values, columns. */
#define NAME_COLUMNS	12

/* Width of the view, columns. */
static int
width_of(const struct view *view)
{
	return view->width < 1 ? 1 : view->width > VIEW_MAX_COLUMNS ? VIEW_MAX_COLUMNS : view->width;
}

/* A new line, or NULL if the view is full. */
static struct view_line *
new_line(struct view *view)
{
	struct view_line *line;

	if (view->count >= view->height || view->count >= VIEW_MAX_LINES)
		return NULL;
	line = &view->rows[view->count++];
	line->text[0] = '\0';
	line->bold = false;
	return line;
}

/* Cut ASCII text to a width. */
static void
set_text(const struct view *view, struct view_line *line, const char *text)
{
	size_t		length = strnlen(text, (size_t) width_of(view));

	memcpy(line->text, text, length);
	line->text[length] = '\0';
}

/* Add a line of a name and a value. */
static void __attribute__((format(printf, 3, 4)))
add(struct view *view, const char *name, const char *format,...)
{
	struct view_line *line = new_line(view);
	char		text[TEXT_LINE_BYTES];
	va_list		args;
	int			n;

	if (line == NULL)
		return;
	n = snprintf(text, sizeof(text), view->width >= WIDE ? "%-*s" : "%.*s ",
				 view->width >= WIDE ? NAME_COLUMNS : NAME_COLUMNS - 1, name);
	if (name[0] == '\0')
		n = 0;
	va_start(args, format);
	vsnprintf(text + n, sizeof(text) - (size_t) n, format, args);
	va_end(args);
	set_text(view, line, text);
}

/* Add text that may take several lines, broken at spaces where there are any. */
static void
add_text(struct view *view, const char *text)
{
	while (*text != '\0')
	{
		struct view_line *line = new_line(view);
		int			length = (int) strnlen(text, (size_t) width_of(view) + 1);

		if (line == NULL)
			return;
		if (length > width_of(view))
			for (length = width_of(view); length > width_of(view) / 2 && text[length] != ' ';)
				length--;
		if (text[length] != ' ' && text[length] != '\0')
			length = width_of(view);
		for (int i = 0; i < length; i++)
			line->text[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
		line->text[length] = '\0';
		text += length;
		text += strspn(text, " ");
	}
}

/* The title: the command, the version of the server, its directory. */
static void
add_title(struct view *view, const struct values *document)
{
	char		text[TEXT_LINE_BYTES];
	struct view_line *line = new_line(view);

	if (line == NULL)
		return;
	if (isnan(document->server_major))
		snprintf(text, sizeof(text), "redoahead %s %s", document->command, document->data_directory);
	else
		snprintf(text, sizeof(text), "redoahead %s, PostgreSQL %.0f, %s", document->command,
				 document->server_major, document->data_directory);
	set_text(view, line, text);
}

/* Progress as a bar: a sixth of the view is its number. */
static void
add_bar(struct view *view, double progress)
{
	char		number[TEXT_NUMBER_BYTES];
	char		bar[VIEW_MAX_COLUMNS + 1];
	int			columns = width_of(view) - 10;
	struct view_line *line;
	int			done;

	if (isnan(progress) || columns < 4 || (line = new_line(view)) == NULL)
		return;
	done = (int) (progress * columns);
	memset(bar, '.', (size_t) columns);
	memset(bar, '#', (size_t) done);
	bar[columns] = '\0';
	snprintf(line->text, sizeof(line->text), "[%s] %s", bar, text__share(number, progress));
}

/* A line over time of what has a history. */
static void
add_sparkline(struct view *view, const struct values_recovery *recovery, const char *name,
			  enum values_history history, double most)
{
	struct view_line *line;
	int			columns = width_of(view) - NAME_COLUMNS;
	int			n;

	if (recovery->sample_count < 2 || columns < 4 || (line = new_line(view)) == NULL)
		return;
	n = snprintf(line->text, sizeof(line->text), "%-*s", NAME_COLUMNS, name);
	text__sparkline(line->text + n, sizeof(line->text) - (size_t) n, (unsigned) columns,
					recovery->history[history], recovery->sample_count, most, view->utf8);
}

/* The values that matter most. */
static void
add_progress(struct view *view, const struct values *document)
{
	const struct values_recovery *recovery = &document->recovery;
	char		one[TEXT_NUMBER_BYTES];
	char		two[TEXT_NUMBER_BYTES];
	char		three[TEXT_NUMBER_BYTES];

	if (!isnan(recovery->left) && !isnan(recovery->left_min) && !isnan(recovery->left_max))
		add(view, "time left", "%s (%s to %s)", text__duration(one, recovery->left),
			text__duration(two, recovery->left_min), text__duration(three, recovery->left_max));
	else
		add(view, "time left", "%s", isnan(recovery->left) ? "not known" :
			text__duration(one, recovery->left));
	add_bar(view, recovery->progress);
	add(view, "redo", "%s%s%s", recovery->replay_lsn[0] != '\0' ? recovery->replay_lsn : "-",
		recovery->end_lsn[0] != '\0' ? " of " : "", recovery->end_lsn);
	add(view, "rate", "%s/s, mean %s/s", text__bytes(one, recovery->rate),
		text__bytes(two, recovery->mean_rate));
	if (recovery->stalled >= 10 && !values__is_idle(document))
	{
		add(view, "no progress", "for %s", text__duration(one, recovery->stalled));
		if (view->count > 0)
			view->rows[view->count - 1].bold = true;
	}
	add(view, "limited by", "%s", recovery->limit[0] != '\0' ? recovery->limit : "-");
}

/* The others, and the history. */
static void
add_details(struct view *view, const struct values_recovery *recovery)
{
	char		one[TEXT_NUMBER_BYTES];
	char		two[TEXT_NUMBER_BYTES];

	add(view, "coverage", "%s", text__share(one, recovery->coverage));
	add(view, "look-ahead", "%s", text__bytes(one, recovery->lookahead));
	if (!isnan(recovery->in_flight) && !isnan(recovery->io_depth))
		add(view, "in flight", "%.0f of %.0f", recovery->in_flight, recovery->io_depth);
	add_sparkline(view, recovery, "rate", VALUES_RATE, 0);
	add_sparkline(view, recovery, "in flight", VALUES_IN_FLIGHT, 0);
	add_sparkline(view, recovery, "coverage", VALUES_COVERAGE, 1);
	add(view, "elapsed", "%s", text__duration(one, recovery->elapsed));
	add(view, "replayed", "%s, %s remain", text__bytes(one, recovery->replayed),
		text__bytes(two, recovery->remaining));
	if (!isnan(recovery->queued) && !isnan(recovery->ahead))
		add(view, "blocks", "%.0f queued, %.0f ahead", recovery->queued, recovery->ahead);
	add(view, "redo start", "%s",
		recovery->redo_start_lsn[0] != '\0' ? recovery->redo_start_lsn : "-");
	if (recovery->end_source[0] != '\0')
		add(view, "end is by", "%s", recovery->end_source);
	if (recovery->primary_lsn[0] != '\0')
		add(view, "primary", "%s", recovery->primary_lsn);
}

/* The last recovery, while there is none. */
static void
add_last(struct view *view, const struct values *document)
{
	char		one[TEXT_NUMBER_BYTES];
	char		two[TEXT_NUMBER_BYTES];

	if (document->refused[0] != '\0')
	{
		char		text[sizeof(document->refused) + 16];

		snprintf(text, sizeof(text), "not served: %s", document->refused);
		add_text(view, text);
	}
	if (document->recoveries >= 0)
		add(view, "recoveries", "%.0f so far", document->recoveries);
	if (!document->has_last)
		return;
	add(view, "the last", "%s in %s", text__bytes(one, document->last.replayed),
		text__duration(two, document->last.elapsed));
	add(view, "coverage", "%s", text__share(one, document->last.coverage));
	add_sparkline(view, &document->last, "rate", VALUES_RATE, 0);
	add_sparkline(view, &document->last, "in flight", VALUES_IN_FLIGHT, 0);
	add_sparkline(view, &document->last, "coverage", VALUES_COVERAGE, 1);
}

/* Lay out a document, or the message why there is none if it is NULL. */
void
view__lay_out(struct view *view, const struct values *document, const char *message)
{
	view->count = 0;
	if (document == NULL)
		add(view, "", "%s", "no status");
	else
		add(view, "", "%s", values__phase_name(document->phase));
	if (view->count > 0)
		view->rows[0].bold = true;
	if (document == NULL)
		add_text(view, message);
	else if (document->has_recovery)
	{
		add_progress(view, document);
		add_details(view, &document->recovery);
	}
	else
		add_last(view, document);
	if (document != NULL)
		add_title(view, document);
	add(view, "", "q: quit");
}
