/*
 * vmlinux.h
 *		The kernel types that the BPF programs use.
 *
 * Of each type only the fields that are used: libbpf finds out at load time
 * where they are in the running kernel (CO-RE), so the build does not depend
 * on the kernel of the build machine.  Types whose form differs between kernels
 * are in kernel_types.h.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

enum
{
	false = 0,
	true = 1
};

/* From linux/bpf.h: these are user space interface, and stay as they are. */
enum bpf_map_type
{
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_RINGBUF = 27
};

enum
{
	BPF_ANY = 0,
	BPF_NOEXIST = 1
};

enum
{
	BPF_F_NO_PREALLOC = 1U << 0
};

enum
{
	BPF_RB_NO_WAKEUP = 1ULL << 0
};

struct bpf_pidns_info
{
	__u32		pid;
	__u32		tgid;
};

#pragma clang attribute push (__attribute__((preserve_access_index)), apply_to = record)

struct bpf_raw_tracepoint_args
{
	__u64		args[0];
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs
{
	unsigned long r10;
	unsigned long ax;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
};
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs
{
	__u64		regs[31];
	__u64		sp;
	__u64		pc;
	__u64		pstate;
};

struct pt_regs
{
	__u64		regs[31];
	__u64		orig_x0;
	__s32		syscallno;
};
#else
#error "bpf/vmlinux.h lacks struct pt_regs of this architecture"
#endif

struct super_block
{
	unsigned int s_dev;
};

struct hlist_node
{
	struct hlist_node *next;
};

struct hlist_head
{
	struct hlist_node *first;
};

struct inode
{
	struct super_block *i_sb;
	unsigned long i_ino;
	__s64		i_size;
	struct hlist_head i_dentry;
	__u32		i_generation;
};

struct address_space
{
	struct inode *host;
};

struct qstr
{
	const unsigned char *name;
};

struct dentry
{
	struct dentry *d_parent;
	struct inode *d_inode;
	struct qstr d_name;
};

struct file
{
	struct inode *f_inode;
};

struct fdtable
{
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct
{
	struct fdtable *fdt;
};

struct path
{
	struct dentry *dentry;
};

struct fs_struct
{
	struct path pwd;
};

struct task_struct
{
	unsigned int flags;
	int			tgid;
	struct task_struct *real_parent;
	struct files_struct *files;
	unsigned long nvcsw;
	struct task_struct *group_leader;
	struct fs_struct *fs;
	char		comm[16];
	unsigned	in_iowait:1;
};

#pragma clang attribute pop

#endif							/* __VMLINUX_H__ */
