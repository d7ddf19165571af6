/*
 * recheck.h
 *		Looks whether blocks that were read are still there when redo is near.
 */
#ifndef REDOAHEAD_ENGINE_RECHECK_H
#define REDOAHEAD_ENGINE_RECHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/pool.h"
#include "engine/reader.h"

struct recheck
{
	unsigned	each;			/* one block in so many is looked for */
	unsigned	found;			/* blocks in a row that were there */
	unsigned	next;			/* blocks to look for one by one first */
	bool		cannot;			/* nothing tells what is there */
	bool		gone;			/* is there a run to be read again? */
	struct pool_run run;		/* this one */
};

void		recheck__begin(struct recheck *recheck);
void		recheck__redo_stands(struct recheck *recheck, struct pool *pool);
bool		recheck__next(struct recheck *recheck, struct pool *pool, struct reader *reader,
						  uint64_t until_lsn, struct pool_run *run);
void		recheck__take(struct recheck *recheck);

#endif							/* REDOAHEAD_ENGINE_RECHECK_H */
