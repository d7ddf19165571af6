/*
 * relations.c
 *		Counts blocks by relation, in a fixed amount of memory and of time.
 *
 * A relation has its count in one of four places, its set.  If other relations have all
 * four, the one with the fewest blocks loses its place, and the new one inherits the
 * number of its blocks (space saving, by Metwally and others).  So a count is never too
 * small, is too great by what was inherited at most, and a relation with more than a
 * quarter of the blocks of its set has a place.  The counts of a cluster whose recovery
 * reads some hundred relations are exact, as a rule.
 *
 * A call takes 4 ns with one relation and 15 ns with a thousand (build/tests/unit/relations),
 * and there is one for each read request, which takes microseconds.
 */
#include <stdbool.h>
#include <string.h>

#include "engine/relations.h"

/* A recovery begins: nothing has been counted. */
void
relations__begin(struct relations *relations)
{
	memset(relations, 0, sizeof(*relations));
}

/* The set that a relation has its count in. */
static struct relation *
set_of(struct relations *relations, const struct relpath_key *key)
{
	uint64_t	hash = ((uint64_t) key->db << 32 | key->rel) * UINT64_C(0x9E3779B97F4A7C15);

	hash ^= hash >> 32;
	hash += (uint64_t) key->spc + ((uint64_t) (key->kind << 8 | key->fork) << 32);
	hash *= UINT64_C(0xD6E8FEB86659FD93);
	return relations->counts +
		(hash >> 32) % (RELATIONS_COUNTS / RELATIONS_WAYS) * RELATIONS_WAYS;
}

static bool
has_count(const struct relation *relation, const struct relpath_key *key)
{
	return relation->rel == key->rel && relation->db == key->db &&
		relation->fork == key->fork && relation->kind == key->kind &&
		relation->spc == key->spc && relation->blocks > 0;
}

/* So many blocks of a file were submitted. */
void
relations__add(struct relations *relations, const struct relpath_key *key, uint32_t blocks)
{
	struct relation *set = set_of(relations, key);
	struct relation *fewest = set;

	relations->total += blocks;
	for (int i = 0; i < RELATIONS_WAYS; i++)
	{
		if (has_count(&set[i], key))
		{
			set[i].blocks += blocks;
			return;
		}
		if (set[i].blocks < fewest->blocks)
			fewest = &set[i];
	}
	*fewest = (struct relation)
	{
		.spc = key->spc,.db = key->db,.rel = key->rel,.fork = key->fork,.kind = key->kind,
			.blocks = fewest->blocks + blocks,.excess = fewest->blocks
	};
}

/* Blocks that are certainly the relation's. */
static uint64_t
certain(const struct relation *relation)
{
	return relation->blocks - relation->excess;
}

/*
 * The relations with most blocks, the first one has most of them.  Returns how many
 * there are, at most count.
 */
unsigned
relations__top(const struct relations *relations, struct relation *top, unsigned count)
{
	unsigned	found = 0;

	for (int i = 0; i < RELATIONS_COUNTS && count > 0; i++)
	{
		const struct relation *relation = &relations->counts[i];
		unsigned	place = found;

		if (certain(relation) == 0)
			continue;
		while (place > 0 && certain(&top[place - 1]) < certain(relation))
			place--;
		if (place == count)
			continue;
		if (found < count)
			found++;
		memmove(&top[place + 1], &top[place], (found - place - 1) * sizeof(*top));
		top[place] = *relation;
	}
	return found;
}
