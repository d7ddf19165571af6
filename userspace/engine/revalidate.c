/*
 * revalidate.c
 *		Looks whether blocks that were read are still there when redo is near.
 *
 * What is read ahead may be gone before redo comes: somebody drops the page cache,
 * or the kernel reclaims memory that looks idle, and blocks of a long sweep do.
 * Without a second look redo would read each of them on its own, as slowly as
 * without reading ahead.  So, some thousand blocks before redo, one in EACH_MAX is
 * looked for.  If it is gone all are looked for, from where redo is on, and what
 * is missing is read again; while all are found, fewer and fewer are looked for.
 * Blocks that were there before they were asked for are old, so all of those are looked
 * for; they tell nothing of the others.
 * When redo stands still, the blocks that it wants next are the first suspects.
 *
 * Does not read: tells the engine what is gone.
 */
#include <errno.h>
#include <string.h>

#include "engine/revalidate.h"
#include "base/log.h"

/* One block in so many is looked for while all are found. */
#define EACH_MAX		64

/* After so many that were found, half as many are looked for. */
#define FOUND_TO_RELAX	1024

/* When redo stands still, so many are looked for. */
#define NEXT_BLOCKS		16

/* Most looks at a time; each takes about half a microsecond. */
#define LOOKS_MAX		1024

/* A recovery begins. */
void
revalidate__begin(struct revalidate *revalidate)
{
	*revalidate = (struct revalidate) {.each = EACH_MAX};
}

/* Redo stands still: maybe for blocks that were there. */
void
revalidate__redo_stalled(struct revalidate *revalidate, struct block_queue *queue)
{
	if (revalidate->cannot || revalidate->gone)
		return;
	block_queue__restart_revalidation(queue);
	revalidate->next = NEXT_BLOCKS;
}

/* A block was there, or not. */
static void
judge(struct revalidate *revalidate, struct block_queue *queue, bool there)
{
	if (there)
	{
		if (++revalidate->found < FOUND_TO_RELAX)
			return;
		revalidate->found = 0;
		if (revalidate->each < EACH_MAX)
			revalidate->each *= 2;
		return;
	}
	revalidate->found = 0;
	if (revalidate->each > 1)
		block_queue__restart_revalidation(queue);
	revalidate->each = 1;
}

/*
 * The next block of the queue that is gone, if a record up to until_lsn needs it.  The
 * same one until revalidate__take.
 */
bool
revalidate__next(struct revalidate *revalidate, struct block_queue *queue, struct reader *reader,
			  uint64_t until_lsn, struct block_run *run)
{
	for (unsigned looks = 0; !revalidate->gone && !revalidate->cannot && looks < LOOKS_MAX; looks++)
	{
		int			there;

		if (!block_queue__next_to_revalidate(queue, until_lsn, revalidate->next > 0 ? 1 : revalidate->each, &revalidate->run))
			return false;
		there = reader__residency(reader, &revalidate->run);
		if (there >= 0)
		{
			reader->counters.blocks_rechecked += revalidate->run.blocks;
			if (!revalidate->run.resident)
				judge(revalidate, queue, there == RESIDENT_ALL);
			revalidate->gone = there != RESIDENT_ALL;
		}
		else if (there != -ENOENT)
		{
			revalidate->cannot = true;
			log_debug("cannot tell whether blocks are still in the page cache (%s); blocks "
					  "that are evicted before redo comes are not read again",
					  strerror(-there));
		}
		if (revalidate->next > 0)
			revalidate->next--;
	}
	if (!revalidate->gone)
		return false;
	*run = revalidate->run;
	return true;
}

/* The run that revalidate__next told has been asked for, or cannot be. */
void
revalidate__take(struct revalidate *revalidate)
{
	revalidate->gone = false;
}
