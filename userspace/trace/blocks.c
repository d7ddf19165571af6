/*
 * blocks.c
 *		What is known of single blocks that redo has not read yet.
 *
 * A hash table with open addressing.  A block that has no flags left counts as
 * deleted: its slot is free again when the table is made anew, which happens
 * when it is full.  First of all it then forgets what was only named, and if
 * that does not make room, it grows, up to a bound.  At that bound it may stay full;
 * then it looks for room again only after some more blocks, since a look takes long.
 */
#include <errno.h>
#include <stdlib.h>

#include "trace/blocks.h"

/* Slots at first; a power of two. */
#define FIRST_SLOTS		(64 * 1024)

/* Part of the slots that must get free, or as many blocks are refused before the next try. */
#define ROOM_PART		16

/* Make an empty table that may grow to so many slots, a power of two. */
int
blocks__create(struct blocks *blocks, uint64_t max_slots)
{
	*blocks = (struct blocks) {.max_slots = max_slots};
	blocks->slot_count = max_slots < FIRST_SLOTS ? max_slots : FIRST_SLOTS;
	blocks->slots = calloc(blocks->slot_count, sizeof(*blocks->slots));
	return blocks->slots == NULL ? -ENOMEM : 0;
}

/* Free the table. */
void
blocks__destroy(struct blocks *blocks)
{
	free(blocks->slots);
	*blocks = (struct blocks) {0};
}

static struct block_state *
find_slot(const struct blocks *blocks, uint64_t key)
{
	uint64_t	at = key * UINT64_C(0x9E3779B97F4A7C15) >> 20;

	for (;; at++)
	{
		struct block_state *slot = &blocks->slots[at & (blocks->slot_count - 1)];

		if (slot->key == key || slot->key == 0)
			return slot;
	}
}

static uint64_t
key_of(uint32_t file, uint32_t block)
{
	return ((uint64_t) file << 32 | block) + 1;
}

/* A block, NULL if nothing is known of it. */
struct block_state *
blocks__find(const struct blocks *blocks, uint32_t file, uint32_t block)
{
	struct block_state *slot = find_slot(blocks, key_of(file, block));

	return slot->key == 0 || slot->flags == 0 ? NULL : slot;
}

/* Move what is to be kept into a table of so many slots. */
static int
rebuild(struct blocks *blocks, uint64_t slot_count, uint8_t keep)
{
	struct block_state *old = blocks->slots;
	uint64_t	old_count = blocks->slot_count;
	struct block_state *slots = calloc(slot_count, sizeof(*slots));

	if (slots == NULL)
		return -ENOMEM;
	blocks->slots = slots;
	blocks->slot_count = slot_count;
	blocks->count = 0;
	for (uint64_t i = 0; i < old_count; i++)
		if (old[i].flags & keep)
		{
			*find_slot(blocks, old[i].key) = old[i];
			blocks->count++;
		}
		else if (old[i].flags != 0)
			blocks->forgotten++;
	free(old);
	return 0;
}

/* Is there room for one more? */
static bool
has_room(const struct blocks *blocks)
{
	return (blocks->count + 1) * 4 <= blocks->slot_count * 3;
}

/* Make room: throw away what is deleted, grow, forget what is only named. */
static bool
make_room(struct blocks *blocks)
{
	uint64_t	slot_count = blocks->slot_count;

	if (rebuild(blocks, slot_count, UINT8_MAX) < 0)
		return false;
	/* Half full is full: else it would be made anew again and again. */
	if (blocks->count * 2 > slot_count)
	{
		if (slot_count < blocks->max_slots)
			(void) rebuild(blocks, slot_count * 2, UINT8_MAX);
		else
			(void) rebuild(blocks, slot_count, BLOCK_AHEAD | BLOCK_EVICTED);
	}
	if ((blocks->count + blocks->slot_count / ROOM_PART) * 4 > blocks->slot_count * 3)
		blocks->refuse = blocks->slot_count / ROOM_PART;
	return has_room(blocks);
}

/* A block, with no flags if it is new; NULL if there is no room. */
struct block_state *
blocks__add(struct blocks *blocks, uint32_t file, uint32_t block)
{
	struct block_state *slot = find_slot(blocks, key_of(file, block));

	if (slot->key != 0)
		return slot;
	if (!has_room(blocks))
	{
		if (blocks->refuse > 0 || !make_room(blocks))
		{
			blocks->refuse -= blocks->refuse > 0;
			blocks->forgotten++;
			return NULL;
		}
		slot = find_slot(blocks, key_of(file, block));
	}
	slot->key = key_of(file, block);
	blocks->count++;
	return slot;
}

/* The file of a block. */
uint32_t
blocks__file_of(const struct block_state *state)
{
	return (uint32_t) ((state->key - 1) >> 32);
}
