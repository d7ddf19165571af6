#!/usr/bin/env bats
# Transparent huge pages, which the extension requests for shared buffers.

load lib/machine
load lib/servers
load lib/feeding
# bats file_tags=exclusive

modes=/sys/kernel/mm/transparent_hugepage/shmem_enabled

setup_file() {
	suite_begin
	make_crashed 1 16000
}

setup() {
	case_begin
	copy_crashed
}

teardown() {
	[ ! -s "$CASE/mode" ] || cat "$CASE/mode" >"$modes"
	case_end
}

# The kernel's mode until the end of the test.
set_mode() {				# MODE
	[ -s "$CASE/mode" ] || sed 's/.*\[\(.*\)\].*/\1/' "$modes" >"$CASE/mode"
	echo "$1" >"$modes"
}

# kB of huge pages in the memory that a process shares.
huge_kilobytes() {			# PID
	awk '/^ShmemPmdMapped:/ { sum += $2 } END { print sum + 0 }' "/proc/$1/smaps"
}

# Has a process mapped 16 MB at least of shared memory?
populated() { [ "$(awk '/^RssShmem:/ { print $2 }' "/proc/$1/status")" -gt 16384 ]; }

has_huge_pages() { [ "$(huge_kilobytes "$1")" -gt 0 ]; }

# Begin a recovery, as $worker's: the process that populates shared buffers.
begin_with_worker() {		# SETTING...
	settings "$DATA" shared_buffers=256MB "$@"
	start_daemon "$DATA"
	feed_from_archive "$DATA"
	start_server --no-wait "$PATCHED" "$DATA"
	# WAL that is fed is soon used up.
	wait_until "the daemon" grep -q 'recovery connected' "$DATA.daemon.log"
	feed_until "$DATA" 'redoahead: connected'
	is_there() { worker=$(child "$DATA" 'redoahead prefault'); }
	wait_until "the worker" is_there
}

# Lost otherwise: a fifth of the CPU time that a recovery with 4 GB of shared buffers takes.
@test "shared buffers are populated with huge pages where the kernel grants them on request" {
	[ "$(id -u)" -eq 0 ] || skip "must be root to change what the kernel grants"
	[ -w "$modes" ] || skip "the kernel has no transparent huge pages, or they cannot be changed here"
	[ "$(awk '/^HugePages_Free:/ { print $2 }' /proc/meminfo)" -eq 0 ] || skip "there are reserved huge pages"

	set_mode advise
	begin_with_worker
	wait_until "huge pages" has_huge_pages "$worker"
	feed_rest "$DATA"
	stop_server "$DATA"
	stop_daemon "$DATA"

	rm -rf "$DATA" "$DATA".*
	copy_crashed
	begin_with_worker huge_pages=off
	wait_until "populated memory" populated "$worker"
	[ "$(huge_kilobytes "$worker")" -eq 0 ]
	feed_rest "$DATA"
	stop_server "$DATA"
	stop_daemon "$DATA"
}
