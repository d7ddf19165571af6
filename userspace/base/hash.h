/*
 * hash.h
 *		A hash table of entries of a fixed size that begin with their key.
 */
#ifndef REDOAHEAD_BASE_HASH_H
#define REDOAHEAD_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash
{
	unsigned char *entries;		/* slot_count of them */
	bool	   *used;			/* by slot: is there an entry? */
	size_t		entry_bytes;	/* size of an entry, bytes */
	size_t		key_bytes;		/* size of the key that it begins with, bytes */
	uint64_t	slot_count;		/* a power of two */
	uint64_t	max_slots;		/* slot_count never exceeds this */
	uint64_t	count;			/* entries */
};

int			hash__create(struct hash *hash, size_t entry_bytes, size_t key_bytes,
						 uint64_t max_slots);
void		hash__destroy(struct hash *hash);
void	   *hash__find(const struct hash *hash, const void *key);
void	   *hash__add(struct hash *hash, const void *key);
void		hash__remove(struct hash *hash, void *entry);
void	   *hash__next(const struct hash *hash, const void *entry);

#endif							/* REDOAHEAD_BASE_HASH_H */
