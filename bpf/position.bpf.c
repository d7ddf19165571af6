// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/*
 * position.bpf.c
 *		The BPF programs of `redoahead follow`: how far a startup process has replayed WAL.
 *
 * Whenever the process reads a file, which it does at least once for each 8 kB of
 * WAL, or 128 kB with the patch that reads WAL in pieces, the position of its WAL
 * reader is copied to a variable that user space maps.
 * The reader is found at the first read in a record's redo.  There are two attach
 * methods: tp_btf is preferred, raw_tp is the fallback; user space loads the program
 * of one of them.  They read memory of processes of the cluster's owner only, and
 * change nothing.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "reader.bpf.h"

char		LICENSE[] SEC("license") = "Dual BSD/GPL";

/* XLogReaderState, PostgreSQL 13 to 19, from its fourth word on. */
#define PG_READER_OFFSET	24

struct pg_reader
{
	__u64		system_identifier;	/* of the cluster */
	__u64		private_data;	/* a pointer */
	__u64		read_ptr;		/* start of the last record read */
	__u64		end_ptr;		/* its end */
};

/* Settings, fixed when the program is loaded. */
const volatile __u64 pidns_device = 0;	/* PID namespace of user space */
const volatile __u64 pidns_inode = 0;
const volatile __u32 owner_uid = 0; /* user that the server runs as */
const volatile __s64 nr_pread64 = -1;	/* system call numbers */
const volatile __s64 nr_preadv = -1;

/* Whom to follow. */
volatile __u32 startup_tgid = 0;	/* the startup process; 0: nobody */
volatile __u64 error_context_address = 0;	/* of error_context_stack in it */
volatile __u64 system_identifier = 0;	/* of its cluster */

/* What was found. */
__u64		reads = 0;			/* reads of the process, with raw_tp: calls */
__u64		known_reader = 0;	/* address of its WAL reader; 0: not known */
__u64		lsn = 0;			/* start of the last record that it has read; 0: not known */

/* Publish the position of the WAL reader; false if there is none at the address. */
static __always_inline bool
publish(void)
{
	struct pg_reader reader;

	if (bpf_probe_read_user(&reader, sizeof(reader),
							(void *) (known_reader + PG_READER_OFFSET)) != 0 ||
		reader.system_identifier != system_identifier || reader.end_ptr <= reader.read_ptr)
		return false;
	lsn = reader.read_ptr;
	return true;
}

/* This process reads. */
static __always_inline int
process_reads(void)
{
	struct bpf_pidns_info ids;

	if (bpf_get_ns_current_pid_tgid(pidns_device, pidns_inode, &ids, sizeof(ids)) != 0 ||
		ids.tgid != startup_tgid)
		return 0;
	reads++;
	if ((__u32) bpf_get_current_uid_gid() != owner_uid)
		return 0;
	if (known_reader == 0)
		known_reader = find_reader(error_context_address);
	if (known_reader != 0 && !publish())
		known_reader = 0;
	return 0;
}

SEC("tp_btf/mm_filemap_get_pages")
int
position_btf(void *ctx)
{
	(void) ctx;
	return process_reads();
}

SEC("raw_tp/sys_enter")
int
position_raw(__u64 *ctx)
{
	__s64		number = (__s64) ctx[1];

	return number == nr_pread64 || number == nr_preadv ? process_reads() : 0;
}
