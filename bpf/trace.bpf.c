// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/*
 * trace.bpf.c
 *		The BPF programs of `redoahead trace`: where they are attached.
 *
 * What they do is in the *.bpf.h files.  There are two attach methods: tp_btf is
 * preferred, raw_tp is the fallback; user space loads the programs of one of them.
 * They follow the startup process and the daemon, and change nothing.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#ifndef NULL
#define NULL	((void *) 0)
#endif

#include "kernel_types.h"
#include "trace.h"
#include "state.bpf.h"
#include "record.bpf.h"
#include "calls.bpf.h"
#include "gets.bpf.h"
#include "pages.bpf.h"
#include "device.bpf.h"

char		LICENSE[] SEC("license") = "Dual BSD/GPL";

/* ---------- the page cache ---------- */

SEC("tp_btf/mm_filemap_add_to_page_cache")
int
insert_btf(__u64 *ctx)
{
	return inserted((const void *) ctx[0], true);
}

SEC("raw_tp/mm_filemap_add_to_page_cache")
int
insert_raw(struct bpf_raw_tracepoint_args *ctx)
{
	return inserted((const void *) ctx->args[0], false);
}

SEC("tp_btf/mm_filemap_delete_from_page_cache")
int
delete_btf(__u64 *ctx)
{
	return deleted((const void *) ctx[0], true);
}

SEC("raw_tp/mm_filemap_delete_from_page_cache")
int
delete_raw(struct bpf_raw_tracepoint_args *ctx)
{
	return deleted((const void *) ctx->args[0], false);
}

SEC("tp_btf/mm_filemap_get_pages")
int
get_pages_btf(__u64 *ctx)
{
	return got_pages((const struct address_space *) ctx[0]);
}

/* ---------- the scheduler ---------- */

/* A bit of a task's state. */
#define STATE_UNINTERRUPTIBLE	2

SEC("tp_btf/sched_switch")
int
switch_btf(__u64 *ctx)
{
	/* A process that waits for a page sleeps uninterruptibly; a preempted one does not wait. */
	return (bool) ctx[0] || ((__u32) ctx[3] & STATE_UNINTERRUPTIBLE) == 0 ? 0 : goes_to_sleep();
}

/* ---------- system calls ---------- */

SEC("raw_tp/sys_enter")
int
enter_raw(struct bpf_raw_tracepoint_args *ctx)
{
	struct pt_regs *regs = (struct pt_regs *) ctx->args[0];
	struct arguments arguments;

	if (kind_of_call((__s64) ctx->args[1]) == CALL_NONE ||
		!is_startup(bpf_get_current_pid_tgid() >> 32))
		return 0;
	arguments.fd = PT_REGS_PARM1_CORE_SYSCALL(regs);
	arguments.buffer = PT_REGS_PARM2_CORE_SYSCALL(regs);
	arguments.bytes = PT_REGS_PARM3_CORE_SYSCALL(regs);
	arguments.offset = PT_REGS_PARM4_CORE_SYSCALL(regs);
	return call_begins((__s64) ctx->args[1], &arguments);
}

SEC("raw_tp/sys_exit")
int
exit_raw(struct bpf_raw_tracepoint_args *ctx)
{
	return is_startup(bpf_get_current_pid_tgid() >> 32) ? call_ends((__s64) ctx->args[1]) : 0;
}

/* ---------- devices ---------- */

SEC("tp_btf/block_rq_complete")
int
complete_btf(__u64 *ctx)
{
	return request_completed((const void *) ctx[0], (__u32) ctx[2], true);
}

SEC("raw_tp/block_rq_complete")
int
complete_raw(struct bpf_raw_tracepoint_args *ctx)
{
	return request_completed((const void *) ctx->args[0], (__u32) ctx->args[2], false);
}
