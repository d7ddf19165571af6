#!/usr/bin/env bats
# scripts/bench: usage, and each scenario that leaves the page cache alone, in small.
# The figures mean nothing here: they are too small, and other tests run beside it.

bats_require_minimum_version 1.5.0

load lib/machine
load lib/bench

# Lost otherwise: a mistyped option would measure for an hour what was not meant.
@test "wrong usage exits with 2" {
	for arguments in "" --what s6 "s2 --size tiny" "s2 --size 0" "s2 --rounds 0" "s2 --resume" \
		"s2 --plots" "s1 --device raid0" "prefetch --size 2" "compare one" "s2 --pages x"; do
		# shellcheck disable=SC2086
		run "$bench" $arguments
		[ "$status" -eq 2 ] || { echo "\"$arguments\" exits with $status"; return 1; }
	done
	run -0 "$bench" --help
	[[ $output == *"s2: prefetching during recovery"*"spindles/off"* ]]
	run -2 "$scripts/demo" --fast
	run -2 "$scripts/fpi/build"
	run -2 "$scripts/compactify/build"
	run -2 "$BATS_TEST_DIRNAME/../unit/run-page_transform"
	run -2 "$BATS_TEST_DIRNAME/../unit/run-compactify"
}

# Lost otherwise: any file of root, to who makes the directory first and puts links into it.
@test "a directory that another user made, can write to or can replace is refused, and left alone" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	local case=$BATS_TEST_TMPDIR/directories each reason
	mkdir -p "$case"/{theirs,open,above/own,private}
	chmod 755 "$case"
	chown nobody "$case"/{theirs,above}
	chmod 777 "$case/open"
	chmod 700 "$case/private"
	ln -s private "$case/link"
	find "$case" -printf '%p %M %u %l\n' >"$BATS_TEST_TMPDIR/before"
	while IFS='|' read -r each reason; do
		for command in "bench prefetch --size small" demo trace-validate; do
			# None of them could begin.
			# shellcheck disable=SC2086
			STOCK=$work/nothing REDOAHEAD_BENCH_DIR=$case/$each run -1 "$scripts"/$command
			[[ $output == *"$case/$each"*"$reason"*REDOAHEAD_BENCH_DIR* ]] ||
				{ echo "$command, $each: $output"; return 1; }
		done
	done <<-'EOS'
		theirs|it belongs to user nobody; name
		open|other users can write to it
		above/own|above, which it is in, belongs to user nobody
		link|it is a symbolic link
		private|chmod a+x
	EOS
	find "$case" -printf '%p %M %u %l\n' | diff "$BATS_TEST_TMPDIR/before" -
}

@test "what is missing or unknown is an error that names the remedy" {
	STOCK=$work/nothing run -1 "$bench" prefetch --size small
	[[ $output == *"STOCK=$work/nothing names no installation of PostgreSQL"* ]]
	run -1 "$bench" s2 --device /nowhere/at/all
	[[ $output == *"/nowhere/at/all is neither a directory nor one of ssd, raid0"* ]]
	run -1 "$bench" s4 --config nothing
	[[ $output == *"--config nothing is unknown to s4; known are: pg13, stock, patched, redoahead"* ]]
	run -1 "$bench" s2 --case 2009
	[[ $output == *"--case 2009 is unknown to s2; known are: 2008/lesslog"* ]]
	run -1 "$bench" fpi --size small --rounds 1 --case brin --config lz5
	[[ $output == *"there is no method lz5"* ]]
}

# Lost otherwise: figures of a decoder that stopped early.
@test "decode: all WAL, by our decoder and by pg_waldump" {
	measure decode
	look_at decode <<-'EOS'
	assert len(runs) == 4 and {run['config'] for run in runs} == {'redoahead', 'pg_waldump'}, runs
	for case in 'pgbench-off', 'pgbench-fpw':
	    ours, theirs = (medians[case][name] for name in ('redoahead', 'pg_waldump'))
	    assert ours['bytes'] == theirs['bytes'] > 10e6 and ours['records'] > 200000, (ours, theirs)
	    assert min(row['bytes_per_cpu_second'] for row in (ours, theirs)) > 1e7, (ours, theirs)
	EOS
	grep -F '| redoahead / pg_waldump ' "$results/decode.md"
	nothing_left
}

# Lost otherwise: an archive that is small because something is not in it.
@test "lesslog: archives with images and without" {
	measure lesslog --config on,off,kept
	look_at lesslog <<-'EOS'
	on, off, kept = (medians['archive'][name] for name in ('on', 'off', 'kept'))
	assert kept['images_removed'] > 1000 and 'images' not in on, (kept, on)
	size = {name: row['archived_bytes_per_transaction'] for name, row in medians['archive'].items()}
	assert 0 < size['kept'] < size['on'] / 2 and size['off'] > 0, size
	assert kept['wal_bytes_per_transaction'] > on['wal_bytes_per_transaction'] * 0.5, (kept, on)
	assert kept['lesslog_bytes_per_cpu_second'] > 0, kept
	EOS
	nothing_left
}

# Lost otherwise: tables with the numbers of another method, or of no image at all.
@test "s3 measures time, WAL and replay of each method" {
	measure s3 --config stock/off,stock/lz4,patched/lz4:transform,patched/zstd:1+transform
	look_at s3 <<-'EOS'
	assert len(runs) == 12 and header['cases']['indexes']['rows'] == 99999
	for case in 'sequential', 'shuffled':
	    table = medians[case]
	    sizes = [table[name]['wal_bytes'] for name in (
	        'stock/off', 'stock/lz4', 'patched/lz4:transform', 'patched/zstd:1+transform')]
	    assert sizes == sorted(sizes, reverse=True) and sizes[2] < sizes[1] / 2, sizes
	    images = [row['images'] for row in table.values()]     # with a few of catalogs
	    assert 270 < min(images) and max(images) < 310, images
	    assert all(row['ms'] > 0 and row['cpu_ms'] > 0 for row in table.values())
	# The server logs hundredths of a second, and the fastest method may take less.
	replays = [row['replay_cpu_ms'] for row in medians['replay'].values()]
	assert len(replays) == 4 and min(replays) >= 0 and sum(replays) > 0, replays
	EOS
	nothing_left
}

# Lost otherwise: ratios of recoveries of different WAL, or of VACUUMs of
# different tables.
@test "s4 measures recovery and VACUUM of each server" {
	measure s4
	look_at s4 <<-'EOS'
	redo, vacuum = of('redo'), of('vacuum')
	assert sorted(run['config'] for run in redo) == ['patched', 'pg13', 'redoahead', 'stock'], redo
	assert sorted(run['config'] for run in vacuum) == sorted(['patched', 'pg13', 'stock'] * 5)
	for run in redo:
	    assert run['connected'] == (run['config'] == 'redoahead'), run
	    assert run['cache'].startswith('warm') and run['blocks_read'] > 300, run
	    assert run['startup_cpu_seconds'] > 0 and run['replay_tx_per_minute'] > 0, run
	assert len({run['redo_done_lsn'] for run in redo}) == 1, redo
	for name in 'pages', 'tuples_removed', 'wal_bytes':
	    assert len({run[name] for run in vacuum}) == 1 and vacuum[0][name] > 300, vacuum
	assert all(run['buffers_read'] <= 16 and run['vacuum_cpu_seconds'] > 0 for run in vacuum)
	assert header['cases']['redo']['image']['primary']['transactions'] == 60000, header
	assert set(header['programs']) == {'stock', 'patched', 'pg13-compactify', 'redoahead', 'extension'}
	EOS
	grep -F '| *PostgreSQL 13 (2020)* ' "$results/s4.md"
	nothing_left
}

@test "s5 measures pgbench and VACUUM with and without clearing" {
	measure s5 --case pgbench,vacuum
	look_at s5 <<-'EOS'
	load, vacuum = of('pgbench'), of('vacuum')
	assert sorted(run['config'] for run in load) == ['off'] * 8 + ['on'] * 8, load
	assert sorted(run['config'] for run in vacuum) == ['off'] * 5 + ['on'] * 5, vacuum
	for name in 'pages', 'tuples_removed':
	    assert len({run[name] for run in vacuum}) == 1 and vacuum[0][name] > 300, vacuum
	# Four sessions use no more than four CPUs, and wait for nothing that takes long.
	assert all(0 < run['tps'] / 4 < run['transactions_per_cpu_second'] < run['tps'] * 20
	           for run in load), load
	EOS
	nothing_left
}

# Lost otherwise: a table for the disk that proves nothing, or file systems that
# stay mounted.
@test "s5 on btrfs: fewer bytes with clearing, and nothing stays, also when interrupted" {
	need_btrfs
	interrupted_when "grep -qF '$work/s5.loop/' /proc/self/mountinfo" s5 --size small --rounds 1 \
		--case zstd --output "$results"
	measure s5 --case zstd
	nothing_left
	look_at s5 <<-'EOS'
	off, on = (medians['zstd'][name] for name in ('off', 'on'))
	assert off['table_bytes'] == on['table_bytes'] > 10e6, (off, on)
	assert off['live_bytes'] == on['live_bytes'] < off['table_bytes'] / 4, (off, on)
	# Not a matter of speed: what is dead is half of what can be compressed.
	assert on['disk_bytes'] < off['disk_bytes'] / 2, (off, on)
	EOS
}

# Every method gives every page back: the program itself compares them first.
@test "fpi: all methods on pages of some kinds" {
	measure fpi --case btree_int,heap_wide,gin
	look_at fpi <<-'EOS'
	methods = {run['config'] for run in runs}
	assert {'pglz', 'lz4', 'lz4:transform', 'zstd:3', 'zstd:3,fresh', 'zstd:1,transform',
	        'zlib:6'} <= methods, methods
	assert len(runs) == 3 * len(methods) and 'libzstd' in header['libraries'], header
	size = {name: row['bytes'] for name, row in medians['btree_int'].items()}
	assert size['lz4:transform'] < size['lz4'] / 10 and size['zstd:3'] == size['zstd:3,fresh'], size
	EOS
	grep -F 'ratio of means (worst kind)' "$results/fpi.md"
}

# Lost otherwise: one of the servers did not use zstd, or not what is to be timed.
@test "fpi-servers: servers compress and redo the same images, and each call is timed" {
	measure fpi-servers
	look_at fpi-servers <<-'EOS'
	names = ['stock/zstd', 'patched/zstd', 'patched/zstd:1']
	for load in ('index', 'pgbench', 'copy', 'redo'):
	    stock, same, level_1 = (medians[load][name] for name in names)
	    assert stock['images'] >= 50, (load, stock)
	    assert min(row['ns'] for row in (stock, same, level_1)) > 0, load
	    for name in ('images', 'bytes'):
	        assert 0.9 < stock[name] / same[name] < 1.1, (load, name, stock, same)
	# There are fewer bytes at level 1, by more than two runs with the same level differ.
	built = medians['index']
	assert built['patched/zstd:1']['bytes'] < 0.998 * built['patched/zstd']['bytes'], built
	EOS
}

@test "compactify: time of all shapes, and instructions, the same each time" {
	command -v valgrind >/dev/null || skip "valgrind is missing; install valgrind"
	# Pages of which one tuple has been removed.
	/usr/bin/python3 - "$BATS_TEST_TMPDIR/pages" <<-'EOS'
	import struct, sys
	items = [(8192 - 32 * (i + 1)) | 1 << 15 | 28 << 17 for i in range(200)]
	items[100] = 0
	page = struct.pack('<8xHHHHHHI', 0, 0, 824, 1792, 8192, 8196, 0) + struct.pack('<200I', *items)
	open(sys.argv[1], 'wb').write((page + bytes(8192 - len(page))) * 8)
	EOS
	measure compactify --pages "$BATS_TEST_TMPDIR/pages"
	look_at compactify >"$BATS_TEST_TMPDIR/first" <<-'EOS'
	rows = medians['redo_pages']
	best = 'sse2' if 'sse2' in rows else 'neon'
	assert rows[best]['ns'] > 0 and rows[best]['instructions'] * 2 < rows['stock']['instructions'], rows
	assert header['cases']['time']['redo_pages']['from'].endswith('/pages'), header
	print(sorted((run['case'], run['config'], run['instructions']) for run in runs if 'instructions' in run))
	EOS
	grep -F 'times as fast as stock' "$results/compactify.md"
	measure compactify --pages "$BATS_TEST_TMPDIR/pages" --case instructions
	look_at compactify <<-'EOS' | diff "$BATS_TEST_TMPDIR/first" -
	print(sorted((run['case'], run['config'], run['instructions']) for run in runs))
	EOS
}
