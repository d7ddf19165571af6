#!/usr/bin/env bats
# bats file_tags=exclusive
# scripts/bench: usage, each scenario in small, an array of modelled disks, and
# interrupted runs that go on.  The figures mean nothing here: they are too small.
# The demo's own run is `make demo`; arithmetic is tested by tests/python.

bats_require_minimum_version 1.5.0

load lib/machine

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
	PYTHONPATH=$scripts/lib PYTHONDONTWRITEBYTECODE=1 python3 -c '
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
			[ -e "/proc/${group##*-}" ] || echo "$group"
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
		for command in "$bench prefetch --size small" "$scripts/demo" "$scripts/trace-validate"; do
			# None of them could begin.
			# shellcheck disable=SC2086
			STOCK=$work/nothing REDOAHEAD_BENCH_DIR=$case/$each run -1 $command
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
	[[ $output == *"--case 2009 is unknown to s2; known are: 2008/off"* ]]
	run -1 "$bench" fpi --size small --rounds 1 --case brin --config lz5
	[[ $output == *"there is no method lz5"* ]]
}

# Lost otherwise: what a fault costs would be measured on runs without a fault.
@test "prefetch: the second run reuses the cluster of the first; daemons are killed and stopped" {
	measure prefetch --case pgbench-off --config redoahead,absent
	grep -q "filling a new cluster" "$log"
	measure prefetch --case pgbench-off --config redoahead,absent,default,killed,stopped --resume
	no_filling=$(grep -c "filling a new cluster" "$log" || true)
	[ "$no_filling" -eq 0 ]
	grep -q "prefetch.jsonl has 2 runs already" "$log"
	look_at prefetch <<-'EOS'
	assert sorted(run['config'] for run in runs) == ['absent', 'default', 'killed', 'redoahead', 'stopped']
	by = {run['config']: run for run in runs}
	# Clients of stock wait for the checkpoint.
	assert by['default']['checkpointed_seconds'] <= by['default']['ready_seconds'], by['default']
	assert [name for name in by if by[name]['connected']] == ['redoahead', 'killed', 'stopped'], by
	assert 'accidents' not in by['default'] and by['killed']['daemon'] is None
	assert by['killed']['accidents'][0]['signal'] == 'SIGKILL', by['killed']
	assert by['stopped']['accidents'][0]['signal'] == 'SIGSTOP', by['stopped']
	assert by['stopped']['daemon']['blocks_read'] > 0, by['stopped']
	for name in ('kernel', 'cpus', 'cpu_model', 'memory_bytes', 'huge_pages_bytes', 'device',
	             'filesystem', 'commit', 'date', 'postgresql', 'programs', 'cases'):
	    assert name in header, name
	assert header['cases']['pgbench-off']['settings']['default']['fsync'] == 'on', header
	for run in runs:
	    assert run['ready_seconds'] >= run['before_redo_seconds'] + run['redo_seconds'] > 0, run
	    assert run['after_redo_seconds'] >= 0 and run['checkpoint_buffers'] > 0, run
	    assert run['checkpointed_seconds'] > 0, run
	    assert run['other_cpu_seconds'] > 0, run
	EOS
	grep -F '| default / killed ' "$results/prefetch.md"
	run -0 "$bench" report "$results/prefetch.jsonl"
	[[ $output == *"| default / redoahead "* ]]
	run -0 "$bench" compare "$results/prefetch.jsonl" "$results/prefetch.jsonl"
	[[ $output == *"pgbench-off redoahead: redo s"*"1.000"* ]]
	run -1 "$bench" compare "$results/prefetch.jsonl" "$results/prefetch.md"
	[[ $output == *"is no result of a benchmark"* ]]
	nothing_left
}

# Lost otherwise: latency of queries that ran before or after, or beside a replay of something else.
@test "standby: queries beside replay from an archive and of a stream" {
	measure standby --case archive/select,paced/report --wal-rate 2000 --plots \
		--config default,redoahead:--readahead-limit=4096:redoahead.prefault=0
	look_at standby <<-'EOS'
	assert len(runs) == 4 and len({run['config'] for run in runs}) == 2, runs
	for run in runs:
	    assert run['connected'] == (run['config'] != 'default'), run
	    assert run['queries'] > 0 and run['tps'] > 0 and run['conflicts'] == 0, run
	    assert 0 < run['query_p50_seconds'] <= run['query_p99_seconds'] <= run['query_max_seconds']
	    assert 0 < run['longest_stall_seconds'] <= run['redo_seconds'], run
	    assert run['blocks_read'] > 5000 and run['lag_max_bytes'] > 0, run
	    assert abs(len(run['slices']) / 2 - run['redo_seconds'] + run['ready_seconds']) < 0.6, run
	    assert ('lag_max_seconds' in run) == (run['case'] == 'paced/report'), run
	    if run['connected']:
	        assert run['daemon']['blocks_read'] > 1000, run
	    if run['case'] == 'paced/report':
	        assert run['replay_bytes_per_second'] < 2.2e6, run
	EOS
	grep -F '| archive/select: redoahead:--readahead-limit=4096:redoahead.prefault=0 / default ' "$results/standby.md"
	[ -s "$results/standby-paced-report-standby.svg" ]
	measure standby --case streaming/select --config default,follow:--readahead-limit=4096
	look_at standby <<<'assert all(run["daemon"]["blocks_read"] > 1000 for run in runs if run["config"] != "default"), runs'
	grep -F '| streaming/select: follow:--readahead-limit=4096 / default ' "$results/standby.md"
	run -1 "$bench" standby --size small --case archive/select --config default:--io-depth=1
	[[ $output == *"--config default:--io-depth=1 is unknown to standby"* ]]
	nothing_left
}

# Lost otherwise: times of recoveries that ended early, or found their WAL in pg_wal.
@test "pitr: recovery from an archive, with and without restore and follow" {
	measure pitr --archive-latency 300 --config default,follow,follow-cp,redoahead,redoahead-restore
	look_at pitr <<-'EOS'
	by = {run['config']: run for run in runs}
	assert set(by) == {'default', 'follow', 'follow-cp', 'redoahead', 'redoahead-restore'}, runs
	assert len({run['redo_done_lsn'] for run in runs}) == 1, runs
	for name, run in by.items():
	    assert run['connected'] == name.startswith('redoahead'), run
	    assert run['blocks_read'] > 15000 and run['machine_cpu_seconds'] > run['startup_cpu_seconds'] > 0, run
	    if name != 'default':
	        assert run['daemon_blocks_read'] > 1000 and run['daemon_cpu_seconds'] > 0, run
	# Redo begins with the first segment, and waits for each other one if none is fetched ahead.
	case = header['cases']['archive']
	assert case['archive_latency_seconds'] == 0.3, case
	segments = case['image']['wal_bytes'] >> 24
	for name in 'default', 'follow-cp', 'redoahead':
	    assert by[name]['redo_seconds'] > 0.3 * segments and segments >= 3, (segments, by[name])
	assert case['settings']['default']['hot_standby'] == 'off', case
	EOS
	grep -F '| redoahead / redoahead-restore ' "$results/pitr.md"
	nothing_left
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

@test "trace: recoveries with and without redoahead trace" {
	[ "$(id -u)" -eq 0 ] || skip "must be root to trace"
	measure trace --case pgbench-off
	look_at trace <<-'EOS'
	assert sorted(run['config'] for run in runs) == ['redoahead', 'traced'], runs
	assert medians['pgbench-off']['traced']['trace_coverage'] > 0.5, medians
	assert 'trace_coverage' not in medians['pgbench-off']['redoahead'], medians
	EOS
}

@test "s1 measures transactions, WAL and replay, and goes on where it was interrupted" {
	measure s1 --case load --config on,lz4:transform
	measure s1 --config on,lz4:transform,off,stock,patched,patched/lz4:transform --resume
	grep -q 's1.jsonl has 2 runs already' "$log"
	look_at s1 <<-'EOS'
	rows = medians['load']
	assert set(rows) == {'on', 'lz4:transform', 'off'}, rows
	size = {name: row['wal_bytes_per_transaction'] for name, row in rows.items()}
	assert size['off'] < size['lz4:transform'] < size['on'], size
	for row in rows.values():
	    assert row['tps'] > 0 and row['replay_seconds'] > 0 and row['cpu_us_per_transaction'] > 0
	assert len(of('slices')) == 18 and len(of('load')) == 3, len(runs)
	assert report.ratio(runs, 'slices', 'patched/lz4:transform', 'stock', 'wal_bytes_per_transaction')[0] < 0.9
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
	python3 - "$BATS_TEST_TMPDIR/pages" <<-'EOS'
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

# Lost otherwise: everything that the benchmark is for.
@test "recoveries on an array: results, report and plots, and nothing stays" {
	need_disks
	/usr/bin/python3 -c 'import matplotlib' 2>/dev/null || skip "matplotlib is not installed"
	measure s2 --device raid0 --case spindles/off --config off,default,redoahead,follow --plots
	grep -E '(min|s) left' "$log"
	nothing_left
	look_at s2 <<-'EOS'
	assert header['device_name'] == 'raid0' and 'loop' in header['device'], header['device']
	assert [run['config'] for run in runs] == ['off', 'default', 'redoahead', 'follow']
	for run in runs:
	    for name in ('redo_seconds', 'ready_seconds', 'device_read_bytes', 'replay_tx_per_minute',
	                 'replay_to_primary', 'startup_cpu_seconds', 'wall_seconds', 'cache'):
	        assert run[name] is not None, name
	    assert run['blocks_read'] > 800, run        # all of the load is in the WAL
	    assert len(run['disk_mean_in_flight']) == 8 and all(run['disk_reads']), run
	    model = run['disk_model']
	    assert model['disks'] == 8 and model['phase'] == 'run' and len(model['disk']) == 8, model
	assert header['model_healthy'] in (True, False)
	assert runs[2]['connected'] and runs[2]['daemon_cpu_seconds'] is not None
	assert not runs[3]['connected'] and runs[3]['daemon_blocks_read'] > 400, runs[3]
	for name in 'bars', 'redo', 'device', 'daemon':
	    path = f'{where}/s2-spindles-off-{name}'
	    assert open(f'{path}.png', 'rb').read(8) == b'\x89PNG\r\n\x1a\n', name
	    assert open(f'{path}.svg').read().rstrip().endswith('</svg>'), name
	text = open(f'{where}/s2.md').read()
	assert 's2-spindles-off-bars.svg' in text and '| off / redoahead ' in text, text
	EOS
}

# Lost otherwise: an hour of measuring, or a machine full of leftovers.
@test "an interrupted run leaves nothing, and is resumed" {
	need_disks
	options=(--device raid0 --case spindles/off --config default,off --rounds 1 --output "$results")
	# in the middle of the second recovery
	interrupted_when "grep -q 'spindles/off off 1: redo' '$log'" s2 --size small "${options[@]}"
	look_at s2 <<<'assert [run["config"] for run in runs] == ["default"], runs'
	[ ! -e "$results/s2.md" ]
	run -1 "$bench" s2 "${options[@]}" --resume --size 0.05
	[[ $output == *"cannot resume"*"its size was small"* ]]
	run -0 "$bench" s2 "${options[@]}" --resume --size small
	look_at s2 <<<'assert [run["config"] for run in runs] == ["default", "off"], runs'
	nothing_left
}

# Lost otherwise: a case with little memory would measure one with much.
@test "server and daemon live in a memory cgroup, which goes with them" {
	need_memory_cgroup
	measure s2 --case 2008/off --config redoahead
	look_at s2 <<-'EOS'
	run, = runs
	memory = run['memory']
	assert memory['limit_bytes'] == 128 << 20, memory
	# shared_buffers and what was read into the page cache
	assert memory['peak_bytes'] is None or 30 << 20 < memory['peak_bytes'] <= 128 << 20, memory
	assert run['connected'] and run['coverage'] > 0, run
	EOS
	nothing_left
}
