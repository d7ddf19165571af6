/*
 * findings_text.c
 *		What a trace found, for people: tables of at most 80 columns.
 *
 * The JSON has all rows; here long tables are cut, with a note.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/utf8.h"
#include "report/findings.h"
#include "report/histogram.h"

/* Most rows of a table, and of the timeline. */
#define MAX_ROWS	20

/* Room for the path of a relation, characters. */
#define PATH_WIDTH	27

/* A share in percent, or "-" where there is none. */
static const char *
percent(uint64_t part, uint64_t whole, char buffer[16])
{
	double		share = findings__share(part, whole);

	if (share < 0)
		return "-";
	/* Almost all is not shown as all. */
	if (part < whole && share > 0.99995)
		share = 0.9999;
	snprintf(buffer, 16, "%.2f %%", 100 * share);
	return buffer;
}

static double
seconds(uint64_t ns)
{
	return (double) ns / 1e9;
}

/* A number, in thousands, millions and so on if it is too wide otherwise. */
static const char *
number(uint64_t value, int width, char buffer[24])
{
	static const char units[] = "kMGTPE";
	int			length = snprintf(buffer, 24, "%" PRIu64, value);

	for (const char *unit = units; length > width && *unit != '\0'; unit++)
	{
		value /= 1000;
		length = snprintf(buffer, 24, "%" PRIu64 "%c", value, *unit);
	}
	return buffer;
}

/* A time in seconds, with as many digits as there is room for, up to three. */
static const char *
time_text(uint64_t ns, int width, char buffer[24])
{
	for (int digits = 3; digits >= 0; digits--)
		if (snprintf(buffer, 24, "%.*f", digits, seconds(ns)) <= width)
			break;
	return buffer;
}

/* What was traced, and how. */
static void
print_head(const struct findings *findings, FILE *file)
{
	const struct tally *tally = findings->tally;
	char		pgdata[PATH_MAX];

	snprintf(pgdata, sizeof(pgdata), "%s", findings->pgdata);
	utf8__hide_controls(pgdata);
	fprintf(file, "Recovery of \"%s\", PostgreSQL %d: %s\n", pgdata, findings->major,
			findings__outcome_names[findings->outcome]);
	fprintf(file, "traced for %.3f s%s; startup process %d; daemon", seconds(findings->elapsed_ns),
			findings->from_start || findings->interval ? "" : ", from the middle on",
			(int) findings->startup);
	for (unsigned i = 0; i < findings->daemon_count; i++)
		fprintf(file, " %d", (int) findings->daemons[i]);
	fprintf(file, "%s\n", findings->daemon_count == 0 ? " none" : "");
	if (tally->replay_lsn != 0)
		fprintf(file, "replay LSN %X/%08X\n", (unsigned) (tally->replay_lsn >> 32),
				(unsigned) tally->replay_lsn);
	if (!findings->interval)
		fprintf(file, "attached by %s; records %sfollowed, references %sfollowed\n",
				findings->attach_method, findings->records_followed ? "" : "not ",
				findings->references_followed ? "" : "not ");
}

static void
print_lost(const struct findings_lost *lost, FILE *file)
{
	if (lost->events > 0)
		fprintf(file, "LOST: %" PRIu64 " events: the ring buffer was full, and the counts are too "
				"low.\n      Make it larger with --buffer.\n", lost->events);
	if (lost->references > 0)
		fprintf(file, "LOST: %" PRIu64 " references; causes of misses are unknown then.\n",
				lost->references);
	if (lost->files > 0)
		fprintf(file, "LOST: %" PRIu64 " events of files beyond the limit.\n", lost->files);
	if (lost->blocks > 0)
		fprintf(file, "LOST: %" PRIu64 " blocks beyond the limit.\n", lost->blocks);
}

/* The shares of the whole. */
static void
print_shares(const struct findings *findings, FILE *file)
{
	const struct tally *tally = findings->tally;
	struct tally_prefetcher sum = tally__prefetched(tally);
	uint64_t	timely = tally__read(tally, TALLY_TIMELY);
	uint64_t	late = tally__read(tally, TALLY_LATE);
	uint64_t	read = tally__read_all(tally);
	uint64_t	wasted = tally__wasted(&sum);
	char		b[3][16];

	fprintf(file, "\ncoverage %10s   late   %10s   timeliness %10s\n",
			percent(timely + late, read, b[0]), percent(late, read, b[1]),
			percent(timely, timely + late, b[2]));
	fprintf(file, "accuracy %10s   wasted %10s\n", percent(sum.used, sum.used + wasted, b[0]),
			percent(wasted, sum.used + wasted, b[1]));
}

static void
print_line(FILE *file, const char *indent, const char *name, uint64_t count, uint64_t whole)
{
	char		share[16];
	char		b[24];

	if (count > 0)
		fprintf(file, "%s%-*s %12s %10s\n", indent, (int) (26 - strlen(indent)),
				name, number(count, 12, b), percent(count, whole, share));
}

/* What redo read, and how. */
static void
print_blocks(const struct findings *findings, FILE *file)
{
	const struct tally *tally = findings->tally;
	uint64_t	read = tally__read_all(tally);
	char		b[5][24];

	fprintf(file, "\n%-26s %12s %10s %10s\n", "blocks that redo read", "blocks", "share", "waited s");
	for (int class = 0; class < TALLY_CLASSES; class++)
	{
		char		share[16];

		fprintf(file, "%-26s %12s %10s %10s\n", tally__class_names[class],
				number(tally__read(tally, class), 12, b[0]),
				percent(tally__read(tally, class), read, share),
				time_text(tally->wait_ns[class], 10, b[1]));
		if (class == TALLY_MISSED)
			for (int cause = 0; cause < TALLY_CAUSES; cause++)
				print_line(file, "  ", tally__cause_names[cause], tally->missed[cause], read);
		else
			for (int source = 0; source < TALLY_SOURCES; source++)
				print_line(file, "  by ", tally__source_names[source],
						   tally->blocks[class][source], read);
	}
	fprintf(file, "%-26s %12s\n", "all", number(read, 12, b[0]));
	if (tally->wal_calls[TALLY_TIMELY] + tally->wal_calls[TALLY_LATE] +
		tally->wal_calls[TALLY_MISSED] > 0)
		fprintf(file, "WAL: %s kB; reads: %s timely, %s late, %s missed; waited %s s\n",
				number(tally->wal_bytes / 1024, 8, b[0]),
				number(tally->wal_calls[TALLY_TIMELY], 6, b[1]),
				number(tally->wal_calls[TALLY_LATE], 6, b[2]),
				number(tally->wal_calls[TALLY_MISSED], 6, b[3]),
				time_text(tally->wal_wait_ns, 8, b[4]));
}

/* Who prefetched, and what became of that. */
static void
print_prefetchers(const struct findings *findings, FILE *file)
{
	bool		head = false;

	for (int source = 0; source < TALLY_PREFETCHERS; source++)
	{
		const struct tally_prefetcher *each = &findings->tally->prefetchers[source];
		char		b[6][24];

		if (each->prefetched + each->used + tally__wasted(each) == 0)
			continue;
		if (!head)
			fprintf(file, "\n%-10s %11s %11s %9s %9s %9s %9s\n", "prefetched", "blocks", "used",
					"pending", "evicted", "dropped", "unread");
		head = true;
		fprintf(file, "%-10s %11s %11s %9s %9s %9s %9s\n", tally__source_names[source],
				number(each->prefetched, 11, b[0]), number(each->used, 11, b[1]),
				number(findings->pending[source], 9, b[2]),
				number(each->wasted[TALLY_WASTE_EVICTED], 9, b[3]),
				number(each->wasted[TALLY_WASTE_DROPPED], 9, b[4]),
				number(each->wasted[TALLY_WASTE_UNREAD], 9, b[5]));
	}
}

static void
print_row_head(FILE *file, const char *what)
{
	fprintf(file, "\n%-*s %9s %8s %7s %7s %9s %6s\n", PATH_WIDTH, what, "read", "timely",
			"late", "missed", "waited s", "wasted");
}

/* Is a byte of UTF-8 not the first of its character? */
static bool
continues_character(char byte)
{
	return ((unsigned char) byte & 0xc0) == 0x80;
}

/* How many bytes of a name are not the first of a character. */
static int
bytes_beyond_characters(const char *name)
{
	int			count = 0;

	for (; *name != '\0'; name++)
		count += continues_character(*name);
	return count;
}

/* One row of a table; of a long name, its end. */
static void
print_row(FILE *file, const char *name, const struct tally_row *row)
{
	int			characters = (int) strlen(name) - bytes_beyond_characters(name);
	char		timely[16];
	char		b[5][24];

	for (; characters > PATH_WIDTH; characters--)
		do
			name++;
		while (continues_character(*name));
	fprintf(file, "%-*s %9s %8s %7s %7s %9s %6s\n",
			PATH_WIDTH + bytes_beyond_characters(name), name,
			number(tally__row_read(row), 9, b[0]),
			percent(row->read[TALLY_TIMELY], tally__row_read(row), timely),
			number(row->read[TALLY_LATE], 7, b[1]), number(row->read[TALLY_MISSED], 7, b[2]),
			time_text(row->wait_ns, 9, b[3]), number(row->wasted, 6, b[4]));
}

/* Are there names of more than one database? */
static bool
has_databases(const struct findings *findings)
{
	const char *first = NULL;

	for (uint32_t i = 0; i < findings->row_count; i++)
	{
		const char *each = findings->rows[i].database;

		if (each[0] != '\0' && first != NULL && strcmp(each, first) != 0)
			return true;
		if (each[0] != '\0')
			first = each;
	}
	return false;
}

/* What to call a row: the relation's name if it is known, else its path. */
static void
name_row(const struct findings_row *row, bool with_database, char *name, size_t size)
{
	const char *fork = relpath__fork_name(row->key.fork);
	bool		main_fork = strcmp(fork, "main") == 0;

	if (row->name[0] == '\0')
		snprintf(name, size, "%s%s", row->path, row->dropped ? " (dropped)" : "");
	else
		snprintf(name, size, "%s%s%s%s%s%s", with_database ? row->database : "",
				 with_database && row->database[0] != '\0' ? ":" : "", row->name,
				 main_fork ? "" : " (", main_fork ? "" : fork, main_fork ? "" : ")");
	utf8__hide_controls(name);
}

static void
print_relations(const struct findings *findings, FILE *file)
{
	bool		with_database = has_databases(findings);

	if (findings->row_count == 0)
		return;
	print_row_head(file, "relation");
	for (uint32_t i = 0; i < findings->row_count && i < MAX_ROWS; i++)
	{
		char		name[FINDINGS_DATABASE_BYTES + FINDINGS_NAME_BYTES + 16];

		name_row(&findings->rows[i], with_database, name, sizeof(name));
		print_row(file, name, &findings->rows[i].counts);
	}
	if (findings->row_count > MAX_ROWS)
		fprintf(file, "and %u more; --json has them all\n", findings->row_count - MAX_ROWS);
}

static void
print_rmgrs(const struct findings *findings, FILE *file)
{
	const struct tally *tally = findings->tally;
	char		buffer[16];
	bool		head = false;

	for (unsigned rmid = 0; rmid < TALLY_RMGRS; rmid++)
	{
		if (tally__row_read(&tally->rmgrs[rmid]) == 0)
			continue;
		if (!head)
			print_row_head(file, "resource manager");
		head = true;
		print_row(file, findings__rmgr_name(rmid, buffer), &tally->rmgrs[rmid]);
	}
	if (head && tally__row_read(&tally->no_rmgr) > 0)
		print_row(file, "(none, or not known)", &tally->no_rmgr);
}

static void
print_histograms(const struct findings *findings, FILE *file)
{
	const struct tally *tally = findings->tally;

	histogram__print(file, "Read calls that found their blocks (timely)",
					 tally->wait_slots[TALLY_TIMELY], TRACE_SLOTS);
	histogram__print(file, "Read calls that waited for a block in flight (late)",
					 tally->wait_slots[TALLY_LATE], TRACE_SLOTS);
	histogram__print(file, "Read calls that read from the device (missed)",
					 tally->wait_slots[TALLY_MISSED], TRACE_SLOTS);
	histogram__print(file, "Reads of the devices, by all processes", tally->reads.slots,
					 TRACE_SLOTS);
}

static void
print_timeline(const struct findings *findings, FILE *file)
{
	const struct tally *tally = findings->tally;
	uint32_t	step = (tally->sample_count + MAX_ROWS - 1) / MAX_ROWS;

	if (tally->sample_count == 0)
		return;
	fprintf(file, "\n%8s %18s %10s %8s %8s %10s %9s\n", "second", "replay LSN", "timely", "late",
			"missed", "prefetched", "waited s");
	for (uint32_t i = 0; i < tally->sample_count; i += step)
	{
		struct tally_sample sum = {0};
		char		lsn[32] = "-";
		char		b[5][24];

		for (uint32_t j = i; j < i + step && j < tally->sample_count; j++)
		{
			const struct tally_sample *sample = &tally->samples[j];

			for (int class = 0; class < TALLY_CLASSES; class++)
				sum.read[class] += sample->read[class];
			sum.wait_ns += sample->wait_ns;
			sum.prefetched += sample->prefetched;
			if (sample->lsn != 0)
				sum.lsn = sample->lsn;
		}
		if (sum.lsn != 0)
			snprintf(lsn, sizeof(lsn), "%X/%08X", (unsigned) (sum.lsn >> 32), (unsigned) sum.lsn);
		fprintf(file, "%8.1f %18s %10s %8s %8s %10s %9s\n", seconds(i * tally->sample_ns), lsn,
				number(sum.read[TALLY_TIMELY], 10, b[0]), number(sum.read[TALLY_LATE], 8, b[1]),
				number(sum.read[TALLY_MISSED], 8, b[2]), number(sum.prefetched, 10, b[3]),
				time_text(sum.wait_ns, 9, b[4]));
	}
}

/* Print all; of an interval, the numbers without the tables. */
int
findings__text(const struct findings *findings, FILE *file)
{
	print_head(findings, file);
	print_lost(&findings->lost, file);
	print_shares(findings, file);
	print_blocks(findings, file);
	print_prefetchers(findings, file);
	if (!findings->interval)
	{
		print_relations(findings, file);
		print_rmgrs(findings, file);
		print_histograms(findings, file);
		print_timeline(findings, file);
	}
	fputc('\n', file);
	return fflush(file) != 0 ? -errno : 0;
}
