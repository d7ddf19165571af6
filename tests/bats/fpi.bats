#!/usr/bin/env bats
# scripts/bench-fpi: usage, what it makes of measurements, and one small run.
# That pages come back from the page transform is shown by
# tests/unit/test_page_transform.c.  Nothing here depends on what is faster.

bats_require_minimum_version 1.5.0

load lib/scripts

@test "wrong usage exits with 2" {
	run -2 "$scripts/bench-fpi" --what
	run -2 "$scripts/bench-fpi" --rounds 0
	run -2 "$scripts/bench-fpi" --scale 0
	run -2 "$scripts/bench-fpi" --kinds nothing
	run -2 "$scripts/bench-fpi" --servers --kinds gin
	run -2 "$scripts/fpi/build"
	run -2 "$BATS_TEST_DIRNAME/../unit/run-page_transform"
	run -2 "$BATS_TEST_DIRNAME/../fuzz/build-page"
}

@test "--help names every kind of page" {
	run -0 "$scripts/bench-fpi" --help
	for kind in heap_narrow heap_text btree_int btree_uuid gin brin hash; do
		[[ "$output" == *"$kind"* ]]
	done
}

@test "ratios are those of means, with the worst kind" {
	python_with bench-fpi <<-'EOF'
	def row(size, compress):
	    return {'bytes': [size] * 3, 'compress_ns': [compress, 1, 10 * compress], 'decompress_ns': [5] * 3}
	found = {'a': {'lz4': row(100, 20), 'lz4:transform': row(10, 10)},
	         'b': {'lz4': row(300, 20), 'lz4:transform': row(150, 26)}}
	middle = tool['medians'](found)
	assert middle['a']['lz4']['compress_ns'] == 20, middle
	assert middle['mean']['lz4:transform']['bytes'] == 80, middle
	ratios = tool['ratios'](middle)
	assert list(ratios) == ['lz4:transform/lz4'], ratios
	ratio = ratios['lz4:transform/lz4']
	assert ratio['bytes'] == 0.4 and ratio['compress_ns'] == 0.9 and ratio['decompress_ns'] == 1, ratio
	assert ratio['worst_bytes'] == {'kind': 'b', 'ratio': 0.5}, ratio
	assert ratio['worst_compress_ns'] == {'kind': 'b', 'ratio': 1.3}, ratio
	EOF
}

# Every method gives every page back: the program itself compares them first.
@test "one round over a few small relations, with results in JSON" {
	REDOAHEAD_BENCH_DIR=$work/bench run -0 "$scripts/bench-fpi" --rounds 1 --scale 0.02 \
		--json "$work/result.json"
	[[ "$output" == *"mean of all kinds"* ]]
	python3 - "$work/result.json" <<-'EOF'
	import json, sys
	result = json.load(open(sys.argv[1]))
	for key in ('kernel', 'cpus', 'commit', 'libraries', 'runs', 'ratios'):
	    assert key in result, result.keys()
	kinds = set(result['pages'])
	assert len(kinds) >= 8 and all(result['pages'].values()), result['pages']
	methods = {run['method'] for run in result['runs']}
	assert {'pglz', 'lz4', 'lz4:transform', 'zstd:3', 'zstd:3,fresh', 'zstd:1,transform',
	        'zlib:6'} <= methods, methods
	assert {(run['kind'], run['method']) for run in result['runs']} == \
	    {(kind, method) for kind in kinds for method in methods}
	medians = result['medians']
	assert medians['btree_int']['lz4:transform']['bytes'] < medians['btree_int']['lz4']['bytes'] / 10
	assert result['ratios']['zstd:3/zstd:3,fresh']['bytes'] == 1
	EOF
	run -1 --separate-stderr env REDOAHEAD_BENCH_DIR="$work/bench" "$scripts/bench-fpi" \
		--rounds 1 --scale 0.02 --methods lz5
	[[ "$stderr" == *"there is no method lz5"* ]]
}

# Lost otherwise: one of the servers did not use zstd, or not what is to be timed.
@test "servers compress and redo the same images, and each call is timed" {
	REDOAHEAD_BENCH_DIR=$work/bench run -0 "$scripts/bench-fpi" --servers --rounds 1 \
		--scale 0.02 --json "$work/result.json"
	[[ "$output" == *"zstd in servers"*"pgbench"*"redo"* ]]
	python "$work/result.json" <<-'EOF'
	import json, sys
	result = json.load(open(sys.argv[1]))
	names = ['stock zstd', 'patched zstd', 'patched zstd:1']
	found = [f"{run['server']} {run['compression']}" for run in result['runs']]
	assert found == names, result['runs']
	for load in ('index', 'pgbench', 'copy', 'redo'):
	    stock, same, level_1 = (result['medians'][load][name] for name in names)
	    assert stock['images'] >= 50, (load, stock)
	    assert min(row['ns'] for row in (stock, same, level_1)) > 0, load
	    for name in ('images', 'bytes'):
	        assert 0.9 < stock[name] / same[name] < 1.1, (load, name, stock, same)
	# There are fewer bytes at level 1, by more than two runs with the same level differ.
	built = result['medians']['index']
	assert built['patched zstd:1']['bytes'] < 0.998 * built['patched zstd']['bytes'], built
	EOF
}
