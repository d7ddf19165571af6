/*
 * control.c
 *		Finds out how many blocks to have in flight, and how far to read ahead.
 *
 * The depth is found by trials: control_depth.c.
 *
 * The readahead_limit, which is how many blocks may be read and not yet used by redo.
 * The larger, the better can disks be swept and bursts be smoothed, so it is
 * as large as memory allows: a page that is read ahead is at the wrong end of
 * the kernel's list of inactive pages only after as much as that list holds
 * has been read and written since.  Where memory is short, the depth is bounded, too.
 *
 * Knows no engine, no clock and no files.
 */
#include <string.h>

#include "engine/control_internal.h"

/* The window changes when memory asks for one so much larger or smaller, percent. */
#define MORE_MEMORY_PERCENT	125
#define LESS_MEMORY_PERCENT	90

static const char *const reason_names[] = {
	[CONTROL_START] = "start",
	[CONTROL_FASTER] = "faster",
	[CONTROL_AS_FAST] = "as fast",
	[CONTROL_LESS_MEMORY] = "less memory",
	[CONTROL_MORE_MEMORY] = "more memory",
};

/* Why, in a word or two. */
const char *
control__reason_name(enum control_reason reason)
{
	return reason_names[reason];
}

/*
 * Begin with a depth of at most its maximum, in blocks.  Without trials it stays as it is.
 */
void
control__init(struct control *control, unsigned depth, unsigned max_depth,
			  unsigned max_readahead, bool trials)
{
	memset(control, 0, sizeof(*control));
	control->io_depth = control->settled = depth < max_depth ? depth : max_depth;
	control->max_depth = max_depth;
	control->readahead_limit = control->max_readahead = max_readahead;
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
	control->was_limited = false;
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
			.io_depth = speed || reason == CONTROL_START,
			.rate_from = speed ? control->before : 0,
			.rate_to = speed ? control->tried : 0
	};
}

/* What was settled on is too deep for the memory that there is now. */
static void
bound_depth(struct control *control, unsigned most)
{
	unsigned	before = control->settled;

	if (before <= most)
		return;
	control->io_depth = control->settled = most;
	control->starting = false;
	control__record(control, CONTROL_LESS_MEMORY, before, control->settled);
	control->log[(control->changes - 1) % CONTROL_LOG].io_depth = true;
	control_depth__restart(control, before);
}

static unsigned
least_readahead(const struct control *control)
{
	return CONTROL_MIN_READAHEAD < control->max_readahead ? CONTROL_MIN_READAHEAD : control->max_readahead;
}

/*
 * So many blocks fit into memory without pushing out what redo has not used.
 * Follows only changes that matter.
 */
void
control__fit(struct control *control, uint64_t now_us, uint64_t memory_blocks)
{
	unsigned	readahead_limit = control->max_readahead;
	unsigned	least = least_readahead(control);
	unsigned	before = control->readahead_limit;
	bool		was_short = control__memory_limited(control);

	if (memory_blocks < readahead_limit)
		readahead_limit = memory_blocks < least ? least : (unsigned) memory_blocks;
	if (readahead_limit == before ||
		(readahead_limit > before && readahead_limit != control->max_readahead &&
		 (uint64_t) readahead_limit * 100 < (uint64_t) before * MORE_MEMORY_PERCENT) ||
		(readahead_limit < before && readahead_limit != least &&
		 (uint64_t) readahead_limit * 100 > (uint64_t) before * LESS_MEMORY_PERCENT))
		return;
	control->last_us = now_us;
	control->readahead_limit = readahead_limit;
	control__record(control, readahead_limit < before ? CONTROL_LESS_MEMORY : CONTROL_MORE_MEMORY,
					before, readahead_limit);
	if (control->trials)
		bound_depth(control, was_short ? control_depth__max(control) : control_depth__first(control));
}
