#!/usr/bin/env bats
# scripts/bench-compactify: usage, what it makes of pg_waldump's output, and one
# small run.  That the page functions do what stock's do is shown by
# tests/unit/test_compactify.c, and that servers recover with them by
# correctness.bats.  Nothing here depends on what is faster.

bats_require_minimum_version 1.5.0

load lib/scripts

# Some pages of which one tuple has been removed.
make_pages() {
	python "$work/pages" <<-'EOF'
	import struct, sys
	items = [(8192 - 32 * (i + 1)) | 1 << 15 | 28 << 17 for i in range(200)]
	items[100] = 0
	page = struct.pack('<8xHHHHHHI', 0, 0, 824, 1792, 8192, 8196, 0) + struct.pack('<200I', *items)
	open(sys.argv[1], 'wb').write((page + bytes(8192 - len(page))) * 8)
	EOF
}

@test "wrong usage exits with 2" {
	run -2 "$scripts/bench-compactify" --what
	run -2 "$scripts/bench-compactify" --rounds 0
	run -2 "$scripts/compactify/build"
	run -2 "$BATS_TEST_DIRNAME/../unit/run-compactify"
}

# Lost otherwise: measurements on pages that redo never saw.
@test "the page before a prune record is the last image with its line pointers changed" {
	python "$work" <<-'EOF'
	import struct, sys
	from bench import redo_pages

	def page(items, upper):
	    return struct.pack('<8xHHHHHHI', 0, 0, 24 + 4 * len(items), upper, 8192, 8196, 0) + \
	        struct.pack(f'<{len(items)}I', *items) + bytes(8168 - 4 * len(items))

	def item(offset, flags, length):
	    return offset | flags << 15 | length << 17

	def line(lsn, what):
	    return (f'rmgr: Heap2       len (rec/tot):     59/   123, tx:        740, lsn: 0/{lsn:08X}, '
	            f'prev 0/00000001, desc: {what}, blkref #0: rel 1663/5/16384 blk 7 FPW for WAL '
	            'verification')

	items = [item(8160, 1, 28), item(8128, 1, 28), item(8096, 1, 28), item(8064, 1, 28)]
	images = {0x100: page(items, 8064), 0x200: page([item(3, 2, 0), 0, item(8160, 1, 28)], 8160)}
	for lsn, image in images.items():
	    with open(f'{sys.argv[1]}/00000001-00000000-{lsn:08X}.1663.5.16384.7_main', 'wb') as file:
	        file.write(image)
	listing = '\n'.join((
	    line(0x100, 'HOT_UPDATE old_xmax: 740, old_off: 1'),
	    line(0x200, 'PRUNE_ON_ACCESS snapshotConflictHorizon: 739, isCatalogRel: F, nplans: 0, '
	                'nredirected: 1, ndead: 0, nunused: 2, redirected: [1->3], unused: [2, 4]')))
	(before, after), = redo_pages.pages_of(listing, sys.argv[1], '1663/5/16384')
	assert redo_pages.line_pointers(before) == (item(3, 2, 0), 0, items[2], 0), before[:48]
	assert 8192 - redo_pages.space_of(before) == redo_pages.upper_of(after) == 8160
	assert redo_pages.upper_of(before) == 8064
	EOF
}

@test "a shape counts as slower only by more than 12 ns" {
	python_with bench-compactify <<-'EOF'
	found = {'redo_pages': {'stock': [1000, 1100, 900], 'c': [1, 1, 1], 'sse2': [250, 275, 300]},
	         'small': {'stock': [40, 41, 42], 'sse2': [50, 51, 52]}}
	ratios = tool['ratios'](found)
	assert ratios['redo_pages/sse2'] == 4, ratios
	assert ratios['worst_shape'] == 1 and ratios['worst_shape_is'] == 'small/sse2', ratios
	found['small']['sse2'] = [80, 82, 84]
	ratios = tool['ratios'](found)
	assert ratios['worst_shape'] == 0.5, ratios
	EOF
}

@test "one round on given pages, with results in JSON" {
	run -1 "$scripts/bench-compactify" --rounds 1 --pages "$work/missing"
	make_pages
	REDOAHEAD_BENCH_DIR=$work/bench "$scripts/bench-compactify" --rounds 1 \
		--pages "$work/pages" --json "$work/result.json"
	python "$work/result.json" <<-'EOF'
	import json, sys
	result = json.load(open(sys.argv[1]))
	assert result['medians']['redo_pages']['stock'] > 0
	assert result['ratios']['worst_shape'] > 0
	for name in set(result['medians']['redo_pages']) - {'stock'}:
	    assert f'redo_pages/{name}' in result['ratios'], result['ratios']
	for key in ('kernel', 'cpus', 'commit', 'redo_pages', 'runs'):
	    assert key in result, result.keys()
	EOF
}

@test "instructions are counted, the same each time" {
	command -v valgrind >/dev/null || skip "valgrind is missing; install valgrind"
	make_pages
	for turn in 1 2; do
		REDOAHEAD_BENCH_DIR=$work/bench "$scripts/bench-compactify" --rounds 1 --instructions \
			--pages "$work/pages" --json "$work/counted.$turn"
	done
	python "$work/counted.1" "$work/counted.2" <<-'EOF'
	import json, sys
	first, second = (json.load(open(path))['instructions'] for path in sys.argv[1:])
	assert first == second
	assert first['redo_pages']['sse2' if 'sse2' in first['redo_pages'] else 'neon'] * 2 \
	    < first['redo_pages']['stock'], first['redo_pages']
	EOF
}
