#!/usr/bin/env bats
# Memory pressure: server and daemon in a memory cgroup that holds a small part of
# what redo touches.  What is read ahead must still be there when redo comes to
# it: at most 2 % of it may be evicted before.
#
# The kernel reports (scripts/lib/bench/pagecache.py) each page that the daemon
# adds to the page cache, each page that is evicted, and each page that the
# startup process reads.

load lib/machine
# bats file_tags=exclusive

setup() {
	work=$REDOAHEAD_BENCH_DIR
}

# Fail unless each run is what it should be, and few pages were evicted in two of two runs,
# or of three.
judge() {					# RESULTS
	/usr/bin/python3 - "$1" <<-'EOF'
	import json, sys

	header, *runs = [json.loads(line) for line in open(sys.argv[1])]
	limit = header['cases']['memory']['memory_limit_bytes']
	assert len(runs) in (2, 3), runs
	for run in runs:
	    pages = run['pages']
	    print(pages, run['memory'], run['daemon'])
	    assert run['connected'] and pages['events_lost'] == 0, run
	    # there was memory pressure, and there was much to read
	    assert run['memory']['peak_bytes'] >= 0.9 * limit, run['memory']
	    assert run['blocks_read'] * 8192 >= 6 * limit, run
	    assert pages['added'] * 4096 >= 4 * limit, pages
	    # what redo had used was dropped, unless it was there before or dirty
	    assert run['daemon']['blocks_released'] >= 0.8 * run['daemon']['blocks_read'], run['daemon']
	    # the daemon limited itself, and the server, whose memory is in the same cgroup
	    assert run['readahead_limit'] * 8192 <= limit / 16, run['readahead_limit']
	    assert limit / 128 <= run['lookahead'] * 256 <= limit / 32, run['lookahead']
	for name, most in (('evicted', 0.02), ('missed_after_eviction', 0.005)):
	    shares = [run['pages'][name] / run['pages']['added'] for run in runs]
	    print(name, shares)
	    assert sorted(shares)[1] <= most, (name, shares)
	EOF
}

# Recover so many times, with those of before.
measure() {					# ROUNDS
	"$scripts/bench" memory --size small --rounds "$1" --resume --config pages --output "$work/results" 3>&-
}

# Lost otherwise: on a small machine, each block would be read twice.  The kernel
# evicts more while the machine does other work, so the median of three counts; it is within
# a bound if those of the first two are.
@test "under memory pressure, what is read ahead is still there when redo comes to it" {
	need_memory_cgroup
	need pagecache 'pagecache.missing()'
	measure 2
	judge "$work/results/memory.jsonl" || { measure 3; judge "$work/results/memory.jsonl"; }
}
