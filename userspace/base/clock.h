/*
 * clock.h
 *		Time in microseconds.
 */
#ifndef REDOAHEAD_BASE_CLOCK_H
#define REDOAHEAD_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* A clock's reading in us. */
static inline uint64_t
clock__read_us(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

/* Time that never jumps, us. */
static inline uint64_t
clock__now_us(void)
{
	return clock__read_us(CLOCK_MONOTONIC);
}

/* User and system time of this process, us. */
static inline uint64_t
clock__cpu_us(void)
{
	return clock__read_us(CLOCK_PROCESS_CPUTIME_ID);
}

#endif							/* REDOAHEAD_BASE_CLOCK_H */
