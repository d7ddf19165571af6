/*
 * control.c
 *		Chooses how many blocks may be in flight, how long a gap may be that a request
 *		reads between two, and how many may be read ahead.
 *
 * The law: a sample measures blocks per second while more blocks are wanted than may
 * be in flight.  While redo waits, the controller probes gaps twice as long, or else twice
 * the I/O depth, and keeps that and probes again if it brings at least a tenth more.  If not,
 * it returns to the limit before, and the next probe of this limit comes after a pause that
 * doubles with each failure until the recovery ends.  The read-ahead limit is what fits into
 * memory; where memory bounds it, it bounds the I/O depth, too, and no gaps are read.
 *
 * The depth never decreases otherwise: on devices with a limit of requests per second
 * a depth that is too large costs at most 4 % of their speed.  Gaps that do not pay cost more,
 * so a probe of them has to be faster than the samples before and after it, and each recovery
 * begins without, as it does after queries.
 *
 * While queries may run beside redo, their reads wait for ours.  Then the I/O depth is
 * another one: one more after each sample in which the reads that waited for a device took
 * at most PACED_READ_US, otherwise as much less as they took longer, within bounds.  In the
 * beginning of a recovery the read-ahead limit is low, too, and grows as redo proceeds, so
 * that blocks are read at most twice as fast as redo uses them.
 *
 * Knows no engine, no clock and no files.
 */
#include "engine/control.h"

/* A sample takes so many blocks per block of depth, and at least so long, us. */
#define SAMPLE_DEPTHS	4
#define SAMPLE_US		20000

/* Redo waits if it does so in this part of a sample, percent. */
#define WAITS_PERCENT	10

/* Twice a limit must bring so much, percent of the speed; arrays bring 120 and more. */
#define FASTER_PERCENT	110

/*
 * While queries may run, reads may take so long, us: an SSD or a network volume that is not
 * saturated takes less, a spinning disk more.  A sample takes so many blocks per block of
 * depth then, whatever time that takes.
 */
#define PACED_READ_US		1500
#define PACED_SAMPLE_DEPTHS	32

/* Samples between the first probe of a limit that fails and the next. */
#define FIRST_PAUSE		4

/* The read-ahead limit follows memory that differs by so much, percent of the limit. */
#define MEMORY_PERCENT	15

/*
 * Where memory bounds the read-ahead limit, the I/O depth begins at one in so many
 * blocks of the limit and grows to one in so many, but is never bounded below
 * LIMITED_MIN: what is submitted at once delays redo's writes, which must make room.
 */
#define LIMITED_START_PART	32
#define LIMITED_MAX_PART	4
#define LIMITED_MIN			32

static uint64_t
min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Why, in a word or two. */
const char *
control__reason_name(enum control_reason reason)
{
	static const char *const names[] = {
		[CONTROL_QUERIES] = "queries",
		[CONTROL_FASTER] = "faster",
		[CONTROL_LESS_MEMORY] = "less memory",
		[CONTROL_MORE_MEMORY] = "more memory",
	};

	return names[reason];
}

/* A limit, as in the statistics. */
const char *
control__limit_name(enum control_limit limit)
{
	static const char *const names[CONTROL_LIMITS] = {
		[CONTROL_READAHEAD] = "readahead_limit",
		[CONTROL_DEPTH] = "io_depth",
		[CONTROL_GAP] = "gap_bytes",
	};

	return names[limit];
}

/* Bounds in blocks.  Unless it is adaptive, the I/O depth stays as it is. */
void
control__init(struct control *control, unsigned max_depth, unsigned max_readahead, bool adaptive)
{
	*control = (struct control)
	{
		.io_depth = min(CONTROL_START_DEPTH, max_depth),.max_depth = max_depth,
			.readahead_limit = max_readahead,.memory_limit = max_readahead,
			.memory_blocks = max_readahead,.max_readahead = max_readahead,
			.adaptive = adaptive
	};
	control->settled = control->io_depth;
	control->paced_depth = min(adaptive ? CONTROL_PACED_MIN : CONTROL_PACED_MAX, max_depth);
}

/* Measure with the limits outside a probe from now on. */
static void
restart(struct control *control, uint64_t skip)
{
	control->probed = CONTROL_NONE;
	control->probe_rate = 0;
	control->io_depth = control__depth(control);
	control->gap_bytes = control->settled_gap;
	control->sample_blocks = control->sample_us = control->sample_waits_us = 0;
	control->skip = skip;
}

/* Read ahead as far as memory and the pace allow. */
static void
limit_readahead(struct control *control)
{
	control->readahead_limit = control->memory_limit;
	if (control->paced)
		control->readahead_limit = min(control->memory_limit,
									   CONTROL_PACED_READAHEAD + control->reached);
}

/* A recovery begins: depth and memory stay as the last one left them, all else starts anew. */
void
control__begin(struct control *control, uint64_t now_us)
{
	control->changes = control->failed_probes = 0;
	control->last_us = now_us;
	control->last_blocks = 0;
	control->was_limited = false;
	control->paced = false;
	limit_readahead(control);
	control->settled_gap = 0;
	for (int i = 0; i < CONTROL_LIMITS; i++)
	{
		control->pause[i] = 0;
		control->next_pause[i] = FIRST_PAUSE;
	}
	restart(control, 0);
}

/* Remember a change. */
static struct control_change *
record(struct control *control, uint64_t at_us, enum control_reason reason,
	   enum control_limit limit, unsigned from, unsigned to)
{
	struct control_change *change = &control->log[control->changes++ % CONTROL_LOG];

	*change = (struct control_change)
	{
		.at_us = at_us,.reason = reason,.limit = limit,.from = from,.to = to
	};
	return change;
}

/* Read no gaps until a probe pays again. */
static void
drop_gaps(struct control *control, uint64_t now_us, enum control_reason reason)
{
	if (control->settled_gap > 0)
		record(control, now_us, reason, CONTROL_GAP, control->settled_gap, 0);
	control->settled_gap = 0;
	control->pause[CONTROL_GAP] = 0;
	control->next_pause[CONTROL_GAP] = FIRST_PAUSE;
}

/* The largest I/O depth if only one in so many blocks of the limit may be in flight. */
static unsigned
limited_depth(const struct control *control, unsigned part)
{
	unsigned	depth = control->memory_limit / part;

	if (!control__memory_limited(control))
		return control->max_depth;
	return min(depth < LIMITED_MIN ? LIMITED_MIN : depth, control->max_depth);
}

/*
 * So many blocks fit into memory without evicting those that redo has not used.
 * Follows only changes that matter.
 */
void
control__fit(struct control *control, uint64_t now_us, uint64_t memory_blocks)
{
	unsigned	least = min(CONTROL_MIN_READAHEAD, control->max_readahead);
	unsigned	before = control->memory_limit;
	unsigned	limit = control->max_readahead;
	bool		was_limited = control__memory_limited(control);
	unsigned	settled = control->settled;
	unsigned	bound;

	control->memory_blocks = memory_blocks;
	if (memory_blocks < limit)
		limit = memory_blocks < least ? least : (unsigned) memory_blocks;
	if (limit == before)
		return;
	if (limit != least && limit != control->max_readahead &&
		(uint64_t) limit * 100 < (uint64_t) before * (100 + MEMORY_PERCENT) &&
		(uint64_t) limit * 100 > (uint64_t) before * (100 - MEMORY_PERCENT))
		return;
	control->memory_limit = limit;
	limit_readahead(control);
	record(control, now_us, limit < before ? CONTROL_LESS_MEMORY : CONTROL_MORE_MEMORY,
		   CONTROL_READAHEAD, before, limit);

	if (control__memory_limited(control) &&
		(control->settled_gap > 0 || control->probed == CONTROL_GAP))
	{
		drop_gaps(control, now_us, CONTROL_LESS_MEMORY);
		restart(control, control->io_depth);
	}
	bound = limited_depth(control, was_limited ? LIMITED_MAX_PART : LIMITED_START_PART);
	if (!control->adaptive)
		return;
	if (settled <= bound)
	{
		/* A probe that goes beyond it ends. */
		if (control->io_depth > bound)
			restart(control, control->io_depth);
		return;
	}
	control->settled = bound;
	record(control, now_us, CONTROL_LESS_MEMORY, CONTROL_DEPTH, settled, bound);
	restart(control, control->io_depth);
}

/*
 * To be called often: redo has reached so many blocks in this recovery; queries, if
 * they may run beside it.
 */
void
control__pace(struct control *control, uint64_t now_us, bool queries, uint64_t reached)
{
	unsigned	depth = control->io_depth;

	control->reached = reached;
	if (queries != control->paced)
	{
		control->paced = queries;
		/* Queries would wait for gaps; what was measured before them is old. */
		drop_gaps(control, now_us, CONTROL_QUERIES);
		restart(control, depth);
		if (control->io_depth != depth)
			record(control, now_us, CONTROL_QUERIES, CONTROL_DEPTH, depth, control->io_depth);
	}
	limit_readahead(control);
}

/* The gap that a probe has. */
static unsigned
next_gap(const struct control *control)
{
	return control->settled_gap == 0 ? CONTROL_FIRST_GAP : control->settled_gap * 2;
}

/* A probe has not paid: return to the limit before. */
static void
fail_probe(struct control *control)
{
	enum control_limit limit = control->probed;

	control->failed_probes++;
	control->pause[limit] = control->next_pause[limit];
	control->next_pause[limit] *= 2;
	restart(control, control->io_depth + control->settled);
}

/* A probe has paid: keep its limit. */
static void
keep_probe(struct control *control, unsigned *settled, unsigned probed, uint32_t rate)
{
	struct control_change *change = record(control, control->last_us, CONTROL_FASTER,
										   control->probed, *settled, probed);

	change->rate_from = control->base_rate;
	change->rate_to = rate;
	*settled = probed;
}

static bool
is_faster(uint32_t rate, uint32_t than)
{
	return (uint64_t) rate * 100 >= (uint64_t) than * FASTER_PERCENT;
}

/*
 * A probe, or the sample after one of gaps, has been measured.  Returns whether the sample is
 * one with the settled limits.
 */
static bool
end_probe(struct control *control, uint32_t rate, bool gaps)
{
	if (control->probed == CONTROL_DEPTH)
	{
		if (!is_faster(rate, control->base_rate))
		{
			fail_probe(control);
			return false;
		}
		keep_probe(control, &control->settled, control->io_depth, rate);
		return true;
	}
	if (control->probe_rate == 0)
	{
		/* It is to be confirmed by a sample without it. */
		if (!gaps || !is_faster(rate, control->base_rate))
			fail_probe(control);
		else
		{
			restart(control, control->io_depth);
			control->probed = CONTROL_GAP;
			control->probe_rate = rate;
		}
		return false;
	}
	if (!is_faster(control->probe_rate, rate))
	{
		fail_probe(control);
		return false;
	}
	keep_probe(control, &control->settled_gap, next_gap(control), control->probe_rate);
	restart(control, control->io_depth);
	return false;
}

/* Is it time to probe a limit?  To be called once for each sample. */
static bool
is_due(struct control *control, enum control_limit limit)
{
	if (control->pause[limit] == 0)
		return true;
	control->pause[limit]--;
	return false;
}

/* Begin a probe, if it is time for one. */
static void
begin_probe(struct control *control, bool redo_waits)
{
	unsigned	most = limited_depth(control, LIMITED_MAX_PART);
	bool		gap = is_due(control, CONTROL_GAP) && control->settled_gap < CONTROL_MAX_GAP &&
		!control__memory_limited(control);
	bool		depth = is_due(control, CONTROL_DEPTH) && control->settled < most;

	if (!redo_waits || !(gap || depth))
		return;
	control->probed = gap ? CONTROL_GAP : CONTROL_DEPTH;
	if (gap)
		control->gap_bytes = next_gap(control);
	else
		control->io_depth = min(control->settled * 2, most);
	control->skip = control->settled + control->io_depth;
}

/* A sample is complete while queries may run: choose the depth for the next one. */
static void
end_paced_sample(struct control *control, const struct control_reads *reads)
{
	uint64_t	waits = reads->waits - control->begin.waits;
	uint64_t	waits_us = reads->waits_us - control->begin.waits_us;
	uint64_t	depth = control->paced_depth + 1;

	/* Only by one: disks are fast for a short time where blocks are close together. */
	if (waits_us > waits * PACED_READ_US)
		depth = control->paced_depth * waits * PACED_READ_US / waits_us;
	if (depth < CONTROL_PACED_MIN)
		depth = CONTROL_PACED_MIN;
	control->paced_depth = min(min(depth, CONTROL_PACED_MAX), control->max_depth);
	restart(control, control->io_depth);
}

/* A sample is complete: judge a probe, and begin the next one if it is time for that. */
static void
end_sample(struct control *control, const struct control_reads *reads)
{
	uint32_t	rate = (uint32_t) (control->sample_blocks * 1000000 / control->sample_us);
	bool		redo_waits = control->sample_waits_us * 100 >= control->sample_us * WAITS_PERCENT;

	if (control->probed != CONTROL_NONE &&
		!end_probe(control, rate, reads->gap_blocks > control->begin.gap_blocks))
		return;
	control->base_rate = rate;
	restart(control, 0);
	begin_probe(control, redo_waits);
}

/* A round in which so many blocks were read: add it to the sample, if it measures the device. */
static void
add_to_sample(struct control *control, const struct control_reads *reads, uint64_t blocks,
			  uint64_t passed_us, bool limited)
{
	if (control->skip > 0)
		control->skip -= min(blocks, control->skip);
	else if (control->was_limited && limited)
	{
		control->sample_blocks += blocks;
		control->sample_us += passed_us;
		control->sample_waits_us += control->was_waiting ? passed_us : 0;
	}
	if (control->sample_blocks == 0)
		control->begin = *reads;
}

/*
 * To be called often: what has been read so far; limited if more blocks are wanted than
 * may be in flight.
 */
void
control__note(struct control *control, uint64_t now_us, const struct control_reads *reads,
			  bool limited, bool redo_waits)
{
	uint64_t	passed_us = now_us - control->last_us;
	uint64_t	blocks = reads->blocks - control->last_blocks;

	control->last_us = now_us;
	control->last_blocks = reads->blocks;
	if (!control->adaptive)
		return;

	add_to_sample(control, reads, blocks, passed_us, limited);
	control->was_limited = limited;
	control->was_waiting = redo_waits;
	if (control->paced)
	{
		if (control->sample_blocks >= (uint64_t) PACED_SAMPLE_DEPTHS * control->io_depth)
			end_paced_sample(control, reads);
	}
	else if (control->sample_blocks >= (uint64_t) SAMPLE_DEPTHS * control->io_depth &&
			 control->sample_us >= SAMPLE_US)
		end_sample(control, reads);
}
