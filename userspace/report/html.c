/*
 * html.c
 *		Writes the report of a recovery: one HTML page that needs no other file.
 *
 * The page has no script and loads nothing, and its Content-Security-Policy forbids both.
 * All that comes from the document is escaped (html_text.c).
 */
#include <errno.h>
#include <math.h>

#include "report/html.h"
#include "report/html_internal.h"

/* A time as PostgreSQL's log has it. */
#define TIME_FORMAT	"%Y-%m-%d %H:%M:%S %z"

static void
write_head(const struct html_page *page)
{
	FILE	   *file = page->file;

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		  "<meta http-equiv=\"Content-Security-Policy\""
		  " content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
		  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		  "<meta name=\"color-scheme\" content=\"light dark\">\n"
		  "<meta name=\"referrer\" content=\"no-referrer\">\n<title>Recovery of ", file);
	html_text__write(file, html_text__string(page->document, "data_directory"));
	fprintf(file, "</title>\n<style>\n%s</style>\n</head>\n", html_style);
}

/* Write a sentence about what limited redo most. */
static void
write_limit(const struct html_page *page)
{
	double		share;
	const char *name = html_tables__main_limit(page, &share);

	if (name == NULL)
		return;
	fputs(" For ", page->file);
	html_text__value(page->file, share, HTML_SHARE);
	fputs(" of the time it was limited by: <b>", page->file);
	html_text__write(page->file, name);
	fputs("</b>.", page->file);
}

/* Write the heading, and what happened in a few sentences. */
static void
write_heading(const struct html_page *page)
{
	struct json_object *recovery = page->recovery;
	FILE	   *file = page->file;
	char		begin[HTML_NUMBER_BYTES];
	char		end[HTML_NUMBER_BYTES];
	double		coverage = html_text__number(recovery, "coverage");

	html_text__time(begin, html_text__number(recovery, "begin_time"), TIME_FORMAT);
	html_text__time(end, html_text__end_time(page->document, recovery), TIME_FORMAT);
	fputs("<header>\n<h1>Recovery of <bdi>", file);
	html_text__write(file, html_text__string(page->document, "data_directory"));
	fprintf(file, "</bdi></h1>\n<p class=\"muted\"><span>%s</span> to <span>%s</span></p>\n"
			"<p class=\"lead\">Redo replayed <b>", begin, end);
	html_text__value(file, html_text__number(recovery, "replayed_bytes"), HTML_BYTES);
	fputs("</b> of WAL; the recovery took <b>", file);
	html_text__value(file, html_text__number(recovery, "elapsed_seconds"), HTML_SECONDS);
	fputs("</b>.", file);
	if (!isnan(coverage))
	{
		fputs(" <b>", file);
		html_text__value(file, coverage, HTML_SHARE);
		fputs("</b> of the blocks were submitted before redo reached them.", file);
	}
	write_limit(page);
	fputs("</p>\n</header>\n", file);
}

/* The quotient of two numbers, NAN if there is none. */
static double
quotient(double dividend, double divisor)
{
	return divisor > 0 ? dividend / divisor : NAN;
}

/* Write the figures that matter most. */
static void
write_figures(const struct html_page *page)
{
	struct json_object *recovery = page->recovery;
	struct json_object *counters = json__member(recovery, "counters");
	double		read = html_text__number(counters, "blocks_read");
	/* A patched server's recovery ends before its checkpoint, as far as the daemon sees. */
	double		checkpoint = html_text__number(json__member(recovery, "limit_seconds"), "checkpoint");
	const struct
	{
		const char *name;
		double		value;
		enum html_unit unit;
	}			figures[] = {
		{"Time", html_text__number(recovery, "elapsed_seconds"), HTML_SECONDS},
		{"Of that, checkpoint", checkpoint > 0 ? checkpoint : NAN, HTML_SECONDS},
		{"WAL replayed", html_text__number(recovery, "replayed_bytes"), HTML_BYTES},
		{"Mean rate", html_text__number(recovery, "mean_bytes_per_second"), HTML_RATE},
		{"Coverage", html_text__number(recovery, "coverage"), HTML_SHARE},
		{"Blocks read", read, HTML_COUNT},
		{"Blocks per request", quotient(html_text__number(counters, "blocks_requested"),
										html_text__number(counters, "requests")), HTML_RATIO},
		{"Most in flight", html_text__number(counters, "blocks_in_flight_max"), HTML_COUNT},
		{"Mean time of a read", quotient(html_text__number(counters, "latency_seconds"), read), HTML_SECONDS},
		{"CPU of redoahead", html_text__number(counters, "cpu_seconds"), HTML_SECONDS},
	};

	fputs("<dl class=\"figures\">\n", page->file);
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
	{
		fprintf(page->file, "<div><dt>%s</dt><dd>", figures[i].name);
		html_text__value(page->file, figures[i].value, figures[i].unit);
		fputs("</dd></div>\n", page->file);
	}
	fputs("</dl>\n", page->file);
}

/* What "end_source" means. */
static const char *
describe_source(const char *source)
{
	static const struct
	{
		char		first;		/* letter of the source */
		const char *text;
	}			texts[] = {
		{'s', "found in pg_wal"}, {'r', "received from the primary"}
	};

	for (size_t i = 0; source != NULL && i < sizeof(texts) / sizeof(texts[0]); i++)
		if (source[0] == texts[i].first)
			return texts[i].text;
	return NULL;
}

/* Write positions of WAL, and who has helped. */
static void
write_facts(const struct html_page *page)
{
	struct json_object *recovery = page->recovery;
	const char *source = describe_source(html_text__string(recovery, "end_source"));
	const struct
	{
		const char *name;
		struct json_object *object;
		const char *member;
		const char *note;		/* after it, or NULL */
	}			facts[] = {
		{"Redo began at", recovery, "redo_start_lsn", NULL},
		{"Redo reached", recovery, "replay_lsn", NULL},
		{"End of WAL", recovery, "end_lsn", source},
		{"Reads by", page->document, "backend", NULL},
		{"Command", page->document, "command", NULL},
		{"Program version", page->document, "program_version", NULL},
	};
	FILE	   *file = page->file;

	fputs("<section>\n<h2>Positions and programs</h2>\n<dl class=\"counters\">\n", file);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
	{
		const char *value = html_text__string(facts[i].object, facts[i].member);

		fprintf(file, "<div><dt>%s</dt><dd>", facts[i].name);
		html_text__write(file, value);
		if (value != NULL && facts[i].note != NULL)
			fprintf(file, " <span class=\"muted\">%s</span>", facts[i].note);
		fputs("</dd></div>\n", file);
	}
	fputs("<div><dt>PostgreSQL</dt><dd>", file);
	html_text__value(file, html_text__number(page->document, "server_major"), HTML_COUNT);
	fputs("</dd></div>\n</dl>\n</section>\n", file);
}

/* Write the page.  Returns 0; -EINVAL if the document has no recovery; what write(2) failed with. */
int
html__write(FILE *file, struct json_object *document, const struct relations *relations)
{
	const struct html_page page = {
		.file = file,.document = document,.recovery = html_text__recovery(document),.relations = relations
	};

	if (page.recovery == NULL)
		return -EINVAL;
	errno = 0;
	write_head(&page);
	fputs("<body>\n<main>\n", file);
	write_heading(&page);
	write_figures(&page);
	html_tables__limits(&page);
	html_history__write(&page);
	html_tables__relations(&page);
	write_facts(&page);
	html_tables__counters(&page);
	fputs("</main>\n</body>\n</html>\n", file);
	if (fflush(file) == 0 && !ferror(file))
		return 0;
	return errno != 0 ? -errno : -EIO;
}
