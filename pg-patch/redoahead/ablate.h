/*
 * ablate.h
 *		Switches mechanisms off, one by one, to measure what each gains.
 *
 * The environment variable REDOAHEAD_ABLATE names mechanisms, separated by commas.
 * The daemon and the extension read it once, when they start; each heeds the names of
 * its own mechanisms.  For benchmarks only (scripts/bench-ablation).
 *
 * With REDOAHEAD_ABLATE_PHASE the extension switches them off and on again every so
 * many records, and logs how long it took with and without: that compares the two
 * within milliseconds, where a machine's speed changes from second to second.
 */
#ifndef REDOAHEAD_ABLATE_H
#define REDOAHEAD_ABLATE_H

#include <stdbool.h>
#include <stdint.h>

/* Mechanisms: first the daemon's, then the extension's. */
#define ABLATE_MECHANISMS(X) \
	X(outoforder)				/* a pool for references out of the order of LSNs */ \
	X(recheck)					/* are blocks still there when redo is near? */ \
	X(release)					/* used blocks leave the page cache under memory pressure */ \
	X(lookbefore)				/* no read of what is there, under memory pressure */ \
	X(express)					/* the next few blocks for redo go first */ \
	X(trials)					/* trials of other depths after the ramp */ \
	X(ramp)						/* and the ramp: the depth is the greatest one at once */ \
	X(walahead)					/* WAL is read ahead of decoding */ \
	X(sweep)					/* reads in the order of places */ \
	X(groups)					/* groups of reads that may not wait */ \
	X(absent)					/* memory of missing files and file ends */ \
	X(gather)					/* small batches of references gather */ \
	X(sizefit)					/* memory bounds how far to read ahead */ \
	X(depthfit)					/* memory bounds how many blocks are in flight */ \
	X(doubtful)					/* blocks that may leave shared buffers are checked again */ \
	X(deferred)					/* references wait for their slots to be in the CPU's cache */ \
	X(short)					/* a short look-ahead, in a short queue, while all is there */ \
	X(warm_slots)				/* the steps of warm.h */ \
	X(warm_buffers) \
	X(warm_pointers) \
	X(warm_tuples) \
	X(warm_queue)				/* a few cache lines at a time */ \
	X(bufhints)					/* redo is told at replay where its blocks are */ \
	X(implied)					/* blocks that no record names */

enum
{
#define X(name)		ABLATE_BIT_##name,
	ABLATE_MECHANISMS(X)
#undef X
	ABLATE_COUNT
};

_Static_assert(ABLATE_COUNT <= 32, "a bit for each mechanism");

/* Bits of what is switched off. */
extern uint32_t ablate_mask;

/* Does that change every so many records? */
extern bool ablate_phases;

extern void ablate__init(void);
extern void ablate__record(void);
extern uint64_t ablate__took_us(bool off, uint64_t *cpu_us, uint64_t *phases);

/* Is a mechanism switched off? */
#define ablated(name)	__builtin_expect((ablate_mask >> ABLATE_BIT_##name & 1) != 0, false)

#endif							/* REDOAHEAD_ABLATE_H */
