/*
 * submit.h
 *		Asking for blocks: of the daemon, or of the kernel where there is none.
 */
#ifndef REDOAHEAD_SUBMIT_H
#define REDOAHEAD_SUBMIT_H

#include "redoahead.h"
#include "recent_blocks.h"

extern bool submit__ref(const struct redoahead_ref *ref);
extern bool submit__to_kernel(const BlockKey *key);
extern bool submit__is_new(const struct redoahead_ref *refs, int n);
extern void submit__implied(const struct redoahead_ref *refs, int n);
extern void submit__forget(void);

/* Is there a daemon that takes references? */
static inline bool
submit__possible(void)
{
	return redoahead_emitter.ring != NULL;
}

/* How far the daemon reads ahead of redo, blocks; 0 if it has not said. */
static inline uint32
submit__readahead_limit(void)
{
	return submit__possible() ?
		__atomic_load_n(&redoahead_emitter.ring->readahead_limit, __ATOMIC_RELAXED) : 0;
}

/* Ask the daemon for a block of a relation, on behalf of the record at lsn. */
static inline bool
submit__block(const BlockKey *key, uint64_t lsn)
{
	struct redoahead_ref ref = {
		.lsn = lsn,.spc = key->spc,.db = key->db,.rel = key->rel,
		.block = key->block,.fork = key->fork_kind & 0xff,
		.kind = REDOAHEAD_KIND_RELATION
	};

	return submit__ref(&ref);
}

#endif							/* REDOAHEAD_SUBMIT_H */
