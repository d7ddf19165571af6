/*
 * revalidate.h
 *		Looks whether blocks that were read are still there when redo is near.
 */
#ifndef REDOAHEAD_ENGINE_REVALIDATE_H
#define REDOAHEAD_ENGINE_REVALIDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/block_queue.h"
#include "engine/reader.h"

struct revalidate
{
	unsigned	each;			/* one block in so many is looked for */
	unsigned	found;			/* blocks in a row that were there */
	unsigned	next;			/* blocks to look for one by one first */
	bool		cannot;			/* nothing tells what is there */
	bool		gone;			/* is there a run to be read again? */
	struct block_run run;		/* this one */
};

void		revalidate__begin(struct revalidate *revalidate);
void		revalidate__redo_stalled(struct revalidate *revalidate, struct block_queue *queue);
bool		revalidate__next(struct revalidate *revalidate, struct block_queue *queue, struct reader *reader,
						  uint64_t until_lsn, struct block_run *run);
void		revalidate__take(struct revalidate *revalidate);

#endif							/* REDOAHEAD_ENGINE_REVALIDATE_H */
