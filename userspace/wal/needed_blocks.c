/*
 * needed_blocks.c
 *		Which blocks redo of a record reads from files: those that the record names or
 *		implies, but for pages that it restores or initializes itself, for blocks that
 *		an earlier record has brought in, and for those that WAL creates or truncates
 *		first (filters.c).
 *
 * The server's extension decides the same with what it sees of shared buffers
 * (pg-patch/redoahead); here, the recent-block cache stands for them.
 */
#include <errno.h>

#include "wal/needed_blocks.h"

/* The recent-block cache is created for at most so many blocks. */
#define MAX_RECENT_BLOCKS	(1024 * 1024)

/*
 * Blocks that the recent-block cache is created for, by the memory that is available, bytes.
 * It holds at most a quarter of the blocks that fit; with more, blocks would be taken for
 * resident that are evicted.
 */
uint32_t
needed_blocks__recent(uint64_t memory_bytes, uint32_t block_size)
{
	uint64_t	blocks = memory_bytes / block_size / (4 * RECENT_BLOCKS_EXCESS);

	return blocks < MAX_RECENT_BLOCKS ? (uint32_t) blocks : MAX_RECENT_BLOCKS;
}

/*
 * Start with an empty recent-block cache for at least "recent_blocks" blocks.  Returns 0
 * or -ENOMEM.
 */
int
needed_blocks__create(struct needed_blocks *needed, uint32_t block_size, bool commit_ts,
					  uint32_t recent_blocks)
{
	*needed = (struct needed_blocks) {.commit_ts = commit_ts};
	implied__layout(&needed->layout, block_size);
	if (!recent_blocks__create(&needed->recent, recent_blocks))
		return -ENOMEM;
	return filters__create(&needed->filters);
}

void
needed_blocks__destroy(struct needed_blocks *needed)
{
	recent_blocks__destroy(&needed->recent);
	filters__destroy(&needed->filters);
}

/* Enter a block that redo has after the record.  True if it had it before. */
static bool
enter(struct needed_blocks *needed, const struct redoahead_ref *ref)
{
	BlockKey	key = block_key(ref->spc, ref->db, ref->rel, ref->block, ref->fork, ref->kind);
	bool		found;

	recent_blocks__enter(&needed->recent, &key, &found)->lsn = ref->lsn;
	return found;
}

/* Is the relation of a reference filtered at a block of its main fork? */
static bool
is_filtered(const struct needed_blocks *needed, const struct redoahead_ref *ref, uint32_t block)
{
	return ref->kind == REDOAHEAD_KIND_RELATION &&
		filters__find(&needed->filters, (struct filter_key) {ref->spc, ref->db, ref->rel}, block,
					  ref->lsn);
}

/*
 * Keep of "count" implied references those that are new and not filtered, as is the block
 * of the main fork that implies them.
 */
static unsigned
keep_new(struct needed_blocks *needed, uint32_t block, struct redoahead_ref *refs, int count)
{
	unsigned	kept = 0;

	for (int i = 0; i < count; i++)
		if (!enter(needed, &refs[i]) && !is_filtered(needed, &refs[i], block))
			refs[kept++] = refs[i];
	return kept;
}

/* The blocks of one reference of a record. */
static unsigned
of_block(struct needed_blocks *needed, const struct implied_record *viewed,
		 const struct wal_block *block, struct redoahead_ref *out)
{
	struct redoahead_ref ref = {
		.lsn = viewed->lsn,.spc = block->spc,.db = block->db,.rel = block->rel,
		.block = block->block,.fork = block->fork,.kind = REDOAHEAD_KIND_RELATION,
	};
	unsigned	count = 0;

	if (implied__has_maps(viewed->rmid))
	{
		int			implied = implied__of_block(viewed, &(struct implied_block)
												{
													.spc = block->spc,.db = block->db,
														.rel = block->rel,.block = block->block,
														.fork = block->fork,.id = block->id,
														.restored = block->restored
												}, out);

		count = keep_new(needed, block->block, out, implied);
	}
	/* Other forks are filtered with the whole relation only. */
	if (!enter(needed, &ref) && !block->restored && !block->will_init &&
		!is_filtered(needed, &ref, block->fork == REDOAHEAD_FORK_MAIN ? block->block : 0))
		out[count++] = ref;
	return count;
}

/*
 * The blocks that redo of a record reads; records must come in their order.  Redo has
 * replayed what is before "replay_lsn", and so created and truncated what that does; pass 0
 * if nothing is replayed.  Returns how many references were stored.
 */
unsigned
needed_blocks__of_record(struct needed_blocks *needed, const struct wal_record *record,
						 uint64_t replay_lsn,
						 struct redoahead_ref out[NEEDED_BLOCKS_MAX])
{
	struct implied_record viewed = {
		.format = record->format,.layout = &needed->layout,.lsn = record->lsn,
		.xid = record->xid,.rmid = record->rmid,.info = record->info,
		.data = record->data,.data_len = record->data_len,
	};
	unsigned	count;

	for (unsigned i = 0; i < record->block_count; i++)
	{
		viewed.names_block_1 |= record->blocks[i].id == 1;
		viewed.names_vm |= record->blocks[i].fork == REDOAHEAD_FORK_VM;
	}
	filters__end_passed(&needed->filters, replay_lsn);
	/* Truncation reads map pages of what it truncates. */
	count = keep_new(needed, 0, out, implied__of_record(&needed->slru, &viewed, needed->commit_ts,
														out));
	filters__of_record(&needed->filters, record);
	for (unsigned i = 0; i < record->block_count; i++)
		if (wal_record__uses_block(record, &record->blocks[i]))
			count += of_block(needed, &viewed, &record->blocks[i], out + count);
	return count;
}
