#!/usr/bin/env bats
# scripts/trace-validate: redoahead trace agrees with each piece of evidence, and so
# they do with each other.

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
majority_agrees() {
	local right=0 wrong=0
	while [ $right -lt 2 ] && [ $wrong -lt 2 ]; do
		rm -f "$result"
		run "$top/scripts/trace-validate" --scale 5 --json "$result" 3>&-
		echo "$output"
		[ "$status" -le 1 ] || return 1
		if trace_agrees; then right=$((right + 1)); else wrong=$((wrong + 1)); fi
	done
	[ $right -eq 2 ]
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

# Lost otherwise: wrong reports of redoahead trace.
@test "redoahead trace agrees with the evidence" {
	need_evidence
	majority_agrees
	[ -z "$(grep "$REDOAHEAD_BENCH_DIR" /proc/self/mounts)" ]
	[ -z "$(losetup -n -O BACK-FILE | grep -F "$REDOAHEAD_BENCH_DIR")" ]
}
