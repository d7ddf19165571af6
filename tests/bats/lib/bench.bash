# What the tests of scripts/bench share.  To be loaded after lib/machine.

setup() {
	bench=$scripts/bench
	work=$REDOAHEAD_BENCH_DIR
	results=$BATS_TEST_TMPDIR/results
	log=$BATS_TEST_TMPDIR/log
	runner=
}

teardown() {
	[ -z "$runner" ] || kill -TERM "$runner" 2>/dev/null || true
}

# A small benchmark of one round into $results; its output is in $log.
measure() {					# SCENARIO OPTION...
	"$bench" "$@" --size small --rounds 1 --output "$results" >"$log" 2>&1 3>&- ||
		{ cat "$log"; return 1; }
}

# A Python program on standard input has the runs of a scenario, its header and
# its medians at hand.
look_at() {					# SCENARIO
	PYTHONPATH=$scripts/lib PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c '
import os, sys
from bench import report, results, scenarios
name, where = sys.argv[1:]
result = results.read(f"{where}/{name}.jsonl")
header, runs = result.header, result.runs
medians = report.medians(runs, scenarios.find(name).measures)
def of(case): return [run for run in runs if run["case"] == case]
exec(sys.stdin.read())' "$1" "$results"
}

# Show what is left of a run, and fail if anything but what is kept is.
nothing_left() {
	local left
	left=$({
		grep -F "$work" /proc/self/mountinfo
		grep -F "$work" /sys/block/loop*/loop/backing_file
		pgrep -af "$work" | grep -vF -e bats -e pgrep
		# A group of a program that still runs is somebody else's.
		find /sys/fs/cgroup -maxdepth 2 -name 'redoahead-bench-*' | while read -r group; do
			[ -e "/proc/${group##*-}" ] || [ ! -d "$group" ] || echo "$group"
		done
		find "$work" -mindepth 1 -maxdepth 1 ! -name images ! -name '*.lock' ! -name 'fpi-pages-*'
		find /dev/shm -maxdepth 1 -name 'redoahead-bench*' -user "$(id -un)"
	} 2>/dev/null) || true
	[ -z "$left" ] || { echo "left behind: $left"; return 1; }
}

# Start a benchmark, and interrupt it once a command succeeds.
interrupted_when() {		# CONDITION SCENARIO OPTION...
	local condition=$1 status=0
	shift
	"$bench" "$@" >"$log" 2>&1 3>&- &
	runner=$!
	while kill -0 "$runner" 2>/dev/null && ! eval "$condition"; do
		sleep 0.1
	done
	kill -INT "$runner" || true
	wait "$runner" || status=$?
	runner=
	cat "$log"
	[ "$status" -ne 0 ] || skip "it was over before it could be interrupted"
	[ "$status" -eq 130 ]
	nothing_left
}
