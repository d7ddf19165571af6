#!/usr/bin/env bats
# The scripts for bpftrace, scripts/bt: each can be loaded, and counts what a
# process with known reads (tests/tools/known_reads.py) reads.

bats_require_minimum_version 1.5.0
# bats file_tags=exclusive

cold=40 warm=25 wal=7				# blocks

setup() {
	top=$(readlink -f "$BATS_TEST_DIRNAME/../..")
	work=$(mktemp -d /var/tmp/redoahead-bt.XXXXXX)
	reader=
}

teardown() {
	[ -z "$reader" ] || kill "$reader" 2>/dev/null || true
	rm -rf "$work"
}

need_bpftrace() {
	[ "$(id -u)" -eq 0 ] || skip "must be root to trace"
	command -v bpftrace >/dev/null || skip "bpftrace is not installed"
	[ -r /sys/kernel/btf/vmlinux ] || skip "the kernel has no BTF"
	with_tracefs true 2>/dev/null || skip "tracefs cannot be mounted in a namespace of its own"
	with_tracefs bpftrace -e 'tracepoint:sched:sched_switch { exit(); }' >"$work/first" 2>&1 ||
		skip "bpftrace does not work here: $(tail -n 1 "$work/first")"
}

need_block_device() {
	[ -e "/sys/dev/block/$(device)" ] || skip "$work is not on a block device"
}

device() {
	stat -c '%Hd:%Ld' "$work"
}

# Run a command where tracefs is mounted, without mounting it for anybody else.
with_tracefs() {
	# shellcheck disable=SC2016
	unshare --mount bash -c '[ -e /sys/kernel/tracing/events ] ||
		mount -t tracefs tracefs /sys/kernel/tracing || exit; exec "$@"' - "$@"
}

# Trace the reads by a script.  What it prints is in $work/out, the process in
# $pid, the inode of what it reads in $inode.
trace_known_reads() {				# SCRIPT [pid|ARGUMENT...]
	local script=$1
	shift
	mkfifo "$work/go"
	mkdir "$work/data"
	# Opened for reading and writing, the fifo blocks nobody.
	(exec -a 'postgres: startup recovering 000000010000000000000001' /usr/bin/python3 \
		"$top/tests/tools/known_reads.py" "$work/data" $cold $warm $wal) \
		0<>"$work/go" >"$work/ready" 3>&- &
	reader=$!
	until [ -s "$work/ready" ]; do
		kill -0 "$reader"
		sleep 0.02
	done
	read -r pid inode <"$work/ready"
	# Run by bpftrace when all probes are attached; it ends with this.
	cat >"$work/during" <<-EOF
		echo go >"$work/go"
		while [ -e "/proc/$pid/fd/0" ]; do sleep 0.02; done
	EOF
	with_tracefs bpftrace -B line -c "$BASH $work/during" "$top/scripts/bt/$script.bt" "${@/pid/$pid}" \
		>"$work/out" 2>"$work/err" 3>&- || { cat "$work/err"; return 1; }
	reader=
	cat "$work/err" "$work/out"
}

# The number of events in a histogram.
events() {							# NAME
	awk -v name="@us[$1]:" '
		index($0, "@") == 1 { inside = index($0, name) == 1; next }
		inside && /\|/ { sub(/^[^\])]*[\])] */, ""); sum += $1 }
		END { print sum + 0 }' "$work/out"
}

# Lost otherwise: a script without usage, or whose output nobody has checked.
@test "each script documents its usage, and has a sample of its output" {
	for script in "$top"/scripts/bt/*.bt; do
		grep -q '^ \* usage: bpftrace ' "$script"
		[ -x "$script" ]
		name=$(basename "$script" .bt)
		grep -qF "# ./$name.bt" "$top/scripts/bt/${name}_example.txt"
		grep -q '^Attaching' "$top/scripts/bt/${name}_example.txt"
	done
}

# Lost otherwise: a script that bpftrace refuses, or that needs a kprobe.
@test "each script is accepted, and attaches to tracepoints only" {
	need_bpftrace
	local dry=-d
	! bpftrace --help 2>&1 | grep -q -- --dry-run || dry=--dry-run
	for script in "$top"/scripts/bt/*.bt; do
		with_tracefs bpftrace "$dry" "$script" >"$work/out" 2>&1 || { tail -n 5 "$work/out"; false; }
		[ -z "$(grep -E '^(kprobe|kretprobe|kfunc|kretfunc|fentry|fexit|rawtracepoint):' "$script")" ]
	done
}

# Lost otherwise: waits of redo that are counted twice, not at all, or as something else.
@test "redo-waits.bt counts each read once, by what it cost" {
	need_bpftrace
	need_block_device
	trace_known_reads redo-waits pid
	[ "$(events missed)" -eq $cold ]
	[ "$(events found)" -eq $warm ]
	[ "$(events late)" -eq 0 ]
	[ "$(events wal)" -eq $wal ]
	grep -q "^@file_us\[data, relation\]: count $((cold + warm)), " "$work/out"
	grep -q "^@file_us\[pg_wal, segment\]: count $wal, " "$work/out"
}

# Lost otherwise: who is to blame for a read, and the startup process by its title.
@test "redo-misses.bt counts the pages of each file that redo had to read" {
	need_bpftrace
	need_block_device
	trace_known_reads redo-misses
	# A block has two pages, of 4 kB.
	[ "$(getconf PAGE_SIZE)" -eq 4096 ] || skip "pages are not of 4 kB"
	grep -q "^@pages\[redo read, $inode, data, relation\]: $((cold * 2))$" "$work/out"
	[ -z "$(grep -E "^@pages\[(daemon|redo advice), $inode," "$work/out")" ]
}

# Lost otherwise: reads of devices that nobody seems to have submitted.
@test "io-latency.bt counts what redo read from devices" {
	need_bpftrace
	need_block_device
	trace_known_reads io-latency pid
	kb=$(sed -n 's/^@kb\[redo\]: //p' "$work/out")
	# With what the file system has to read to find it.
	[ "$kb" -ge $(((cold + wal) * 8)) ]
	[ "$kb" -le $(((cold + wal) * 8 + 1024)) ]
}
