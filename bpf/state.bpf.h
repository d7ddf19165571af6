/*
 * state.bpf.h
 *		What the programs share: whom to follow, the numbers of files, the ring buffer.
 *
 * Included by trace.bpf.c only.  User space sets the settings before it loads
 * the programs, and the processes to follow at any time.
 */
#ifndef REDOAHEAD_BPF_STATE_H
#define REDOAHEAD_BPF_STATE_H

/* Most files that get a number. */
#define MAX_FILES	262144

/* The calls that are followed. */
enum call
{
	CALL_NONE = 0,				/* any other */
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

const volatile __u64 pgdata_inode = 0;	/* the data directory */
const volatile __u32 pgdata_device = 0; /* its file system, 12 and 20 bits; 0: any */

/* Whom to follow; 0: nobody. */
volatile __u32 startup_tgid = 0;	/* the startup process */
volatile __u32 postmaster_tgid = 0;	/* its parent, used only while startup_tgid is 0 */
volatile __u32 daemon_tgid[TRACE_DAEMONS] = {0};	/* the daemons; the first 0 ends them */
volatile __u64 error_context_address = 0;	/* of error_context_stack in the former; 0: unknown */

/* Events that found no room in the ring buffer, and events of files without a number. */
__u64		lost_events = 0;
__u64		lost_files = 0;

static __u32 last_file = 0;		/* number that the newest file got */

/*
 * The call that the startup process is in.  Where calls are followed by the pages
 * that they get (gets.bpf.h), it stays until the next one.
 */
struct current_call
{
	__u64		begin_ns;		/* when it began, ns; by pages, when it began to wait, or 0 */
	__u64		sleeps;			/* voluntary context switches until then; by pages, sleeps for a device in it */
	__u64		missed;			/* bit n: block + n was added by the call */
	__u64		fd;				/* descriptor that is read */
	__u64		offset;			/* where in the file, bytes */
	__u64		bytes;			/* requested */
	__u64		reads;			/* by pages: read calls that the process had made before */
	__u32		pid;			/* of the process, 0: in no call that counts */
	__u32		call;			/* enum call */
	__u32		block;			/* first block */
	__u32		blocks;			/* blocks requested */
};

static struct current_call current_call = {0};

struct
{
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 * 1024 * 1024);
}			events SEC(".maps");

/* The numbers of files. */
struct
{
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_FILES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct trace_file_key);
	__type(value, __u32);
}			files SEC(".maps");

/*
 * Read a field of a kernel object: directly in tp_btf programs, where the verifier
 * knows the type, else with a helper's call.  One field at a time.
 */
#define FIELD(btf, pointer, field) \
	((btf) ? (pointer)->field : BPF_CORE_READ(pointer, field))

/*
 * Room for an event, NULL if there is none.  The caller tests that once, and counts the event
 * as lost: Linux 6.1's verifier takes a second test for one that may have another result.
 */
static __always_inline void *
reserve_event(__u64 size)
{
	return bpf_ringbuf_reserve(&events, size, 0);
}

static __always_inline void
lose_event(void)
{
	__sync_fetch_and_add(&lost_events, 1);
}

/* User space polls: to wake it would cost more than the event. */
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

/*
 * Is this process one of a program of ours that the server runs, in its data directory?
 * `redoahead restore` starts one for each segment, which may have ended before user space has
 * found it.
 */
static __always_inline bool
is_restore(void)
{
	const struct task_struct *leader = BPF_CORE_READ(bpf_get_current_task_btf(), group_leader);
	const char	ours[] = "redoahead";
	const struct inode *directory;
	char		name[16] = "";

	BPF_CORE_READ_INTO(&name, leader, comm);
	for (unsigned i = 0; i < sizeof(ours); i++)
		if (name[i] != ours[i])
			return false;
	directory = BPF_CORE_READ(leader, fs, pwd.dentry, d_inode);
	return BPF_CORE_READ(directory, i_ino) == pgdata_inode &&
		(pgdata_device == 0 || BPF_CORE_READ(directory, i_sb, s_dev) == pgdata_device);
}

/* Is a process one that prefetches for the cluster, while its recovery is followed? */
static __always_inline bool
is_daemon(__u32 tgid)
{
	if (startup_tgid == 0 && postmaster_tgid == 0)
		return false;
	for (int i = 0; i < TRACE_DAEMONS && daemon_tgid[i] != 0; i++)
		if (daemon_tgid[i] == tgid)
			return true;
	return is_restore();
}

/* What identifies the file of an inode. */
static __always_inline void
make_key(struct trace_file_key *key, const struct inode *inode, const bool btf)
{
	const struct super_block *sb = FIELD(btf, inode, i_sb);

	key->inode = FIELD(btf, inode, i_ino);
	key->generation = FIELD(btf, inode, i_generation);
	key->device = FIELD(btf, sb, s_dev);
}

/* A directory entry of a file, NULL if the kernel has none in memory. */
static __always_inline struct dentry *
dentry_of(const struct inode *inode)
{
	struct hlist_node *alias = BPF_CORE_READ(inode, i_dentry.first);
	__u64		offset;

	if (alias == NULL)
		return NULL;
	if (bpf_core_field_exists(struct dentry___alias, d_alias))
		offset = bpf_core_field_offset(struct dentry___alias, d_alias);
	else
		offset = bpf_core_field_offset(struct dentry___union, d_u);
	return (struct dentry *) ((char *) alias - offset);
}

/* Report a new file, with its path. */
static __always_inline void
report_file(struct trace_file *event, const struct trace_file_key *key, __u32 number,
			const struct inode *inode)
{
	struct dentry *dentry = dentry_of(inode);

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
}

/*
 * The number of a file, a new one if it has none; 0 if there is no room for it.  Without
 * room for its event, no number is used up: there are only so many.
 */
static __always_inline __u32
number_file(const struct trace_file_key *key, const struct inode *inode)
{
	__u32	   *known = bpf_map_lookup_elem(&files, key);
	struct trace_file *event;
	__u32		number;

	if (known != NULL)
		return *known;
	event = reserve_event(sizeof(*event));
	if (event == NULL)
	{
		lose_event();
		return 0;
	}
	number = __sync_fetch_and_add(&last_file, 1) + 1;
	if (bpf_map_update_elem(&files, key, &number, BPF_NOEXIST) == 0)
	{
		report_file(event, key, number, inode);
		return number;
	}
	bpf_ringbuf_discard(event, BPF_RB_NO_WAKEUP);
	known = bpf_map_lookup_elem(&files, key);
	if (known != NULL)
		return *known;
	__sync_fetch_and_add(&lost_files, 1);
	return 0;
}

#endif							/* REDOAHEAD_BPF_STATE_H */
