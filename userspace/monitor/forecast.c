/*
 * forecast.c
 *		How much work redo has with the WAL that it has not come to.
 *
 * Neither WAL nor redo is even: after a checkpoint come full-page images, which take much
 * WAL and little time; and a block takes a buffer, and is read or copied into it, once, so
 * that the further redo is, the fewer of them there are.  So WAL is decoded ahead of redo, a
 * little at a time, and the work is counted by intervals of WAL.  Which blocks were referenced
 * before is a set of bits, by hash, whose collisions are corrected for as in linear
 * counting (Whang et al., 1990).  Where that set would not fit into the CPU's cache, a
 * sample of the blocks, also by hash, stands for all.  What is not decoded yet has records and images like the
 * later half of what is, and of new blocks ever fewer, at the rate at which they became fewer
 * from the one half to the other.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "common/available.h"
#include "monitor/forecast.h"

/* A page image costs redo what so many records do: 8 kB are copied. */
#define IMAGE_RECORDS	2.0

/*
 * Bits in the set of blocks: one for so many bytes of WAL, and at least and at most so
 * many; half a megabyte stays in the CPU's cache.  One bit per block would take 16 MB for
 * 2 GB of WAL, and most of this thread's CPU time.
 */
#define SEEN_BYTES		16
#define SEEN_MIN_BITS	(UINT64_C(1) << 20)
#define SEEN_MAX_BITS	(UINT64_C(1) << 22)

/* Decode at most a part of available memory ahead of redo: WAL takes room in the page cache. */
#define AHEAD_PART		16

/* Records between two reads of the clock. */
#define CLOCK_RECORDS	256

/* Begin, for a recovery from one position to another.  Without memory, nothing is known. */
void
forecast__begin(struct forecast *forecast, const struct cluster *cluster,
				const struct controlfile *control, uint32_t timeline,
				uint64_t begin_lsn, uint64_t end_lsn)
{
	struct wal_reader_options options = {
		.source = {wal_segments__read, &forecast->segments},
		.system_identifier = control->system_identifier,
		.segment_bytes = control->wal_segment_bytes,
		.page_bytes = control->wal_page_bytes,
		.block_size = control->block_size,
	};
	char		directory[64];
	uint64_t	bits = SEEN_MIN_BITS;

	*forecast = (struct forecast) {.sample = 1};
	while (bits < SEEN_MAX_BITS && bits < (end_lsn - begin_lsn) / SEEN_BYTES)
		bits *= 2;
	while (bits * forecast->sample < (end_lsn - begin_lsn) / SEEN_BYTES)
		forecast->sample *= 2;
	snprintf(directory, sizeof(directory), "/proc/self/fd/%d/pg_wal", cluster->dirfd);
	if (wal_segments__open(&forecast->segments, directory, control->wal_segment_bytes, timeline,
						   NULL) < 0)
		return;
	forecast->seen = calloc(bits / 64, sizeof(uint64_t));
	if (forecast->seen == NULL || wal_reader__create(&forecast->reader, &options) < 0)
	{
		free(forecast->seen);
		forecast->seen = NULL;
		wal_segments__close(&forecast->segments);
		return;
	}
	forecast->seen_mask = bits - 1;
	forecast->begin_lsn = begin_lsn;
	forecast->end_lsn = end_lsn;
	forecast->interval_bytes = (end_lsn - begin_lsn) / FORECAST_INTERVALS + 1;
	forecast->decoding = wal_reader__find(&forecast->reader, begin_lsn) == WAL_READER_RECORD;
}

void
forecast__end(struct forecast *forecast)
{
	if (forecast->seen == NULL)
		return;
	wal_reader__destroy(&forecast->reader);
	wal_segments__close(&forecast->segments);
	free(forecast->seen);
	forecast->seen = NULL;
	forecast->decoding = false;
}

/* A hash of a block (the finalizer of MurmurHash3, by Austin Appleby). */
static uint64_t
hash_block(const struct wal_block *block)
{
	uint64_t	hash = ((uint64_t) block->rel << 32 | block->block) ^
		((uint64_t) block->db << 40 ^ (uint64_t) block->spc << 8 ^ block->fork);

	hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
	hash = (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return hash ^ hash >> 33;
}

/* Count the work that redo has with a block of a record. */
static void
add_block(struct forecast *forecast, const struct wal_block *block)
{
	uint64_t	hash = hash_block(block);
	uint64_t	bit = hash & forecast->seen_mask;
	uint64_t   *word = &forecast->seen[bit / 64];
	double		bits = (double) forecast->seen_mask + 1;

	if (block->restored)
		forecast->sum.records += IMAGE_RECORDS;
	/* Bits of the hash that do not choose the bit in the set. */
	if ((hash >> 32 & (forecast->sample - 1)) != 0 || (*word >> bit % 64 & 1) != 0)
		return;
	*word |= UINT64_C(1) << bit % 64;
	forecast->seen_count++;
	/* Of new blocks, as many more had a bit that was set before. */
	forecast->sum.blocks += (double) forecast->sample * bits /
		(bits - (double) forecast->seen_count + 1);
}

/* Decode until a time, unless that is far enough ahead of redo. */
void
forecast__decode(struct forecast *forecast, uint64_t replay_lsn, uint64_t until_us)
{
	const struct wal_record *record = &forecast->reader.record;
	uint64_t	ahead;

	if (!forecast->decoding)
		return;
	ahead = available__bytes() / AHEAD_PART;
	for (unsigned n = 1; forecast->decoding; n++)
	{
		if (forecast->reader.next_lsn > replay_lsn + ahead ||
			(n % CLOCK_RECORDS == 0 && clock__now_us() >= until_us))
			return;
		if (wal_reader__next(&forecast->reader) != WAL_READER_RECORD)
		{
			forecast->decoding = false;
			return;
		}
		while (forecast->intervals < FORECAST_INTERVALS && record->lsn >= forecast->begin_lsn +
			   (forecast->intervals + 1) * forecast->interval_bytes)
			forecast->sums[++forecast->intervals] = forecast->sum;
		forecast->sum.records++;
		for (unsigned i = 0; i < record->block_count; i++)
			if (wal_record__uses_block(record, &record->blocks[i]))
				add_block(forecast, &record->blocks[i]);
	}
}

static struct forecast_work
between(struct forecast_work from, struct forecast_work to, double part)
{
	return (struct forecast_work)
	{
		from.records + (to.records - from.records) * part, from.blocks + (to.blocks - from.blocks) * part
	};
}

/*
 * New blocks in so many intervals of WAL that are not decoded.  If their density falls by the
 * same factor in each half of the decoded WAL, it falls like exp(-x / scale).
 */
static double
new_blocks(const struct forecast *forecast, double intervals)
{
	unsigned	last = forecast->intervals;
	unsigned	half = last / 2;
	double		first = forecast->sums[half].blocks;
	double		second = (forecast->sums[last].blocks - first) * half / (last - half);
	double		factor = first > 0 ? second / first : 0;
	double		scale;

	if (factor <= 0)
		return 0;
	if (factor > 0.99)
		return second / half * intervals;
	scale = -(double) half / log(factor);
	/* At the end of the second half. */
	return second * factor / (1 - factor) * (1 - exp(-intervals / scale));
}

/* The work that redo has before it comes to a position, which must not be before begin_lsn. */
struct forecast_work
forecast__before(const struct forecast *forecast, uint64_t lsn)
{
	double		at = (double) (lsn - forecast->begin_lsn) / (double) forecast->interval_bytes;
	unsigned	last = forecast->intervals;
	unsigned	half = last / 2;
	unsigned	interval = (unsigned) at;
	struct forecast_work work;

	if (half == 0)
		return (struct forecast_work) {0, 0};
	if (interval < last)
		return between(forecast->sums[interval], forecast->sums[interval + 1], at - interval);
	work = between(forecast->sums[half], forecast->sums[last], (at - half) / (last - half));
	work.blocks = forecast->sums[last].blocks + new_blocks(forecast, at - last);
	return work;
}
