/*
 * tally.c
 *		What became of the blocks that redo read: sums, names, the timeline.
 *
 * Does not know where the counts come from, nor how they are shown.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "trace/tally.h"

/* Start at zero; what the rows need is kept. */
void
tally__begin(struct tally *tally, uint64_t begin_ns)
{
	struct tally_row *rows = tally->rows;
	uint32_t	row_count = tally->row_count;

	memset(tally, 0, sizeof(*tally));
	if (rows != NULL)
		memset(rows, 0, row_count * sizeof(*rows));
	tally->rows = rows;
	tally->row_count = row_count;
	tally->begin_ns = begin_ns;
	tally->sample_ns = TALLY_FIRST_SAMPLE;
}

/* Free the rows. */
void
tally__destroy(struct tally *tally)
{
	free(tally->rows);
	tally->rows = NULL;
	tally->row_count = 0;
}

/* A row to count in, NULL if there is no memory. */
struct tally_row *
tally__row(struct tally *tally, uint32_t row)
{
	if (row >= tally->row_count)
	{
		uint32_t	count = row < 64 ? 64 : row * 2;
		struct tally_row *rows = realloc(tally->rows, count * sizeof(*rows));

		if (rows == NULL)
			return NULL;
		memset(rows + tally->row_count, 0, (count - tally->row_count) * sizeof(*rows));
		tally->rows = rows;
		tally->row_count = count;
	}
	return &tally->rows[row];
}

static void
add_sample(struct tally_sample *sum, const struct tally_sample *part)
{
	for (int class = 0; class < TALLY_CLASSES; class++)
		sum->read[class] += part->read[class];
	sum->wait_ns += part->wait_ns;
	sum->prefetched += part->prefetched;
	if (part->lsn != 0)
		sum->lsn = part->lsn;
}

/* Make one sample of each two. */
static void
fold(struct tally *tally)
{
	for (uint32_t i = 0; i < TALLY_SAMPLES; i += 2)
	{
		struct tally_sample both = tally->samples[i];

		add_sample(&both, &tally->samples[i + 1]);
		tally->samples[i / 2] = both;
	}
	memset(&tally->samples[TALLY_SAMPLES / 2], 0,
		   TALLY_SAMPLES / 2 * sizeof(tally->samples[0]));
	tally->sample_count = (tally->sample_count + 1) / 2;
	tally->sample_ns *= 2;
}

/* The sample that a time belongs to. */
struct tally_sample *
tally__sample(struct tally *tally, uint64_t at_ns)
{
	uint64_t	since = at_ns > tally->begin_ns ? at_ns - tally->begin_ns : 0;
	uint32_t	sample;

	while (since / tally->sample_ns >= TALLY_SAMPLES)
		fold(tally);
	sample = (uint32_t) (since / tally->sample_ns);
	if (sample >= tally->sample_count)
		tally->sample_count = sample + 1;
	return &tally->samples[sample];
}

/* The slot of a histogram that a time belongs to. */
unsigned
tally__slot(uint64_t ns)
{
	unsigned	slot = ns == 0 ? 0 : 63 - (unsigned) __builtin_clzll(ns);

	return slot < TRACE_SLOTS ? slot : TRACE_SLOTS - 1;
}

/* Add one row to another. */
static void
add_row(struct tally_row *sum, const struct tally_row *part)
{
	uint64_t   *to = (uint64_t *) sum;
	const uint64_t *from = (const uint64_t *) part;

	_Static_assert(sizeof(struct tally_row) % sizeof(uint64_t) == 0,
				   "rows are 64-bit numbers only");
	for (size_t i = 0; i < sizeof(*sum) / sizeof(uint64_t); i++)
		to[i] += from[i];
}

/* Add what was counted in an interval; the sum has a timeline of its own. */
int
tally__merge(struct tally *sum, const struct tally *part)
{
	uint64_t   *to = (uint64_t *) sum;
	const uint64_t *from = (const uint64_t *) part;

	_Static_assert(offsetof(struct tally, rows) % sizeof(uint64_t) == 0,
				   "up to the rows there are 64-bit numbers only");
	for (size_t i = 0; i < offsetof(struct tally, rows) / sizeof(uint64_t); i++)
		to[i] += from[i];
	for (uint32_t i = 0; i < part->row_count; i++)
	{
		struct tally_row *row = tally__row(sum, i);

		if (row == NULL)
			return -ENOMEM;
		add_row(row, &part->rows[i]);
	}
	for (uint32_t i = 0; i < part->sample_count; i++)
		add_sample(tally__sample(sum, part->begin_ns + i * part->sample_ns), &part->samples[i]);
	if (part->replay_lsn != 0)
		sum->replay_lsn = part->replay_lsn;
	return 0;
}

/* Blocks of one class. */
uint64_t
tally__read(const struct tally *tally, enum tally_class class)
{
	uint64_t	sum = 0;

	for (int source = 0; source < TALLY_SOURCES; source++)
		sum += tally->blocks[class][source];
	return sum;
}

/* Blocks of all classes. */
uint64_t
tally__read_all(const struct tally *tally)
{
	return tally__read(tally, TALLY_TIMELY) + tally__read(tally, TALLY_LATE) +
		tally__read(tally, TALLY_MISSED);
}

/* Blocks that redo read, in a row. */
uint64_t
tally__row_read(const struct tally_row *row)
{
	return row->read[TALLY_TIMELY] + row->read[TALLY_LATE] + row->read[TALLY_MISSED];
}

/* Has a row nothing to report? */
bool
tally__row_is_empty(const struct tally_row *row)
{
	return tally__row_read(row) + row->prefetched + row->wasted == 0;
}

/* Blocks that were prefetched and not used. */
uint64_t
tally__wasted(const struct tally_prefetcher *prefetcher)
{
	return prefetcher->wasted[TALLY_WASTE_EVICTED] + prefetcher->wasted[TALLY_WASTE_DROPPED] +
		prefetcher->wasted[TALLY_WASTE_UNREAD];
}

/* What the daemon and the server prefetched together, without the kernel's readahead. */
struct tally_prefetcher
tally__prefetched(const struct tally *tally)
{
	struct tally_prefetcher sum = tally->prefetchers[TALLY_DAEMON];
	const struct tally_prefetcher *server = &tally->prefetchers[TALLY_SERVER];

	sum.prefetched += server->prefetched;
	sum.used += server->used;
	for (int waste = 0; waste < TALLY_WASTES; waste++)
		sum.wasted[waste] += server->wasted[waste];
	return sum;
}

const char *const tally__class_names[TALLY_CLASSES] = {
	[TALLY_TIMELY] = "timely",
	[TALLY_LATE] = "late",
	[TALLY_MISSED] = "missed",
};

const char *const tally__source_names[TALLY_SOURCES] = {
	[TALLY_DAEMON] = "daemon",
	[TALLY_SERVER] = "server",
	[TALLY_READAHEAD] = "readahead",
	[TALLY_CACHED] = "cached",
};

const char *const tally__cause_names[TALLY_CAUSES] = {
	[TALLY_EVICTED] = "evicted",
	[TALLY_NOT_READ] = "not_read",
	[TALLY_NOT_REFERENCED] = "not_referenced",
	[TALLY_NO_DAEMON] = "no_daemon",
	[TALLY_UNKNOWN] = "unknown",
};

const char *const tally__waste_names[TALLY_WASTES] = {
	[TALLY_WASTE_EVICTED] = "evicted",
	[TALLY_WASTE_DROPPED] = "dropped",
	[TALLY_WASTE_UNREAD] = "unread",
};
