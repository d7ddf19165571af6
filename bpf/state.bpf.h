/*
 * state.bpf.h
 *		What the probes share: whom to follow, the files met, the way to user space.
 *
 * Included by trace.bpf.c only.  User space sets the settings before it loads
 * the programs, and the processes to follow at any time.
 */
#ifndef REDOAHEAD_BPF_STATE_H
#define REDOAHEAD_BPF_STATE_H

/* Most files that are told apart. */
#define MAX_FILES	262144

/* The calls that are followed. */
enum call
{
	CALL_NONE = 0,				/* none of them: what it inserts is not read ahead */
	CALL_READ = 1,				/* pread64, preadv, preadv2 */
	CALL_FADVISE = 2			/* fadvise64: PostgreSQL's own prefetching */
};

/* Settings, fixed when the programs are loaded. */
const volatile __u32 page_shift = 12;	/* log2 of the page size */
const volatile __u32 block_shift = 13;	/* log2 of PostgreSQL's block size */
const volatile __s64 nr_pread64 = -1;	/* system call numbers */
const volatile __s64 nr_preadv = -1;
const volatile __s64 nr_preadv2 = -1;
const volatile __s64 nr_fadvise64 = -1;
const volatile __s64 nr_close = -1;
const volatile bool calls_by_pages = false;	/* calls are told by the pages that they get */
const volatile bool miss_by_readahead = false;	/* page_cache_sync_ra tells of misses */
const volatile bool counts_only = false;	/* no events, only struct trace_counts */
const volatile __u32 ahead_slots = 2;	/* of the map ahead; a power of two */

/* Whom to follow; 0: nobody. */
volatile __u32 startup_tgid = 0;	/* the startup process */
volatile __u32 postmaster_tgid = 0;	/* its parent, while the former is not known */
volatile __u32 daemon_tgid[TRACE_DAEMONS] = {0};	/* the daemons; the first 0 ends them */
volatile __u64 error_context_address = 0;	/* of error_context_stack in the former; 0: unknown */

/* What user space looks at when there are no events. */
struct trace_counts counts = {0};

/* Events that did not fit, and files that could not be told apart. */
__u64		lost_events = 0;
__u64		lost_files = 0;

static __u32 last_file = 0;		/* number that the newest file got */

/* The call that the startup process is in; by pages, also the last one that it was in. */
struct current_call
{
	__u64		begin_ns;		/* when it began, ns; by pages, when it began to wait, or 0 */
	__u64		sleeps;			/* voluntary context switches until then; by pages, in it */
	__u64		missed;			/* bit n: block + n was put in by the call */
	__u64		fd;				/* descriptor that is read */
	__u64		offset;			/* where in the file */
	__u64		bytes;			/* asked for */
	__u64		reads;			/* by pages: read calls that the process had made before */
	__u32		pid;			/* of the process, 0: in no call that counts */
	__u32		call;			/* enum call */
	__u32		block;			/* first block */
	__u32		blocks;			/* blocks asked for */
};

static struct current_call current_call = {0};

struct
{
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 * 1024 * 1024);
}			events SEC(".maps");

/* Files met so far, and their numbers. */
struct
{
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_FILES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct trace_file_key);
	__type(value, __u32);
}			files SEC(".maps");

/*
 * Read a field of a kernel object: directly where the verifier knows the type,
 * which costs nothing, else with a helper's call.  One field at a time.
 */
#define FIELD(trusted, pointer, field) \
	((trusted) ? (pointer)->field : BPF_CORE_READ(pointer, field))

/* Room for an event, NULL if there is none. */
static __always_inline void *
reserve_event(__u64 size)
{
	void	   *event = bpf_ringbuf_reserve(&events, size, 0);

	if (event == NULL)
		__sync_fetch_and_add(&lost_events, 1);
	return event;
}

/* User space comes by itself: waking it would cost more than the event. */
static __always_inline void
submit_event(void *event)
{
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static __always_inline bool
is_startup(__u32 tgid)
{
	if (startup_tgid != 0)
		return tgid == startup_tgid;
	return postmaster_tgid != 0 &&
		(__u32) BPF_CORE_READ(bpf_get_current_task_btf(), real_parent, tgid) == postmaster_tgid;
}

static __always_inline bool
is_daemon(__u32 tgid)
{
	for (int i = 0; i < TRACE_DAEMONS; i++)
	{
		if (daemon_tgid[i] == 0)
			return false;
		if (daemon_tgid[i] == tgid)
			return true;
	}
	return false;
}

/* What the file of an inode is. */
static __always_inline void
make_key(struct trace_file_key *key, const struct inode *inode, const bool trusted)
{
	const struct super_block *sb = FIELD(trusted, inode, i_sb);

	key->inode = FIELD(trusted, inode, i_ino);
	key->generation = FIELD(trusted, inode, i_generation);
	key->device = FIELD(trusted, sb, s_dev);
}

/* A name of a file in the file system, NULL if the kernel has forgotten it. */
static __always_inline struct dentry *
dentry_of(const struct inode *inode)
{
	struct hlist_node *alias = BPF_CORE_READ(inode, i_dentry.first);

	if (alias == NULL)
		return NULL;
	return (struct dentry *) ((char *) alias -
							  __builtin_preserve_field_info(((struct dentry *) 0)->d_u,
															BPF_FIELD_BYTE_OFFSET));
}

/* Tell user space of a new file, with its path; false if there is no room for that. */
static __always_inline bool
tell_file(const struct trace_file_key *key, __u32 number, const struct inode *inode)
{
	struct trace_file *event = reserve_event(sizeof(*event));
	struct dentry *dentry = dentry_of(inode);

	if (event == NULL)
		return false;
	event->type = TRACE_EVENT_FILE;
	event->named = dentry != NULL;
	event->reserved = 0;
	event->file = number;
	event->key = *key;
	for (int i = 0; i < TRACE_NAMES; i++)
	{
		event->names[i][0] = '\0';
		if (dentry == NULL)
			continue;
		bpf_probe_read_kernel_str(event->names[i], TRACE_NAME_BYTES,
								  BPF_CORE_READ(dentry, d_name.name));
		dentry = BPF_CORE_READ(dentry, d_parent);
	}
	submit_event(event);
	return true;
}

/* The number of a file, a new one if need be; 0 if there is no room for it. */
static __always_inline __u32
number_file(const struct trace_file_key *key, const struct inode *inode)
{
	__u32	   *known = bpf_map_lookup_elem(&files, key);
	__u32		number;

	if (known != NULL)
		return *known;
	number = __sync_fetch_and_add(&last_file, 1) + 1;
	if (bpf_map_update_elem(&files, key, &number, BPF_NOEXIST) == 0)
	{
		if (tell_file(key, number, inode))
			return number;
		/* The next event of the file shall try again. */
		bpf_map_delete_elem(&files, key);
		return 0;
	}
	known = bpf_map_lookup_elem(&files, key);
	if (known != NULL)
		return *known;
	__sync_fetch_and_add(&lost_files, 1);
	return 0;
}

#endif							/* REDOAHEAD_BPF_STATE_H */
