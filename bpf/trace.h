/*
 * trace.h
 *		What the BPF programs report to user space.
 *
 * Included by trace.bpf.c and by userspace/probe: constants and fixed-width
 * structs only.  Fixed-width types come from the includer: vmlinux.h on one
 * side, linux/types.h on the other.
 */
#ifndef REDOAHEAD_BPF_TRACE_H
#define REDOAHEAD_BPF_TRACE_H

/* What an event is; its first byte. */
enum trace_event_type
{
	TRACE_EVENT_FILE = 1,		/* struct trace_file: a new file */
	TRACE_EVENT_READ = 2,		/* struct trace_read: the startup process has read */
	TRACE_EVENT_INSERT = 3,		/* struct trace_pages: added to the page cache ahead of redo */
	TRACE_EVENT_DELETE = 4		/* struct trace_pages: removed from the page cache */
};

/* Who added blocks to the page cache, or removed them; trace_pages.who. */
enum trace_who
{
	TRACE_WHO_DAEMON = 0,		/* programs of ours, their io_uring workers too */
	TRACE_WHO_SERVER = 1,		/* the startup process, by posix_fadvise */
	TRACE_WHO_READAHEAD = 2,	/* the kernel, beyond what the startup process reads */
	TRACE_WHO_STARTUP = 3,		/* deleted by the startup process: dropped or truncated */
	TRACE_WHO_OTHER = 4			/* deleted by another process: evicted */
};

/* trace_read.flags */
#define TRACE_READ_SLEPT	0x01	/* the process slept in the call */
#define TRACE_READ_RECORD	0x02	/* rmid and lsn are known */

/* Blocks of one read call that trace_read.missed has bits for. */
#define TRACE_READ_BLOCKS	64

/* Components of a path in trace_file, the file's name first. */
#define TRACE_NAMES			4
#define TRACE_NAME_BYTES	32

/* Slots of a histogram: slot n counts 2^n to 2^(n+1) - 1 ns, the last one more. */
#define TRACE_SLOTS			40

/* Most daemons that are followed at a time. */
#define TRACE_DAEMONS		8

/* Most disks that are followed. */
#define TRACE_DISKS			64

/* What identifies a file; inode numbers alone are reused. */
struct trace_file_key
{
	__u64		inode;			/* inode number */
	__u32		device;			/* the kernel's device number, 12 and 20 bits */
	__u32		generation;		/* of the inode number */
};

/* A file got its number. */
struct trace_file
{
	__u8		type;			/* TRACE_EVENT_FILE */
	__u8		named;			/* are there names? */
	__u16		reserved;		/* 0 */
	__u32		file;			/* its number in other events, from 1 on */
	struct trace_file_key key;	/* the file */
	char		names[TRACE_NAMES][TRACE_NAME_BYTES];	/* its name, its directory's, ... */
};

/* A read call of the startup process that returned data. */
struct trace_read
{
	__u8		type;			/* TRACE_EVENT_READ */
	__u8		flags;			/* TRACE_READ_* */
	__u8		rmid;			/* resource manager of the record being redone */
	__u8		reserved;		/* 0 */
	__u32		file;			/* number of the file */
	__u32		block;			/* first block in the file */
	__u32		bytes;			/* that the call returned */
	__u32		pid;			/* of the process */
	__u32		reserved2;		/* 0 */
	__u64		missed;			/* bit n: block + n was not in the page cache */
	__u64		at_ns;			/* CLOCK_MONOTONIC at the end of the call, ns; 0: not known */
	__u64		wait_ns;		/* how long the call took, ns; 0: not measured */
	__u64		lsn;			/* start of the record being redone */
};

/* Blocks that were added to the page cache or removed from it. */
struct trace_pages
{
	__u8		type;			/* TRACE_EVENT_INSERT or TRACE_EVENT_DELETE */
	__u8		who;			/* enum trace_who */
	__u16		blocks;			/* how many */
	__u32		file;			/* number of the file */
	__u32		block;			/* first block in the file */
	__u32		pid;			/* of the process that did it */
};

_Static_assert(sizeof(struct trace_file_key) == 16, "trace_file_key layout");
_Static_assert(sizeof(struct trace_file) == 152, "trace_file layout");
_Static_assert(sizeof(struct trace_read) == 56, "trace_read layout");
_Static_assert(sizeof(struct trace_pages) == 16, "trace_pages layout");

/* Requests of the devices since the programs were attached. */
struct trace_device
{
	__u64		requests;		/* completed */
	__u64		bytes;			/* transferred */
	__u64		busy_ns;		/* latency, summed, ns */
	__u64		slots[TRACE_SLOTS]; /* requests by latency */
};

#endif							/* REDOAHEAD_BPF_TRACE_H */
