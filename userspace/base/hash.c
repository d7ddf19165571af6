/*
 * hash.c
 *		A hash table of entries of a fixed size that begin with their key.
 *
 * Open addressing with linear probing; the table doubles when it is three
 * quarters full, up to a bound.  Keys are compared as bytes, so they must have
 * no holes; their size is a multiple of four.  Adding and removing entries moves
 * others: a pointer to an entry is valid until the next change.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* Slots of a new table; a power of two. */
#define FIRST_SLOTS		1024

/* Make an empty table that may grow to max_slots, a power of two. */
int
hash__create(struct hash *hash, size_t entry_bytes, size_t key_bytes, uint64_t max_slots)
{
	*hash = (struct hash) {
		.entry_bytes = entry_bytes,
		.key_bytes = key_bytes,
		.slot_count = max_slots < FIRST_SLOTS ? max_slots : FIRST_SLOTS,
		.max_slots = max_slots,
	};
	hash->entries = calloc(hash->slot_count, entry_bytes);
	hash->used = calloc(hash->slot_count, sizeof(*hash->used));
	if (hash->entries != NULL && hash->used != NULL)
		return 0;
	hash__destroy(hash);
	return -ENOMEM;
}

/* Free the table. */
void
hash__destroy(struct hash *hash)
{
	free(hash->entries);
	free(hash->used);
	*hash = (struct hash) {0};
}

static unsigned char *
entry_at(const struct hash *hash, uint64_t slot)
{
	return hash->entries + slot * hash->entry_bytes;
}

/* The slot that a key hashes to. */
static uint64_t
home_of(const struct hash *hash, const void *key)
{
	uint64_t	value = 0;

	for (size_t i = 0; i < hash->key_bytes; i += sizeof(uint32_t))
	{
		uint32_t	word;

		memcpy(&word, (const char *) key + i, sizeof(word));
		value = (value ^ word) * UINT64_C(0x9E3779B97F4A7C15);
	}
	return (value >> 32) & (hash->slot_count - 1);
}

/* The slot that holds a key, or the empty one where it belongs. */
static uint64_t
slot_of(const struct hash *hash, const void *key)
{
	uint64_t	slot = home_of(hash, key);

	while (hash->used[slot] && memcmp(entry_at(hash, slot), key, hash->key_bytes) != 0)
		slot = (slot + 1) & (hash->slot_count - 1);
	return slot;
}

/* The entry of a key, NULL if there is none. */
void *
hash__find(const struct hash *hash, const void *key)
{
	uint64_t	slot = slot_of(hash, key);

	return hash->used[slot] ? entry_at(hash, slot) : NULL;
}

/* Double the slots. */
static int
grow(struct hash *hash)
{
	struct hash old = *hash;

	if (old.slot_count * 2 > old.max_slots)
		return -ENOSPC;
	hash->slot_count = old.slot_count * 2;
	hash->entries = calloc(hash->slot_count, hash->entry_bytes);
	hash->used = calloc(hash->slot_count, sizeof(*hash->used));
	if (hash->entries == NULL || hash->used == NULL)
	{
		free(hash->entries);
		free(hash->used);
		*hash = old;
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < old.slot_count; i++)
		if (old.used[i])
		{
			uint64_t	slot = slot_of(hash, entry_at(&old, i));

			memcpy(entry_at(hash, slot), entry_at(&old, i), hash->entry_bytes);
			hash->used[slot] = true;
		}
	hash__destroy(&old);
	return 0;
}

/* The entry of a key; a new one is zero but for its key.  NULL if there is no room. */
void *
hash__add(struct hash *hash, const void *key)
{
	uint64_t	slot = slot_of(hash, key);

	if (hash->used[slot])
		return entry_at(hash, slot);
	if ((hash->count + 1) * 4 > hash->slot_count * 3)
	{
		if (grow(hash) < 0)
			return NULL;
		slot = slot_of(hash, key);
	}
	memset(entry_at(hash, slot), 0, hash->entry_bytes);
	memcpy(entry_at(hash, slot), key, hash->key_bytes);
	hash->used[slot] = true;
	hash->count++;
	return entry_at(hash, slot);
}

/* Remove an entry; those that were probed past it move up. */
void
hash__remove(struct hash *hash, void *entry)
{
	uint64_t	mask = hash->slot_count - 1;
	uint64_t	hole = (uint64_t) ((unsigned char *) entry - hash->entries) / hash->entry_bytes;

	for (uint64_t slot = (hole + 1) & mask; hash->used[slot]; slot = (slot + 1) & mask)
	{
		uint64_t	probed = (slot - home_of(hash, entry_at(hash, slot))) & mask;

		if (probed < ((slot - hole) & mask))
			continue;
		memcpy(entry_at(hash, hole), entry_at(hash, slot), hash->entry_bytes);
		hole = slot;
	}
	hash->used[hole] = false;
	hash->count--;
}

/* The entry after another one, the first one after NULL; NULL at the end. */
void *
hash__next(const struct hash *hash, const void *entry)
{
	uint64_t	slot = 0;

	if (entry != NULL)
		slot = (uint64_t) ((const unsigned char *) entry - hash->entries) / hash->entry_bytes + 1;
	for (; slot < hash->slot_count; slot++)
		if (hash->used[slot])
			return entry_at(hash, slot);
	return NULL;
}
