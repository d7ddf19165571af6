/*
 * calls.bpf.h
 *		The read calls of the startup process, and how long each took.
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
	__u64		bytes;			/* of pread64: bytes asked for */
	__u64		offset;			/* where in the file */
};

static __always_inline enum call
kind_of_call(__s64 number)
{
	if (number == nr_pread64 || number == nr_preadv || number == nr_preadv2)
		return CALL_READ;
	return number == nr_fadvise64 ? CALL_FADVISE : CALL_NONE;
}

/* The open file behind a descriptor of this process. */
static __always_inline struct file *
file_of(struct task_struct *task, __u64 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **slots = BPF_CORE_READ(table, fd);
	struct file *file = NULL;

	if (fd < BPF_CORE_READ(table, max_fds))
		bpf_probe_read_kernel(&file, sizeof(file), slots + fd);
	return file;
}

/* A system call that may count begins. */
static __always_inline int
call_begins(__s64 number, const struct arguments *arguments)
{
	struct task_struct *task = bpf_get_current_task_btf();
	enum call	call = kind_of_call(number);
	struct inode *inode;
	struct file *file;

	current_call.pid = 0;
	current_call.call = call;
	current_call.missed = 0;
	if (call == CALL_READ)
	{
		file = file_of(task, arguments->fd);
		if (file == NULL)
			return 0;
		inode = BPF_CORE_READ(file, f_inode);
		make_key(&current_call.key, inode, false);
		current_call.file = number_file(&current_call.key, inode);
		if (current_call.file == 0)
			return 0;
		current_call.block = arguments->offset >> block_shift;
		current_call.blocks = number == nr_pread64 ?
			((arguments->offset + arguments->bytes - 1) >> block_shift) -
			(arguments->offset >> block_shift) + 1 : TRACE_READ_BLOCKS;
		current_call.sleeps = task->nvcsw;
		current_call.begin_ns = bpf_ktime_get_ns();
	}
	current_call.pid = bpf_get_current_pid_tgid();
	return 0;
}

/* A system call ends; result is what it returns. */
static __always_inline int
call_ends(__s64 result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct trace_read *event;
	bool		read = current_call.call == CALL_READ;
	__u64		now_ns;

	if (current_call.pid == 0 || current_call.pid != (__u32) bpf_get_current_pid_tgid())
		return 0;
	current_call.pid = 0;
	if (!read || result <= 0)
		return 0;
	now_ns = bpf_ktime_get_ns();
	event = reserve_event(sizeof(*event));
	if (event == NULL)
		return 0;
	event->type = TRACE_EVENT_READ;
	event->flags = task->nvcsw != current_call.sleeps ? TRACE_READ_SLEPT : 0;
	event->rmid = 0;
	event->reserved = 0;
	event->file = current_call.file;
	event->block = current_call.block;
	event->bytes = result;
	event->pid = bpf_get_current_pid_tgid();
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
