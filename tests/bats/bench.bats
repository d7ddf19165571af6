#!/usr/bin/env bats
# bats file_tags=drops-caches
# scripts/bench: scenarios that recover from a cold cache, on an array of modelled disks,
# with little memory, or under a trace, each in small; and interrupted runs that go on.
# The figures mean nothing here: they are too small.
# The demo's own run is `make demo`; arithmetic is tested by tests/python.

bats_require_minimum_version 1.5.0

load lib/machine
load lib/bench

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

# Lost otherwise: latency of queries that ran before or after, or beside a replay of something
# else; and queries' reads, behind those of a daemon that does not pace itself.
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
	# While sessions read, few blocks are in flight.
	awk -F '\t' 'FNR == 1 { paced = 0 } FNR > 1 && $6 >= 3 && $6 <= 16 { paced = 1; seen++ }
		FNR > 1 && paced && $6 > 16 { wrong = 1 } END { exit wrong || seen < 2 }' \
		"$results"/traces/archive-select-redoahead*.daemon.tsv
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

@test "trace: recoveries with and without redoahead trace" {
	[ -z "$(why_no_bpf)" ] || skip "$(why_no_bpf)"
	measure trace --case pgbench-off
	look_at trace <<-'EOS'
	assert sorted(run['config'] for run in runs) == ['redoahead', 'traced'], runs
	assert medians['pgbench-off']['traced']['trace_coverage'] > 0.5, medians
	assert 'trace_coverage' not in medians['pgbench-off']['redoahead'], medians
	EOS
}

@test "s1 measures transactions, WAL and replay, and goes on where it was interrupted" {
	measure s1 --case load --config on,lz4:transform
	measure s1 --config on,lz4:transform,off,stock,patched,patched/lz4:transform,kept/lz4:transform --resume
	grep -q 's1.jsonl has 2 runs already' "$log"
	look_at s1 <<-'EOS'
	rows = medians['load']
	assert set(rows) == {'on', 'lz4:transform', 'off'}, rows
	size = {name: row['wal_bytes_per_transaction'] for name, row in rows.items()}
	assert size['off'] < size['lz4:transform'] < size['on'], size
	for row in rows.values():
	    assert row['tps'] > 0 and row['replay_seconds'] > 0 and row['cpu_us_per_transaction'] > 0
	assert len(of('slices')) == 24 and len(of('load')) == 3, len(runs)
	assert report.ratio(runs, 'slices', 'patched/lz4:transform', 'stock', 'wal_bytes_per_transaction')[0] < 0.9
	EOS
	nothing_left
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
	                 'replay_to_primary', 'startup_cpu_seconds', 'wall_seconds', 'steal', 'cache'):
	        assert run[name] is not None, name
	    assert run['blocks_read'] > 800, run        # all of the load is in the WAL
	    # A redo that finds all blocks read ahead can be over before a sample is taken.
	    assert run['redo_seconds'] < 0.2 or len(run['disk_mean_in_flight']) == 8 and all(run['disk_reads']), run
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
	[[ $output != *"filling a new cluster"* ]]
	run -0 "$bench" s2 "${options[@]}" --resume --size small
	look_at s2 <<<'assert [run["config"] for run in runs] == ["default", "off"], runs'
	nothing_left
}

# Lost otherwise: the only evidence that the modelled disks are like disks.
@test "disks: fio reads modelled disks, and an interrupted run leaves none" {
	need_disks
	# The exit status is that of the figures.
	measure disks --case spindle --config sequential || [ -s "$results/disks.md" ]
	look_at disks <<-'EOS'
	run, = runs
	assert run['mb'] > 0 and run['disk_model']['disks'] == 1, run
	EOS
	nothing_left
	interrupted_when "pgrep -f '^fio --name=validate'" disks --case spindle --size small --rounds 1
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
