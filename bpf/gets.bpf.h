/*
 * gets.bpf.h
 *		The read calls of the startup process, followed by the pages that they get.
 *
 * A reader of the page cache passes a tracepoint when it has the pages that it
 * requested, after all waiting.  So a resident block costs one run of a program, and
 * the system calls of other processes cost nothing.  The arguments of the call
 * are in the registers of the process.  That it waited is seen where it waits:
 * when it goes to sleep for a device, or adds pages itself.
 *
 * A call may get its pages in several steps.  So it is reported when the next one
 * begins; user space finds the last one in last_read.
 */
#ifndef REDOAHEAD_BPF_GETS_H
#define REDOAHEAD_BPF_GETS_H

/* The last call that got pages; type is 0 if it has been reported. */
struct trace_read last_read = {0};

/* Arguments of a call from the registers. */
static __always_inline void
read_arguments(struct arguments *arguments, struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	arguments->fd = PT_REGS_PARM1_SYSCALL(regs);
	arguments->buffer = PT_REGS_PARM2_SYSCALL(regs);
	arguments->bytes = PT_REGS_PARM3_SYSCALL(regs);
	arguments->offset = PT_REGS_PARM4_SYSCALL(regs);
#else
	arguments->fd = PT_REGS_PARM1_CORE_SYSCALL(regs);
	arguments->buffer = PT_REGS_PARM2_CORE_SYSCALL(regs);
	arguments->bytes = PT_REGS_PARM3_CORE_SYSCALL(regs);
	arguments->offset = PT_REGS_PARM4_CORE_SYSCALL(regs);
#endif
}

/* Number of the system call that a process is in, -1 if in none. */
static __always_inline __s64
number_of_call(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return (__s64) regs->orig_ax;
#elif defined(__TARGET_ARCH_arm64)
	return regs->syscallno;
#else
	return -1;
#endif
}

/* Read calls that a process has completed, which distinguishes a call from the next. */
static __always_inline __u64
completed_reads(const struct task_struct *task)
{
	const struct task_struct___ra *t = (const struct task_struct___ra *) task;

	return bpf_core_field_exists(t->ioac.syscr) ? t->ioac.syscr : 0;
}

/* Report the last call. */
static __always_inline void
report_last_read(void)
{
	struct trace_read *event;

	if (last_read.type == 0)
		return;
	event = reserve_event(sizeof(*event));
	if (event != NULL)
	{
		*event = last_read;
		submit_event(event);
	}
	else
		lose_event();
	last_read.type = 0;
}

/* The call that this process is in; a new read call ends the one before. */
static __always_inline enum call
call_in_registers(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *) bpf_task_pt_regs(task);
	__s64		number = number_of_call(regs);
	enum call	call = kind_of_call(number);
	__u64		reads = completed_reads(task);
	struct arguments arguments;

	if (call != CALL_READ)
		return call;
	read_arguments(&arguments, regs);
	if (current_call.reads == reads && current_call.offset == arguments.offset &&
		current_call.fd == arguments.fd &&
		current_call.pid == (__u32) bpf_get_current_pid_tgid())
		return call;
	report_last_read();
	keep_arguments(number, &arguments);
	current_call.reads = reads;
	current_call.begin_ns = 0;
	current_call.sleeps = 0;
	return call;
}

/* The call that this process is in. */
static __always_inline enum call
present_call(const bool btf)
{
	if (btf)
		return call_in_registers();
	return current_call.pid == 0 ? CALL_NONE : current_call.call;
}

/* The current read call begins to wait, unless it did so before. */
static __always_inline void
note_wait(void)
{
	if (current_call.begin_ns == 0)
		current_call.begin_ns = bpf_ktime_get_ns();
}

/* Begin the report of the current call; false if there is nothing to report. */
static __always_inline bool
begin_last_read(const struct inode *inode)
{
	__u64		size = inode->i_size;
	struct trace_file_key key;
	__u32		file;

	if (size <= current_call.offset)
		return false;
	make_key(&key, inode, true);
	file = number_file(&key, inode);
	if (file == 0)
		return false;
	size -= current_call.offset;
	last_read.flags = 0;
	last_read.rmid = 0;
	last_read.file = file;
	last_read.block = current_call.block;
	last_read.bytes = current_call.bytes < size ? current_call.bytes : size;
	last_read.pid = current_call.pid;
	last_read.at_ns = 0;
	last_read.wait_ns = 0;
	last_read.lsn = 0;
	note_record(&last_read);
	last_read.type = TRACE_EVENT_READ;
	return true;
}

/* A reader has got pages; it may go on to get more. */
static __always_inline int
got_pages(const struct address_space *mapping)
{
	if (!is_startup(bpf_get_current_pid_tgid() >> 32) || call_in_registers() != CALL_READ)
		return 0;
	if (last_read.type == 0 && !begin_last_read(mapping->host))
		return 0;
	last_read.missed = current_call.missed;
	if (current_call.sleeps != 0)
		last_read.flags |= TRACE_READ_SLEPT;
	/* The clock is read only for calls that wait: it costs as much as all the rest. */
	if (current_call.begin_ns != 0)
	{
		last_read.at_ns = bpf_ktime_get_ns();
		last_read.wait_ns = last_read.at_ns - current_call.begin_ns;
	}
	return 0;
}

/*
 * This process goes to sleep; in a read call, it waits for a block, or for who writes to the file:
 * XFS has a lock for that.  The kernel marks those that wait for a device.
 */
static __always_inline int
goes_to_sleep(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!is_startup(bpf_get_current_pid_tgid() >> 32) || call_in_registers() != CALL_READ)
		return 0;
	note_wait();
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		current_call.sleeps = 1;
	return 0;
}

#endif							/* REDOAHEAD_BPF_GETS_H */
