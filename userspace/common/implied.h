/*
 * implied.h
 *		Blocks that redo of a WAL record reads although the record does not
 *		name them.
 *
 * Shared by the server extension and the program, which decode records each in
 * their own way and pass what the rules need of them.
 *
 * The functions fill "out", which has room for IMPLIED_MAX_PER_BLOCK or
 * IMPLIED_MAX_PER_RECORD, and return how many references they put there.  They
 * take no lock, allocate nothing and make no system call: whether the file
 * exists, or the page is in memory already, is for the caller to find out.  The
 * same page comes again and again (one page of a free space map stands for 32 MB
 * of heap), so the caller should keep a recent-block cache.
 */
#ifndef REDOAHEAD_IMPLIED_H
#define REDOAHEAD_IMPLIED_H

#include <stdbool.h>
#include <stdint.h>

#include "common/redoahead_abi.h"
#include "common/wal_format.h"

/* Most references that one block reference implies: a VM and an FSM page. */
#define IMPLIED_MAX_PER_BLOCK	2

/* Most pages of one SLRU that a record implies; more are not reported. */
#define IMPLIED_MAX_PER_SLRU	32

/* Most references that a record implies: pages of up to two SLRUs. */
#define IMPLIED_MAX_PER_RECORD	(2 * IMPLIED_MAX_PER_SLRU)

/* What follows from the size of a block. */
struct implied_layout
{
	uint32_t	block_size;		/* BLCKSZ, bytes */
	uint32_t	vm_heap_blocks; /* heap blocks that one visibility map page stands for */
	uint32_t	fsm_slots;		/* heap blocks of a free space map leaf page, or children of
								 * an inner one */
	uint32_t	fsm_levels;		/* levels of the free space map */
};

/* What the rules need of a record. */
struct implied_record
{
	const struct wal_format *format;	/* of its WAL */
	const struct implied_layout *layout;	/* of the cluster */
	uint64_t	lsn;			/* its start */
	uint32_t	xid;			/* its transaction, 0 if none */
	uint8_t		rmid;			/* its resource manager */
	uint8_t		info;			/* its info byte */
	bool		names_vm;		/* it names a visibility map block */
	bool		names_block_1;	/* it has a block reference with ID 1 */
	const void *data;			/* its main data, at any address */
	uint32_t	data_len;		/* size of that, bytes */
};

/* What they need of a block reference. */
struct implied_block
{
	uint32_t	spc;			/* tablespace OID */
	uint32_t	db;				/* database OID */
	uint32_t	rel;			/* relfilenumber */
	uint32_t	block;			/* block number in the fork */
	uint8_t		fork;			/* REDOAHEAD_FORK_* */
	uint8_t		id;				/* of the reference in the record */
	bool		restored;		/* redo restores it from a full-page image */
};

/* A range of SLRU pages; empty if both are the same. */
struct implied_pages
{
	uint32_t	first;			/* first page */
	uint32_t	end;			/* page after the last */
};

/* What the WAL that has been decoded shows about SLRUs. */
struct implied_slru
{
	/*
	 * Pages that the WAL has created, so that redo finds them in the buffers
	 * of the SLRU, or has written them itself not long ago.  They are created
	 * in order; after a gap, which is a wraparound, the range begins anew.
	 */
	struct implied_pages created[REDOAHEAD_SLRU_COUNT];

	/* Whether commit timestamps are kept, once the WAL shows that. */
	bool		commit_ts_known;
	bool		commit_ts_kept;
};

void		implied__layout(struct implied_layout *layout, uint32_t block_size);

/*
 * May redo of a record of that resource manager read maps because of a heap
 * block that the record names?  Elsewhere, implied__of_block() returns 0.
 */
static inline bool
implied__has_maps(uint8_t rmid)
{
	return rmid == WAL_RMGR_HEAP || rmid == WAL_RMGR_HEAP2;
}

/*
 * Visibility map and free space map pages that redo reads because of a block
 * reference.  If the block is filtered, the relation is created or truncated
 * before, and so are these pages.
 */
int			implied__of_block(const struct implied_record *record,
							  const struct implied_block *block,
							  struct redoahead_ref *out);

/*
 * SLRU pages that redo of the record reads, and the map pages around the end of
 * a relation that it truncates.  To be called once for each decoded record, in
 * order: it also learns from the WAL which SLRU pages it creates, and whether
 * commit timestamps are kept; until that is known, "commit_ts" decides.
 */
int			implied__of_record(struct implied_slru *known, const struct implied_record *record,
							   bool commit_ts,
							   struct redoahead_ref *out);

/* The part of implied__of_record() that is about SLRUs. */
int			implied_slru__of_record(struct implied_slru *known,
									const struct implied_record *record, bool commit_ts,
									struct redoahead_ref *out);

#endif							/* REDOAHEAD_IMPLIED_H */
