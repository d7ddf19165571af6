/*
 * control_devices.h
 *		Modelled devices, and a controller that works with them.
 */
#ifndef REDOAHEAD_TESTS_CONTROL_DEVICES_H
#define REDOAHEAD_TESTS_CONTROL_DEVICES_H

#include <stdlib.h>

#include "engine/control.h"

#define ROUND_US	2000		/* between two calls of control__note */

static struct control control;
static uint64_t now_us;
static uint64_t blocks;
static double part = 1;			/* of its speed that the device has now */

/* Blocks per second that a device brings with so many in flight. */
typedef double (*device_speed) (unsigned depth);

/* 70 000 per second, reached with 64 in flight. */
static inline double
ssd(unsigned depth)
{
	return depth < 64 ? depth * 70000 / 64 : 70000;
}

/* A volume with a limit that 3 in flight reach. */
static inline double
volume(unsigned depth)
{
	return depth < 3 ? depth * 1000 : 3000;
}

/* Eight disks, as measured. */
static inline double
spindles(unsigned depth)
{
	static const double rates[] = {81, 150, 270, 450, 650, 850, 1085, 1310, 1537, 1600, 1620};
	int			doublings = 0;

	for (; depth > 1; depth /= 2)
		doublings++;
	return rates[doublings];
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

static inline void
begin(unsigned depth, unsigned max_depth)
{
	now_us = 1000000;
	blocks = 0;
	control__init(&control, depth, max_depth, 65536, true);
	control__begin(&control, now_us);
}

/* So many seconds with a device whose speed varies by up to noise, 0 to 1. */
static inline void
work(device_speed device, double seconds, bool redo_waits, double noise)
{
	uint64_t	end_us = now_us + (uint64_t) (seconds * 1e6);
	double		rest = 0;

	while (now_us < end_us)
	{
		double		factor = 1 + noise * ((double) rand() / RAND_MAX - 0.5);

		now_us += ROUND_US;
		rest += device(control.io_depth) * part * factor * ROUND_US / 1e6;
		blocks += (uint64_t) rest;
		rest -= (double) (uint64_t) rest;
		control__note(&control, now_us, blocks, true, redo_waits);
	}
}

#endif							/* REDOAHEAD_TESTS_CONTROL_DEVICES_H */
