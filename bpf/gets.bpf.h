/*
 * gets.bpf.h
 *		The read calls of the startup process, by the pages that they get.
 *
 * A reader of the page cache tells the kernel's tracepoint when it has the pages that
 * it wanted, after all waiting.  So a block that is there costs one look, and system
 * calls of all others nothing.  What the call wants is in the registers of the process.
 * That it waited is seen where it waits: when it goes to sleep, or puts pages in itself.
 *
 * One call may get its pages in several goes.  So what is known of it is told when the
 * next one begins; of the last one user space finds it in last_read.
 */
#ifndef REDOAHEAD_BPF_GETS_H
#define REDOAHEAD_BPF_GETS_H

/* The last call that got pages; type is 0 if there is none that is still to be told. */
struct trace_read last_read = {0};

/* Files whose number is known without a look into the table; a power of two. */
#define KNOWN_FILES		4096

struct known_file
{
	struct trace_file_key key;	/* the file */
	__u32		file;			/* number that it has for user space; 0: none */
	__u32		reserved;		/* 0 */
};

static struct known_file known_files[KNOWN_FILES] = {0};

/* Arguments of a call from the registers, which the verifier knows. */
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

/* Read calls that a process has completed, which tells one from the next. */
static __always_inline __u64
completed_reads(const struct task_struct *task)
{
	const struct task_struct___ra *t = (const struct task_struct___ra *) task;

	return bpf_core_field_exists(t->ioac.syscr) ? t->ioac.syscr : 0;
}

/* Tell of the last call, or count it. */
static __always_inline void
tell_last_read(void)
{
	struct trace_read *event;

	if (last_read.type == 0)
		return;
	if (counts_only)
		count_read(last_read.file, last_read.block, last_read.missed, last_read.bytes,
				   (last_read.flags & TRACE_READ_SLEPT) != 0, last_read.wait_ns);
	else if ((event = reserve_event(sizeof(*event))) != NULL)
	{
		*event = last_read;
		submit_event(event);
	}
	last_read.type = 0;
}

/* The call that this process is in; a read call may just have begun. */
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
	tell_last_read();
	note_arguments(number, &arguments);
	current_call.reads = reads;
	current_call.begin_ns = 0;
	current_call.sleeps = 0;
	return call;
}

/* The call that this process is in, as far as it counts. */
static __always_inline enum call
present_call(void)
{
	if (calls_by_pages)
		return call_in_registers();
	return current_call.pid == 0 ? CALL_NONE : current_call.call;
}

/* The present read call has to wait, if it does not do so already. */
static __always_inline void
note_wait(void)
{
	if (current_call.begin_ns == 0)
		current_call.begin_ns = bpf_ktime_get_ns();
}

/* The number of the file of an inode, 0 if it cannot be told. */
static __always_inline __u32
file_of_inode(const struct inode *inode)
{
	struct trace_file_key key;
	struct known_file *known;
	__u32		file;

	make_key(&key, inode, true);
	known = &known_files[key.inode & (KNOWN_FILES - 1)];
	if (known->file != 0 && known->key.inode == key.inode &&
		known->key.generation == key.generation && known->key.device == key.device)
		return known->file;
	file = counts_only ? count_file(inode, true) : number_file(&key, inode);
	/* Before that, others may be at work, too. */
	if (startup_tgid != 0)
	{
		known->key = key;
		known->file = file;
	}
	return file;
}

/* Begin to tell of the present call; false if nothing can be told. */
static __always_inline bool
begin_last_read(const struct inode *inode)
{
	__u64		size = inode->i_size;
	__u32		file = file_of_inode(inode);

	if (file == 0 || size <= current_call.offset)
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
	if (!counts_only)
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
	/* To look at the clock for each block would cost more than that is worth. */
	if (current_call.begin_ns != 0)
	{
		last_read.at_ns = bpf_ktime_get_ns();
		last_read.wait_ns = last_read.at_ns - current_call.begin_ns;
	}
	return 0;
}

/* This process goes to sleep: in a read call, because something is not there. */
static __always_inline int
goes_to_sleep(void)
{
	if (!is_startup(bpf_get_current_pid_tgid() >> 32) || call_in_registers() != CALL_READ)
		return 0;
	note_wait();
	current_call.sleeps = 1;
	return 0;
}

#endif							/* REDOAHEAD_BPF_GETS_H */
