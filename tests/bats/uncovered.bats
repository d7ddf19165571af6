#!/usr/bin/env bats
# What redo reads and redoahead does not fetch: scripts/uncovered-reads on a
# small scale.  One traced recovery, of which each test checks one property.

bats_require_minimum_version 1.5.0
# bats file_tags=exclusive

setup_file() {
	export top=$BATS_TEST_DIRNAME/../..
	export report=$BATS_FILE_TMPDIR/uncovered.json
	REDOAHEAD_BENCH_DIR=$(mktemp -d /var/tmp/redoahead-uncovered.XXXXXX)
	export REDOAHEAD_BENCH_DIR
	chmod 755 "$REDOAHEAD_BENCH_DIR"
	"$top/scripts/uncovered-reads" --scale 5 --transactions 4000 --json "$report"
}

teardown_file() {
	rm -rf "$REDOAHEAD_BENCH_DIR"
}

# Evaluate a condition on the report: `files` and `causes` are at hand.
holds() {					# PYTHON-EXPRESSION
	python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
files, causes = report["files"], [u["cause"] for u in report["uncovered"]]
sys.exit(None if eval(sys.argv[2]) else json.dumps(report, indent=1))' "$report" "$1"
}

@test "uncovered-reads rejects wrong usage" {
	run -2 "$top/scripts/uncovered-reads" --scale
	run -2 "$top/scripts/uncovered-reads" --scale 1x
	run -2 "$top/scripts/uncovered-reads" nonsense
}

@test "the WAL makes redo read every kind of file" {
	for kind in main fsm vm pg_xact pg_multixact/offsets pg_multixact/members pg_commit_ts; do
		holds "files['$kind']['reads'] > 0"
	done
}

@test "of each kind of file, redo finds blocks that were fetched" {
	for kind in main fsm vm pg_xact pg_multixact/offsets pg_multixact/members pg_commit_ts; do
		holds "files['$kind']['covered'] > 0"
	done
}

@test "redo reads nothing that the WAL names and the daemon did not get" {
	holds "'named by the WAL, not requested' not in causes"
	holds "'not named by the WAL, not requested' not in causes"
}

@test "nearly all reads of redo are covered" {
	holds "files['all']['covered'] >= 0.98 * files['all']['reads']"
}

@test "hardly a block is fetched in vain" {
	holds "files['all']['unneeded'] <= 0.02 * files['all']['fetched']"
	# The last page of an SLRU may have been created before the daemon was there.
	holds "all(f['unneeded'] <= 1 for kind, f in files.items() if kind.startswith('pg_'))"
}
