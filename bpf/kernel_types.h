/*
 * kernel_types.h
 *		Kernel types whose form depends on the kernel version, in all their forms.
 *
 * A name that ends in ___ and a word is the kernel's type without them
 * (CO-RE): libbpf matches it with whatever the running kernel has, and
 * bpf_core_field_exists() is true for the form that it has.
 */
#ifndef REDOAHEAD_BPF_KERNEL_TYPES_H
#define REDOAHEAD_BPF_KERNEL_TYPES_H

#pragma clang attribute push (__attribute__((preserve_access_index)), apply_to = record)

/* 5.16 and later: what the page cache consists of. */
struct folio___ra
{
	struct address_space *mapping;
	unsigned long index;
};

/*
 * 6.6 and later: the low byte is the order of a large folio.  6.1 to 6.5 have this field, too,
 * without that.
 */
struct folio___flags_1
{
	unsigned long _flags_1;
};

/* 6.1 to 6.5. */
struct folio___order
{
	unsigned char _folio_order;
};

/* 5.15. */
struct page___ra
{
	struct address_space *mapping;
	unsigned long index;
};

/* To 5.15 of the head page's successor, to 6.0 of a folio's second page. */
struct page___order
{
	unsigned char compound_order;
};

/* Whether a page is the first of several; the number of the bit depends. */
enum pageflags___ra
{
	PG_head___ra = 6
};

/* 7.1 and later: where an inode's list of directory entries goes through. */
struct dentry___alias
{
	struct hlist_node d_alias;
};

/* Before: the union has a name. */
struct dentry___union
{
	union
	{
		struct hlist_node d_alias;
	}			d_u;
};

/* What a process has read and written so far; not in every configuration. */
struct task_io_accounting___ra
{
	u64			syscr;
};

struct task_struct___ra
{
	struct task_io_accounting___ra ioac;
};

struct gendisk___ra
{
	int			major;
	int			first_minor;
};

/* 5.16 and later. */
struct request_queue___ra
{
	struct gendisk___ra *disk;
};

struct request___ra
{
	struct request_queue___ra *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	u64			start_time_ns;
};

/* To 5.16. */
struct request___disk
{
	struct gendisk___ra *rq_disk;
};

#pragma clang attribute pop

#endif							/* REDOAHEAD_BPF_KERNEL_TYPES_H */
