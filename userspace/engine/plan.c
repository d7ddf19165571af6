/*
 * plan.c
 *		Turns a batch of references into the reads worth doing, in disk order.
 *
 * Drops references that are invalid, replayed already or named twice; sorts
 * the rest by file and block, so that a disk sweeps; joins adjacent blocks of
 * a segment file into runs.  A pure function of its input: reads no file, no
 * clock and no shared memory.
 */
#include <stdlib.h>

#include "engine/plan.h"

/* Order of two numbers, as qsort wants it. */
#define ORDER(a, b)		(((a) > (b)) - ((a) < (b)))

static int
compare_keys(const struct relpath_key *a, const struct relpath_key *b)
{
	int			order;

	order = ORDER(a->kind, b->kind);
	if (order == 0)
		order = ORDER(a->spc, b->spc);
	if (order == 0)
		order = ORDER(a->db, b->db);
	if (order == 0)
		order = ORDER(a->rel, b->rel);
	if (order == 0)
		order = ORDER(a->fork, b->fork);
	if (order == 0)
		order = ORDER(a->segment, b->segment);
	return order;
}

static int
compare_runs(const void *left, const void *right)
{
	const struct plan_run *a = left;
	const struct plan_run *b = right;
	int			order = compare_keys(&a->key, &b->key);

	return order != 0 ? order : ORDER(a->block, b->block);
}

/* Copy the references worth reading, as runs of one block. */
static unsigned
filter(const struct redoahead_ref *refs, unsigned count,
	   const struct relpath_layout *layout, uint64_t replay_lsn,
	   struct plan_run *runs, struct counters *counters)
{
	unsigned	kept = 0;

	for (unsigned i = 0; i < count; i++)
	{
		struct plan_run *run = &runs[kept];
		enum invalid_reason reason;

		if (refs[i].flags & REDOAHEAD_REF_IMPLIED)
			counters->refs_implied++;
		if (relpath__resolve(&refs[i], layout, &run->key, &run->block, &reason) < 0)
		{
			counters->refs_invalid[reason]++;
			continue;
		}
		/* The record at the replay position itself still needs its blocks. */
		if (refs[i].lsn < replay_lsn)
		{
			counters->blocks_stale++;
			continue;
		}
		run->blocks = 1;
		run->lsn = refs[i].lsn;
		kept++;
	}
	return kept;
}

/*
 * Plan the reads for count references.  runs must have room for count runs;
 * returns how many were made.  No run is longer than max_run blocks.
 */
unsigned
plan__build(const struct redoahead_ref *refs, unsigned count,
			const struct relpath_layout *layout, uint64_t replay_lsn,
			uint32_t max_run, struct plan_run *runs, struct counters *counters)
{
	unsigned	kept;
	unsigned	last = 0;

	kept = filter(refs, count, layout, replay_lsn, runs, counters);
	if (kept == 0)
		return 0;
	qsort(runs, kept, sizeof(*runs), compare_runs);

	for (unsigned i = 1; i < kept; i++)
	{
		struct plan_run *run = &runs[last];
		uint32_t	end = run->block + run->blocks;

		if (compare_keys(&run->key, &runs[i].key) == 0 && runs[i].block <= end)
		{
			if (runs[i].block < end)
			{
				counters->refs_duplicate++;
				if (runs[i].lsn > run->lsn)
					run->lsn = runs[i].lsn;
				continue;
			}
			if (run->blocks < max_run)
			{
				run->blocks++;
				if (runs[i].lsn > run->lsn)
					run->lsn = runs[i].lsn;
				continue;
			}
		}
		runs[++last] = runs[i];
	}
	return last + 1;
}
