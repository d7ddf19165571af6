/*
 * pages.bpf.h
 *		What is put into the page cache for redo, and what leaves it unused.
 *
 * A block of several pages is told of once, with its first page; what a read
 * call of the startup process puts in itself is noted with that call, because
 * it is what prefetching has missed.
 */
#ifndef REDOAHEAD_BPF_PAGES_H
#define REDOAHEAD_BPF_PAGES_H

/* Block that was told of last, to say it once: of insertions, of deletions. */
static __u64 last_inserted = 0;
static __u64 last_deleted = 0;

/* A piece of a file in the page cache. */
struct piece
{
	const struct inode *inode;	/* the file */
	__u64		index;			/* first page */
	__u64		pages;			/* how many */
};

/* Pages of a folio of kernels before 6.6. */
static __always_inline __u64
old_pages_of(const void *folio)
{
	unsigned char order = 0;

	if (bpf_core_field_exists(struct folio___order, _folio_order))
		order = BPF_CORE_READ((const struct folio___order *) folio, _folio_order);
	else if (bpf_core_field_exists(struct page___order, compound_order))
		order = BPF_CORE_READ((const struct page___order *)
							  (folio + bpf_core_type_size(struct page___ra)), compound_order);
	return 1ULL << (order & 31);
}

/* What a folio is a piece of; false if of nothing that is a file. */
static __always_inline bool
piece_of(struct piece *piece, const void *folio, const bool trusted)
{
	unsigned long flags = 0;

	if (bpf_core_type_exists(struct folio___ra))
	{
		const struct folio___ra *f = folio;
		const struct address_space *mapping = FIELD(trusted, f, mapping);

		if (mapping == NULL)
			return false;
		piece->inode = FIELD(trusted, mapping, host);
		piece->index = FIELD(trusted, f, index);
	}
	else
	{
		const struct page___ra *p = folio;
		const struct address_space *mapping = FIELD(trusted, p, mapping);

		if (mapping == NULL)
			return false;
		piece->inode = FIELD(trusted, mapping, host);
		piece->index = FIELD(trusted, p, index);
	}

	/* The flags come first; their type has changed often, not their place. */
	if (trusted)
		flags = *(const unsigned long *) folio;
	else
		bpf_probe_read_kernel(&flags, sizeof(flags), folio);
	piece->pages = 1;
	if (flags & (1UL << bpf_core_enum_value(enum pageflags___ra, PG_head___ra)))
	{
		if (bpf_core_field_exists(struct folio___flags_1, _flags_1))
			piece->pages = 1ULL << (BPF_CORE_READ((const struct folio___flags_1 *) folio,
												  _flags_1) & 31);
		else
			piece->pages = old_pages_of(folio);
	}
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
tell_pages(__u8 type, __u8 who, __u32 file, const struct piece *piece)
{
	struct trace_pages *event = reserve_event(sizeof(*event));
	__u32		blocks = blocks_of(piece);

	if (event == NULL)
		return;
	event->type = type;
	event->who = who;
	event->blocks = blocks < 0xffff ? blocks : 0xffff;
	event->file = file;
	event->block = first_block(piece);
	event->pid = bpf_get_current_pid_tgid();
	submit_event(event);
}

/*
 * Blocks of the present read call that are not there; false if the call is not
 * about them.  Who only asks does not want them noted.
 */
static __always_inline bool
note_missed(const struct inode *inode, __u32 block, __u32 blocks, bool note)
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
		if (note)
			current_call.missed |= 1ULL << i;
		found = true;
	}
	return found;
}

/* The startup process has put pages in. */
static __always_inline void
startup_inserted(const struct piece *piece, const struct trace_file_key *key)
{
	enum call	call = present_call();
	__u8		who = TRACE_WHO_SERVER;
	__u32		file;

	if (call == CALL_NONE)
		return;
	if (call == CALL_READ)
	{
		if (calls_by_pages)
			note_wait();
		if (note_missed(piece->inode, first_block(piece), blocks_of(piece), !miss_by_readahead))
			return;
		who = TRACE_WHO_READAHEAD;
	}
	if (counts_only)
		return;
	file = number_file(key, piece->inode);
	if (file != 0)
		tell_pages(TRACE_EVENT_INSERT, who, file, piece);
}

/* A folio is in the page cache now. */
static __always_inline int
inserted(const void *folio, const bool trusted)
{
	__u32		tgid = bpf_get_current_pid_tgid() >> 32;
	bool		by_daemon = is_daemon(tgid);
	struct trace_file_key key;
	struct piece piece;
	__u64		block;
	__u32		file;

	if (!by_daemon && !is_startup(tgid))
		return 0;
	if (!piece_of(&piece, folio, trusted))
		return 0;
	make_key(&key, piece.inode, trusted);
	if (!by_daemon)
	{
		startup_inserted(&piece, &key);
		return 0;
	}
	if (counts_only)
	{
		count_prefetched(count_file(piece.inode, trusted), first_block(&piece), blocks_of(&piece));
		return 0;
	}
	block = key.inode << 32 ^ first_block(&piece);
	if (piece.pages == 1 && block == last_inserted)
		return 0;
	last_inserted = block;
	last_deleted = 0;
	file = number_file(&key, piece.inode);
	if (file != 0)
		tell_pages(TRACE_EVENT_INSERT, TRACE_WHO_DAEMON, file, &piece);
	return 0;
}

/* A folio has left the page cache; only files that were met are of interest. */
static __always_inline int
deleted(const void *folio, const bool trusted)
{
	struct trace_file_key key;
	struct piece piece;
	__u64		block;
	__u32	   *file;
	__u8		who = TRACE_WHO_OTHER;

	if (counts_only && startup_tgid == 0)
		return 0;
	if (!piece_of(&piece, folio, trusted))
		return 0;
	if (startup_tgid != 0 && (__u32) (bpf_get_current_pid_tgid() >> 32) == startup_tgid)
		who = TRACE_WHO_STARTUP;
	/* The read came before it, but not one that makes room for its own pages. */
	if (calls_by_pages && who == TRACE_WHO_STARTUP && present_call() != CALL_READ)
		tell_last_read();
	if (counts_only)
	{
		count_removed(number_of_inode(piece.inode, trusted), first_block(&piece),
					  blocks_of(&piece), who == TRACE_WHO_STARTUP);
		return 0;
	}
	make_key(&key, piece.inode, trusted);
	file = bpf_map_lookup_elem(&files, &key);
	if (file == NULL)
		return 0;
	block = key.inode << 32 ^ first_block(&piece);
	if (piece.pages == 1 && block == last_deleted)
		return 0;
	last_deleted = block;
	last_inserted = 0;
	tell_pages(TRACE_EVENT_DELETE, who, *file, &piece);
	return 0;
}

/* A reader did not find pages; before they are put in. */
static __always_inline int
missed(const struct inode *inode, __u64 index, __u64 pages)
{
	struct piece piece = {.inode = inode,.index = index,.pages = pages};

	if (!is_startup(bpf_get_current_pid_tgid() >> 32) || present_call() != CALL_READ)
		return 0;
	if (calls_by_pages)
		note_wait();
	note_missed(inode, first_block(&piece), blocks_of(&piece), true);
	return 0;
}

#endif							/* REDOAHEAD_BPF_PAGES_H */
