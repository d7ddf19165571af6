#!/usr/bin/env bats
# The recovery benchmark: usage, its arithmetic, and small recoveries on the
# machine's own disk and on an array of modelled disks, whole, interrupted and
# resumed.  The figures themselves say nothing here: they are too small.

load lib/machine

setup_file() {
	REDOAHEAD_BENCH_DIR=$(mktemp -d "/var/tmp/redoahead-bench-recovery.XXXXXX")
	export REDOAHEAD_BENCH_DIR
	chmod 755 "$REDOAHEAD_BENCH_DIR"
}

setup() {
	scripts=$BATS_TEST_DIRNAME/../../scripts
	bench=$scripts/bench-recovery
	work=$REDOAHEAD_BENCH_DIR
	results=$BATS_TEST_TMPDIR/results
	runner=
}

teardown() {
	[ -z "$runner" ] || kill -TERM "$runner" 2>/dev/null || true
}

teardown_file() {
	"$BATS_TEST_DIRNAME/../../scripts/disklab" down --force --dir "$REDOAHEAD_BENCH_DIR/disklab" \
		>/dev/null 2>&1 || true
	rm -rf --one-file-system "$REDOAHEAD_BENCH_DIR"
}

python() {
	PYTHONPATH=$scripts/lib PYTHONDONTWRITEBYTECODE=1 python3 - "$@"
}

need_plots() {
	command -v gnuplot >/dev/null || skip "gnuplot is not installed"
}

# Show what is left of a run, and fail if anything but images is.
nothing_left() {
	local left
	left=$({
		grep -F "$work" /proc/self/mountinfo
		grep -F "$work" /sys/block/loop*/loop/backing_file
		pgrep -af "$work" | grep -vF -e bats -e pgrep
		find /sys/fs/cgroup -maxdepth 2 -name 'redoahead-bench-*'
		find "$work" -mindepth 1 -maxdepth 1 ! -name images ! -name '*.lock'
	} 2>/dev/null) || true
	[ -z "$left" ] || { echo "left behind: $left"; return 1; }
}

# One round with some configurations, and then what more of them leave to do.
in_two_goes() {				# CONFIGS CONFIGS OPTION...
	for configs in "$1" "$2"; do
		"$bench" --size small --rounds 1 --config "$configs" --resume "${@:3}" \
			>"$BATS_TEST_TMPDIR/log" 2>&1 || { cat "$BATS_TEST_TMPDIR/log"; return 1; }
	done
}

# The runs of a result, one on a line: case/fpw/configuration/round.
runs_of() {
	python3 -c '
import json, sys
for run in json.load(open(sys.argv[1]))["runs"]:
    print(run["case"], run["full_page_writes"], run["config"], run["round"], sep="/")' "$1"
}

# Lost otherwise: a mistyped option would measure for an hour what was not meant.
@test "wrong usage exits with 2" {
	for arguments in --what "--scenario s6" "--size tiny" "--size 0" "--rounds 0" "--case 2009" \
		"--fpw maybe" "--config fastest" "--resume" "--compare one"; do
		# shellcheck disable=SC2086
		run "$bench" $arguments
		[ "$status" -eq 2 ] || { echo "\"$arguments\" exits with $status"; return 1; }
	done
	run "$bench" --help
	[ "$status" -eq 0 ]
	[[ $output == *"cases of s2:"* ]]
}

@test "a scenario that lacks something says what to do" {
	for scenario in s1 s3 s4 s5; do
		run "$bench" --scenario "$scenario" --device raid0
		[ "$status" -eq 2 ]
		[[ $output == *"$scenario is not for arrays"* ]]
		run "$bench" --scenario "$scenario" --config nothing
		[ "$status" -eq 1 ]
		[[ $output == *"--config nothing is unknown to $scenario; known are: "* ]]
	done
	PG13_COMPACTIFY=$BATS_TEST_TMPDIR run "$bench" --scenario s4
	[ "$status" -eq 1 ]
	[[ $output == *"PG13_COMPACTIFY=$BATS_TEST_TMPDIR names no installation of PostgreSQL"* ]]
}

# Lost otherwise: tables with the numbers of another method, or of no image at all.
@test "s3 measures time, WAL and replay of each method" {
	results=$BATS_TEST_TMPDIR/s3
	"$bench" --scenario s3 --size small --rounds 1 --output "$results" \
		--config stock/off,stock/lz4,patched/lz4:transform,patched/zstd:1+transform >"$BATS_TEST_TMPDIR/log" 2>&1 ||
		{ cat "$BATS_TEST_TMPDIR/log"; return 1; }
	python3 - "$results/s3.json" <<-'EOF'
	import json, sys
	result = json.load(open(sys.argv[1]))
	sequential, shuffled, replay = (result['medians'][name] for name in ('sequential', 'shuffled', 'replay'))
	assert len(result['runs']) == 12 and result['rows'] == 99999
	for table in sequential, shuffled:
	    sizes = [table[name]['wal_bytes'] for name in (
	        'stock off', 'stock lz4', 'patched lz4:transform', 'patched zstd:level=1,transform')]
	    assert sizes == sorted(sizes, reverse=True) and sizes[2] < sizes[1] / 2, sizes
	    images = [row['images'] for row in table.values()]     # with a few of catalogs
	    assert 270 < min(images) and max(images) < 310, images
	    assert all(row['ms'] > 0 and row['cpu_ms'] > 0 for row in table.values())
	assert all(row['replay_cpu_ms'] > 0 for row in replay.values())
	EOF
	grep -q '| stock | lz4 |' "$results/s3.md"
	[ ! -e /dev/shm/redoahead-bench ]
}

@test "s1 measures transactions, WAL and replay, and goes on where it was interrupted" {
	results=$BATS_TEST_TMPDIR/s1
	in_two_goes on,lz4:transform on,lz4:transform,off,slices --scenario s1 --output "$results"
	grep -q 's1.json has 2 runs already' "$BATS_TEST_TMPDIR/log"
	python3 - "$results/s1.json" <<-'EOF'
	import json, sys
	result = json.load(open(sys.argv[1]))
	rows = result['medians']['load']
	assert list(rows) == ['on', 'lz4:transform', 'off'], list(rows)
	per_transaction = {name: row['wal_bytes'] / row['transactions'] for name, row in rows.items()}
	assert per_transaction['off'] < per_transaction['lz4:transform'] < per_transaction['on'], rows
	assert all(row['tps'] > 0 and row['replay_seconds'] > 0 and
	           row['cpu_us_per_transaction'] > 0 for row in rows.values())
	slices = [run for run in result['runs'] if run['part'] == 'slices']
	assert len(slices) == 18 and len(result['runs']) == 21, len(result['runs'])
	ratios = result['ratios']
	assert len(ratios) == 9 and all(0 < least <= middle <= greatest
	                                for middle, least, greatest in ratios.values()), ratios
	# each had its own images
	assert ratios['wal_bytes_per_transaction patched lz4:transform/stock'][2] < 0.5, ratios
	assert 0.9 < ratios['wal_bytes_per_transaction patched/stock'][0] < 1.1, ratios
	EOF
	grep -q '| on, lz4:transform | patched |' "$results/s1.md"
	grep -q '| patched lz4:transform / stock | [0-9]' "$results/s1.md"
	nothing_left
}

# Lost otherwise: a configuration that always works while the machine is slow, and
# ratios of slices of different takes, or the wrong way round.
@test "what S1 measures takes turns, and slices are compared within takes" {
	python <<-'EOF'
	import collections, itertools
	from bench import s1, s1_slices

	names = ('on', 'lz4', 'off')
	orders = [s1.in_turn(names, number) for number in range(1, 7)]
	assert all(sorted(order) == sorted(names) for order in orders), orders
	for place in range(3):
	    assert collections.Counter(order[place] for order in orders) == dict.fromkeys(names, 2)
	follows = collections.Counter(itertools.chain(*(itertools.pairwise(order) for order in orders)))
	assert set(follows.values()) == {2} and len(follows) == 6, follows
	assert s1.in_turn((), 1) == ()

	for place in range(3):
	    assert set(collections.Counter(order[place] for order in s1_slices.ORDERS).values()) == {2}
	tps = {'stock': (100, 200, 400), 'patched': (110, 200, 300),
	       'patched lz4:transform': (121, 300, 300)}
	runs = [{'part': 'slices', 'round': 1, 'take': take, 'config': config, 'tps': value,
	         'cpu_us_per_transaction': 1000 / value, 'wal_bytes_per_transaction': value}
	        for config, values in tps.items() for take, value in enumerate(values, 1)]
	runs.append({**runs[0], 'take': 4, 'tps': 1})           # interrupted after one slice
	ratios = s1_slices.ratios(runs)
	assert ratios['tps patched/stock'] == [1.0, 0.75, 1.1], ratios
	assert ratios['tps patched lz4:transform/stock'] == [1.21, 0.75, 1.5], ratios
	assert ratios['tps patched lz4:transform/patched'] == [1.1, 1.0, 1.5], ratios
	assert ratios['cpu_us_per_transaction patched/stock'] == [1.0, 0.9091, 1.3333], ratios
	assert s1_slices.tasks(2, runs) == [(1, 4), (1, 5), (1, 6)] + [(2, take) for take in range(1, 7)]
	EOF
}

# Lost otherwise: ratios of recoveries of different WAL, or of VACUUMs of
# different tables.
@test "s4 measures recovery and VACUUM of each server, and goes on where it was interrupted" {
	need_plots
	results=$BATS_TEST_TMPDIR/s4
	in_two_goes stock,redoahead pg13,stock,patched,redoahead --scenario s4 --output "$results"
	grep -q 's4.json has 7 runs already' "$BATS_TEST_TMPDIR/log"
	python3 - "$results" <<-'EOF'
	import json, os, sys

	result = json.load(open(f'{sys.argv[1]}/s4.json'))
	redo, vacuum = ([run for run in result['runs'] if run['measure'] == what]
	                for what in ('redo', 'vacuum'))
	assert sorted(run['config'] for run in redo) == ['patched', 'pg13', 'redoahead', 'stock'], redo
	assert sorted(run['config'] for run in vacuum) == sorted(['patched', 'pg13', 'stock'] * 5)
	for run in redo:
	    assert run['connected'] == (run['config'] == 'redoahead'), run
	    assert run['cache'].startswith('warm') and run['blocks_read'] > 300, run
	    assert run['startup_cpu_seconds'] > 0 and run['updates_per_second'] > 0, run
	assert len({run['redo_done_lsn'] for run in redo}) == 1, redo
	for name in 'pages', 'tuples_removed', 'wal_bytes':
	    assert len({run[name] for run in vacuum}) == 1 and vacuum[0][name] > 300, vacuum
	assert all(run['buffers_read'] <= 16 and run['vacuum_cpu_seconds'] > 0 for run in vacuum)
	assert result['image']['primary']['transactions'] == 60000, result['image']
	pairs = {'stock/patched', 'pg13/stock', 'pg13/patched'}
	for name in 'vacuum_seconds', 'vacuum_cpu_seconds':
	    assert set(result['ratios'][name]) == pairs, result['ratios']
	for name in 'redo_seconds', 'startup_cpu_seconds':
	    found = result['ratios'][name]
	    assert set(found) == pairs | {'stock/redoahead', 'pg13/redoahead'}, found
	    rows = result['medians']['redo']
	    assert abs(found['pg13/patched'] - rows['pg13'][name] / rows['patched'][name]) < 0.001
	assert set(result['programs']) == {'stock', 'patched', 'pg13-compactify', 'redoahead', 'extension'}
	text = open(f'{sys.argv[1]}/s4.md', encoding='utf-8').read()
	assert '| *PostgreSQL 13 (2020)* | 148 |' in text and '| stock/patched |' in text, text
	for name in 'bars', 'vacuum', 'redo':
	    for kind in 'png', 'svg':
	        assert os.path.getsize(f'{sys.argv[1]}/s4-{name}.{kind}') > 1000
	EOF
	nothing_left
}

@test "s5 measures pgbench and VACUUM with and without clearing" {
	results=$BATS_TEST_TMPDIR/s5.json
	in_two_goes vacuum pgbench,vacuum --scenario s5 --json "$results"
	grep -q 's5.json has 10 runs already' "$BATS_TEST_TMPDIR/log"
	python3 - "$results" <<-'EOF'
	import json, sys

	result = json.load(open(sys.argv[1]))
	load, vacuum = ([run for run in result['runs'] if run['part'] == part]
	                for part in ('pgbench', 'vacuum'))
	assert [run['config'] for run in load] == 'off on on off'.split() * 4, load
	assert sorted(run['config'] for run in vacuum) == ['off'] * 5 + ['on'] * 5, vacuum
	assert all(run['tps'] > 0 for run in load), load
	for name in 'pages', 'tuples_removed':
	    assert len({run[name] for run in vacuum}) == 1 and vacuum[0][name] > 300, vacuum
	assert set(result['ratios']) == {f'{name} on/off' for name in (
	    'tps', 'transactions_per_cpu_second', 'vacuum_seconds', 'vacuum_cpu_seconds')}, result['ratios']
	# Four sessions use no more than four CPUs, and wait for nothing that takes long.
	assert all(run['tps'] / 4 < run['transactions_per_cpu_second'] < run['tps'] * 20 for run in load), load
	assert result['not_measured'] == {}, result['not_measured']
	EOF
	grep -F '| pgbench, transactions/s |' "$BATS_TEST_TMPDIR/log"
	nothing_left
	[ ! -e /dev/shm/redoahead-bench ]
}

@test "ratios of s5 are of sessions that ran at the same time" {
	python <<-'EOF'
	from bench import s5

	tps = {('off', 1): (100, 200, 50), ('on', 1): (90, 220, 49), ('on', 2): (7,)}
	runs = [{'part': 'pgbench', 'round': number, 'take': take, 'config': config, 'tps': value,
	         'transactions_per_cpu_second': 100 if config == 'off' else value}
	        for (config, number), values in tps.items() for take, value in enumerate(values, 1)]
	assert sorted(on['tps'] / off['tps'] for off, on in s5.pairs(runs)) == [0.9, 0.98, 1.1]
	ratios = s5.ratios(s5.medians(runs), runs)
	assert ratios == {'tps on/off': 0.98, 'transactions_per_cpu_second on/off': 0.9}, ratios
	left = s5.tasks(2, ('pgbench', 'vacuum', 'zstd'), runs)
	slices = [(number, take) for part, number, _, take in left if part == 'pgbench']
	assert slices == [(1, take) for take in range(4, 9)] + [(2, take) for take in range(1, 9)], slices
	assert [task for task in left if task[0] == 'zstd'] == [('zstd', 1, 'off', 1), ('zstd', 1, 'on', 1)]
	EOF
}

# Lost otherwise: a table for the disk that says nothing, or file systems that
# stay mounted.
@test "s5 on btrfs: fewer bytes with clearing, and nothing stays, also when interrupted" {
	need_btrfs
	results=$BATS_TEST_TMPDIR/s5.json
	bench=("$bench" --scenario s5 --size small --rounds 1 --json "$results" --config zstd)
	"${bench[@]}" >"$BATS_TEST_TMPDIR/log" 2>&1 3>&- &
	runner=$!
	while kill -0 "$runner" && ! grep -qF "$work/s5/loop" /proc/self/mountinfo; do
		sleep 0.1
	done
	kill -INT "$runner"
	status=0
	wait "$runner" || status=$?
	runner=
	cat "$BATS_TEST_TMPDIR/log"
	[ "$status" -eq 130 ]
	nothing_left

	"${bench[@]}" >"$BATS_TEST_TMPDIR/log" 2>&1 || { cat "$BATS_TEST_TMPDIR/log"; return 1; }
	nothing_left
	python3 - "$results" <<-'EOF'
	import json, sys

	result = json.load(open(sys.argv[1]))
	off, on = (result['medians']['zstd'][name] for name in ('off', 'on'))
	assert off['table_bytes'] == on['table_bytes'] > 10e6, (off, on)
	assert off['live_bytes'] == on['live_bytes'] < off['table_bytes'] / 4, (off, on)
	# Not a matter of speed: what is dead is half of what can be compressed.
	assert on['disk_bytes'] < off['disk_bytes'] / 2, (off, on)
	assert result['ratios']['zstd disk_bytes off/on'] > 2, result['ratios']
	EOF
}

@test "a device that is none is an error that says what there is" {
	run "$bench" --scenario s2 --device /nowhere/at/all
	[ "$status" -eq 1 ]
	[[ $output == *"/nowhere/at/all is neither a directory nor one of ssd, raid0"* ]]
}

# Lost otherwise: a regression would be looked for by eye, or found where two
# different things were compared.
@test "two results are compared, with a warning where they are not alike" {
	python "$BATS_TEST_TMPDIR" <<-'EOF'
	import json, sys

	def result(seconds, **more):
	    rows = {name: {'redo_seconds': value, 'runs': 1} for name, value in seconds.items()}
	    return {'scenario': 's2', 'device_name': 'raid0', 'size': 'full', 'kernel': 'Linux 6',
	            'settings': {'spindles': {}}, 'runs': [], 'medians': {'spindles/off': rows}, **more}

	for name, value in (('old', result({'off': 400, 'redoahead': 20})),
	                    ('new', result({'off': 400, 'redoahead': 15})),
	                    ('other', result({'off': 9}, size='small', kernel='Linux 7',
	                                     settings={'spindles': {'off': {}}}, model_healthy=False))):
	    json.dump(value, open(f'{sys.argv[1]}/{name}.json', 'w'))
	EOF
	run "$bench" --compare "$BATS_TEST_TMPDIR/old.json" "$BATS_TEST_TMPDIR/new.json"
	[ "$status" -eq 0 ]
	[[ $output != *warning* ]]
	[[ $output =~ redoahead\ +"recovery s"\ +20.00\ +15.00\ +0.750 ]]
	run "$bench" --compare "$BATS_TEST_TMPDIR/old.json" "$BATS_TEST_TMPDIR/other.json"
	[ "$status" -eq 0 ]
	[[ $output == *"warning: different size: full, small"* ]]
	[[ $output == *"warning: different kernel"* ]]
	[[ $output == *"warning: different settings"* ]]
	[[ $output == *"not healthy in a run of the new result"* ]]
	echo '[]' >"$BATS_TEST_TMPDIR/none.json"
	run "$bench" --compare "$BATS_TEST_TMPDIR/old.json" "$BATS_TEST_TMPDIR/none.json"
	[ "$status" -eq 1 ]
	[[ $output == *"is no result of a benchmark"* ]]
}

@test "what is done is not repeated, and what takes long is measured once" {
	python "$BATS_TEST_TMPDIR/result.json" <<-'EOF'
	import sys
	from bench import host, report, suite

	def run(config, number, seconds):
	    return {'case': 'c', 'full_page_writes': 'off', 'config': config, 'round': number,
	            'redo_seconds': seconds, 'wall_seconds': seconds + 10}

	wanted = [suite.Key('c', 'off', config, number)
	          for number in (1, 2) for config in ('off', 'default', 'redoahead')]
	runs = suite.Suite([], wanted)
	assert runs.time_left(wanted[0], 0.01, 1) == 'time left unknown'
	assert runs.time_left(wanted[0], 0.5, 5) == 'about 55 s left'
	runs.runs += [run('off', 1, 500), run('default', 1, 300)]
	left = [(key.config, key.round) for key in wanted if not runs.done(key)]
	assert left == [('redoahead', 1), ('default', 2), ('redoahead', 2)], left
	assert runs.measured_once() == ['c/off/off']
	runs.runs.append(run('redoahead', 1, 20))
	assert runs.time_left(wanted[5], 0.5, 10) == 'about 5 min left'

	report.write_json(sys.argv[1], {'runs': runs.runs,
	                                'parameters': {'size': 'full', 'device': 'ssd'}})
	assert len(suite.resume(sys.argv[1], {'size': 'full'})) == 3
	try:
	    suite.resume(sys.argv[1], {'size': 'small'})
	    raise AssertionError('runs of two sizes were mixed')
	except host.HostError as error:
	    assert 'its size was full, and is small now' in str(error), error
	EOF
}

# Lost otherwise: everything that the benchmark is for.
@test "recoveries on an array: JSON, Markdown and plots, and nothing stays" {
	need_disks
	need_plots
	"$bench" --scenario s2 --size small --device raid0 --case spindles --fpw off \
		--config off,default,redoahead --rounds 1 --output "$results" >"$BATS_TEST_TMPDIR/log" 2>&1 ||
		{ cat "$BATS_TEST_TMPDIR/log"; return 1; }
	grep -E '(min|s) left' "$BATS_TEST_TMPDIR/log"
	grep -F '| cp | off | redoahead |' "$BATS_TEST_TMPDIR/log"
	nothing_left

	python "$results" <<-'EOF'
	import json, os, sys

	where = sys.argv[1]
	result = json.load(open(f'{where}/s2.json'))
	for name in ('kernel', 'commit', 'device', 'device_name', 'size', 'postgresql', 'settings',
	             'parameters', 'images', 'model_healthy', 'measured_once', 'medians', 'date'):
	    assert name in result, name
	assert result['device_name'] == 'raid0' and 'loop' in result['device'], result['device']
	assert [run['config'] for run in result['runs']] == ['off', 'default', 'redoahead']
	for run in result['runs']:
	    for name in ('redo_seconds', 'ready_seconds', 'device_read_bytes', 'replay_tx_per_minute',
	                 'replay_to_primary', 'startup_cpu_seconds', 'wall_seconds', 'cache'):
	        assert run[name] is not None, name
	    assert run['blocks_read'] > 800, run        # all of the load is in the WAL
	    assert len(run['disk_mean_in_flight']) == 8, run
	    assert all(run['disk_reads']), run['disk_reads']
	    model = run['disk_model']
	    assert model['disks'] == 8 and model['phase'] == 'run', model
	    assert model['healthy'] in (True, False) and len(model['disk']) == 8, model
	assert result['runs'][2]['connected'] and result['runs'][2]['daemon_cpu_seconds'] is not None
	ratios = result['ratios']['spindles']['off']
	for name in ('off/redoahead', 'default/redoahead', 'best/redoahead'):
	    assert ratios[name] > 0, ratios

	for name in ('bars', 'off-redo', 'off-device', 'off-daemon'):
	    with open(f'{where}/s2-spindles-{name}.png', 'rb') as file:
	        assert file.read(8) == b'\x89PNG\r\n\x1a\n', name
	    with open(f'{where}/s2-spindles-{name}.svg', encoding='utf-8') as file:
	        text = file.read()
	        assert '<svg' in text and text.rstrip().endswith('</svg>'), name
	        assert name != 'off-redo' or 'stock default (try, 16)' in text
	text = open(f'{where}/s2.md', encoding='utf-8').read()
	assert 's2-spindles-bars.svg' in text and 'off/redoahead' in text
	EOF
}

# Lost otherwise: an hour of measuring, or a machine full of leftovers.
@test "an interrupted run leaves nothing, and is resumed" {
	need_disks
	need_plots
	bench=("$bench" --scenario s2 --size small --device raid0 --case spindles --fpw off
		--config default,off --rounds 1 --output "$results")
	"${bench[@]}" >"$BATS_TEST_TMPDIR/log" 2>&1 3>&- &
	runner=$!
	# in the middle of the second recovery
	while kill -0 "$runner" && ! grep -q 'off off 1: redo' "$BATS_TEST_TMPDIR/log"; do
		sleep 0.1
	done
	kill -INT "$runner"
	status=0
	wait "$runner" || status=$?
	runner=
	cat "$BATS_TEST_TMPDIR/log"
	[ "$status" -ne 0 ] || skip "it was over before it could be interrupted"
	[ "$status" -eq 130 ]
	nothing_left
	[ "$(runs_of "$results/s2.json")" = spindles/off/default/1 ]
	[ ! -e "$results/s2.md" ]

	run "${bench[@]}" --resume --size full
	[ "$status" -eq 1 ]
	[[ $output == *"cannot resume"*"its size was small"* ]]

	run "${bench[@]}" --resume
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(runs_of "$results/s2.json")" = $'spindles/off/default/1\nspindles/off/off/1' ]
	nothing_left
}

# Lost otherwise: a case with little memory would measure one with much.
@test "server and daemon live in a memory cgroup, which goes with them" {
	need_memory_cgroup
	run "$bench" --scenario s2 --size small --case 2008 --fpw off --config redoahead \
		--rounds 1 --json "$BATS_TEST_TMPDIR/result.json"
	echo "$output"
	[ "$status" -eq 0 ]
	python "$BATS_TEST_TMPDIR/result.json" <<-'EOF'
	import json, sys

	run, = json.load(open(sys.argv[1]))['runs']
	memory = run['memory']
	assert memory['limit_bytes'] == 128 << 20, memory
	# shared_buffers and what was read into the page cache
	assert memory['peak_bytes'] is None or 30 << 20 < memory['peak_bytes'] <= 128 << 20, memory
	assert run['connected'] and run['coverage'] > 0, run
	EOF
	nothing_left
}
