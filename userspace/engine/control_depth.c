/*
 * control_depth.c
 *		Finds out how many blocks to have in flight.
 *
 * A disk array sorts what is queued, and gets faster with more in its queues; a volume
 * with a limit of requests per second does not, but then all that wait in its queue
 * are served late, redo's own reads too.  So the least depth is sought with which
 * blocks come about as fast as they can: now and then twice or half of the depth is
 * tried, and kept if it is faster, or as fast.  Speed is measured only while more is
 * wanted than may be in flight, since otherwise it is redo's speed.  It depends on
 * what is read, too, above all on how dense a part of a sweep is, so a trial is
 * compared with the time before and after it, and must succeed more than once.  Where
 * those two differ too much themselves, as under bursts of writes, the trial says
 * nothing, and the next one takes longer.  Trials that fail are repeated less and less
 * often.  That takes seconds for each step; so at the very beginning, while redo
 * waits, the depth is doubled at once until that does not pay any more.
 */
#include "ablate.h"
#include "engine/control_internal.h"

/*
 * A measurement takes so many blocks per depth, at least so many, and so long, first
 * and at most.
 */
#define SAMPLE_DEPTHS	4
#define SAMPLE_BLOCKS	512
#define SAMPLE_US		20000
#define SAMPLE_MAX_US	2000000

/* It takes longer if two that should be equal differ by so much, percent of the speed. */
#define NOISE_PERCENT	5

/*
 * Twice the depth must bring so much, percent of the speed; half of it at least
 * so much, all halvings in a row together.
 */
#define FASTER_PERCENT	107
#define AS_FAST_PERCENT	97

/*
 * At first, so few blocks are enough for a measurement, and each doubling must
 * bring so much, percent of the speed.
 */
#define START_BLOCKS	16
#define START_PERCENT	110

/*
 * But it takes so long while the window is small, us: if that grows meanwhile, as it
 * does while redo waits, it is measured anew.
 */
#define START_SMALL_US	60000

/* Trials in a row that must succeed before the depth is changed, down and up. */
static const unsigned confirmations[] = {2, 3};

/* A trial is given up when nothing could be measured for so long, us. */
#define IDLE_MAX_US		1000000

/* Measurements between a trial that failed and the next, first and at most. */
#define MIN_BACKOFF		4
#define MAX_BACKOFF		64

/*
 * A window that memory bounds is so many depths at least, and so many until a greater depth
 * has paid; a depth that it bounds is so many blocks at least.
 */
#define WINDOW_DEPTHS		4
#define WINDOW_FIRST_DEPTHS	32
#define SHORT_DEPTH			32

enum
{
	DOWN, UP
};

enum
{
	BEFORE, TRIAL, AFTER
};

static void
begin_sample(struct control *control, uint64_t skip)
{
	control->sample = (struct control_sample) {0};
	control->skip = skip;
}

/* Measure anew with the depth that was settled on, after so many blocks. */
void
control_depth__restart(struct control *control, uint64_t skip)
{
	control->depth = control->settled;
	control->step = BEFORE;
	control->trial = control->successes = 0;
	begin_sample(control, skip);
}

/* At first nothing is known. */
void
control_depth__init(struct control *control)
{
	control->backoff[DOWN] = control->backoff[UP] = MIN_BACKOFF;
	control->sample_us = SAMPLE_US;
}

/* A recovery begins: the depth stays, the measurement starts anew. */
void
control_depth__begin(struct control *control)
{
	/* What was not measured to the end has not paid. */
	if (control->starting && control->trial != 0)
		control->settled = control->trial;
	control->lost_permille = 0;
	for (int i = DOWN; i <= UP; i++)
	{
		control->backoff[i] = MIN_BACKOFF;
		control->pause[i] = MIN_BACKOFF;
	}
	control_depth__restart(control, 0);
}

/* The largest depth if memory lets no more than a part of the window be in flight. */
static unsigned
part_of_window(const struct control *control, unsigned depths)
{
	unsigned	depth = control->fitting / depths;

	if (!control__is_short(control) || depth >= control->max_depth || ablated(depthfit))
		return control->max_depth;
	if (depth >= SHORT_DEPTH)
		return depth;
	return SHORT_DEPTH < control->max_depth ? SHORT_DEPTH : control->max_depth;
}

/*
 * The largest depth.  Where memory is short, not all of the window may be in flight: what
 * is asked for all at once holds up redo's writes, which must make room for it.
 */
unsigned
control_depth__max(const struct control *control)
{
	return part_of_window(control, WINDOW_DEPTHS);
}

/*
 * The largest depth without a measurement, likewise: an array of disks may get faster
 * with more, but a single device has less left for the writes.
 */
unsigned
control_depth__first(const struct control *control)
{
	return part_of_window(control, WINDOW_FIRST_DEPTHS);
}

/* Try twice or half of the depth, if it is time for that. */
static void
begin_trial(struct control *control, bool redo_waits)
{
	unsigned	depth = control->settled;

	if (ablated(trials))
		return;
	for (int i = DOWN; i <= UP; i++)
		if (control->pause[i] > 0)
			control->pause[i]--;

	/* A trial that succeeded is repeated at once. */
	if (control->successes > 0 ? control->up :
		redo_waits && control->pause[UP] == 0 && depth < control_depth__max(control))
	{
		control->up = true;
		depth = depth * 2 < control_depth__max(control) ? depth * 2 : control_depth__max(control);
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

/*
 * Do the measurements before and after a trial agree, so that it says something?  Finds
 * the time that measurements must take for that.
 */
static bool
agree(struct control *control, uint32_t after)
{
	uint64_t	difference = after > control->before ? after - control->before :
		control->before - after;
	uint64_t	noise = (uint64_t) control->before * NOISE_PERCENT / 100;

	if (difference <= noise)
	{
		if (difference * 4 <= noise && control->sample_us > SAMPLE_US)
			control->sample_us /= 2;
		return true;
	}
	if (control->sample_us >= SAMPLE_MAX_US)
		return true;			/* better will not come */
	control->sample_us *= 2;
	return false;
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
	if (!agree(control, after))
		return;
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
	control__record(control, control->up ? CONTROL_FASTER : CONTROL_AS_FAST,
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
		control__record(control, CONTROL_AS_FAST, depth, control->trial);
		control->depth = control->settled = control->trial;
		control->starting = false;
	}
	else if (depth == control_depth__max(control))
		control->starting = false;
	else if (redo_waits)
	{
		control->before = rate;
		control->trial = depth;
		depth = depth * 2 < control_depth__max(control) ? depth * 2 : control_depth__max(control);
		control__record(control, CONTROL_START, control->depth, depth);
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
		control->sample.busy_us * CONTROL_WAITS_PERCENT;
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
	uint64_t	sample_us = !control->starting ? control->sample_us :
		control->asked < control->ceiling ? START_SMALL_US : SAMPLE_US;

	redo_waits = redo_waits || control->waiting;
	control->last_us = now_us;
	control->last_blocks = blocks;
	if (!control->trials)
		return;

	control->idle_us = limited ? 0 : control->idle_us + passed_us;
	if (control->idle_us > IDLE_MAX_US && control->step != BEFORE)
	{
		control_depth__restart(control, 0);
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
	if (sample->blocks >= needed && sample->busy_us >= sample_us)
		end_sample(control);
}
