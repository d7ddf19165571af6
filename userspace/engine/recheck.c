/*
 * recheck.c
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

#include "engine/recheck.h"
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
recheck__begin(struct recheck *recheck)
{
	*recheck = (struct recheck) {.each = EACH_MAX};
}

/* Redo stands still: maybe for blocks that were there. */
void
recheck__redo_stands(struct recheck *recheck, struct pool *pool)
{
	if (recheck->cannot || recheck->gone)
		return;
	pool__look_again(pool);
	recheck->next = NEXT_BLOCKS;
}

/* A block was there, or not. */
static void
judge(struct recheck *recheck, struct pool *pool, bool there)
{
	if (there)
	{
		if (++recheck->found < FOUND_TO_RELAX)
			return;
		recheck->found = 0;
		if (recheck->each < EACH_MAX)
			recheck->each *= 2;
		return;
	}
	recheck->found = 0;
	if (recheck->each > 1)
		pool__look_again(pool);
	recheck->each = 1;
}

/*
 * The next block of the pool that is gone, if a record up to until_lsn needs it.  The
 * same one until recheck__take.
 */
bool
recheck__next(struct recheck *recheck, struct pool *pool, struct reader *reader,
			  uint64_t until_lsn, struct pool_run *run)
{
	for (unsigned looks = 0; !recheck->gone && !recheck->cannot && looks < LOOKS_MAX; looks++)
	{
		int			there;

		if (!pool__look(pool, until_lsn, recheck->next > 0 ? 1 : recheck->each, &recheck->run))
			return false;
		there = reader__finds(reader, &recheck->run);
		if (there >= 0)
		{
			reader->counters.blocks_rechecked += recheck->run.blocks;
			if (!recheck->run.found)
				judge(recheck, pool, there == PRESENT_ALL);
			recheck->gone = there != PRESENT_ALL;
		}
		else if (there != -ENOENT)
		{
			recheck->cannot = true;
			log_debug("cannot tell whether blocks are still in the page cache (%s); blocks "
					  "that are evicted before redo comes are not read again",
					  strerror(-there));
		}
		if (recheck->next > 0)
			recheck->next--;
	}
	if (!recheck->gone)
		return false;
	*run = recheck->run;
	return true;
}

/* The run that recheck__next told has been asked for, or cannot be. */
void
recheck__take(struct recheck *recheck)
{
	recheck->gone = false;
}
