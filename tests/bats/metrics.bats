#!/usr/bin/env bats
# Metrics for Prometheus: their format by promtool's judgement, the textfile, the alert
# rules, and the dashboard.  Status documents come from lib/metrics, not from a daemon.
# bats file_tags=fast

bats_require_minimum_version 1.5.0
load lib/common

documents=$BATS_TEST_DIRNAME/lib/metrics

setup_file() {
	PROMTOOL=$("$BATS_TEST_DIRNAME/../../scripts/fetch-promtool" 2>"$BATS_FILE_TMPDIR/reason") || PROMTOOL=
	export PROMTOOL
}

setup() {
	top=$BATS_TEST_DIRNAME/../..
	monitoring=$top/scripts/monitoring
	status_metrics=$top/build/tests/tools/status_metrics
	work=$(mktemp -d "${TMPDIR:-/var/tmp}/redoahead-metrics.XXXXXX")
	prom=$work/redoahead.prom
	writers=()
}

teardown() {
	local pid
	for pid in ${writers[@]+"${writers[@]}"}; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	rm -rf "$work"
}

need_promtool() { [ -n "$PROMTOOL" ] || skip "no promtool: $(tail -n 1 "$BATS_FILE_TMPDIR/reason")"; }

# Run promtool, which must have nothing to complain about.
nothing() {					# COMMAND...
	run -0 "$@"
	[ -z "$output" ] || { echo "$output"; return 1; }
}

tool() { /usr/bin/python3 -B "$BATS_TEST_DIRNAME/lib/metrics.py" "$@"; }

# The metrics of a document, and their judgement.
metrics() {					# FILE OUTPUT
	"$status_metrics" <"$1" >"$2"
	nothing "$PROMTOOL" check metrics <"$2"
}

# All metrics that exist: a standby's, of which nothing is unknown.
all_names() { sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' "$1" | sort -u; }

# Lost otherwise: metrics that Prometheus refuses, or reads as something else.
@test "promtool finds nothing wrong with the metrics of any phase" {
	need_promtool
	local phase count=0
	for phase in waiting crash archive streaming checkpoint down; do
		metrics "$documents/$phase.json" "$work/metrics"
		[ -s "$work/metrics" ]
		count=$((count + 1))
	done
	[ "$count" -eq "$(find "$documents" -name '*.json' | wc -l)" ]
	# Each phase that a server may be in has its document.
	grep -ho '"phase": "[^"]*"' "$documents"/*.json | sort -u | cut -d '"' -f 4 >"$work/documents"
	"$status_metrics" <"$documents/waiting.json" |
		sed -n 's/^redoahead_phase.*phase="\([^"]*\)".*/\1/p' | sort >"$work/phases"
	diff -u "$work/phases" "$work/documents"
}

# Lost otherwise: all metrics of a machine, because of the name of one directory.
@test "promtool finds nothing wrong with hostile names of data directories" {
	need_promtool
	local name samples long
	local -a names
	long=$(printf '/%.0s' {1..4000})
	samples=$("$status_metrics" <"$documents/streaming.json" | grep -vc '^#')
	names=($'/two\nlines' $'/a"} 1\nredoahead_up{data_directory="/b' '/back\slash\' '\n' '"' '/{}=,#' $'/\xff\xfe'
		$'/\xc3\xa9\xe2\x82\xac' $'/\xc2\x9b31m\e[0m' $'/tab\tand\rreturn' $'/\x01\x7f' '/ # HELP redoahead_up' "$long" '')
	for name in "${names[@]}"; do
		tool document "$name" <"$documents/streaming.json" >"$work/document"
		metrics "$work/document" "$work/metrics"
		[ "$(grep -vc '^#' "$work/metrics")" -eq "$samples" ]
		nothing tool directory "$name" <"$work/metrics"
	done
}

# Lost otherwise: a collector that finds half a file reports nothing at all.
@test "the textfile is old or new and never partial, though two daemons write it all the time" {
	local document
	"$status_metrics" <"$documents/streaming.json" >"$work/one"
	"$status_metrics" <"$documents/crash.json" >"$work/other"
	"$status_metrics" "$prom" <"$documents/streaming.json"
	for document in streaming crash; do
		"$status_metrics" "$prom" 1000000000 <"$documents/$document.json" 3>&- &
		writers+=($!)
	done
	timeout "$patience" /usr/bin/python3 -B "$BATS_TEST_DIRNAME/lib/metrics.py" watch "$prom" "$work/one" "$work/other"
	# They are still at work, and have not failed.
	kill -0 "${writers[0]}"
	kill -0 "${writers[1]}"
	[ "$(stat -c %a "$prom")" = 644 ]
}

# Lost otherwise: the collector's view of the file, where its directory is not as it should be.
@test "a textfile that cannot be written stays as it was, and nothing is left beside it" {
	need_namespace -m
	unshare -m bash -s "$status_metrics" "$documents" "$work" <<'EOF'
set -eu
status_metrics=$1 documents=$2 work=$3
fails() {					# PATTERN
	if "$status_metrics" "$work/disk/redoahead.prom" <"$documents/streaming.json" 2>"$work/error"; then exit 1; fi
	grep -q "$1" "$work/error" || { cat "$work/error"; exit 1; }
}
fails 'No such file or directory'
mkdir "$work/disk"
mount -t tmpfs -o size=64k tmpfs "$work/disk"
"$status_metrics" "$work/disk/redoahead.prom" <"$documents/crash.json"
"$status_metrics" <"$documents/crash.json" >"$work/old"
dd if=/dev/zero of="$work/disk/full" bs=4k count=100 status=none 2>/dev/null || true
fails 'No space left on device'
cmp "$work/disk/redoahead.prom" "$work/old"
[ "$(ls "$work/disk" | wc -l)" -eq 2 ]
rm "$work/disk/full"
mount -o remount,ro "$work/disk"
fails 'Read-only file system'
cmp "$work/disk/redoahead.prom" "$work/old"
mount -o remount,rw "$work/disk"
"$status_metrics" "$work/disk/redoahead.prom" <"$documents/streaming.json"
no_change() { cmp "$work/disk/redoahead.prom" "$work/old"; }
if no_change >/dev/null; then exit 1; fi
# A link is replaced, and what it leads to is not touched.
echo mine >"$work/mine"
ln -sf "$work/mine" "$work/disk/redoahead.prom"
"$status_metrics" "$work/disk/redoahead.prom" <"$documents/crash.json"
[ ! -L "$work/disk/redoahead.prom" ]
[ "$(cat "$work/mine")" = mine ]
[ "$(ls "$work/disk" | wc -l)" -eq 1 ]
umount "$work/disk"
EOF
}

# Lost otherwise: alerts that never fire, or wake somebody for nothing.
@test "alert rules fire when they must and only then" {
	need_promtool
	local rule
	"$PROMTOOL" check rules "$monitoring/redoahead.rules.yml"
	"$PROMTOOL" test rules "$monitoring/redoahead.rules.test.yml"
	# Each alert has a test, and the documents explain it.
	grep -oP '(?<=alert: )\w+' "$monitoring/redoahead.rules.yml" | sort -u >"$work/alerts"
	grep -oP '(?<=alertname: )\w+' "$monitoring/redoahead.rules.test.yml" | sort -u | diff -u "$work/alerts" -
	grep -oP '^\| `\KRedoahead\w+' "$monitoring/README.md" | sort -u | diff -u "$work/alerts" -
}

# Lost otherwise: panels and alerts without data, after a metric was renamed.
@test "rules, their tests, dashboard and documents name metrics that exist" {
	"$status_metrics" <"$documents/streaming.json" >"$work/metrics"
	all_names "$work/metrics" >"$work/exist"
	[ "$(wc -l <"$work/exist")" -gt 60 ]
	grep -q '^redoahead_recovery_gap_bytes{.*} 65536$' "$work/metrics"
	local file
	for file in "$monitoring"/{redoahead.rules.yml,redoahead.rules.test.yml,redoahead-dashboard.json,README.md}; do
		tool names "$file" | sort -u >"$work/named"
		[ -s "$work/named" ]
		nothing comm -23 "$work/named" "$work/exist"
	done
}

# Lost otherwise: a dashboard that Grafana does not import, or shows wrong.
@test "the dashboard is complete, and its panels do not overlap" {
	nothing tool dashboard "$monitoring/redoahead-dashboard.json"
}

# Lost otherwise: queries that are wrong, or whose labels never match.
@test "each query of the dashboard finds something in a standby's metrics" {
	need_promtool
	"$status_metrics" <"$documents/streaming.json" >"$work/metrics"
	tool test "$monitoring/redoahead-dashboard.json" "$work/metrics" >"$work/test.yml"
	[ "$(grep -o '"expr"' "$work/test.yml" | wc -l)" -gt 30 ]
	"$PROMTOOL" test rules "$work/test.yml"
}
