#!/usr/bin/env bats
# How `redoahead follow` sees what redo has reached: each method, each fallback, and the
# rights that they need.

bats_require_minimum_version 1.5.0
load lib/servers
load lib/feeding
load lib/follow

setup_file() { follow_setup; }

began_at() {				# DATA LSN
	as_server_user "$WORK/redoahead" status -D "$1" --json >"$CASE/status" &&
		[ "$(json_member "$CASE/status" recovery redo_start_lsn)" = "$2" ]
}

# Lost otherwise: servers whose memory may not be read.
@test "the position of redo by the title of the process, while it recovers from an archive" {
	copy_cluster "$WORK/crashed" "$DATA"
	feed_from_archive "$DATA"
	evict "$DATA"
	start_follow "$DATA" --position title
	start_server_and_stop_redo "$STOCK" "$DATA" "$DATA.log" 'redo starts'
	wait_until "the first segment" grep -q 'following redo by title' "$DATA.follow.log"
	# Redo began where its segment has the first record, not where the segment begins.
	wait_until "where redo began" began_at "$DATA" "$(sed -n 's/.* found, from \(.*\) on$/\1/p' "$DATA.follow.log")"
	kill -CONT "$(startup_pid "$DATA")"
	feed "$DATA"
	feed "$DATA"
	feed_rest "$DATA"
	wait_until "the end for follow" has_followed "$DATA"
	stop_follow "$DATA"
	stop_server "$DATA"
	daemon_has_read "$DATA" 1000
	same_data "$WORK/recovered" "$DATA"
}

# Without a privilege to read the memory of processes, as where Yama restricts ptrace(2).
no_memory=("$redoahead_root/build/tests/tools/without_call" process_vm_readv EPERM)

# Feed segments until a recovery that was found is followed by BPF, from the first block on that
# redo reads; each one only when that has not happened for a while, in which follow may get no CPU.
feed_until_seen() {			# DATA [METHOD]
	wait_until "recovery" grep -q 'recovery of PostgreSQL' "$1.follow.log"
	until grep -q "following redo by ${2:-bpf}" "$1.follow.log"; do
		feed "$1" || return 1
		patience=2 wait_until "the line" grep -q "following redo by ${2:-bpf}" "$1.follow.log" 2>/dev/null || true
	done
}

# The BPF programs that a process has loaded, and the links by which it has attached some.
programs_of() { sed -n 's/^prog_id:[[:space:]]*//p' "/proc/$1"/fdinfo/* 2>/dev/null | sort -un; }
links_of() { grep -l '^link_id:' "/proc/$1"/fdinfo/* 2>/dev/null | wc -l; }
is_attached() { [ "$(links_of "$DAEMON")" -eq 1 ]; }

# Lost otherwise: servers whose memory may not be read.  What is attached costs all processes.
@test "the position of redo by BPF, by each attach method, which is attached during a recovery only" {
	need_bpf
	local method program
	follow_as=()			# root, who becomes the owner
	for method in "${methods[@]}"; do
		DATA=$CASE/$method
		copy_cluster "$WORK/crashed" "$DATA"
		feed_from_archive "$DATA"
		evict "$DATA"
		start_follow "$DATA" --position bpf --attach "$method" --verbose
		[ "$(ps -o user= -p "$DAEMON")" = "$redoahead_user" ]
		program=$(programs_of "$DAEMON")
		[ "$(wc -w <<<"$program")" -eq 1 ]
		[ "$(links_of "$DAEMON")" -eq 0 ]
		start_server --no-wait "$STOCK" "$DATA"
		# WAL that is fed is soon used up.
		wait_until "the link" is_attached
		feed_until_seen "$DATA"
		is_attached
		follow_logs "$DATA" "the position of redo is seen by $method"
		feed_rest "$DATA"
		wait_until "the end for follow" has_followed "$DATA"
		[ "$(links_of "$DAEMON")" -eq 0 ]
		stop_follow "$DATA"
		wait_until "the end of the program" no bpftool prog show id "$program"
		stop_server "$DATA"
		daemon_has_read "$DATA" 1000
		same_data "$WORK/recovered" "$DATA"
	done
}

# Lost otherwise: the second best position, where the best is not allowed.
@test "where memory may not be read, the position of redo by BPF, with two capabilities" {
	need_bpf
	copy_cluster "$WORK/crashed" "$DATA"
	feed_from_archive "$DATA"
	evict "$DATA"
	follow_as=("${no_memory[@]}" "${with_bpf[@]}")
	start_follow "$DATA"
	start_server --no-wait "$STOCK" "$DATA"
	wait_until "the link" is_attached
	feed_until_seen "$DATA"
	follow_logs "$DATA" 'cannot read the memory of the startup process'
	feed_rest "$DATA"
	wait_until "the end for follow" has_followed "$DATA"
	stop_follow "$DATA"
	stop_server "$DATA"
	daemon_has_read "$DATA" 1000
	same_data "$WORK/recovered" "$DATA"
}

# From now on the memory of other processes cannot be read, as when Yama begins to restrict ptrace(2).
refuse_memory() {
	strace -f -qq -o /dev/null -p "$DAEMON" -e trace=process_vm_readv -e inject=process_vm_readv:error=EPERM 3>&- &
	tracer=$!
	wait_until "the tracer" grep -q "^TracerPid:[[:space:]]$tracer$" "/proc/$DAEMON/status"
}

# Lost otherwise: prefetching for the rest of a recovery, by a setting that changes while it runs.
@test "where memory may not be read any more, the title; and BPF, where that is allowed" {
	need_attach
	local method allowed=title
	[ -n "$(why_no_bpf)" ] || allowed="title bpf"
	for method in $allowed; do
		DATA=$CASE/$method
		copy_cluster "$WORK/crashed" "$DATA"
		feed_from_archive "$DATA"
		[ $method = title ] || follow_as=("${with_bpf[@]}")
		start_follow "$DATA"
		start_server --no-wait "$STOCK" "$DATA"
		feed_until_seen "$DATA" memory
		refuse_memory
		feed_until_seen "$DATA" $method
		feed_rest "$DATA"
		wait_until "the end for follow" has_followed "$DATA"
		kill -TERM "$tracer"
		wait "$tracer" || true
		stop_follow "$DATA"
		stop_server "$DATA"
		# Reported once.
		[ "$(grep -c 'cannot read the memory of the startup process: .* and restart it$' "$DATA.follow.log")" -eq 1 ]
		same_data "$WORK/recovered" "$DATA"
	done
}

# Lost otherwise: the exact position, for weeks, where the device was busy when a standby started.
@test "where the server's program cannot be read in time, that is tried again" {
	copy_cluster "$WORK/crashed" "$DATA"
	feed_from_archive "$DATA"
	start_follow "$DATA" --position memory
	finder=$(pgrep -P "$DAEMON")
	kill -STOP "$finder"
	start_server --no-wait "$STOCK" "$DATA"
	feed "$DATA"
	wait_until "the refusal" follow_logs "$DATA" 'cannot find error_context_stack in the startup process: .* timed out; trying again in 10 s'
	wait_until "the next try" pgrep -P "$DAEMON"
	feed_until_seen "$DATA" memory
	feed_rest "$DATA"
	wait_until "the end for follow" has_followed "$DATA"
	stop_follow "$DATA"
	stop_server "$DATA"
}

# Lost otherwise: containers, whose processes have other numbers in the kernel.
@test "the position of redo by BPF in a PID namespace" {
	need_bpf
	need_namespace --pid --fork --mount-proc
	local namespace init starter
	unshare --pid --fork --mount-proc sleep 600 3>&- &
	namespace=$!
	wait_until "the namespace" pgrep -P "$namespace" -x sleep
	init=$(pgrep -P "$namespace" -x sleep)
	follow_as=(nsenter --target "$init" --pid --mount --root --)
	as_user=("${follow_as[@]}" "${as_user[@]}")
	copy_cluster "$WORK/crashed" "$DATA"
	feed_from_archive "$DATA"
	start_follow "$DATA" --position bpf
	start_server "$STOCK" "$DATA" &
	starter=$!
	# nsenter's child is in the namespace.
	DAEMON=$(pgrep -P "$DAEMON") wait_until "the link" is_attached
	feed_until_seen "$DATA"
	feed_all "$DATA"
	wait "$starter"
	wait_until "the end for follow" has_followed "$DATA"
	# stop_server would wait for the end of the process that has the postmaster's number here.
	as_server_user "$PATCHED/bin/pg_ctl" -D "$DATA" -w -t "$long_patience" stop >/dev/null
	kill -KILL "$init"
	wait "$namespace" "$DAEMON" || true
	same_data "$WORK/recovered" "$DATA"
}

# Lost otherwise: file systems that have a page cache of their own, where nothing would be seen.
@test "where reads do not pass the kernel's page cache, BPF follows system calls" {
	need_bpf
	need_namespace --mount
	mkdir "$DATA"
	follow_as=(unshare --mount sh -c 'mount -t tmpfs none "$0" && cp -a "$1/." "$0" && chmod 700 "$0" &&
		chown --reference="$1" "$0" && shift && exec "$@"' "$DATA" "$WORK/crashed")
	start_follow "$DATA" --position bpf --verbose
	stop_follow "$DATA"
	follow_logs "$DATA" 'the position of redo cannot be seen by tp_btf'
	no grep -q 'cannot be seen by raw_tp' "$DATA.follow.log"
	rmdir "$DATA"
}

@test "where neither memory nor BPF is allowed, the title; and without the title, no position" {
	local way
	follow_as=("${no_memory[@]}" "${as_user[@]}")
	for way in auto bpf; do
		DATA=$CASE/$way
		copy_cluster "$WORK/crashed" "$DATA"
		feed_from_archive "$DATA"
		start_follow "$DATA" --position "$way"
		start_server --no-wait "$STOCK" "$DATA"
		feed "$DATA"
		wait_until "the refusal" grep -q 'cannot follow redo by BPF: .*; start this program as root, or as the owner with CAP_BPF' "$DATA.follow.log"
		[ $way = bpf ] || wait_until "the title" grep -q 'following redo by title' "$DATA.follow.log"
		feed_rest "$DATA"
		wait_until "the end for follow" has_followed "$DATA"
		stop_follow "$DATA"
		stop_server "$DATA"
		same_data "$WORK/recovered" "$DATA"
	done
	# Forced: one line, no other method.
	[ "$(grep -c 'cannot' "$DATA.follow.log")" -eq 1 ]
	no grep -q 'following redo by' "$DATA.follow.log"
}
