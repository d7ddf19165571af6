#!/usr/bin/env bats
# scripts/trace-validate: the evidence that it holds against redoahead trace agrees
# with itself; and so does the trace.

bats_require_minimum_version 1.5.0
load lib/machine
# bats file_tags=exclusive

setup() {
	top=$(readlink -f "$BATS_TEST_DIRNAME/../..")
	result=$REDOAHEAD_BENCH_DIR/$BATS_TEST_NUMBER.json
}

need_evidence() {
	need 'loop, pagecache, syscalls' "pagecache.missing((*pagecache.EVENTS, *pagecache.WAIT_EVENTS)) or
		loop.missing('$REDOAHEAD_BENCH_DIR') or syscalls.missing()"
}

# Lost otherwise: a mistyped option would measure for minutes what was not meant.
@test "wrong usage exits with 2" {
	for arguments in --what "--case fastest" "--scale 0" "--tolerance -1"; do
		# shellcheck disable=SC2086
		run -2 "$top/scripts/trace-validate" $arguments
	done
}

# Others use the machine, too, so the majority of three measurements counts; two that
# agree need no third.
majority_agrees() {			# JUDGE OPTION...
	local judge=$1 right=0 wrong=0
	shift
	while [ $right -lt 2 ] && [ $wrong -lt 2 ]; do
		run "$top/scripts/trace-validate" --scale 5 --json "$result" "$@" 3>&-
		echo "$output"
		[ "$status" -le 1 ] || return 1
		if "$judge"; then right=$((right + 1)); else wrong=$((wrong + 1)); fi
	done
	[ $right -eq 2 ]
}

evidence_agrees() {
	python "$result" <<-'EOF'
	import json, sys

	for case in json.load(open(sys.argv[1]))['cases']:
	    found, name = {}, None
	    for each in case['measures']:
	        name = each['measure'] or name
	        found.setdefault(name, {})[each['source']] = each['evidence']
	    print(case['case'], found)
	    read = found['blocks read by redo']['strace']
	    assert read > 1000, read
	    for name, sources in found.items():
	        # These have no whole that they are a small part of.
	        if name.startswith(('device', 'bytes')):
	            continue
	        assert max(sources.values()) - min(sources.values()) <= 0.02 * read, (name, sources)
	    missed = found['blocks missed']['page cache events']
	    if case['case'] == 'left-out':
	        assert missed >= 0.1 * read, missed
	    else:
	        assert missed <= 0.05 * read, missed
	EOF
}

trace_agrees() {
	python "$result" <<-'EOF'
	import json, sys

	for case in json.load(open(sys.argv[1]))['cases']:
	    for each in case['measures']:
	        # In a small cluster a few blocks are a percent, of the device's requests too many.
	        if not each['measure'].startswith('device'):
	            assert each['disagreement'] <= 0.02, (case['case'], each)
	EOF
}

# Lost otherwise: evidence that is wrong itself.
@test "strace, the kernel, the server and the daemon agree about a recovery" {
	need_evidence
	majority_agrees evidence_agrees --evidence-only --case redoahead,left-out
	[ -z "$(grep "$REDOAHEAD_BENCH_DIR" /proc/self/mounts)" ]
	[ -z "$(losetup -n -O BACK-FILE | grep -F "$REDOAHEAD_BENCH_DIR")" ]
}

# Lost otherwise: wrong reports of redoahead trace.
@test "redoahead trace agrees with the evidence" {
	need_evidence
	majority_agrees trace_agrees
}
