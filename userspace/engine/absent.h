/*
 * absent.h
 *		What was not there a moment ago.
 */
#ifndef REDOAHEAD_ENGINE_ABSENT_H
#define REDOAHEAD_ENGINE_ABSENT_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/relpath.h"
#include "engine/counters.h"

#define ABSENT_SLOTS	512

/* Blocks of one segment file that do not exist; end_us 0: a free slot. */
struct absent_slot
{
	struct relpath_key key;		/* the segment file */
	uint32_t	from_block;		/* first block missing, 0: no such file */
	enum fail_reason reason;	/* FAIL_MISSING_FILE or FAIL_BEYOND_EOF */
	uint64_t	end_us;			/* when to forget it, us */
};

struct absent
{
	struct absent_slot slots[ABSENT_SLOTS];
};

void		absent__note(struct absent *absent, const struct relpath_key *key,
						 uint32_t from_block, enum fail_reason reason, uint64_t now_us);
bool		absent__has(const struct absent *absent, const struct relpath_key *key,
						uint32_t block, uint64_t now_us, enum fail_reason *reason);
void		absent__clear(struct absent *absent);

#endif							/* REDOAHEAD_ENGINE_ABSENT_H */
