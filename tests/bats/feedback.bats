#!/usr/bin/env bats
# `redoahead serve --feedback`: what the probes count agrees with what the server
# counts, nothing of them stays when there is nothing to look at, and the daemon
# serves without them wherever they cannot be.

. "$BATS_TEST_DIRNAME/lib/servers.bash"
# bats file_tags=exclusive

# Why probes cannot be used here; nothing if they can.
why_not() {
	[ "$(id -u)" -eq 0 ] || { echo 'needs root'; return; }
	DATA=$WORK/crashed
	start_privileged "$DATA"
	stop_daemon "$DATA"
	# Anything else than a refusal must be seen, as failed tests.
	sed -n 's/.*without probes: \(.*\); --feedback=off.*/\1/p' "$DATA.daemon.log" |
		grep -E 'no BTF|neither CAP_BPF|forbids programs|refuses BPF|PID namespace' || true
}

setup_file() {
	suite_begin
	make_crashed 4 8000
	WHY_NOT=$(why_not)
	export WHY_NOT
}
teardown_file() { suite_end; }
setup() { case_begin; }
teardown() { case_end; }

# A daemon that has the rights for probes: root's, which becomes the owner by itself.
start_privileged() {		# DATA [OPTION...]
	local -a as_user=(env --)
	start_daemon "$@"
}

# A Python expression over the statistics file, s, and the last recovery's counters, r.
stat() {					# DATA EXPRESSION
	python3 -c '
import json, sys
s = json.load(open(sys.argv[1]))
r = s["recovery"]
print(eval(sys.argv[2]))' "$1.stats" "$2"
}

holds() {					# DATA EXPRESSION
	[ "$(stat "$1" "$2")" = True ] ||
		{ echo "this does not hold: $2" >&2; cat "$1.stats" >&2; return 1; }
}

# Numbers of BPF objects of a kind, but for those that processes of others hold.
bpf_ids() {					# prog|link
	python3 -c '
import glob, json, re, subprocess, sys
kind, *ours = sys.argv[1:]

def all_there_are():
    return {each["id"] for each in json.loads(subprocess.check_output(["bpftool", "-j", kind, "show"]))}

found = all_there_are()
for path in glob.glob("/proc/[0-9]*/fdinfo/*"):
    if path.split("/")[2] not in ours:
        try:
            found -= set(map(int, re.findall(rf"^{kind}_id:\s*(\d+)$", open(path).read(), re.M)))
        except OSError:     # it has gone
            pass
print(*sorted(found & all_there_are()))' "$1" $(processes_in "$CASE")
}

same_bpf() {				# prog|link NUMBERS: no others than these
	[ "$(bpf_ids "$1")" = "$2" ]
}

helper() { pgrep -P "$DAEMON" -x redoahead-probe; }

# Hold a recovery of $DATA while it is attached to the daemon.
hold() {
	feed_from_archive "$DATA"
	start_server --no-wait "$PATCHED" "$DATA"
	wait_until 'the daemon' grep -q 'recovery attached' "$DATA.daemon.log"
}

# Lost otherwise: every number of the feedback.
@test "what the probes count of a recovery is what the server counts" {
	[ -z "$WHY_NOT" ] || skip "$WHY_NOT"
	copy_crashed
	evict "$DATA"
	links=$(bpf_ids link)
	start_privileged "$DATA" --feedback=on
	same_bpf link "$links"
	hold
	wait_until 'the probes' test "$(bpf_ids link)" != "$links"
	feed_rest "$DATA"
	books=$(sql "$DATA" -c "SELECT ((SELECT sum(read_bytes) / 8192 FROM pg_stat_io
		WHERE backend_type = 'startup' AND object = 'relation') +
		(SELECT sum(blks_read) FROM pg_stat_slru))::bigint")
	stop_server "$DATA"
	wait_until 'the end of the probes' same_bpf link "$links"
	holds "$DATA" 's["feedback"] == "probes"'
	holds "$DATA" 'r["redo_blocks_timely"] > 0 and r["cache_blocks_used"] > 0'
	# Those that redo read while the probes were not attached yet: few, on any machine.
	holds "$DATA" "0 <= $books - r['redo_blocks_timely'] - r['redo_blocks_late'] - r['redo_blocks_missed'] <= $books * 0.02"
	holds "$DATA" 'sum(r["redo_blocks_missed_by_cause"].values()) == r["redo_blocks_missed"]'
	holds "$DATA" 'r["cache_blocks_used"] <= r["cache_blocks_prefetched"] <= r["blocks_read"]'
	[ "$(grep -c 'redo read [0-9]* blocks: ' "$DATA.daemon.log")" -eq 1 ]
	stop_daemon "$DATA"
}

# Lost otherwise: a trace that takes the helper for a daemon, or a daemon that forbids traces.
@test "a trace beside it sees the same, and follows the daemon alone" {
	[ -z "$WHY_NOT" ] || skip "$WHY_NOT"
	copy_crashed
	evict "$DATA"
	start_privileged "$DATA" --feedback=on
	"$WORK/redoahead" trace -D "$DATA" --json >"$DATA.trace" 2>"$DATA.trace.log" </dev/null 3>&- &
	trace=$!
	wait_until 'the trace to be ready' grep -q 'waiting for' "$DATA.trace.log"
	hold
	wait_until 'the trace' grep -q 'tracing the' "$DATA.trace.log"
	feed_rest "$DATA"
	wait $trace
	stop_server "$DATA"
	stop_daemon "$DATA"
	python3 - "$DATA" "$DAEMON" <<-'END'
		import json, sys
		told = json.loads(open(sys.argv[1] + '.trace').read().splitlines()[-1])
		counted = json.load(open(sys.argv[1] + '.stats'))['recovery']
		assert told['daemon_pids'] == [int(sys.argv[2])], told['daemon_pids']
		# But for those that redo read while the daemon's probes were not attached yet.
		few = 0.02 * told['blocks']['read']
		for name in 'timely', 'late', 'missed':
		    assert abs(told['blocks'][name] - counted[f'redo_blocks_{name}']) <= few, (told, counted)
	END
}

# Lost otherwise: probes that slow down a machine for ever.
@test "nothing of it stays when the daemon is killed in mid-recovery" {
	[ -z "$WHY_NOT" ] || skip "$WHY_NOT"
	copy_crashed
	programs=$(bpf_ids prog) links=$(bpf_ids link)
	start_privileged "$DATA" --feedback=on
	hold
	wait_until 'the probes' test "$(bpf_ids link)" != "$links"
	feed "$DATA"
	kill -KILL "$DAEMON"
	wait_until 'the end of the probes' same_bpf link "$links"
	wait_until 'the end of their programs' same_bpf prog "$programs"
	wait_until 'the end of all processes' has_left
	rm "$DATA/pg_stat_tmp/redoahead.sock"
	feed_rest "$DATA"
	stop_server "$DATA"
}

has_left() { ! processes_in "$CASE" | xargs -r ps -o args= -p | grep -q '[r]edoahead serve'; }

# Lost otherwise: recoveries that a helper's death would end.
@test "without its helper it serves by its own counters, and says so once" {
	[ -z "$WHY_NOT" ] || skip "$WHY_NOT"
	copy_crashed
	evict "$DATA"
	links=$(bpf_ids link)
	start_privileged "$DATA" --feedback=on
	kill -KILL "$(helper)"
	hold
	feed_rest "$DATA"
	stop_server "$DATA"
	holds "$DATA" 's["feedback"] == "own" and r["blocks_read"] > 0'
	same_bpf link "$links"
	[ "$(grep -c 'the probes cannot be used any more' "$DATA.daemon.log")" -eq 1 ]
	log_is "$DATA" "$connected"
	stop_daemon "$DATA"
}

# Lost otherwise: every daemon that is not started by root.
@test "without the capabilities it serves by its own counters, and says why once" {
	copy_crashed
	start_daemon "$DATA" --feedback=auto
	[ "$(id -u)" -ne 0 ] ||
		[ "$(grep -c 'without probes: .*neither CAP_BPF and CAP_PERFMON' "$DATA.daemon.log")" -eq 1 ] ||
		grep -q 'without probes: the kernel has no BTF' "$DATA.daemon.log"
	start_server "$PATCHED" "$DATA"
	wait_until 'the end of recovery' is_ready "$DATA"
	stop_server "$DATA"
	holds "$DATA" 's["feedback"] == "own" and r["redo_blocks_timely"] == 0 and r["blocks_read"] > 0'
	no grep -q 'redo read' "$DATA.daemon.log"
	stop_daemon "$DATA"
	run "${as_user[@]}" "$WORK/redoahead" serve -D "$DATA" --feedback=on
	[ "$status" -eq 1 ]
	[[ $output == *'--feedback=on is not possible: '* ]]
}

# Lost otherwise: a way to do without.
@test "it can be switched off, and loads nothing then" {
	[ "$(id -u)" -eq 0 ] || skip 'needs root'
	copy_crashed
	programs=$(bpf_ids prog)
	start_privileged "$DATA" --feedback=off
	same_bpf prog "$programs"
	no helper
	no grep -q probes "$DATA.daemon.log"
	stop_daemon "$DATA"
}

# Lost otherwise: the CPU time of redo that probes cost, for as long as a recovery takes.
@test "by default, the probes go before a long recovery is over" {
	[ -z "$WHY_NOT" ] || skip "$WHY_NOT"
	copy_crashed
	links=$(bpf_ids link)
	start_privileged "$DATA"
	hold
	wait_until 'the probes' test "$(bpf_ids link)" != "$links"
	wait_until 'the end of the probes' same_bpf link "$links"
	holds "$DATA" 's["connected"]'
	evict "$DATA"
	feed_rest "$DATA"
	stop_server "$DATA"
	holds "$DATA" 's["feedback"] == "probes" and r["blocks_read"] > r["redo_blocks_timely"]'
	stop_daemon "$DATA"
}

# Lost otherwise: what the daemon does with the feedback.  By its own counters it does it, too.
@test "limits that start small grow while redo waits, and never beyond their bounds" {
	local feedback
	copy_crashed
	for feedback in off auto; do
		rm -rf "$DATA"*
		copy_crashed
		start_privileged "$DATA" --feedback=$feedback --start-depth=4 --start-window=64 \
			--io-depth=32 --readahead-limit=1024 --timeline "$DATA.timeline"
		hold
		# Until it has seen redo wait: each segment is new to the page cache.
		until [ "$(stat "$DATA" 'any(c["reason"] == "late" for c in s["control"]["last_changes"])')" = True ]; do
			evict "$DATA"
			feed "$DATA"
		done
		holds "$DATA" 's["control"]["last_changes"][0]["from_blocks"] in (4, 64)'
		holds "$DATA" 's["control"]["io_depth"] <= 32 and s["control"]["readahead_limit"] <= 1024'
		feed_rest "$DATA"
		stop_server "$DATA"
		stop_daemon "$DATA"
		[ "$(awk -F '\t' 'NR > 1 && ($6 > 32 || $7 > 1024)' "$DATA.timeline")" = "" ]
	done
}
