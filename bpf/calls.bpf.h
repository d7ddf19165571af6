/*
 * calls.bpf.h
 *		The read calls of the startup process, by the system calls that it makes.
 *
 * A call that slept waited for something: for a block that is not there, or
 * for one that is being read.  The kernel counts a process's sleeps anyway,
 * so no look at the scheduler is needed.
 */
#ifndef REDOAHEAD_BPF_CALLS_H
#define REDOAHEAD_BPF_CALLS_H

/* Arguments of a call, as far as they matter. */
struct arguments
{
	__u64		fd;				/* descriptor */
	__u64		buffer;			/* where to; of preadv: its parts */
	__u64		bytes;			/* bytes asked for; of preadv: how many parts */
	__u64		offset;			/* where in the file */
};

static __always_inline enum call
kind_of_call(__s64 number)
{
	if (number == nr_pread64 || number == nr_preadv || number == nr_preadv2)
		return CALL_READ;
	return number == nr_fadvise64 ? CALL_FADVISE : CALL_NONE;
}

/*
 * Which file a descriptor is: to find that out takes most of the time that this
 * program takes, and it stays so until the process closes the descriptor.
 */
#define REMEMBERED	65536		/* descriptors; a power of two */

struct remembered
{
	__u32		pid;			/* of the process */
	__u32		file;			/* number that the file has for user space */
};

static struct remembered remembered[REMEMBERED] = {0};

/* Parts of the buffer of a preadv that are looked at. */
#define MAX_PARTS		16

/* struct iovec of user space. */
struct part
{
	__u64		base;			/* address */
	__u64		bytes;			/* length */
};

/* How many bytes a preadv asks for. */
static __always_inline __u64
bytes_of_parts(const struct arguments *arguments)
{
	__u64		bytes = 0;

	for (__u64 i = 0; i < MAX_PARTS && i < arguments->bytes; i++)
	{
		struct part part;

		if (bpf_probe_read_user(&part, sizeof(part),
								(void *) (arguments->buffer + i * sizeof(part))) != 0)
			break;
		bytes += part.bytes;
	}
	return bytes;
}

/* The inode of the file behind a descriptor of this process, NULL if there is none. */
static __always_inline const struct inode *
inode_of(struct task_struct *task, __u64 fd)
{
	struct fdtable *table = task->files->fdt;
	struct file **slots = table->fd;
	struct file *file = NULL;

	if (fd >= table->max_fds ||
		bpf_probe_read_kernel(&file, sizeof(file), slots + fd) != 0 || file == NULL)
		return NULL;
	return BPF_CORE_READ(file, f_inode);
}

/* The number of the file of the present call, 0 if it cannot be told. */
static __always_inline __u32
file_of_call(struct task_struct *task)
{
	struct remembered *known = &remembered[current_call.fd & (REMEMBERED - 1)];
	const struct inode *inode;
	__u32		file;

	if (known->pid == current_call.pid && known->file != 0 && current_call.fd < REMEMBERED)
		return known->file;
	inode = inode_of(task, current_call.fd);
	if (inode == NULL)
		return 0;
	if (counts_only)
		file = count_file(inode, false);
	else
	{
		struct trace_file_key key;

		make_key(&key, inode, false);
		file = number_file(&key, inode);
	}
	if (current_call.fd < REMEMBERED)
	{
		known->pid = current_call.pid;
		known->file = file;
	}
	return file;
}

/* A descriptor is closed. */
static __always_inline int
call_closes(__u64 fd)
{
	if (fd < REMEMBERED)
		remembered[fd & (REMEMBERED - 1)].file = 0;
	return 0;
}

/* Note what a call that reads wants. */
static __always_inline void
note_arguments(__s64 number, const struct arguments *arguments)
{
	__u64		bytes = number == nr_pread64 ? arguments->bytes : bytes_of_parts(arguments);

	current_call.pid = bpf_get_current_pid_tgid();
	current_call.call = CALL_READ;
	current_call.fd = arguments->fd;
	current_call.offset = arguments->offset;
	current_call.bytes = bytes;
	current_call.missed = 0;
	current_call.block = arguments->offset >> block_shift;
	current_call.blocks = ((arguments->offset + bytes - 1) >> block_shift) -
		(arguments->offset >> block_shift) + 1;
}

/* A system call that may count begins. */
static __always_inline int
call_begins(__s64 number, const struct arguments *arguments)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (number == nr_close)
		return call_closes(arguments->fd);
	current_call.call = kind_of_call(number);
	current_call.pid = bpf_get_current_pid_tgid();
	if (current_call.call != CALL_READ)
		return 0;
	note_arguments(number, arguments);
	current_call.sleeps = task->nvcsw;
	current_call.begin_ns = bpf_ktime_get_ns();
	return 0;
}

/* A system call ends; result is what it returns. */
static __always_inline int
call_ends(__s64 result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32		pid = bpf_get_current_pid_tgid();
	bool		read = current_call.call == CALL_READ;
	struct trace_read *event;
	__u64		now_ns;
	bool		slept;
	__u32		file;

	if (current_call.pid != pid)
		return 0;
	now_ns = bpf_ktime_get_ns();
	file = read && result > 0 ? file_of_call(task) : 0;
	current_call.pid = 0;
	if (file == 0)
		return 0;
	slept = task->nvcsw != current_call.sleeps;
	if (counts_only)
	{
		count_read(file, current_call.block, current_call.missed, result, slept,
				   now_ns - current_call.begin_ns);
		return 0;
	}
	event = reserve_event(sizeof(*event));
	if (event == NULL)
		return 0;
	event->type = TRACE_EVENT_READ;
	event->flags = slept ? TRACE_READ_SLEPT : 0;
	event->rmid = 0;
	event->reserved = 0;
	event->file = file;
	event->block = current_call.block;
	event->bytes = result;
	event->pid = pid;
	event->reserved2 = 0;
	event->missed = current_call.missed;
	event->at_ns = now_ns;
	event->wait_ns = now_ns - current_call.begin_ns;
	event->lsn = 0;
	note_record(event);
	submit_event(event);
	return 0;
}

#endif							/* REDOAHEAD_BPF_CALLS_H */
