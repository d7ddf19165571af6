/*
 * relations.h
 *		The relations of which most blocks are read in a recovery.
 */
#ifndef REDOAHEAD_ENGINE_RELATIONS_H
#define REDOAHEAD_ENGINE_RELATIONS_H

#include <stdint.h>

#include "cluster/relpath.h"

/* Counts kept: a power of two, and so many of them in a set, which is two cache lines. */
#define RELATIONS_COUNTS	1024
#define RELATIONS_WAYS		4

/* A fork of a relation, or an SLRU, and its blocks. */
struct relation
{
	uint32_t	spc;			/* tablespace OID, 0 for an SLRU */
	uint32_t	db;				/* database OID, 0 for shared ones and SLRUs */
	uint32_t	rel;			/* relfilenumber or REDOAHEAD_SLRU_* */
	uint8_t		fork;			/* REDOAHEAD_FORK_*, 0 for an SLRU */
	uint8_t		kind;			/* REDOAHEAD_KIND_* */
	uint16_t	reserved;		/* 0 */
	uint64_t	blocks;			/* submitted, at most; 0: no relation */
	uint64_t	excess;			/* of those, may be another relation's, blocks */
};

_Static_assert(sizeof(struct relation) == 32, "a set of relations is two cache lines");

struct relations
{
	uint64_t	total;			/* blocks of all relations */
	struct relation counts[RELATIONS_COUNTS];	/* by set */
};

void		relations__begin(struct relations *relations);
void		relations__add(struct relations *relations, const struct relpath_key *key,
						   uint32_t blocks);
unsigned	relations__top(const struct relations *relations, struct relation *top,
						   unsigned count);

#endif							/* REDOAHEAD_ENGINE_RELATIONS_H */
