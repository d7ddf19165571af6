/*
 * counters.c
 *		Names and sums of what the engine counts.
 */
#include <errno.h>
#include <stddef.h>

#include "engine/counters.h"

/* Name of a reason, as in the statistics file. */
const char *
counters__fail_name(enum fail_reason reason)
{
	static const char *const names[FAIL_REASON_COUNT] = {
		[FAIL_MISSING_FILE] = "missing_file",
		[FAIL_BEYOND_EOF] = "beyond_eof",
		[FAIL_NO_DESCRIPTOR] = "no_descriptor",
		[FAIL_NO_MEMORY] = "no_memory",
		[FAIL_PERMISSION] = "permission",
		[FAIL_IO] = "io_error",
	};

	return names[reason];
}

/* The reason that a negative errno stands for. */
enum fail_reason
counters__fail_reason(int error)
{
	switch (-error)
	{
		case ENOENT:
		case ENOTDIR:
			return FAIL_MISSING_FILE;
		case EMFILE:
		case ENFILE:
			return FAIL_NO_DESCRIPTOR;
		case ENOMEM:
			return FAIL_NO_MEMORY;
		case EACCES:
		case EPERM:
		case ELOOP:
			return FAIL_PERMISSION;
		default:
			return FAIL_IO;
	}
}

static uint64_t
sum_of(const uint64_t *counts, int n)
{
	uint64_t	sum = 0;

	for (int i = 0; i < n; i++)
		sum += counts[i];
	return sum;
}

/* Blocks that were not read, for all reasons. */
uint64_t
counters__failed(const struct counters *counters)
{
	return sum_of(counters->blocks_failed, FAIL_REASON_COUNT);
}

/* References that were refused, for all reasons. */
uint64_t
counters__invalid(const struct counters *counters)
{
	return sum_of(counters->refs_invalid, INVALID_REASON_COUNT);
}

/* Add one recovery's counters to a sum; maxima stay maxima. */
void
counters__add(struct counters *sum, const struct counters *part)
{
	const uint64_t *from = (const uint64_t *) part;
	uint64_t   *to = (uint64_t *) sum;
	uint64_t	in_flight_max = sum->in_flight_max;

	_Static_assert(sizeof(struct counters) % sizeof(uint64_t) == 0,
				   "counters are 64-bit numbers only");

	for (size_t i = 0; i < sizeof(*sum) / sizeof(uint64_t); i++)
		to[i] += from[i];

	sum->in_flight_max = part->in_flight_max > in_flight_max ?
		part->in_flight_max : in_flight_max;
}
