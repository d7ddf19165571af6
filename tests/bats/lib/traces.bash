# For tests of `redoahead trace`: start and end traces, alone and of recoveries,
# and check what must hold of each report.

. "$BATS_TEST_DIRNAME/lib/servers.bash"
. "$BATS_TEST_DIRNAME/lib/feeding.bash"
. "$BATS_TEST_DIRNAME/lib/machine.bash"

# Why the kernel or the rights of this process do not allow traces; nothing if they do.
why_not() {
	[ "$(id -u)" -eq 0 ] || { echo 'needs root'; return; }
	timeout 20 "$REDOAHEAD" trace -D "$WORK/crashed" >/dev/null 2>"$WORK/trial" &
	local trial=$!
	until grep -q 'waiting for' "$WORK/trial" || is_gone $trial; do sleep 0.05; done
	kill -TERM $trial 2>/dev/null || true
	# Anything else than a refusal must fail the tests.
	wait $trial || sed -n 's/^redoahead: error: //p' "$WORK/trial" |
		grep -E 'no BTF|neither CAP_BPF|forbids programs|PID namespace|not permitted' | head -n 1
}

need_traces() { [ -z "$WHY_NOT" ] || skip "$WHY_NOT"; }

setup_file() {
	suite_begin
	make_crashed 4 32000
	WHY_NOT=$(why_not)
	export WHY_NOT
}
teardown_file() { suite_end; }
# A test without a trace has the tag untraced.
setup() {
	case_begin
	CRASHED=$WORK/crashed
	[[ " ${BATS_TEST_TAGS[*]-} " == *" untraced "* ]] || need_traces
}
MOUNTED=()					# directories, for the end of a test
teardown() {
	[ -z "${TRACE:-}" ] || kill -TERM "$TRACE" 2>/dev/null || true
	[ ${#MOUNTED[@]} -eq 0 ] || umount --lazy "${MOUNTED[@]}" || true
	case_end
}

# Start a trace, and wait until it is ready.  Its process id is in $TRACE, what
# it reports in DATA.trace, what it logs in DATA.trace.log.  What stands in
# $trace_wrapper is put before the command.
trace_wrapper=()
start_trace() {				# DATA [OPTION...]
	local data=$1
	shift
	rm -f "$data.trace.log"		# of a trace before, which was ready
	# To look up names writes hint bits.
	"${trace_wrapper[@]}" "$WORK/redoahead" trace -D "$data" --names=off "$@" \
		>"$data.trace" 2>"$data.trace.log" </dev/null 3>&- &
	TRACE=$!
	wait_until 'the trace to be ready' ready_or_gone "$data"
	grep -q 'waiting for' "$data.trace.log"
}

# No BPF program is loaded beyond those with these identifiers.
same_programs() {			# IDENTIFIER...
	bpftool -j prog show | /usr/bin/python3 -c '
import json, sys
sys.exit(any(str(each["id"]) not in sys.argv[1:] for each in json.load(sys.stdin)))' "$@"
}

programs() { bpftool -j prog show | /usr/bin/python3 -c '
import json, sys
print(*(each["id"] for each in json.load(sys.stdin)))'; }

ready_or_gone() { grep -q 'waiting for' "$1.trace.log" || is_gone "$TRACE"; }

end_trace() {				# DATA: it must end by itself, and have succeeded
	wait_until 'the end of the trace' is_gone "$TRACE" || { cat "$1.trace.log" >&2; return 1; }
	wait "$TRACE" || { echo "the trace ended with status $?" >&2; cat "$1.trace.log" >&2; return 1; }
}

# A Python expression over the last report, r, and all reports; it is printed.
reported() {				# DATA EXPRESSION
	/usr/bin/python3 -c '
import json, sys
reports = [json.loads(line) for line in open(sys.argv[1])]
r = reports[-1]
b = r["blocks"]
print(eval(sys.argv[2]))' "$1.trace" "$2"
}

holds() {					# DATA EXPRESSION
	[ "$(reported "$1" "$2")" = True ] ||
		{ echo "this does not hold: $2" >&2; head -c 4000 "$1.trace" >&2; return 1; }
}

has_reads() {				# DATA
	[ "$(reported "$1" 'any(x["blocks"]["read"] > 0 for x in reports)')" = True ]
}

# What must hold of every report of a recovery that was traced to its end.
adds_up() {					# DATA
	holds "$1" 'r["outcome"] == "completed" and r["report"] == "final"'
	holds "$1" 'b["timely"] + b["late"] + b["missed"] == b["read"] > 0'
	holds "$1" 'sum(b["missed_by"].values()) == b["missed"]'
	holds "$1" 'sum(b["timely_by"].values()) == b["timely"]'
	holds "$1" 'sum(b["late_by"].values()) == b["late"]'
	holds "$1" 'b["used"] + b["wasted"] == b["prefetched"] and b["pending"] == 0'
	holds "$1" 'b["evicted"] + b["dropped"] + b["unread"] == b["wasted"]'
	holds "$1" 'b["read"] == sum(x["read"] for x in r["relations"])'
	holds "$1" 'b["read"] == sum(x["read"] for x in r["resource_managers"])'
	holds "$1" 'b["read"] == sum(x["read"] for x in r["timeline"])'
	# By tp_btf, calls that do not wait are not timed.
	holds "$1" 'b["timely"] * (r["attach_method"] == "tp_btf") >= r["reads"] - sum(x[k] for x in r["histograms"]["redo_wait"] for k in ("timely", "late", "missed")) >= 0'
	holds "$1" 'abs(r["coverage"] - (b["timely"] + b["late"]) / b["read"]) < 1e-5'
	holds "$1" 'not any(r["lost"].values())'
}

# Start a server whose process is known to the trace before its startup process begins: its number
# is in postmaster.pid before it is the server, which takes its own number for a stale one.
start_awaited() {			# SERVER DATA
	(cd / && exec "${as_user[@]}" sh -c 'cd "$2" && echo $$ >postmaster.pid &&
		until grep -q "following all children of the server (PID $$)" "$2.trace.log"; do sleep 0.02; done
		exec "$1/bin/postgres" -D "$2" -c unix_socket_directories="$2"' - "$1" "$2") \
		>"$2.log" 2>&1 </dev/null 3>&- &
	disown
}

# Trace a recovery of a copy of $CRASHED in $DATA, from its start.
trace_recovery() {			# SERVER patched|stock|daemon|follow [OPTION...]
	local server=$1 kind=$2 stopper
	shift 2
	DATA=$CASE/data
	copy_cluster "$CRASHED" "$DATA"
	[ "$kind" = stock ] || [ "$kind" = follow ] || settings "$DATA" "${redoahead_settings[@]}"
	evict "$DATA"
	[ "$kind" != daemon ] || start_daemon "$DATA" --block-log "$DATA.blocks"
	[ "$kind" != follow ] || start_follow "$DATA"
	start_trace "$DATA" --json --verbose "$@"
	[ "$kind" != follow ] || begin_stopper "$DATA" "$DATA.log" 'redo starts at'
	start_awaited "$server" "$DATA"
	if [ "$kind" = follow ]; then
		# Redo may be over before follow has run.
		wait "$stopper"
		wait_until "the reads" reads_ahead "$DATA" 5000
		kill -CONT "$(startup_pid "$DATA")"
	fi
	wait_until "the end of recovery" is_ready "$DATA"
	end_trace "$DATA"
	holds "$DATA" 'r["from_start"]'
}

# How many blocks of a kind in gaps between others the daemon has read.
gap_blocks() {				# DATA relation|slru
	awk -v kind="$2" '$1 == kind && $5 == "gap" && !seen[$2, $3]++ { n++ } END { print n + 0 }' "$1.blocks"
}

# Trace a recovery of $DATA that waits until the trace has seen it.
trace_held() {				# OPTION...
	start_trace "$DATA" "$@"
	recover_held "$PATCHED"
	stop_server "$DATA"
}

# Recover $DATA, for which a trace waits, and hold that until the trace has seen it.
recover_held() {			# SERVER
	feed_from_archive "$DATA"
	start_server --no-wait "$1" "$DATA"
	wait_until 'the trace' grep -q 'tracing the startup process' "$DATA.trace.log"
	feed_rest "$DATA"
	end_trace "$DATA"
}

# Mount a file system of a new loop device for the server's user.
mount_disk() {				# DIRECTORY
	local image=$1.image
	truncate -s 256M "$image"
	mkfs.ext4 -q "$image"
	mkdir "$1"
	mount -o loop "$image" "$1" || skip "no loop device can be had"
	MOUNTED+=("$1")
	chown "$redoahead_user" "$1"
}

# Bytes that were read from the disk of a directory.
disk_bytes() {				# DIRECTORY
	local device sectors
	device=$(findmnt -nro MAJ:MIN --target "$1")
	read -r _ _ sectors _ <"/sys/dev/block/$device/stat"
	echo $((sectors * 512))
}

# The blocks that the startup process read, by the trace and by the server's own statistics.
blocks_agree() {			# DATA
	local traced server
	traced=$(reported "$1" '"%d|%d" % tuple(
		sum(x["read"] for x in r["relations"] if (x["kind"] == "slru") == slru) for slru in (False, True))')
	server=$(sql "$1" -c "SELECT
		(SELECT sum(reads) FROM pg_stat_io WHERE backend_type = 'startup' AND object = 'relation'),
		(SELECT sum(blks_read) FROM pg_stat_slru WHERE name IN
			('transaction', 'multixact_offset', 'multixact_member', 'commit_timestamp'))")
	[ "$traced" = "$server" ] || { echo "blocks of relations|SLRUs: $traced, by the server's statistics $server" >&2; return 1; }
}

# The same for WAL, calls and bytes.  PostgreSQL 17 does not count them.
wal_agrees() {	# DATA
	local traced server
	[ "$pg_major" -ge 18 ] || return 0
	traced=$(reported "$1" '"%d|%d" % (r["wal"]["reads"], r["wal"]["bytes"])')
	server=$(sql "$1" -c "SELECT reads, read_bytes::bigint FROM pg_stat_io
		WHERE backend_type = 'startup' AND object = 'wal' AND reads > 0")
	[ "$traced" = "$server" ] || { echo "WAL: $traced, by the server's statistics $server" >&2; return 1; }
}
