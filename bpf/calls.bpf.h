/*
 * calls.bpf.h
 *		The read calls of the startup process, followed by its system calls.
 *
 * This is the fallback; gets.bpf.h is the preferred method.  A call that slept
 * waited for a block that is missing or in flight.  The kernel counts the sleeps
 * of a process.
 */
#ifndef REDOAHEAD_BPF_CALLS_H
#define REDOAHEAD_BPF_CALLS_H

/* Arguments of a call. */
struct arguments
{
	__u64		fd;				/* descriptor */
	__u64		buffer;			/* where to; of preadv: its parts */
	__u64		bytes;			/* bytes requested; of preadv: how many parts */
	__u64		offset;			/* where in the file */
};

static __always_inline enum call
kind_of_call(__s64 number)
{
	if (number == nr_pread64 || number == nr_preadv || number == nr_preadv2)
		return CALL_READ;
	return number == nr_fadvise64 ? CALL_FADVISE : CALL_NONE;
}

/* Parts of the buffer of a preadv that are summed up. */
#define MAX_PARTS		16

/* struct iovec of user space. */
struct part
{
	__u64		base;			/* address */
	__u64		bytes;			/* length */
};

/* How many bytes a preadv requests. */
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

/* The number of the file of the current call, 0 if it has none. */
static __always_inline __u32
file_of_call(struct task_struct *task)
{
	const struct inode *inode = inode_of(task, current_call.fd);
	struct trace_file_key key;

	if (inode == NULL)
		return 0;
	make_key(&key, inode, false);
	return number_file(&key, inode);
}

/* Keep the arguments of a call that reads. */
static __always_inline void
keep_arguments(__s64 number, const struct arguments *arguments)
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

/* A system call begins. */
static __always_inline int
call_begins(__s64 number, const struct arguments *arguments)
{
	struct task_struct *task = bpf_get_current_task_btf();

	current_call.call = kind_of_call(number);
	current_call.pid = bpf_get_current_pid_tgid();
	if (current_call.call != CALL_READ)
		return 0;
	keep_arguments(number, arguments);
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
	event = reserve_event(sizeof(*event));
	if (event == NULL)
	{
		lose_event();
		return 0;
	}
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
