/*
 * text.c
 *		The status as text: numbers with units, the line, sparklines.
 *
 * What is not known is left out of the line, and is a dash elsewhere.
 */
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "status/text.h"

/* A line that grows. */
struct line
{
	char	   *text;			/* TEXT_LINE_BYTES */
	size_t		length;			/* so far, bytes */
};

/* A size, "1.6 MB"; units are powers of ten. */
const char *
text__bytes(char text[TEXT_NUMBER_BYTES], double bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
	unsigned	unit = 0;

	if (isnan(bytes) || bytes < 0)
		return strcpy(text, "-");
	for (; bytes >= 999.5 && unit < 5; unit++)
		bytes /= 1000;
	if (bytes > 1e6)
		return strcpy(text, "> 1000000 PB");
	snprintf(text, TEXT_NUMBER_BYTES, unit > 0 && bytes < 9.995 ? "%.2f %s" :
			 unit > 0 && bytes < 99.95 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
	return text;
}

/* A time, in its two largest units: "73 s", "12 min 5 s", "3 h 4 min", "2 d 3 h". */
const char *
text__duration(char text[TEXT_NUMBER_BYTES], double seconds)
{
	unsigned long whole;
	unsigned long minutes;

	if (isnan(seconds) || seconds < 0)
		return strcpy(text, "-");
	if (seconds > 86400.0 * 9999)
		return strcpy(text, "> 9999 d");
	whole = (unsigned long) (seconds + 0.5);
	minutes = whole / 60;
	if (seconds < 9.95)
		snprintf(text, TEXT_NUMBER_BYTES, "%.1f s", seconds);
	else if (whole < 120)
		snprintf(text, TEXT_NUMBER_BYTES, "%lu s", whole);
	else if (minutes < 60)
		snprintf(text, TEXT_NUMBER_BYTES, "%lu min %lu s", minutes, whole % 60);
	else if (minutes < 1440)
		snprintf(text, TEXT_NUMBER_BYTES, "%lu h %lu min", minutes / 60, minutes % 60);
	else
		snprintf(text, TEXT_NUMBER_BYTES, "%lu d %lu h", minutes / 1440, minutes % 1440 / 60);
	return text;
}

/* A share in per cent. */
const char *
text__share(char text[TEXT_NUMBER_BYTES], double share)
{
	if (isnan(share) || share < 0 || share > 1)
		return strcpy(text, "-");
	/* 100 % only if it is. */
	snprintf(text, TEXT_NUMBER_BYTES, "%.1f %%", share < 1 && share > 0.999 ? 99.9 : share * 100);
	return text;
}

static void __attribute__((format(printf, 2, 3)))
add(struct line *line, const char *format,...)
{
	size_t		room = TEXT_LINE_BYTES - line->length;
	va_list		args;
	int			n;

	va_start(args, format);
	n = vsnprintf(line->text + line->length, room, format, args);
	va_end(args);
	if (n > 0)
		line->length += (size_t) n < room ? (size_t) n : room - 1;
}

/* The last recovery, while there is none. */
static void
add_last(struct line *line, const struct values *document)
{
	const struct values_recovery *last = &document->last;
	char		number[TEXT_NUMBER_BYTES];

	if (document->refused[0] != '\0')
		add(line, "; THE SERVER IS NOT SERVED: %s", document->refused);
	if (!(document->recoveries > 0))
		return;
	add(line, "; %.0f so far", document->recoveries);
	if (!document->has_last || isnan(last->elapsed))
		return;
	add(line, ", the last one took %s", text__duration(number, last->elapsed));
	if (!isnan(last->replayed))
		add(line, " for %s of WAL", text__bytes(number, last->replayed));
	if (!isnan(last->coverage))
		add(line, ", coverage %s", text__share(number, last->coverage));
}

/* How fast redo is, and how long it will take. */
static void
add_speed(struct line *line, const struct values *document)
{
	const struct values_recovery *recovery = &document->recovery;
	char		number[TEXT_NUMBER_BYTES];
	char		other[TEXT_NUMBER_BYTES];

	if (!isnan(recovery->rate))
		add(line, ", %s/s", text__bytes(number, recovery->rate));
	if (!isnan(recovery->mean_rate))
		add(line, ", mean %s/s", text__bytes(number, recovery->mean_rate));
	if (!isnan(recovery->left))
		add(line, ", %s left", text__duration(number, recovery->left));
	if (!isnan(recovery->left) && !isnan(recovery->left_min) && !isnan(recovery->left_max))
		add(line, " (%s to %s)", text__duration(number, recovery->left_min),
			text__duration(other, recovery->left_max));
	if (recovery->stalled >= 10 && !values__is_idle(document))
		add(line, ", no progress for %s", text__duration(number, recovery->stalled));
}

/* The status in one line, without a newline. */
void
text__line(char text[TEXT_LINE_BYTES], const struct values *document)
{
	const struct values_recovery *recovery = &document->recovery;
	struct line line = {.text = text};
	char		number[TEXT_NUMBER_BYTES];

	text[0] = '\0';
	if (document->phase == VALUES_WAITING || !document->has_recovery)
	{
		add(&line, "%s", document->phase == VALUES_WAITING ? "waiting for a recovery" :
			values__phase_name(document->phase));
		add_last(&line, document);
		return;
	}
	add(&line, "%s", values__phase_name(document->phase));
	if (!isnan(recovery->progress))
		add(&line, " %s", text__share(number, recovery->progress));
	if (recovery->replay_lsn[0] != '\0')
		add(&line, ": redo at %s", recovery->replay_lsn);
	else
		add(&line, ": position not known yet");
	if (recovery->end_lsn[0] != '\0')
		add(&line, " of %s", recovery->end_lsn);
	if (recovery->replay_lsn[0] != '\0' && recovery->redo_start_lsn[0] != '\0')
		add(&line, " from %s on", recovery->redo_start_lsn);
	add_speed(&line, document);
	if (!isnan(recovery->lookahead))
		add(&line, ", look-ahead %s", text__bytes(number, recovery->lookahead));
	if (!isnan(recovery->in_flight))
		add(&line, ", %.0f in flight", recovery->in_flight);
	if (!isnan(recovery->coverage))
		add(&line, ", coverage %s", text__share(number, recovery->coverage));
	if (recovery->limit[0] != '\0')
		add(&line, ", limited by %s", recovery->limit);
}

/* The mean of the samples of one column, NAN if none is known. */
static double
mean_of(const double *values, unsigned begin, unsigned end)
{
	double		sum = 0;
	unsigned	known = 0;

	for (unsigned i = begin; i < end; i++)
		if (!isnan(values[i]))
		{
			sum += values[i];
			known++;
		}
	return known > 0 ? sum / known : NAN;
}

/*
 * Values over time in so many columns at most, each the mean of its samples.  The highest
 * level is "most", or the greatest value if that is 0; a space is a value that is unknown.
 */
void
text__sparkline(char *text, size_t size, unsigned columns, const double *values, unsigned count,
				double most, bool utf8)
{
	static const char *const blocks[] = {
		"\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"
	};
	static const char *const marks[] = {"_", ".", ",", "-", "=", "+", "*", "#"};
	bool		is_scaled = most <= 0;
	size_t		length = 0;

	if (columns > count)
		columns = count;
	for (unsigned i = 0; i < count && is_scaled; i++)
		if (values[i] > most)
			most = values[i];
	text[0] = '\0';
	for (unsigned i = 0; i < columns && length + TEXT_COLUMN_BYTES <= size; i++)
	{
		double		mean = mean_of(values, (unsigned) ((uint64_t) i * count / columns),
								   (unsigned) ((uint64_t) (i + 1) * count / columns));
		double		level = most > 0 ? mean / most * 8 : 0;
		unsigned	at = level >= 1 ? level < 7 ? (unsigned) level : 7 : 0;

		length += (size_t) snprintf(text + length, size - length, "%s", isnan(mean) ? " " :
									utf8 ? blocks[at] : marks[at]);
	}
}
