#!/usr/bin/env bats
# The benchmark and the demo: usage, the arithmetic of reports, and one small
# benchmark from beginning to end.  The demo's own run is `make demo`.

load lib/scripts
# bats file_tags=exclusive

@test "wrong usage exits with 2" {
	for arguments in --what "--rounds 0" "--config fastest" "--workload tpch"; do
		# shellcheck disable=SC2086
		run "$scripts/bench-prefetch" $arguments
		[ "$status" -eq 2 ]
	done
	run "$scripts/demo" --fast
	[ "$status" -eq 2 ]
	for arguments in "" speed "trace --rounds 0" "feedback --config luck"; do
		# shellcheck disable=SC2086
		run "$scripts/bench-probes" $arguments
		[ "$status" -eq 2 ]
	done
}

@test "a missing server is an error that says what to do" {
	STOCK=$work/nothing run "$scripts/bench-prefetch" --scale-factor small
	[ "$status" -eq 1 ]
	[[ $output == *"STOCK=$work/nothing names no installation of PostgreSQL"* ]]
}

@test "tables of what probes cost and are good for" {
	printf 'seconds\treplay_lsn\twaiting\tin_flight\tahead\tdepth\twindow\tblocks_read\n' >"$work/timeline"
	for second in 0 1 2 3 4 5; do
		printf '%s.5\t0/0\t0\t0\t0\t%s\t4096\t%s\n' $second $((second * 64)) $((second * 1000)) >>"$work/timeline"
	done
	WORK=$work python <<-'EOF'
	import os
	from bench import probes

	found = probes.limits(os.environ['WORK'] + '/timeline')
	assert found == {'io_depth': 128, 'readahead_limit': 4096, 'blocks_per_second': 1000}, found

	def run(config, seconds, rate):
	    return {'config': config, 'redo_seconds': seconds,
	            'found': {**found, 'blocks_per_second': rate}}
	*_, hand, bad = probes.feedback_table([run('hand-64', 10, 900), run('bad-start', 12, 990),
	                                       run('bad-start', 10, 900), run('bad-start', 11, 810)])
	assert hand.split() == ['hand-64', '10.00', '100.0%', '128', '4096', '900', '100.0%'], hand
	assert bad.split() == ['bad-start', '11.00', '110.0%', '128', '4096', '900', '100.0%'], bad

	shares = {'coverage': 0.9991, 'late': 0.001, 'wasted': 0}
	runs = [{'config': name, 'redo_seconds': seconds, 'startup_cpu_seconds': seconds / 2,
	         'trace': trace} for name, seconds, trace in (
	    ('off', 10, None), ('on', 11, shares), ('on', 12, shares), ('off', 10, None))]
	text = list(probes.pairs_table(runs))
	assert text[1].split() == ['1', '10.00', '11.00', '10.0%', '99.91%', '0.10%', '0.00%'], text
	assert text[-2].startswith('cost of tracing: 15.0% (median of 2 pairs)'), text
	assert text[-1] == 'CPU time of the startup process: 15.0%; medians 5.00 and 5.75 s', text
	EOF
}

@test "medians and ratios" {
	python <<-'EOF'
	from bench import report

	seconds = {'off': (9, 8, 30), 'default': (4, 5, 6), 'try-200': (3, 4, 8), 'redoahead': (2, 1, 2),
	           'off-warm': (4, 4, 4)}
	runs = [{'workload': 'w', 'config': name, 'redo_seconds': value, 'coverage': None}
	        for name, values in seconds.items() for value in values]
	middle = report.medians(runs)
	assert middle['w']['off'] == {'redo_seconds': 9, 'runs': 3}, middle
	ratios = report.ratios(middle)['w']
	assert ratios['off/redoahead'] == 4.5, ratios
	assert ratios['default/redoahead'] == 2.5, ratios
	assert ratios['best/redoahead'] == 2, ratios
	assert ratios['redoahead_cold/off_warm'] == 0.5, ratios
	assert not [name for name in ratios if 'absent' in name or 'default_warm' in name], ratios
	EOF
}

@test "coverage is what the startup process did not fetch itself" {
	python <<-'EOF'
	from bench import recovery

	def coverage(blocks, fetched, wal):
	    return recovery.coverage_of({'blocks_read': blocks, 'startup_device_bytes': fetched,
	                                 'wal_device_bytes': wal})

	assert coverage(1000, 100 * 8192 + 5000, 5000) == 0.9
	assert coverage(1000, 5000, 9000) == 1
	assert coverage(10, 1 << 30, 0) == 0
	assert coverage(0, 0, 0) is None
	assert coverage(10, None, 0) is None
	EOF
}

# Lost otherwise: a benchmark on a machine that kept it waiting for longer than redo took.
@test "a recovery that is over at the first look is told of, too" {
	python <<-'EOF'
	from bench import recovery

	class Server:
	    def messages(self):
	        return [(1, None, 'redo starts at 0/1000'),
	                (1, None, 'redo done at 0/2000 system usage: CPU: user: 0.10 s, '
	                          'system: 0.20 s, elapsed: 0.40 s')]

	told = []
	run = recovery.watch_redo(Server(), lambda seconds, lsn: told.append((seconds, lsn)))
	assert told == [(0.4, None)], told
	assert run['redo_seconds'] == 0.4 and run['startup_cpu_seconds'] == 0.3, run
	EOF
}

# Lost otherwise: a machine with an array of disks, a mount or a copy that nobody removes.
@test "cleaning up goes on to its end when the script is told to end meanwhile" {
	python <<-'EOF'
	import os, signal
	from bench import host

	class End(Exception):
	    pass

	def end(number, frame):
	    raise End

	for number in host.ENDING:
	    signal.signal(number, end)
	    done = False
	    try:
	        with host.uninterrupted():
	            os.kill(os.getpid(), number)
	            done = True
	        raise AssertionError('the signal was lost')
	    except End:
	        assert done
	EOF
}

# Lost otherwise: a server that runs on after an interrupted benchmark.
@test "a process is known, and can be told to end, however early a signal comes" {
	python <<-'EOF'
	import os, signal, subprocess, threading
	from bench import postgres

	class End(Exception):
	    pass

	def end(number, frame):
	    raise End

	class Interrupted(subprocess.Popen):
	    """The signal comes after the fork."""
	    def _close_pipe_fds(self, *arguments):
	        os.kill(os.getpid(), signal.SIGINT)
	        super()._close_pipe_fds(*arguments)

	# A thread that does not mask the signal would get it in place of one that does.
	over = threading.Event()
	thread = threading.Thread(target=over.wait)
	thread.start()
	signal.signal(signal.SIGINT, end)
	subprocess.Popen = Interrupted
	try:
	    postgres.Process(['sleep', '60'], os.devnull, as_user=postgres.as_self)
	    raise AssertionError('the signal was lost')
	except End:
	    process, = postgres.Process.started
	finally:
	    over.set()
	    thread.join()
	status = open(f'/proc/{process.pid}/status').read()
	process.end(signal.SIGTERM, patience=5)
	assert process.child.returncode == -signal.SIGTERM, process.child.returncode
	assert int(status.split('SigBlk:')[1].split()[0], 16) == 0, status
	EOF
}

# Lost otherwise: the CPU time of sessions that end while it is asked for.
@test "CPU time of children that are there, and of those that have gone" {
	python <<-'EOF'
	import os, time
	from bench import host

	def child(seconds):
	    """One that works so long, and waits to be told to end."""
	    mine, its = os.pipe(), os.pipe()
	    pid = os.fork()
	    if pid == 0:
	        os.close(its[1])
	        while time.process_time() < seconds:
	            pass
	        os.write(mine[1], b'.')
	        os.read(its[0], 1)
	        os._exit(0)
	    os.close(its[0])
	    os.read(mine[0], 1)
	    return pid, its[1]

	before = host.cpu_seconds_of_children(os.getpid())
	pid, end = child(0.3)
	alive = host.cpu_seconds_of_children(os.getpid()) - before
	assert alive > 0.25, alive
	os.close(end)
	os.waitpid(pid, 0)
	gone = host.cpu_seconds_of_children(os.getpid()) - before
	assert alive - 0.02 <= gone < alive + 0.2, (alive, gone)
	child(0.3)
	both = host.cpu_seconds_of_children(os.getpid()) - before
	assert both > gone + 0.25, (gone, both)
	EOF
}

@test "free space is asked for before anything is made" {
	python <<-'EOF'
	from bench import host

	try:
	    host.require_space('/', 1 << 60)
	    raise AssertionError('an exabyte is free')
	except host.HostError as error:
	    assert 'REDOAHEAD_BENCH_DIR' in str(error), error
	EOF
}

@test "a small benchmark, twice: the second reuses the cluster of the first" {
	export REDOAHEAD_BENCH_DIR=$work
	bench=("$scripts/bench-prefetch" --scale-factor small --rounds 1 --workload cached)
	run "${bench[@]}" --config off,redoahead,absent --json "$work/result.json"
	[ "$status" -eq 0 ]
	[[ $output == *"filling a new cluster"* ]]
	[[ $output == *"off/redoahead"* ]]
	python3 - "$work/result.json" <<-'EOF'
	import json, sys

	result = json.load(open(sys.argv[1]))
	assert [run['config'] for run in result['runs']] == ['off', 'redoahead', 'absent']
	assert [run['connected'] for run in result['runs']] == [False, True, False]
	for name in ('kernel', 'cpus', 'cpu_model', 'memory_bytes', 'huge_pages_bytes', 'device', 'filesystem', 'commit',
	             'date', 'postgresql', 'settings', 'cache', 'medians', 'ratios'):
	    assert name in result, name
	EOF
	run "${bench[@]}" --config off
	[ "$status" -eq 0 ]
	[[ $output != *"filling"* ]]
	# Nothing stays but the cluster.
	[ ! -e "$work/work" ]
}

# Lost otherwise: what a fault costs would be measured on runs without a fault.
@test "a daemon that is to be killed or stopped in a benchmark is" {
	export REDOAHEAD_BENCH_DIR=$work
	run "$scripts/bench-prefetch" --scale-factor small --rounds 1 --workload pgbench-off \
		--config default,killed,stopped --json "$work/result.json"
	echo "$output"
	[ "$status" -eq 0 ]
	python3 - "$work/result.json" <<-'EOF'
	import json, sys

	result = json.load(open(sys.argv[1]))
	default, killed, stopped = result['runs']
	assert 'accidents' not in default, default
	assert killed['connected'] and killed['daemon'] is None, killed
	assert killed['accidents'][0]['signal'] == 'SIGKILL', killed
	assert stopped['connected'] and stopped['daemon']['blocks_read'] > 0, stopped
	assert stopped['accidents'][0]['signal'] == 'SIGSTOP', stopped
	assert 'default/killed' in result['ratios']['pgbench-off'], result['ratios']
	EOF
}
