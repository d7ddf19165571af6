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

setup_file() {
	REDOAHEAD_BENCH_DIR=$(mktemp -d "/var/tmp/redoahead-memory.XXXXXX")
	export REDOAHEAD_BENCH_DIR
	chmod 755 "$REDOAHEAD_BENCH_DIR"
}

teardown_file() {
	rm -rf --one-file-system "$REDOAHEAD_BENCH_DIR"
}

setup() {
	scripts=$BATS_TEST_DIRNAME/../../scripts
	work=$REDOAHEAD_BENCH_DIR
}

need_page_cache_events() {
	local missing
	missing=$(python <<<'
from bench import pagecache
print(pagecache.missing() or "")')
	[ -z "$missing" ] || skip "$missing"
}

# Lost otherwise: the measurement could say anything.
@test "what is told of pages is understood" {
	python <<-'EOF'
	from bench import host, pagecache

	def line(name, pid, page, more='', comm='redoahead', ino='1f'):
	    return f'  {comm}-{pid}   [001] ...1. 12.5: {name}: dev 254:0 ino {ino} pfn=0x1b ofs={page * 4096}{more}\n'

	def add(pid, page, order=0, **more):
	    return line('mm_filemap_add_to_page_cache', pid, page, f' order={order}', **more)

	def delete(page, order=0):
	    return line('mm_filemap_delete_from_page_cache', 9, page, f' order={order}', comm='kswapd0')

	def read(pid, first, last):
	    return (f'  postgres-{pid}   [000] ...1. 12.6: mm_filemap_get_pages: dev=254:0 ino=1f '
	            f'ofs={first * 4096}-{last * 4096 + 4095}\n')

	def judge(*lines):
	    found = pagecache.judge(lines, 100, 200, {0x1f})
	    return tuple(found[name] for name in ('added', 'used', 'evicted', 'missed',
	                                          'missed_after_eviction', 'left'))

	used = (add(100, 0), add(100, 1), read(200, 0, 1))
	assert judge(*used) == (2, 2, 0, 0, 0, 0)
	# used and then evicted is as it should be; used once is enough
	assert judge(*used, delete(0), delete(1), add(200, 0), read(200, 0, 0)) == (2, 2, 0, 1, 0, 0)
	# evicted before, and missed therefore
	assert judge(add(100, 0, 1), delete(0, 1), add(200, 0), add(200, 1),
	             read(200, 0, 1)) == (2, 0, 2, 2, 2, 0)
	# never wanted, or not yet
	assert judge(add(100, 5), *used) == (3, 2, 0, 0, 0, 1)
	# what happens later does not count
	assert judge(*used, add(100, 5), delete(5)) == (2, 2, 0, 0, 0, 0)
	# other files, other readers, writes, and kernel threads of the daemon
	assert judge(add(100, 0, ino='2f'), read(300, 0, 1), *used) == (2, 2, 0, 0, 0, 0)
	assert judge(add(200, 7), *used, read(200, 7, 7)) == (2, 2, 0, 0, 0, 0)
	assert judge(add(101, 0, comm='iou-wrk-100'), read(200, 0, 0)) == (1, 1, 0, 0, 0, 0)
	try:
	    judge(add(100, 0))
	    raise AssertionError('nothing was used')
	except host.HostError:
	    pass
	EOF
}

# Lost otherwise: a mistyped option would measure for minutes what was not meant.
@test "wrong usage exits with 2" {
	for arguments in --what "--size tiny" "--config fastest" "--rounds 0" "--rounds -1"; do
		# shellcheck disable=SC2086
		run "$scripts/bench-memory" $arguments
		[ "$status" -eq 2 ] || { echo "\"$arguments\" exits with $status"; return 1; }
	done
}

# Fail unless each run is what it should be, and in the median run few pages were evicted.
judge() {					# RESULT...
	python3 - "$@" <<-'EOF'
	import json, statistics, sys

	results = [json.load(open(path)) for path in sys.argv[1:]]
	for result in results:
	    run, limit = result['traced'], result['memory_limit_bytes']
	    pages = run['pages']
	    print(pages, run['memory'], run['daemon'])
	    assert run['connected'] and pages['events_lost'] == 0, run
	    # memory was short, and there was much to read
	    assert run['memory']['peak_bytes'] >= 0.9 * limit, run['memory']
	    assert run['blocks_read'] * 8192 >= 6 * limit, run
	    assert pages['added'] * 4096 >= 4 * limit, pages
	    # what redo had used was dropped, unless it was there before or dirty
	    assert run['daemon']['blocks_released'] >= 0.8 * run['daemon']['blocks_read'], run['daemon']
	    # the daemon limited itself, and the server, whose memory is in the same cgroup
	    assert run['readahead_limit'] * 8192 <= limit / 8, run['readahead_limit']
	    assert limit / 128 <= run['window_references'] * 256 <= limit / 32, run['window_references']
	for name, most in (('evicted', 0.02), ('missed_after_eviction', 0.005)):
	    shares = [result['traced']['pages'][name] / result['traced']['pages']['added']
	              for result in results]
	    print(name, shares)
	    assert statistics.median(shares) <= most, (name, shares)
	EOF
}

# Lost otherwise: on a small machine, each block would be read twice.  The kernel
# evicts more while the machine does other work, so the median of three counts.
@test "under memory pressure, what is read ahead is still there when redo comes to it" {
	need_memory_cgroup
	need_page_cache_events
	for run in 1 2 3; do
		"$scripts/bench-memory" --size small --rounds 0 --trace --json "$work/result$run.json" 3>&-
	done
	judge "$work"/result[123].json
}
