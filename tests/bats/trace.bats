#!/usr/bin/env bats
# `redoahead trace`: its report of a recovery agrees with the server's statistics,
# both attach methods report the same, it can start and stop at any time, and it
# reports what is missing where it cannot work.

bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/lib/traces.bash"
# bats file_tags=exclusive

# ---------- its reports are correct ----------

# Lost otherwise: every number of a trace of a recovery with the daemon.
@test "with the daemon, all blocks that redo read are reported, as in the server's statistics" {
	trace_recovery "$PATCHED" daemon
	adds_up "$DATA"
	blocks_agree "$DATA"
	wal_agrees "$DATA"
	# Up to 16 pages of WAL with a call (0024).
	holds "$DATA" 'r["wal"]["bytes"] > 8 * 8192 * r["wal"]["reads"]'
	holds "$DATA" "r['daemon_pids'] == [$DAEMON]"
	holds "$DATA" 'r["sources"][0]["source"] == "daemon" and r["sources"][0]["used"] > 0'
	holds "$DATA" 'r["references_followed"] and r["records_followed"]'
	holds "$DATA" '{"Heap", "Btree"} <= {x["name"] for x in r["resource_managers"]}'
	holds "$DATA" '{"relation", "slru"} == {x["kind"] for x in r["relations"]}'
	stop_server "$DATA"
	# It cannot have brought in more than it has read, nor read what was there.
	[ "$(reported "$DATA" 'r["sources"][0]["prefetched"]')" -le "$(all_blocks_read "$DATA")" ]
	stop_daemon "$DATA"
}

# Lost otherwise: traces of stock servers, whose own prefetching counts.
@test "on a stock server, its own prefetching is reported" {
	trace_recovery "$STOCK" stock
	adds_up "$DATA"
	blocks_agree "$DATA"
	wal_agrees "$DATA"
	holds "$DATA" 'r["daemon_pids"] == [] and not r["references_followed"]'
	holds "$DATA" 'b["timely_by"]["daemon"] == 0 and r["sources"][1]["used"] > 0'
	holds "$DATA" 'b["missed_by"]["no_daemon"] + b["missed_by"]["evicted"] == b["missed"]'
	stop_server "$DATA"
}

# Lost otherwise: whether `redoahead follow` is worth its CPU time.
@test "on a stock server that is followed, what was read for redo is reported" {
	load lib/follow
	CRASHED=$CASE/crashed
	copy_cluster "$WORK/crashed" "$CRASHED"
	settings "$CRASHED" recovery_prefetch=off
	trace_recovery "$STOCK" follow
	adds_up "$DATA"
	blocks_agree "$DATA"
	holds "$DATA" "r['daemon_pids'] == [$DAEMON]"
	holds "$DATA" 'r["sources"][0]["source"] == "daemon" and r["sources"][0]["used"] > 0'
	stop_server "$DATA"
	wait_until "the end for follow" has_followed "$DATA"
	stop_follow "$DATA"
	holds "$DATA" "r['coverage'] > 0.5 and b['unread'] <= 0.02 * b['prefetched'] + $(daemon_count "$DATA" gap_blocks_read)"
	[ "$(reported "$DATA" 'r["sources"][0]["prefetched"]')" -le "$(all_blocks_read "$DATA")" ]
}

# Lost otherwise: whether `redoahead restore` is worth its CPU time; its processes live shortly.
@test "on a stock server that restores with it, what was prefaulted is reported" {
	DATA=$CASE/data
	copy_cluster "$CRASHED" "$DATA"
	feed_from_archive "$DATA"
	feed_all "$DATA"
	# Redo waits for what runs in the background, and at first until nothing is cached.
	cat >"$CASE/restore" <<-END
		#!/bin/bash
		[[ \$1 == *.history ]] || until [ -e "$CASE/go" ]; do sleep 0.02; done
		"$WORK/redoahead" restore "cp $DATA.archive/%f %p" "\$@" || exit
		while pgrep -f "^$WORK/redoahead restore" >/dev/null; do sleep 0.02; done
	END
	chmod 755 "$CASE/restore"
	settings "$DATA" recovery_prefetch=off restore_command="$CASE/restore %f %p"
	evict "$DATA"
	start_trace "$DATA" --json --verbose
	start_awaited "$STOCK" "$DATA"
	wait_until "the end of what is in pg_wal" grep -q "consistent recovery state" "$DATA.log"
	wait_until "the request" pgrep -f "^/bin/bash $CASE/restore [0-9A-F]{24} "
	evict "$DATA"
	touch "$CASE/go"
	wait_until "the end of recovery" is_ready "$DATA"
	end_trace "$DATA"
	adds_up "$DATA"
	holds "$DATA" 'r["sources"][0]["source"] == "daemon" and r["sources"][0]["used"] > 1000'
	stop_server "$DATA"
}

# Lost otherwise: blocks that redo had to read itself.
@test "without any prefetching, nothing counts as prefetched" {
	CRASHED=$CASE/crashed
	copy_cluster "$WORK/crashed" "$CRASHED"
	settings "$CRASHED" recovery_prefetch=off
	trace_recovery "$STOCK" stock
	adds_up "$DATA"
	holds "$DATA" 'b["prefetched"] == 0 and r["accuracy"] is None and r["wasted"] is None'
	# Hardly any page was in the cache, but what readahead and writes brought there.
	holds "$DATA" 'b["missed"] > 0 and b["missed_by"]["no_daemon"] == b["missed"]'
	stop_server "$DATA"
}

# Lost otherwise: tables that were dropped, which have no path any more.
@test "a relation that is dropped while it is traced is reported with its path" {
	local path
	CRASHED=$CASE/crashed
	make_cluster "$CRASHED"
	start_server "$PATCHED" "$CRASHED" "${fast[@]}"
	sql "$CRASHED" -c 'CREATE TABLE gone AS SELECT g AS id, repeat($$x$$, 100) AS text
		FROM generate_series(1, 50000) g' -c checkpoint
	path=$(sql "$CRASHED" -c "SELECT pg_relation_filepath('gone')")
	sql "$CRASHED" -c 'UPDATE gone SET id = -id WHERE id % 10 = 0' -c 'DROP TABLE gone' \
		-c 'UPDATE pg_class SET reltuples = reltuples'
	crash_server "$CRASHED"
	trace_recovery "$STOCK" stock
	adds_up "$DATA"
	[ ! -e "$DATA/$path" ]
	holds "$DATA" "[x['dropped'] for x in r['relations'] if x['path'] == '$path'] == [True]"
	holds "$DATA" "any(not x['dropped'] for x in r['relations'])"
	stop_server "$DATA"
}

# Lost otherwise: what recovery waits for, where that is the disk of a tablespace or of the WAL.
@test "requests of the disks of tablespaces and of the WAL are counted" {
	[ -c /dev/loop-control ] || skip "there is no /dev/loop-control"
	command -v mkfs.ext4 >/dev/null || skip "mkfs.ext4 is not installed"
	DATA=$CASE/data
	mount_disk "$CASE/tablespaces"
	mount_disk "$CASE/wal"
	as_server_user mkdir "$CASE/tablespaces/one"
	make_cluster "$DATA"
	start_server "$STOCK" "$DATA" "${fast[@]}"
	sql "$DATA" -c "CREATE TABLESPACE one LOCATION '$CASE/tablespaces/one'" \
		-c "CREATE TABLE placed TABLESPACE one AS SELECT g AS id, repeat('x', 100) AS text FROM generate_series(1, 100000) g" \
		-c checkpoint -c 'UPDATE placed SET id = -id WHERE id % 10 = 0'
	crash_server "$DATA"
	as_server_user cp -a "$DATA/pg_wal" "$CASE/wal/"
	as_server_user rm -r "$DATA/pg_wal"
	as_server_user ln -s "$CASE/wal/pg_wal" "$DATA/pg_wal"
	evict "$CASE/tablespaces/one" "$CASE/wal/pg_wal"
	local tables=$(disk_bytes "$CASE/tablespaces") wal=$(disk_bytes "$CASE/wal") data=$(disk_bytes "$CASE")
	start_trace "$DATA" --json --verbose
	start_awaited "$STOCK" "$DATA"
	wait_until "the end of recovery" is_ready "$DATA"
	end_trace "$DATA"
	tables=$(($(disk_bytes "$CASE/tablespaces") - tables))
	wal=$(($(disk_bytes "$CASE/wal") - wal))
	[ "$tables" -gt 10000000 ] && [ "$wal" -gt 1000000 ] || { echo "$tables and $wal bytes were read"; return 1; }
	# All else is in the page cache, but other programs may read from that disk.
	data=$(($(disk_bytes "$CASE") - data))
	holds "$DATA" "0.95 * ($tables + $wal) < r['device']['read_bytes'] <= $tables + $wal + $data"
	stop_server "$DATA"
}

# Trace a recovery by one method, which must report all and be reported.
forced() {					# METHOD
	trace_recovery "$PATCHED" daemon --attach "$1"
	adds_up "$DATA"
	blocks_agree "$DATA"
	holds "$DATA" "r['attach_method'] == '$1'"
	holds "$DATA" 'r["wait_seconds"]["missed"] > 0 and r["device"]["reads"] > 0'
	wal_agrees "$DATA"
	stop_server "$DATA"
	stop_daemon "$DATA"
}

# Lost otherwise: kernels before 6.11, which do not report who gets pages.
@test "raw tracepoints see the same blocks" {
	forced raw_tp
	holds "$DATA" 'r["wait_seconds"]["timely"] > 0'
}

# Lost otherwise: file systems that have a page cache of their own, where nothing would be seen.
@test "where reads do not pass the kernel's page cache, system calls are followed" {
	local reason
	need_namespace --mount
	mkdir "$CASE/data"
	trace_wrapper=(unshare --mount sh -c 'mount -t tmpfs none "$0" && cp -a "$1/." "$0" && chmod 700 "$0" &&
		shift && exec "$@"' "$CASE/data" "$WORK/crashed")
	start_trace "$CASE/data" --verbose
	kill -TERM "$TRACE"
	end_trace "$CASE/data"
	grep -q 'cannot be attached by tp_btf: .*; trying raw_tp' "$CASE/data.trace.log"
	no start_trace "$CASE/data" --attach tp_btf
	# Before Linux 6.11, its tracepoint is not there.
	reason='No such process'
	if grep -qa btf_trace_mm_filemap_get_pages /sys/kernel/btf/vmlinux; then reason='Operation not supported'; fi
	grep -q "cannot be attached: $reason" "$CASE/data.trace.log"
	rmdir "$CASE/data"
}

# Lost otherwise: a report that can be read on a terminal.
@test "the report for people has the shares, the tables and the histograms, in 80 columns" {
	copy_crashed
	evict "$DATA"
	trace_held --output "$CASE/report"
	[ ! -s "$DATA.trace" ]
	grep -qE '^coverage +[0-9.]+ % +late +[0-9.]+ % +timeliness +[0-9.]+ %$' "$CASE/report"
	grep -qE '^accuracy +.* wasted ' "$CASE/report"
	for part in '^blocks that redo read' '^relation ' '^resource manager ' \
		'nsecs +: count +distribution' '^ +second +replay LSN' '^base/5/'; do
		grep -qE "$part" "$CASE/report" || { echo "no $part"; cat "$CASE/report"; return 1; }
	done
	# A path may be as long as it likes.
	sed "s|$DATA||" "$CASE/report" >"$CASE/without-path"
	no grep -E '.{81}' "$CASE/without-path"
}

# ---------- it can start and stop at any time ----------

# Lost otherwise: traces of a recovery that has been running for an hour.
@test "it starts and stops in mid-recovery, and recovery does not notice" {
	copy_crashed
	feed_from_archive "$DATA"
	# So that redo does not wait for WAL that only its look-ahead needs.
	settings "$DATA" redoahead.lookahead=64 redoahead.decode_buffer_size=512kB wal_decode_buffer_size=64kB
	start_daemon "$DATA"
	start_server --no-wait "$PATCHED" "$DATA"
	wait_until 'recovery' startup_pid "$DATA"
	feed "$DATA"
	before=$(programs)
	start_trace "$DATA" --json --interval 0.1
	wait_until 'the trace' grep -q "tracing the startup process (PID $(startup_pid "$DATA")) in the middle" \
		"$DATA.trace.log"
	feed "$DATA"
	feed "$DATA"
	wait_until 'a report of reads' has_reads "$DATA"
	kill -INT "$TRACE"
	end_trace "$DATA"
	holds "$DATA" 'r["outcome"] == "stopped" and not r["from_start"] and b["read"] > 0'
	holds "$DATA" "r['daemon_pids'] == [$DAEMON] and r['references_followed']"
	wait_until 'its programs to leave the kernel' same_programs $before
	# Once more, to the end.
	start_trace "$DATA" --json
	wait_until 'the trace' grep -q 'tracing the startup process' "$DATA.trace.log"
	feed_rest "$DATA"
	end_trace "$DATA"
	holds "$DATA" 'r["outcome"] == "completed" and b["pending"] == 0'
	log_is "$DATA" "$connected"
	stop_server "$DATA"
	stop_daemon "$DATA"
	# The result is that of a recovery without a trace.
	copy_cluster "$WORK/crashed" "$CASE/plain"
	recover_with "$STOCK" "$CASE/plain"
	same_data "$DATA" "$CASE/plain"
}

# Lost otherwise: reports while a long recovery runs.
@test "it reports at intervals, as often as requested" {
	copy_crashed
	feed_from_archive "$DATA"
	start_server --no-wait "$PATCHED" "$DATA"
	start_trace "$DATA" --json --interval 0.1 --count 3
	feed "$DATA"
	feed "$DATA"
	end_trace "$DATA"
	holds "$DATA" '[x["report"] for x in reports] == ["interval"] * 3 + ["final"]'
	holds "$DATA" '[x["outcome"] for x in reports] == ["running"] * 3 + ["stopped"]'
	holds "$DATA" 'sum(x["blocks"]["read"] for x in reports[:3]) <= b["read"]'
	feed_rest "$DATA"
	stop_server "$DATA"
}

# Lost otherwise: what a server's crash leaves of the trace.
@test "a startup process that dies ends the trace, with a report" {
	copy_crashed
	feed_from_archive "$DATA"
	start_server --no-wait "$PATCHED" "$DATA"
	wait_until 'recovery' startup_pid "$DATA"
	start_trace "$DATA" --json
	wait_until 'the trace' grep -q 'tracing the startup process' "$DATA.trace.log"
	feed "$DATA"
	kill -KILL "$(startup_pid "$DATA")"
	end_trace "$DATA"
	holds "$DATA" 'r["outcome"] == "interrupted"'
	grep -q 'ended before recovery was complete' "$DATA.trace.log"
	wait_until 'the end of the server' test ! -e "$DATA/postmaster.pid"
}

# Lost otherwise: a trace that waits for days, and a server that only starts.
@test "a server that starts without recovery is not traced, and one that then crashes is" {
	copy_cluster "$WORK/crashed" "$CASE/data"
	DATA=$CASE/data
	recover_with "$STOCK" "$DATA"
	start_trace "$DATA" --json
	rm "$DATA.log"
	start_server "$STOCK" "$DATA"
	sql "$DATA" -c checkpoint -c 'UPDATE pgbench_accounts SET abalance = 1' -c 'SELECT pg_switch_wal()'
	[ ! -s "$DATA.trace" ]
	no grep -q 'tracing the' "$DATA.trace.log"
	stop_server "$DATA" immediate
	rm "$DATA.log"
	recover_held "$STOCK"
	holds "$DATA" 'r["outcome"] == "completed"'
	stop_server "$DATA"
}

# Lost otherwise: counts of recovery that has nothing to do with them.
@test "what a start without recovery did is not counted in the recovery that follows" {
	copy_cluster "$WORK/crashed" "$CASE/data"
	DATA=$CASE/data
	settings "$DATA" recovery_prefetch=off
	start_server "$STOCK" "$DATA"
	sql "$DATA" -c 'CREATE TABLE idle AS SELECT repeat($$x$$, 1000) FROM generate_series(1, 30000)'
	path=$(sql "$DATA" -c "SELECT pg_relation_filepath('idle')")
	stop_server "$DATA"
	evict "$DATA"
	start_trace "$DATA" --json --verbose
	rm "$DATA.log"
	start_server --no-wait "$STOCK" "$DATA"
	# It follows the server, and has no time to stop that.
	wait_until 'the trace to follow the server' grep -q 'following all children' "$DATA.trace.log"
	kill -STOP "$TRACE"
	wait_until 'the server' is_ready "$DATA"
	sql "$DATA" -c 'SELECT count(*) FROM idle' -c 'UPDATE pgbench_accounts SET abalance = 1' \
		-c 'SELECT pg_switch_wal()' -c 'SELECT pg_switch_wal()'
	stop_server "$DATA" immediate
	kill -CONT "$TRACE"
	feed_from_archive "$DATA"
	start_awaited "$STOCK" "$DATA"
	wait_until 'the trace' grep -q 'tracing the startup process' "$DATA.trace.log"
	feed_rest "$DATA"
	end_trace "$DATA"
	adds_up "$DATA"
	# Recovery finds all that it needs in the page cache.
	wal_agrees "$DATA"
	holds "$DATA" "not [x for x in r['relations'] if x['path'] == '$path']"
	holds "$DATA" 'sum(x["prefetched"] for x in r["sources"]) < 1000'
	stop_server "$DATA"
}

# Lost otherwise: a way to end a trace that waits.
@test "a trace without a recovery ends quietly on a signal" {
	start_trace "$WORK/crashed"
	kill -TERM "$TRACE"
	end_trace "$WORK/crashed"
	[ ! -s "$WORK/crashed.trace" ]
	grep -q 'stopped before recovery began' "$WORK/crashed.trace.log"
}

# ---------- what it cannot do, it reports ----------

# Lost otherwise: numbers that are too small, and nobody knows.
@test "events that do not fit are counted and shown, and recovery is as ever" {
	copy_crashed
	evict "$DATA"
	trace_held --buffer 4096
	grep -qE '^LOST: [1-9][0-9]* events: the ring buffer was full' "$DATA.trace"
	copy_cluster "$WORK/crashed" "$CASE/plain"
	recover_with "$STOCK" "$CASE/plain"
	same_data "$DATA" "$CASE/plain"
}

# Lost otherwise: what to do on a kernel or in a container that does not allow it.
# bats test_tags=untraced
@test "it reports what is missing: BTF, capabilities" {
	run -2 "$REDOAHEAD" trace -D "$WORK/crashed" --attach kprobe
	[[ $output == *'--attach=kprobe: not one of tp_btf|raw_tp'* ]]
	[ "$(id -u)" -eq 0 ] || skip 'needs root'
	run -1 setpriv --bounding-set=-bpf,-perfmon,-sys_admin --inh-caps=-all "$REDOAHEAD" trace -D "$WORK/crashed"
	[[ $output == *'has neither CAP_BPF and CAP_PERFMON nor CAP_SYS_ADMIN'* ]] ||
		[[ $output == *'the kernel has no BTF'* ]]
	need_traces
	need_namespace --mount
	run -1 unshare --mount sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' - \
		"$REDOAHEAD" trace -D "$WORK/crashed"
	[[ $output == *'the kernel has no BTF (/sys/kernel/btf/vmlinux)'* ]]
}

# Lost otherwise: containers without a volume, where every read would look timely.
@test "a data directory on overlayfs is refused" {
	need_namespace --mount
	run unshare --mount sh -c 'cd "$1" && mkdir layers && mount -t tmpfs none layers &&
		mkdir layers/upper layers/work layers/data &&
		mount -t overlay none -o "lowerdir=$2,upperdir=layers/upper,workdir=layers/work" layers/data &&
		"$3" trace -D layers/data' - "$CASE" "$WORK/crashed" "$REDOAHEAD"
	[[ $output != *'unknown filesystem type'* ]] || skip 'this kernel has no overlayfs'
	[ "$status" -eq 1 ]
	[[ $output == *'is on overlayfs'*'put it on a volume'* ]]
}

# Lost otherwise: every event, without a word.
@test "in a PID namespace of its own it is refused, and the reason is named" {
	need_namespace --pid --fork --mount-proc
	run unshare --pid --fork --mount-proc "$REDOAHEAD" trace -D "$WORK/crashed"
	[ "$status, ${#lines[@]} line" = "1, 1 line" ]
	[[ $output == *'is in a PID namespace of its own'*'run it and the server on the host'* ]]
}

# Lost otherwise: mistakes in its options.
# bats test_tags=untraced
@test "wrong usage and failure have different exit statuses" {
	local arguments
	for arguments in '--interval 0' '--interval x' '--count 1' '--interval 1 --count 0' \
		'--buffer 5000' '--buffer 2048' '--attach x' '--names on' 'more'; do
		run "$REDOAHEAD" trace -D "$WORK/crashed" $arguments
		[ "$status" -eq 2 ] || { echo "$arguments: $output"; return 1; }
	done
	unset PGDATA
	run -2 "$REDOAHEAD" trace
	run -1 "$REDOAHEAD" trace -D "$WORK/missing"
	run -1 "$REDOAHEAD" trace -D "$WORK/crashed" --output "$WORK/missing/file"
	[[ $output == *"$WORK/missing/file"*'cannot be written'*--output* ]]
	run -0 "$REDOAHEAD" trace --help
	[[ $output == *'--attach=tp_btf|raw_tp'* ]]
}
