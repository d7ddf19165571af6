/*
 * control.c
 *		Finds out how many blocks to have in flight, and how far to read ahead.
 *
 * The depth is found by trials: control_depth.c.
 *
 * The window, which is how many blocks may be read and not yet used by redo.
 * The larger, the better can disks be swept and bursts be smoothed, so it is
 * as large as memory allows: a page that is read ahead is at the wrong end of
 * the kernel's list of inactive pages only after as much as that list holds
 * has been read and written since.  Where memory is short, the depth is bounded, too.
 *
 * What became of the blocks comes on top of that.  Redo that waits for blocks that
 * were asked for too late doubles a window that began small at once, and a depth
 * that began small up to what is the usual start.  Blocks that had been evicted when
 * redo came to them are what memory was misjudged by: then the window shrinks, and
 * grows again only after a while, which is longer each time.  What was read once more
 * just before redo came says nothing, as what else evicts does not ask how much there is;
 * nor does what is evicted and not wanted any more: the kernel's read-ahead and changed
 * plans of redo leave such pages however small the window is.
 *
 * Knows no engine, no clock and no files.
 */
#include <string.h>

#include "ablate.h"
#include "engine/control_internal.h"

/* The window changes when memory asks for one so much larger or smaller, percent. */
#define MORE_MEMORY_PERCENT	125
#define LESS_MEMORY_PERCENT	90

/* So deep at most without a measurement, while redo waits, blocks. */
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
	if (ablated(ramp))
	{
		depth = max_depth;
		trials = false;
	}
	control->depth = control->settled = depth < max_depth ? depth : max_depth;
	control->max_depth = max_depth;
	control->max_window = control->fitting = control->ceiling = max_window;
	control->window = control->asked = window < max_window ? window : max_window;
	control->early = trials && control->depth < EARLY_DEPTH && control->depth < max_depth;
	control->relax_us = RELAX_US;
	control->trials = control->starting = trials;
	control_depth__init(control);
}

/*
 * A recovery begins: limits stay as the last one left them, the record and the
 * measurement start anew.
 */
void
control__begin(struct control *control, uint64_t now_us)
{
	control->changes = control->failed_trials = 0;
	control->last_us = now_us;
	control->last_blocks = 0;
	control->was_limited = control->waiting = false;
	control->hold_blocks = 0;
	control->evicted_us = now_us;
	control_depth__begin(control);
}

/* Remember a change and its reason. */
void
control__record(struct control *control, enum control_reason reason, unsigned from,
				unsigned to)
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

/* Follow what limits the window, and say why. */
static void
set_window(struct control *control, enum control_reason reason)
{
	unsigned	before = control->window;

	control->window = control->fitting < control->asked && !ablated(sizefit) ?
		control->fitting : control->asked;
	if (control->window != before)
		control__record(control, reason, before, control->window);
}

/* What was settled on is too deep for the memory that there is now. */
static void
bound_depth(struct control *control, unsigned most)
{
	unsigned	before = control->settled;

	if (before <= most || ablated(depthfit))
		return;
	control->depth = control->settled = most;
	control->starting = false;
	control__record(control, CONTROL_LESS_MEMORY, before, control->settled);
	control->log[(control->changes - 1) % CONTROL_LOG].depth = true;
	control_depth__restart(control, before);
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
	bool		was_short = control__is_short(control);

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
	if (control->trials)
		bound_depth(control, was_short ? control_depth__max(control) : control_depth__first(control));
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
	unsigned	most = control_depth__first(control) < EARLY_DEPTH ?
		control_depth__first(control) : EARLY_DEPTH;
	unsigned	depth = control->settled * 2 < most ? control->settled * 2 : most;

	if (control->settled >= most)
		control->early = false;
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
		control__record(control, CONTROL_LATE, control->settled, depth);
		control->log[(control->changes - 1) % CONTROL_LOG].depth = true;
		control->depth = control->settled = depth;
		control->starting = true;
	}
	/* What was measured with less says nothing. */
	control_depth__restart(control, 0);
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

	control->waiting = seen->waited_us * 100 >= seen->elapsed_us * CONTROL_WAITS_PERCENT;
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
