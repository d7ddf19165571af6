/*
 * control_fixture.h
 *		A controller, and models of the devices whose limits it chooses.
 */
#ifndef REDOAHEAD_TEST_CONTROL_FIXTURE_H
#define REDOAHEAD_TEST_CONTROL_FIXTURE_H

#include "engine/control.h"
#include "unit.h"

#define ROUND_US	2000		/* between two calls of control__note */
#define READAHEAD	65536		/* upper bound of the read-ahead limit, blocks */

static struct control control;
static uint64_t now_us;
static struct control_reads reads;
static double cached;			/* part of the blocks that are in the page cache */
static double gap_gain;			/* factor of the speed with each doubling of gaps */
static bool no_gaps;			/* are all blocks adjacent? */

/* Blocks per second that a device delivers with so many in flight. */
typedef double (*device_speed) (unsigned depth);

/* 70 000 per second, reached with 64 in flight. */
static inline double
ssd(unsigned depth)
{
	return depth < 64 ? depth * 70000 / 64 : 70000;
}

/* A volume with a limit of requests per second. */
static inline double
volume(unsigned depth)
{
	return depth < 3 ? depth * 1000 : 3000;
}

/* Many disks: a third more for each doubling. */
static inline double
array(unsigned depth)
{
	double		rate = 1000;

	for (; depth > 32; depth /= 2)
		rate *= 1.33;
	return rate;
}

/* 18 750 per second with 3 in flight, 35 000 with 16. */
static inline double
shared_ssd(unsigned depth)
{
	return 15000 + depth * 1250;
}

/* A volume that takes 0.8 ms and 16 000 requests per second. */
static inline double
fast_volume(unsigned depth)
{
	return depth < 13 ? depth * 1250 : 16000;
}

/* Eight disks of 130 reads per second each. */
static inline double
disks(unsigned depth)
{
	return 8 * 130.0 * depth / (depth + 7);
}

/* The same where blocks are close together. */
static inline double
dense_disks(unsigned depth)
{
	return 10 * disks(depth);
}

/* The speed with the present gaps, relative to that without. */
static inline double
of_gaps(void)
{
	double		factor = 1;

	for (unsigned bytes = CONTROL_FIRST_GAP; bytes <= control.gap_bytes; bytes *= 2)
		factor *= gap_gain;
	return factor;
}

static inline void
begin(unsigned max_depth)
{
	now_us = 1000000;
	reads = (struct control_reads) {0};
	cached = 0;
	gap_gain = 1;
	no_gaps = false;
	control__init(&control, max_depth, READAHEAD, true);
	control__begin(&control, now_us);
}

static inline void
begin_beside_queries(unsigned max_depth)
{
	begin(max_depth);
	control__pace(&control, now_us, true, 0);
}

/*
 * So many seconds with a device whose speed varies by up to noise, 0 to 1.  By Little's
 * law, a read from it takes depth / speed.
 */
static inline void
work(device_speed device, double seconds, bool redo_waits, double noise)
{
	uint64_t	end_us = now_us + (uint64_t) (seconds * 1e6);
	double		rest = 0;

	while (now_us < end_us)
	{
		double		factor = 1 + noise * ((double) rand() / RAND_MAX - 0.5);
		double		speed = device(control.io_depth) * factor * of_gaps();
		uint64_t	waits;

		now_us += ROUND_US;
		rest += speed * ROUND_US / 1e6;
		waits = (uint64_t) rest;
		rest -= (double) waits;
		reads.blocks += (uint64_t) ((double) waits / (1 - cached));
		reads.gap_blocks += control.gap_bytes > 0 && !no_gaps;
		reads.waits += waits;
		reads.waits_us += (uint64_t) ((double) waits * control.io_depth / speed * 1e6);
		control__note(&control, now_us, &reads, true, redo_waits);
	}
}

#endif							/* REDOAHEAD_TEST_CONTROL_FIXTURE_H */
