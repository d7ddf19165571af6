/*
 * pages.bpf.h
 *		What is added to the page cache for redo, and what is removed from it.
 *
 * Each folio is an event, so that a block of several may be reported several
 * times.  What a read call of the startup process adds itself belongs to the
 * event of that call: prefetching missed it.
 */
#ifndef REDOAHEAD_BPF_PAGES_H
#define REDOAHEAD_BPF_PAGES_H

/* A piece of a file in the page cache. */
struct piece
{
	const struct inode *inode;	/* the file */
	__u64		index;			/* first page */
	__u64		pages;			/* how many */
};

/* Pages of a large folio. */
static __always_inline __u64
pages_of(const void *folio)
{
	unsigned long order = 0;

	/* Kernels that have both fields use the first. */
	if (bpf_core_field_exists(struct folio___order, _folio_order))
		order = BPF_CORE_READ((const struct folio___order *) folio, _folio_order);
	else if (bpf_core_field_exists(struct folio___flags_1, _flags_1))
		order = BPF_CORE_READ((const struct folio___flags_1 *) folio, _flags_1);
	else if (bpf_core_field_exists(struct page___order, compound_order))
		order = BPF_CORE_READ((const struct page___order *)
							  (folio + bpf_core_type_size(struct page___ra)), compound_order);
	return 1ULL << (order & 31);
}

/* Which piece of a file a folio is; false if it is none. */
static __always_inline bool
piece_of(struct piece *piece, const void *folio, const bool btf)
{
	unsigned long flags = 0;

	if (bpf_core_type_exists(struct folio___ra))
	{
		const struct folio___ra *f = folio;
		const struct address_space *mapping = FIELD(btf, f, mapping);

		if (mapping == NULL)
			return false;
		piece->inode = FIELD(btf, mapping, host);
		piece->index = FIELD(btf, f, index);
	}
	else
	{
		const struct page___ra *p = folio;
		const struct address_space *mapping = FIELD(btf, p, mapping);

		if (mapping == NULL)
			return false;
		piece->inode = FIELD(btf, mapping, host);
		piece->index = FIELD(btf, p, index);
	}

	/* The flags come first; their type has changed often, not their place. */
	if (btf)
		flags = *(const unsigned long *) folio;
	else
		bpf_probe_read_kernel(&flags, sizeof(flags), folio);
	piece->pages = 1;
	if (flags & (1UL << bpf_core_enum_value(enum pageflags___ra, PG_head___ra)))
		piece->pages = pages_of(folio);
	return piece->inode != NULL;
}

static __always_inline __u32
first_block(const struct piece *piece)
{
	return piece->index << page_shift >> block_shift;
}

static __always_inline __u32
blocks_of(const struct piece *piece)
{
	__u64		last = ((piece->index + piece->pages) << page_shift) - 1;

	return (last >> block_shift) - first_block(piece) + 1;
}

static __always_inline void
report_blocks(__u8 type, __u8 who, __u32 file, __u32 block, __u32 blocks)
{
	struct trace_pages *event = reserve_event(sizeof(*event));

	if (event == NULL)
	{
		lose_event();
		return;
	}
	event->type = type;
	event->who = who;
	event->blocks = blocks < 0xffff ? blocks : 0xffff;
	event->file = file;
	event->block = block;
	event->pid = bpf_get_current_pid_tgid();
	submit_event(event);
}

static __always_inline void
report_pages(__u8 type, __u8 who, __u32 file, const struct piece *piece)
{
	report_blocks(type, who, file, first_block(piece), blocks_of(piece));
}

/* Mark the blocks that the current read call added itself; false if it did not request them. */
static __always_inline bool
mark_missed(const struct inode *inode, __u32 block, __u32 blocks)
{
	__u32		from = current_call.block;
	bool		found = false;

	if (inode != inode_of(bpf_get_current_task_btf(), current_call.fd))
		return false;
	for (__u32 i = 0; i < TRACE_READ_BLOCKS; i++)
	{
		if (i >= current_call.blocks)
			break;
		if (from + i < block || from + i >= block + blocks)
			continue;
		current_call.missed |= 1ULL << i;
		found = true;
	}
	return found;
}

/* The startup process has added a folio. */
static __always_inline void
startup_inserted(const struct piece *piece, const struct trace_file_key *key, const bool btf)
{
	enum call	call = present_call(btf);
	__u32		block = first_block(piece);
	__u32		end = block + blocks_of(piece);
	__u32		from = end;		/* the blocks that the call requested */
	__u32		to = end;
	__u8		who = TRACE_WHO_SERVER;
	__u32		file;

	if (call == CALL_NONE)
		return;
	if (call == CALL_READ)
	{
		if (btf)
			note_wait();
		who = TRACE_WHO_READAHEAD;
		if (mark_missed(piece->inode, block, end - block))
		{
			from = current_call.block;
			to = from + current_call.blocks;
			if (block >= from && end <= to)
				return;
		}
	}
	file = number_file(key, piece->inode);
	if (file == 0)
		return;
	if (block < from)
		report_blocks(TRACE_EVENT_INSERT, who, file, block, from - block);
	if (to < end)
		report_blocks(TRACE_EVENT_INSERT, who, file, to, end - to);
}

/* A folio was added to the page cache. */
static __always_inline int
inserted(const void *folio, const bool btf)
{
	__u32		tgid = bpf_get_current_pid_tgid() >> 32;
	bool		by_startup = is_startup(tgid);
	struct trace_file_key key;
	struct piece piece;
	__u32		file;

	if (!by_startup && !is_daemon(tgid))
		return 0;
	if (!piece_of(&piece, folio, btf))
		return 0;
	make_key(&key, piece.inode, btf);
	if (by_startup)
	{
		startup_inserted(&piece, &key, btf);
		return 0;
	}
	file = number_file(&key, piece.inode);
	if (file != 0)
		report_pages(TRACE_EVENT_INSERT, TRACE_WHO_DAEMON, file, &piece);
	return 0;
}

/*
 * Does the present process drop pages itself?  One that reclaims memory for what it allocates
 * evicts pages of others.
 */
static __always_inline bool
drops_pages(void)
{
	const unsigned int reclaims = 0x00000800;	/* PF_MEMALLOC */

	return startup_tgid != 0 &&
		(__u32) (bpf_get_current_pid_tgid() >> 32) == startup_tgid &&
		!(BPF_CORE_READ(bpf_get_current_task_btf(), flags) & reclaims);
}

/* A folio was removed from the page cache; it is reported if its file has a number. */
static __always_inline int
deleted(const void *folio, const bool btf)
{
	struct trace_file_key key;
	struct piece piece;
	__u32	   *file;
	__u8		who = TRACE_WHO_OTHER;

	if (startup_tgid == 0 && postmaster_tgid == 0)
		return 0;
	if (!piece_of(&piece, folio, btf))
		return 0;
	if (drops_pages())
		who = TRACE_WHO_STARTUP;
	/* The last read precedes it. */
	if (btf && who == TRACE_WHO_STARTUP && present_call(btf) != CALL_READ)
		report_last_read();
	make_key(&key, piece.inode, btf);
	file = bpf_map_lookup_elem(&files, &key);
	if (file != NULL)
		report_pages(TRACE_EVENT_DELETE, who, *file, &piece);
	return 0;
}

#endif							/* REDOAHEAD_BPF_PAGES_H */
