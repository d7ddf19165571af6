/*
 * submit.h
 *		Submitting blocks to be read: to the daemon, or to the kernel.
 */
#ifndef REDOAHEAD_SUBMIT_H
#define REDOAHEAD_SUBMIT_H

#include "outbox.h"
#include "prefetcher.h"

/* References that are put into the ring before the daemon sees them, at most. */
#define REFS_PER_PUBLISH	32

extern void submit__queue(Prefetcher *p);
extern void submit__to_kernel(Prefetcher *p);
extern void submit__implied(Prefetcher *p, const struct redoahead_ref *refs, int n);

/* Let the daemon see what has been put into the ring. */
static inline void
submit__publish(Prefetcher *p)
{
	if (emit__publish(&p->connection.emitter))
		connection__wake(&p->connection);
}

/* Count a reference that is in the ring. */
static inline void
submit__count(PrefetchCounters *counters, const struct redoahead_ref *ref)
{
	counters->emitted++;
	counters->implied += (ref->flags & REDOAHEAD_REF_IMPLIED) != 0;
}

/* Submit a reference to the daemon.  True if it will probably get it. */
static inline bool
submit__ref(Prefetcher *p, const struct redoahead_ref *ref)
{
	Emitter    *e = &p->connection.emitter;
	bool		submitted = p->outbox ? outbox__put(p->outbox, ref) :
		emit__put(e, ref);

	if (submitted)
	{
		if (!p->outbox)
			submit__count(&p->counters, ref);
		if (e->head - e->published >= REFS_PER_PUBLISH)
			submit__publish(p);
	}
	else
		p->counters.dropped++;
	return submitted;
}

/* Submit a block of a relation to the daemon, for the record at lsn. */
static inline bool
submit__block(Prefetcher *p, const BlockKey *key, XLogRecPtr lsn)
{
	struct redoahead_ref ref = {
		.lsn = lsn,.spc = key->spc,.db = key->db,.rel = key->rel,
		.block = key->block,.fork = key->fork_kind & 0xff,
		.kind = REDOAHEAD_KIND_RELATION
	};

	return submit__ref(p, &ref);
}

#endif							/* REDOAHEAD_SUBMIT_H */
