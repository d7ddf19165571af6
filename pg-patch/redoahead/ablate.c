/*
 * ablate.c
 *		Reads which mechanisms are switched off (ablate.h).
 *
 * Knows nothing of PostgreSQL.  A name that is no mechanism's is passed over.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ablate.h"

uint32_t	ablate_mask;
bool		ablate_phases;

/* Phases: how many records each has, 0: none; what they switch off; what they took. */
static uint32_t phase_records;
static uint32_t phase_mask;
static uint32_t records;
static uint64_t phase_start_us;

/* What they took, elapsed and CPU time. */
static uint64_t phase_start_cpu_us;
static uint64_t took_us[2];
static uint64_t took_cpu_us[2];
static uint64_t phases[2];

static const char *const names[] = {
#define X(name)		[ABLATE_BIT_##name] = #name,
	ABLATE_MECHANISMS(X)
#undef X
};

/* Read the environment; to be called once, before anything else. */
void
ablate__init(void)
{
	const char *next = getenv("REDOAHEAD_ABLATE");

	const char *phase = getenv("REDOAHEAD_ABLATE_PHASE");

	phase_records = phase != NULL ? (uint32_t) atoi(phase) : 0;
	ablate_phases = phase_records > 0;
	while (next != NULL && *next != '\0')
	{
		size_t		length = strcspn(next, ",");

		for (int i = 0; i < ABLATE_COUNT; i++)
			if (strlen(names[i]) == length && memcmp(names[i], next, length) == 0)
				ablate_mask |= UINT32_C(1) << i;
		next += length + (next[length] == ',');
	}
}

static uint64_t
clock_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

/* A record is about to be replayed: is the phase over?  The first pair is not counted. */
void
ablate__record(void)
{
	uint64_t	now_us;
	uint64_t	cpu_us;
	bool		off = ablate_mask != 0;

	if (phase_records == 0 || ++records < phase_records)
		return;
	records = 0;
	if (phase_mask == 0)
		phase_mask = ablate_mask;
	now_us = clock_us(CLOCK_MONOTONIC);
	cpu_us = clock_us(CLOCK_THREAD_CPUTIME_ID);
	if (phase_start_us != 0 && phases[off]++ > 0)
	{
		took_us[off] += now_us - phase_start_us;
		took_cpu_us[off] += cpu_us - phase_start_cpu_us;
	}
	phase_start_us = now_us;
	phase_start_cpu_us = cpu_us;
	ablate_mask = off ? 0 : phase_mask;
}

/* How long phases took in total with mechanisms on or off, and how many there were. */
uint64_t
ablate__took_us(bool off, uint64_t *cpu_us, uint64_t *count)
{
	*cpu_us = took_cpu_us[off];
	*count = phases[off] > 0 ? phases[off] - 1 : 0;
	return took_us[off];
}
