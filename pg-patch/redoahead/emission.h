/*
 * emission.h
 *		Asking for blocks: of the daemon, or of the kernel where there is none.
 */
#ifndef REDOAHEAD_EMISSION_H
#define REDOAHEAD_EMISSION_H

#include "redoahead.h"
#include "seen.h"

extern bool emission__emit(const struct redoahead_ref *ref);
extern bool emission__as_stock(const SeenKey *key);
extern bool emission__is_news(const struct redoahead_ref *refs, int n);
extern void emission__implied(const struct redoahead_ref *refs, int n);
extern void emission__forget(void);

/* Is there a daemon that takes references? */
static inline bool
emission__possible(void)
{
	return redoahead_emitter.ring != NULL;
}

/* How far the daemon reads ahead of redo, blocks; 0 if it has not said. */
static inline uint32
emission__daemon_window(void)
{
	return emission__possible() ?
		__atomic_load_n(&redoahead_emitter.ring->readahead_limit, __ATOMIC_RELAXED) : 0;
}

/* Ask the daemon for a block of a relation, on behalf of the record at lsn. */
static inline bool
emission__ask(const SeenKey *key, uint64_t lsn)
{
	struct redoahead_ref ref = {
		.lsn = lsn,.spc = key->spc,.db = key->db,.rel = key->rel,
		.block = key->block,.fork = key->fork_kind & 0xff,
		.kind = REDOAHEAD_KIND_RELATION
	};

	return emission__emit(&ref);
}

#endif							/* REDOAHEAD_EMISSION_H */
