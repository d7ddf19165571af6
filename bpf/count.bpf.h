/*
 * count.bpf.h
 *		The counts that the daemon steers by, made here, so that there are no events.
 *
 * What the daemon brought into the page cache is kept in a table, until redo reads
 * it or it leaves the page cache.  A block has the choice of two slots; where both
 * are taken it displaces another one, of which nothing is known then.  So not
 * every count is exact, and none costs more than a look at one place of the table.
 */
#ifndef REDOAHEAD_BPF_COUNT_H
#define REDOAHEAD_BPF_COUNT_H

/* A file that does not count: WAL. */
#define NOT_COUNTED		0xffffffffU

/* Characters in the name of a WAL segment; no other file that redo reads has so many. */
#define WAL_NAME_LENGTH	24

/* In a slot: the block was evicted before use. */
#define SLOT_EVICTED	0x80000000ULL

/* Blocks of a folio that are looked at. */
#define FOLIO_BLOCKS	64

/* What is ahead of redo: file and block, or 0; a block is in one of two slots side by side. */
struct
{
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
}			ahead SEC(".maps");

/* How a block stands in its slot. */
static __always_inline __u64
mark_of(__u32 file, __u32 block)
{
	return (__u64) file << 32 | (block & ~SLOT_EVICTED);
}

/* The slot that has a mark, else NULL. */
static __always_inline __u64 *
find_mark(__u64 mark)
{
	__u32		index = (mark * 0x9e3779b97f4a7c15ULL >> 32) & (ahead_slots - 1);
	__u64	   *slot = bpf_map_lookup_elem(&ahead, &index);

	if (slot == NULL || (*slot & ~SLOT_EVICTED) == mark)
		return slot;
	index ^= 1;
	slot = bpf_map_lookup_elem(&ahead, &index);
	return slot != NULL && (*slot & ~SLOT_EVICTED) == mark ? slot : NULL;
}

/* Note a mark: in its second slot if the first is taken and that is not, else in the first. */
static __always_inline void
set_mark(__u64 mark)
{
	__u32		index = (mark * 0x9e3779b97f4a7c15ULL >> 32) & (ahead_slots - 1);
	__u64	   *first = bpf_map_lookup_elem(&ahead, &index);
	__u64	   *second;

	index ^= 1;
	second = bpf_map_lookup_elem(&ahead, &index);
	if (first == NULL || second == NULL)
		return;
	if (*first != 0 && *second == 0)
		*second = mark;
	else
		*first = mark;
}

/* A number for an inode, neither 0 nor NOT_COUNTED. */
static __always_inline __u32
number_of_inode(const struct inode *inode, const bool trusted)
{
	const struct super_block *sb = FIELD(trusted, inode, i_sb);
	__u32		number = FIELD(trusted, inode, i_ino);

	number += FIELD(trusted, sb, s_dev) * 0x9e3779b9U;
	return number == 0 || number == NOT_COUNTED ? 1 : number;
}

/* The same, or NOT_COUNTED: so are directories, which are a part of the device's page cache. */
static __always_inline __u32
count_file(const struct inode *inode, const bool trusted)
{
	struct dentry *dentry = dentry_of(inode);

	if (dentry == NULL || BPF_CORE_READ(dentry, d_name.len) == WAL_NAME_LENGTH)
		return NOT_COUNTED;
	return number_of_inode(inode, trusted);
}

/* The daemon has brought blocks in. */
static __always_inline void
count_prefetched(__u32 file, __u32 block, __u32 blocks)
{
	if (file == NOT_COUNTED)
		return;
	for (__u32 i = 0; i < FOLIO_BLOCKS && i < blocks; i++)
	{
		__u64		mark = mark_of(file, block + i);
		__u64	   *slot = find_mark(mark);

		/* The other page of a block is no other block. */
		if (slot != NULL && *slot == mark)
			continue;
		if (slot != NULL)
			*slot = mark;
		else
			set_mark(mark);
		__sync_fetch_and_add(&counts.prefetched, 1);
	}
}

/* Blocks have left the page cache. */
static __always_inline void
count_removed(__u32 file, __u32 block, __u32 blocks, bool by_redo)
{
	for (__u32 i = 0; i < FOLIO_BLOCKS && i < blocks; i++)
	{
		__u64		mark = mark_of(file, block + i);
		__u64	   *slot = find_mark(mark);

		if (slot == NULL || *slot != mark)
			continue;
		*slot = by_redo ? 0 : mark | SLOT_EVICTED;
		__sync_fetch_and_add(by_redo ? &counts.dropped : &counts.evicted, 1);
	}
}

/* Redo has read a block. */
static __always_inline void
count_block(__u32 file, __u32 block, bool missed, bool slept)
{
	__u64		mark = mark_of(file, block);
	__u64	   *slot = find_mark(mark);
	bool		was_ahead = slot != NULL && *slot == mark;
	bool		was_evicted = slot != NULL && !was_ahead;

	if (slot != NULL)
		*slot = 0;
	if (missed)
	{
		counts.missed++;
		/* It was there, so it must have been evicted, though nobody said so. */
		if (was_ahead)
			__sync_fetch_and_add(&counts.evicted, 1);
		if (was_ahead || was_evicted)
			counts.missed_evicted++;
		return;
	}
	if (was_ahead)
		counts.used++;
	if (slept)
		counts.late++;
	else
		counts.timely++;
}

/* A call of the startup process has read so many bytes. */
static __always_inline void
count_read(__u32 file, __u32 block, __u64 missed, __u64 bytes, bool slept, __u64 ns)
{
	__u32		blocks = (bytes + (1ULL << block_shift) - 1) >> block_shift;

	if (file == NOT_COUNTED)
		return;
	for (__u32 i = 0; i < TRACE_READ_BLOCKS && i < blocks; i++)
		count_block(file, block + i, (missed >> i & 1) != 0, slept && missed == 0);
	if (slept || missed != 0)
		counts.waited_ns += ns;
}

#endif							/* REDOAHEAD_BPF_COUNT_H */
