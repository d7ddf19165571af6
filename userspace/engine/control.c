/*
 * control.c
 *		Finds out how many blocks to have in flight, and how far to read ahead.
 *
 * The depth.  A disk array sorts what is queued, and gets faster with more in
 * its queues; a volume with a limit of requests per second does not, but then
 * all that wait in its queue are served late, redo's own reads too.  So the
 * least depth is sought with which blocks come about as fast as they can: now
 * and then twice or half of the depth is tried, and kept if it is faster, or
 * as fast.  Speed is measured only while more is wanted than may be in flight,
 * since otherwise it is redo's speed.  It depends on what is read, too, above all
 * on how dense a part of a sweep is, so a trial is compared with the time before
 * and after it, and must succeed more than once.  Trials that fail are repeated less and
 * less often.  That takes seconds for each step; so at the very beginning, while redo
 * waits, the depth is doubled at once until that does not pay any more.
 *
 * The window, which is how many blocks may be read and not yet used by redo.
 * The larger, the better can disks be swept and bursts be smoothed, so it is
 * as large as memory allows: a page that is read ahead is at the wrong end of
 * the kernel's list of inactive pages only after as much as that list holds
 * has been read and written since.
 *
 * What became of the blocks comes on top of that.  Redo that waits for blocks that
 * were asked for too late doubles a window that began small at once, and a depth
 * that began small up to what is the usual start.  Blocks that had been evicted when
 * redo came to them are what memory was misjudged by: then the window shrinks, and
 * grows again only after a while, which is longer each time.  What is evicted and
 * not wanted any more says nothing: the kernel's read-ahead and changed plans of
 * redo leave such pages however small the window is.
 *
 * Knows no engine, no clock and no files.
 */
#include <string.h>

#include "engine/control.h"

/* A measurement takes so many blocks per depth, at least so many, and so long. */
#define SAMPLE_DEPTHS	4
#define SAMPLE_BLOCKS	512
#define SAMPLE_US		20000

/*
 * Twice the depth must bring so much, percent of the speed; half of it at least
 * so much, all halvings in a row together.
 */
#define FASTER_PERCENT	107
#define AS_FAST_PERCENT	97

/* The deeper, if redo stands still for more than so much of the time, percent. */
#define WAITS_PERCENT	10

/*
 * At first, so few blocks are enough for a measurement, and each doubling must
 * bring so much, percent of the speed.
 */
#define START_BLOCKS	16
#define START_PERCENT	110

/* Trials in a row that must succeed before the depth is changed, down and up. */
static const unsigned confirmations[] = {2, 3};

/* A trial is given up when nothing could be measured for so long, us. */
#define IDLE_MAX_US		1000000

/* Measurements between a trial that failed and the next, first and at most. */
#define MIN_BACKOFF		4
#define MAX_BACKOFF		64

/* The window changes when memory asks for one so much larger or smaller, percent. */
#define MORE_MEMORY_PERCENT	125
#define LESS_MEMORY_PERCENT	90

/* So deep without a measurement, while redo waits, blocks. */
#define EARLY_DEPTH		256

/* Redo waits if so many blocks, and so many of all it read, came late. */
#define LATE_MIN		8
#define LATE_PERCENT	1

/* The window is too large if so many blocks, and so many of all redo read, were evicted. */
#define EVICTED_MIN		16
#define EVICTED_PERCENT	1

/* Time after which more is tried again, first and at most, us; and how much, of the window. */
#define RELAX_US		5000000
#define RELAX_MAX_US	320000000
#define RELAX_PART		4

enum
{
	DOWN, UP
};

enum
{
	BEFORE, TRIAL, AFTER
};

static const char *const reason_names[] = {
	[CONTROL_START] = "start",
	[CONTROL_FASTER] = "faster",
	[CONTROL_AS_FAST] = "as fast",
	[CONTROL_LESS_MEMORY] = "less memory",
	[CONTROL_MORE_MEMORY] = "more memory",
	[CONTROL_LATE] = "late",
	[CONTROL_EVICTED] = "evicted",
};

/* Why, in a word or two. */
const char *
control__reason_name(enum control_reason reason)
{
	return reason_names[reason];
}

/*
 * Begin with a depth and a window, both at most their maximum, in blocks.  Without
 * trials the depth stays as it is.
 */
void
control__init(struct control *control, unsigned depth, unsigned max_depth,
			  unsigned window, unsigned max_window, bool trials)
{
	memset(control, 0, sizeof(*control));
	control->depth = control->settled = depth < max_depth ? depth : max_depth;
	control->max_depth = max_depth;
	control->max_window = control->fitting = control->ceiling = max_window;
	control->window = control->asked = window < max_window ? window : max_window;
	control->early = trials && control->depth < EARLY_DEPTH && control->depth < max_depth;
	control->relax_us = RELAX_US;
	control->trials = control->starting = trials;
	control->backoff[DOWN] = control->backoff[UP] = MIN_BACKOFF;
}

static void
begin_sample(struct control *control, uint64_t skip)
{
	control->sample = (struct control_sample) {0};
	control->skip = skip;
}

/*
 * A recovery begins: limits stay as the last one left them, the record and the
 * measurement start anew.
 */
void
control__begin(struct control *control, uint64_t now_us)
{
	/* What was not measured to the end has not paid. */
	if (control->starting && control->trial != 0)
		control->settled = control->trial;
	control->trial = 0;
	control->depth = control->settled;
	control->step = BEFORE;
	control->changes = control->failed_trials = 0;
	control->lost_permille = 0;
	control->last_us = now_us;
	control->last_blocks = 0;
	control->was_limited = control->waiting = false;
	control->hold_blocks = 0;
	control->evicted_us = now_us;
	for (int i = DOWN; i <= UP; i++)
	{
		control->backoff[i] = MIN_BACKOFF;
		control->pause[i] = MIN_BACKOFF;
	}
	control->successes = 0;
	begin_sample(control, 0);
}

static void
record(struct control *control, enum control_reason reason, unsigned from, unsigned to)
{
	bool		speed = reason == CONTROL_FASTER || reason == CONTROL_AS_FAST;

	control->log[control->changes++ % CONTROL_LOG] = (struct control_change)
	{
		.at_us = control->last_us,.reason = reason,.from = from,.to = to,
			.depth = speed || reason == CONTROL_START,
			.rate_from = speed ? control->before : 0,
			.rate_to = speed ? control->tried : 0
	};
}

/* Try twice or half of the depth, if it is time for that. */
static void
begin_trial(struct control *control, bool redo_waits)
{
	unsigned	depth = control->settled;

	for (int i = DOWN; i <= UP; i++)
		if (control->pause[i] > 0)
			control->pause[i]--;

	/* A trial that succeeded is repeated at once. */
	if (control->successes > 0 ? control->up :
		redo_waits && control->pause[UP] == 0 && depth < control->max_depth)
	{
		control->up = true;
		depth = depth * 2 < control->max_depth ? depth * 2 : control->max_depth;
	}
	else if (control->successes > 0 ||
			 (control->pause[DOWN] == 0 && depth > CONTROL_MIN_DEPTH))
	{
		control->up = false;
		depth = depth / 2 > CONTROL_MIN_DEPTH ? depth / 2 : CONTROL_MIN_DEPTH;
	}
	else
		return;
	control->depth = depth;
	control->step = TRIAL;
}

/* Keep the depth that was tried, or not. */
static void
end_trial(struct control *control, uint32_t after)
{
	uint64_t	base = ((uint64_t) control->before + after) / 2;
	uint64_t	tried = control->tried;
	unsigned	lost_permille = tried < base ? (unsigned) ((base - tried) * 1000 / base) : 0;
	bool		keep;

	control->step = BEFORE;
	if (control->up)
		keep = tried * 100 >= base * FASTER_PERCENT;
	else
		keep = control->lost_permille + lost_permille <= (100 - AS_FAST_PERCENT) * 10;
	if (!keep)
	{
		control->failed_trials++;
		control->successes = 0;
		control->pause[control->up] = control->backoff[control->up];
		if (control->backoff[control->up] < MAX_BACKOFF)
			control->backoff[control->up] *= 2;
		return;
	}
	if (++control->successes < confirmations[control->up])
		return;
	control->lost_permille = control->up ? 0 : control->lost_permille + lost_permille;
	control->successes = 0;
	control->before = (uint32_t) base;
	record(control, control->up ? CONTROL_FASTER : CONTROL_AS_FAST,
		   control->settled, control->trial);
	control->depth = control->settled = control->trial;
	control->early = false;
	control->backoff[control->up] = MIN_BACKOFF;
	control->pause[!control->up] = control->backoff[!control->up];
}

/*
 * A measurement at the very beginning is complete: go on doubling while redo waits,
 * or back to the last depth, control->trial, if doubling it has not paid.
 */
static void
start_up(struct control *control, uint32_t rate, bool redo_waits)
{
	unsigned	depth = control->depth;
	bool		pays = (uint64_t) rate * 100 >= (uint64_t) control->before * START_PERCENT;

	if (control->trial != 0 && !pays)
	{
		control->tried = control->before;
		control->before = rate;
		record(control, CONTROL_AS_FAST, depth, control->trial);
		control->depth = control->settled = control->trial;
		control->starting = false;
	}
	else if (depth == control->max_depth)
		control->starting = false;
	else if (redo_waits)
	{
		control->before = rate;
		control->trial = depth;
		depth = depth * 2 < control->max_depth ? depth * 2 : control->max_depth;
		record(control, CONTROL_START, control->depth, depth);
		control->depth = control->settled = depth;
	}
	else
		control->trial = 0;
}

/* A measurement is complete: compare, and decide what to measure next. */
static void
end_sample(struct control *control)
{
	uint32_t	rate = (uint32_t) (control->sample.blocks * 1000000 / control->sample.busy_us);
	bool		redo_waits = control->sample.waits_us * 100 >=
		control->sample.busy_us * WAITS_PERCENT;
	unsigned	depth = control->depth;

	if (control->starting)
		start_up(control, rate, redo_waits);
	else if (control->step == BEFORE)
	{
		control->before = rate;
		begin_trial(control, redo_waits);
	}
	else if (control->step == TRIAL)
	{
		control->tried = rate;
		control->trial = control->depth;
		control->depth = control->settled;
		control->step = AFTER;
	}
	else
		end_trial(control, rate);
	/* What was asked for with the other depth comes first. */
	begin_sample(control, control->depth == depth ? 0 : depth + control->depth);
}

/*
 * To be called often: blocks came so far; limited if more were wanted than may
 * be in flight; redo stands still.
 */
void
control__note(struct control *control, uint64_t now_us, uint64_t blocks,
			  bool limited, bool redo_waits)
{
	uint64_t	came = blocks - control->last_blocks;
	uint64_t	passed_us = now_us - control->last_us;
	struct control_sample *sample = &control->sample;
	uint64_t	needed = (uint64_t) SAMPLE_DEPTHS * control->depth;
	uint64_t	least = control->starting ? START_BLOCKS : SAMPLE_BLOCKS;

	redo_waits = redo_waits || control->waiting;
	control->last_us = now_us;
	control->last_blocks = blocks;
	if (!control->trials)
		return;

	control->idle_us = limited ? 0 : control->idle_us + passed_us;
	if (control->idle_us > IDLE_MAX_US && control->step != BEFORE)
	{
		control->depth = control->settled;
		control->step = BEFORE;
		control->successes = 0;
		begin_sample(control, 0);
	}
	if (control->skip > 0)
		control->skip -= came < control->skip ? came : control->skip;
	else if (control->was_limited && limited)
	{
		sample->blocks += came;
		sample->busy_us += passed_us;
		sample->waits_us += control->was_waiting ? passed_us : 0;
	}
	control->was_limited = limited;
	control->was_waiting = redo_waits;

	if (needed < least)
		needed = least;
	if (sample->blocks >= needed && sample->busy_us >= SAMPLE_US)
		end_sample(control);
}

/* Follow what limits the window, and say why. */
static void
set_window(struct control *control, enum control_reason reason)
{
	unsigned	before = control->window;

	control->window = control->fitting < control->asked ? control->fitting : control->asked;
	if (control->window != before)
		record(control, reason, before, control->window);
}

static unsigned
least_window(const struct control *control)
{
	return CONTROL_MIN_WINDOW < control->max_window ? CONTROL_MIN_WINDOW : control->max_window;
}

/*
 * So many blocks fit into memory without pushing out what redo has not used.
 * Follows only changes that matter.
 */
void
control__fit(struct control *control, uint64_t now_us, uint64_t memory_blocks)
{
	unsigned	window = control->max_window;
	unsigned	least = least_window(control);
	unsigned	before = control->fitting;

	if (memory_blocks < window)
		window = memory_blocks < least ? least : (unsigned) memory_blocks;
	if (window == before ||
		(window > before && window != control->max_window &&
		 (uint64_t) window * 100 < (uint64_t) before * MORE_MEMORY_PERCENT) ||
		(window < before && window != least &&
		 (uint64_t) window * 100 > (uint64_t) before * LESS_MEMORY_PERCENT))
		return;
	control->last_us = now_us;
	control->fitting = window;
	set_window(control, window < before ? CONTROL_LESS_MEMORY : CONTROL_MORE_MEMORY);
}

/* Redo had to read blocks that had been evicted: read less far ahead. */
static void
shrink(struct control *control, uint64_t now_us)
{
	unsigned	window = control->window - control->window / RELAX_PART;
	unsigned	least = least_window(control);

	/* What is there already was read with the present window. */
	control->hold_blocks = control->window;
	control->asked = control->ceiling = window < least ? least : window;
	control->evicted_us = now_us;
	if (control->relax_us < RELAX_MAX_US)
		control->relax_us *= 2;
	set_window(control, CONTROL_EVICTED);
}

/* Redo waits for what was asked for too late: ask earlier, and for more at a time. */
static void
hurry(struct control *control, const struct control_feedback *seen)
{
	unsigned	depth = control->settled;

	if (!seen->depth_full && !seen->window_full)
		return;					/* there was no more to ask for */
	if (control->asked < control->ceiling)
	{
		control->asked = control->asked < control->ceiling / 2 ?
			control->asked * 2 : control->ceiling;
		set_window(control, CONTROL_LATE);
	}
	else if (!control->early)
		return;
	if (control->early && seen->depth_full)
	{
		depth = depth * 2 < EARLY_DEPTH ? depth * 2 : EARLY_DEPTH;
		depth = depth < control->max_depth ? depth : control->max_depth;
		control->early = depth < EARLY_DEPTH && depth < control->max_depth;
		record(control, CONTROL_LATE, control->settled, depth);
		control->log[(control->changes - 1) % CONTROL_LOG].depth = true;
		control->depth = control->settled = depth;
		control->starting = true;
	}
	/* What was measured with less says nothing. */
	control->depth = control->settled;
	control->trial = control->successes = 0;
	control->step = BEFORE;
	begin_sample(control, 0);
}

/*
 * To be called some fifty times a second, after control__note: what became of blocks
 * since the last time.
 */
void
control__feed(struct control *control, uint64_t now_us, const struct control_feedback *seen)
{
	bool		evicted = seen->evicted >= EVICTED_MIN &&
		seen->evicted * 100 >= seen->read * EVICTED_PERCENT;

	control->waiting = seen->waited_us * 100 >= seen->elapsed_us * WAITS_PERCENT;
	control->hold_blocks -= seen->read < control->hold_blocks ? seen->read : control->hold_blocks;
	if (evicted)
	{
		if (control->hold_blocks == 0)
			shrink(control, now_us);
		return;
	}
	if (control->ceiling < control->max_window && now_us - control->evicted_us >= control->relax_us)
	{
		control->ceiling = control->ceiling < control->max_window - control->ceiling / RELAX_PART ?
			control->ceiling + control->ceiling / RELAX_PART : control->max_window;
		control->evicted_us = now_us;
	}
	if (control->waiting || (seen->late >= LATE_MIN &&
							 seen->late * 100 >= seen->read * LATE_PERCENT))
		hurry(control, seen);
}
