/*
 * html_tables.c
 *		What limited redo, relations, and counters, as tables.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/html_internal.h"

/* Relations in the report. */
#define TOP_RELATIONS	20

/* Limits that are shown of a document that has more of them. */
#define MAX_LIMITS		12

/* What is known of a limit. */
struct limit_text
{
	const char *member;			/* in "limit_seconds" */
	const char *name;			/* on the page */
	const char *meaning;		/* what happened then */
};

/* A limit's color is that of its place here. */
static const struct limit_text limit_texts[] = {
	{"cpu", "CPU", "redo ran, or waited for a CPU"},
	{"device_latency", "Device latency", "redo waited for a device that could take more requests"},
	{"device_throughput", "Device throughput", "redo waited for a device that had as many requests as it should"},
	{"wal_supply", "WAL supply", "redo waited for WAL"},
	{"lock_conflict", "Lock conflict", "redo waited for a query"},
	{"checkpoint", "Checkpoint", "redo was complete, the checkpoint was not"},
	{"pause_or_delay", "Pause or delay", "redo waited although there was WAL: as a rule it was paused or delayed"},
};

#define LIMIT_TEXTS	(sizeof(limit_texts) / sizeof(limit_texts[0]))

/* A limit and its time. */
struct limit_time
{
	const char *name;			/* may be the document's: to be escaped */
	const char *meaning;		/* or NULL */
	unsigned	color;			/* number of its color */
	double		seconds;		/* more than 0 */
};

/* The limits that had any time; returns how many, and their sum. */
static unsigned
read_limits(const struct html_page *page, struct limit_time times[MAX_LIMITS], double *sum)
{
	struct json_object *object = json__member(page->recovery, "limit_seconds");
	unsigned	count = 0;

	*sum = 0;
	if (!json_object_is_type(object, json_type_object))
		return 0;
	json_object_object_foreach(object, member, value)
	{
		struct limit_time time = {.name = member,.color = LIMIT_TEXTS,.seconds = html_text__number(value, NULL)};

		if (!(time.seconds > 0 && time.seconds < 1e12) || count == MAX_LIMITS)
			continue;
		for (unsigned i = 0; i < LIMIT_TEXTS; i++)
			if (strcmp(limit_texts[i].member, member) == 0)
			{
				time.name = limit_texts[i].name;
				time.meaning = limit_texts[i].meaning;
				time.color = i;
			}
		*sum += time.seconds;
		times[count++] = time;
	}
	return count;
}

/* The limit with most time, NULL if none is known, and its share. */
const char *
html_tables__main_limit(const struct html_page *page, double *share)
{
	struct limit_time times[MAX_LIMITS];
	double		sum;
	unsigned	count = read_limits(page, times, &sum);
	unsigned	most = 0;

	for (unsigned i = 1; i < count; i++)
		if (times[i].seconds > times[most].seconds)
			most = i;
	if (count == 0)
		return NULL;
	*share = times[most].seconds / sum;
	return times[most].name;
}

/* Write a bar of what limited redo, and what its parts mean. */
void
html_tables__limits(const struct html_page *page)
{
	struct limit_time times[MAX_LIMITS];
	double		sum;
	unsigned	count = read_limits(page, times, &sum);
	FILE	   *file = page->file;

	fputs("<section>\n<h2>What limited redo</h2>\n", file);
	if (count == 0)
	{
		fputs("<p class=\"none\">Not known in this recovery.</p>\n</section>\n", file);
		return;
	}
	fputs("<div class=\"bar\" aria-hidden=\"true\">", file);
	for (unsigned i = 0; i < count; i++)
		fprintf(file, "<i class=\"l%u\" style=\"flex-grow:%.6f\"></i>", times[i].color,
				times[i].seconds / sum * 100);
	fputs("</div>\n<table class=\"limits\"><thead><tr><th>Limit</th><th class=\"number\">Time</th>"
		  "<th class=\"number\">Share</th></tr></thead><tbody>\n", file);
	for (unsigned i = 0; i < count; i++)
	{
		fprintf(file, "<tr><td><i class=\"key l%u\"></i><b>", times[i].color);
		html_text__write(file, times[i].name);
		fputs("</b>", file);
		if (times[i].meaning != NULL)
			fprintf(file, " <span class=\"muted\">%s</span>", times[i].meaning);
		fputs("</td><td class=\"number\">", file);
		html_text__value(file, times[i].seconds, HTML_SECONDS);
		fputs("</td><td class=\"number\">", file);
		html_text__value(file, times[i].seconds / sum, HTML_SHARE);
		fputs("</td></tr>\n", file);
	}
	fputs("</tbody></table>\n</section>\n", file);
}

/* Where the relation's first segment is, without the name of the server's version. */
static void
relation_path(char path[RELPATH_BYTES], const struct relation *relation)
{
	const struct relpath_layout layout = {.tablespace_dir = "PG_*"};
	const struct relpath_key key = {
		.spc = relation->spc,.db = relation->db,.rel = relation->rel,
		.fork = relation->fork,.kind = relation->kind
	};

	if (relation->kind == REDOAHEAD_KIND_SLRU)
		snprintf(path, RELPATH_BYTES, "%s", relpath__slru_directory(relation->rel));
	else
		relpath__format(&key, &layout, path);
}

/* Write how the name of a relation is found: of the first one that has a name. */
static void
write_name_query(FILE *file, const struct relation *top, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
	{
		if (top[i].kind == REDOAHEAD_KIND_SLRU)
			continue;
		fputs("<p class=\"muted\">The name of a relation, here of number ", file);
		fprintf(file, "%u: <code>SELECT pg_filenode_relation(%" PRIu32 ", %" PRIu32 ")</code>", i + 1,
				top[i].spc, top[i].rel);
		if (top[i].db != 0)
			fprintf(file, " in the database that <code>SELECT datname FROM pg_database WHERE oid = %"
					PRIu32 "</code> returns", top[i].db);
		fputs(".</p>\n", file);
		return;
	}
}

/* Write a table of the relations of which most blocks were requested. */
void
html_tables__relations(const struct html_page *page)
{
	struct relation top[TOP_RELATIONS];
	FILE	   *file = page->file;
	unsigned	count;

	if (page->relations == NULL)
		return;
	count = relations__top(page->relations, top, TOP_RELATIONS);
	fputs("<section>\n<h2>Relations with most blocks read</h2>\n", file);
	if (count == 0)
	{
		fputs("<p class=\"none\">No block was read.</p>\n</section>\n", file);
		return;
	}
	fputs("<table class=\"relations\"><thead><tr><th class=\"number\">#</th><th>File</th>"
		  "<th class=\"number\">Blocks</th><th class=\"number\">Share</th><th></th></tr></thead><tbody>\n",
		  file);
	for (unsigned i = 0; i < count; i++)
	{
		double		blocks = (double) (top[i].blocks - top[i].excess);
		double		share = blocks / (double) page->relations->total;
		char		path[RELPATH_BYTES];

		relation_path(path, &top[i]);
		fprintf(file, "<tr><td class=\"number\">%u</td><td><code>", i + 1);
		html_text__write(file, path);
		fputs("</code></td><td class=\"number\">", file);
		if (top[i].excess > 0)
			fputs("\xe2\x89\xa5\xe2\x80\xaf", file);
		html_text__value(file, blocks, HTML_COUNT);
		fputs("</td><td class=\"number\">", file);
		html_text__value(file, share, HTML_SHARE);
		fprintf(file, "</td><td class=\"share\"><i style=\"width:%.2f%%\"></i></td></tr>\n", share * 100);
	}
	fputs("</tbody></table>\n", file);
	write_name_query(file, top, count);
	fputs("</section>\n", file);
}

/* Write a counter and, if it has parts, those that are not zero. */
static void
write_counter(FILE *file, const char *name, struct json_object *value)
{
	size_t		length = strlen(name);
	bool		seconds = length > 8 && strcmp(name + length - 8, "_seconds") == 0;

	fputs("<div><dt><code>", file);
	html_text__write(file, name);
	fputs("</code></dt><dd>", file);
	html_text__value(file, html_text__number(value, NULL), seconds ? HTML_SECONDS : HTML_COUNT);
	fputs("</dd></div>\n", file);
}

/* Write all counters of the recovery. */
void
html_tables__counters(const struct html_page *page)
{
	struct json_object *counters = json__member(page->recovery, "counters");
	FILE	   *file = page->file;

	fputs("<section>\n<h2>Counters</h2>\n", file);
	if (!json_object_is_type(counters, json_type_object) || json_object_object_length(counters) == 0)
	{
		fputs("<p class=\"none\">Not known in this recovery.</p>\n</section>\n", file);
		return;
	}
	fputs("<p class=\"muted\">redoahead.statistics(7) explains them, as members of the file of --stats.</p>\n"
		  "<dl class=\"counters\">\n", file);
	json_object_object_foreach(counters, name, value)
	{
		if (!json_object_is_type(value, json_type_object))
		{
			write_counter(file, name, value);
			continue;
		}
		json_object_object_foreach(value, part, part_value)
			if (html_text__number(part_value, NULL) != 0)
		{
			char		text[128];

			snprintf(text, sizeof(text), "%.60s: %.60s", name, part);
			write_counter(file, text, part_value);
		}
	}
	fputs("</dl>\n</section>\n", file);
}
