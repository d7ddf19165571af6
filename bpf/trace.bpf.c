// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0
/*
 * trace.bpf.c
 *		The probes of `redoahead trace` and of the daemon: where they are attached.
 *
 * What they do is in the *.bpf.h files; here each of them gets an entry for
 * every way to attach it.  User space loads one entry of each (attach.c).
 * They follow two processes, the startup process and the daemon, and change
 * nothing.
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
#include "count.bpf.h"
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

SEC("tp_btf/page_cache_sync_ra")
int
miss_btf(__u64 *ctx)
{
	return missed((const struct inode *) ctx[0], ctx[1], ctx[3]);
}

SEC("tp_btf/mm_filemap_get_pages")
int
get_pages_btf(__u64 *ctx)
{
	return got_pages((const struct address_space *) ctx[0]);
}

/* ---------- the scheduler ---------- */

/* A bit of a task's state, the same in all kernels. */
#define STATE_UNINTERRUPTIBLE	2

SEC("tp_btf/sched_switch")
int
switch_btf(__u64 *ctx)
{
	/*
	 * Preempted, it does not wait, nor stopped by a tracer at the beginning of a call.  Who
	 * waits for a page takes no signals but those that kill.
	 */
	return (bool) ctx[0] || ((__u32) ctx[3] & STATE_UNINTERRUPTIBLE) == 0 ? 0 : goes_to_sleep();
}

/* ---------- system calls ---------- */

static __always_inline bool
is_of_interest(__s64 number)
{
	return (kind_of_call(number) != CALL_NONE || number == nr_close) &&
		is_startup(bpf_get_current_pid_tgid() >> 32);
}

static __always_inline int
call_ends_with(__s64 result)
{
	return is_startup(bpf_get_current_pid_tgid() >> 32) ? call_ends(result) : 0;
}

SEC("tp_btf/sys_enter")
int
enter_btf(__u64 *ctx)
{
	struct arguments arguments;

	if (!is_of_interest((__s64) ctx[1]))
		return 0;
	read_arguments(&arguments, (struct pt_regs *) ctx[0]);
	return call_begins((__s64) ctx[1], &arguments);
}

SEC("tp_btf/sys_exit")
int
exit_btf(__u64 *ctx)
{
	return call_ends_with((__s64) ctx[1]);
}

SEC("raw_tp/sys_enter")
int
enter_raw(struct bpf_raw_tracepoint_args *ctx)
{
	struct pt_regs *regs = (struct pt_regs *) ctx->args[0];
	struct arguments arguments;

	if (!is_of_interest((__s64) ctx->args[1]))
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
	return call_ends_with((__s64) ctx->args[1]);
}

/* ---------- devices ---------- */

SEC("tp_btf/block_rq_complete")
int
complete_btf(__u64 *ctx)
{
	return request_completed((const void *) ctx[0], (__u32) ctx[2], false, true);
}

SEC("raw_tp/block_rq_complete")
int
complete_raw(struct bpf_raw_tracepoint_args *ctx)
{
	return request_completed((const void *) ctx->args[0], (__u32) ctx->args[2], false, false);
}

SEC("tp_btf/block_rq_issue")
int
issue_btf(__u64 *ctx)
{
	return request_issued((const void *) ctx[0], true);
}

SEC("tp_btf/block_rq_complete")
int
complete_issued_btf(__u64 *ctx)
{
	return request_completed((const void *) ctx[0], (__u32) ctx[2], true, true);
}
