/*
 * absent.c
 *		Remembers for a short time which files and file ends were missing.
 *
 * WAL names many blocks of relations that were dropped or truncated later.
 * Without a memory each of them would cost an open or a read that fails.  The
 * memory is short because redo may create the file or extend it, small, and
 * exact: a slot that is taken over forgets, it never claims too much.
 */
#include <string.h>

#include "ablate.h"
#include "engine/absent.h"

/* How long to believe that a block is missing, us. */
#define BELIEVE_US	500000

static uint32_t
slot_of(const struct relpath_key *key)
{
	uint64_t	hash;

	hash = ((uint64_t) key->rel << 32 | key->segment) * UINT64_C(0x9E3779B97F4A7C15);
	hash ^= ((uint64_t) key->db << 32 | key->spc) * UINT64_C(0xC2B2AE3D27D4EB4F);
	hash ^= (uint64_t) key->kind << 8 | key->fork;
	return (uint32_t) ((hash ^ hash >> 32) % ABSENT_SLOTS);
}

/* The file does not have from_block and the blocks after it. */
void
absent__note(struct absent *absent, const struct relpath_key *key,
			 uint32_t from_block, enum fail_reason reason, uint64_t now_us)
{
	struct absent_slot *slot = &absent->slots[slot_of(key)];

	if (ablated(absent))
		return;
	slot->key = *key;
	slot->from_block = from_block;
	slot->reason = reason;
	slot->end_us = now_us + BELIEVE_US;
}

/* Was the block missing a moment ago, and why? */
bool
absent__has(const struct absent *absent, const struct relpath_key *key,
			uint32_t block, uint64_t now_us, enum fail_reason *reason)
{
	const struct absent_slot *slot = &absent->slots[slot_of(key)];

	if (slot->end_us <= now_us || block < slot->from_block ||
		memcmp(&slot->key, key, sizeof(*key)) != 0)
		return false;
	*reason = slot->reason;
	return true;
}

/* Forget all. */
void
absent__clear(struct absent *absent)
{
	memset(absent, 0, sizeof(*absent));
}
