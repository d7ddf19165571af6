#!/usr/bin/env bats
# The same small crashed cluster, recovered cold by stock PostgreSQL and with the
# daemon, on the machine's own disk and on an array of eight modelled disks: the
# data must be what stock recovery makes of it, nearly all blocks must be read by
# the daemon, from all disks alike, and nothing after the end; on the array, in
# half the time at most.  On a modelled network volume requests are limited, and
# gaps between blocks are read.  scripts/bench measures how long larger recoveries take.

load lib/machine
# bats file_tags=exclusive

setup() {
	top=$BATS_TEST_DIRNAME/../..
	work=$REDOAHEAD_BENCH_DIR
}

# Recover once, unless a test before has done that.  A run on modelled disks that
# were late proves nothing, and is repeated twice at most.  With SECONDS, redo that takes
# longer is ended.
recovered() {				# DEVICE [CONFIG [SECONDS]]
	local name=$1-${2:-redoahead} try
	[ "$1" = ssd ] || need_disks
	[ ! -e "$work/$name.json" ] || return 0
	for try in 1 2 3; do
		[ ! -e "$work/$name.late$try" ] || continue
		rm -rf --one-file-system "${work:?}/$name.data"
		"$top/tests/tools/recover_once.py" "$work" "$1" "${2:-redoahead}" "$name" ${3:+"$3"} \
			>"$work/$name.part" 2>"$work/$name.log" 3>&- || { cat "$work/$name.log"; return 1; }
		if /usr/bin/python3 -c 'import json, sys
model = json.load(sys.stdin)["disk_model"]
sys.exit(bool(model and not model["healthy"]))' <"$work/$name.part"; then
			mv "$work/$name.part" "$work/$name.json"
			return 0
		fi
		mv "$work/$name.part" "$work/$name.late$try"
	done
	skip "the machine is too busy to model disks"
}

# Recover, if that has not been done; the program on standard input has the run as `run`.
judge() {					# DEVICE
	recovered "$1"
	/usr/bin/python3 -c '
import json, sys
run = json.load(open(sys.argv[1]))
exec(sys.stdin.read())' "$work/$1-redoahead.json"
}

same_data_as_stock() {		# DEVICE
	recovered "$1"
	recovered ssd default
	"$top/scripts/compare-clusters" "$work/ssd-default.data" "$work/$1-redoahead.data"
}

nearly_all_by_daemon() {	# DEVICE
	judge "$1" <<-'EOS'
		fetched, counters = run['startup_device_bytes'], run['daemon']
		# What redo reads while the server connects, some 10 ms, is not the daemon's.
		wanted = counters['refs_taken'] - counters['refs_implied']
		before = max(0, run['blocks_read'] - wanted)
		print(f'startup process: {fetched} bytes for {run["blocks_read"]} blocks, {before} of them before '
		      f'the daemon; daemon: {counters["blocks_read"]} blocks, {counters["wal_blocks_read"]} of WAL')
		assert wanted >= 3000 and before <= 0.03 * run['blocks_read'], run
		assert counters['blocks_read'] >= 0.99 * wanted, counters
		# Each block by the daemon, and next to none by the startup process, too.  Who read
		# WAL, of which there is little, cannot be distinguished; it is not counted.
		assert fetched - run['wal_device_bytes'] <= (0.01 * wanted + before) * 8192, run['wal_device_bytes']
		assert counters['wal_blocks_read'] > 0, counters
	EOS
}

nothing_after_the_end() {	# DEVICE
	judge "$1" <<-'EOS'
		at_end, later = run['daemon_bytes']
		print(f'bytes read by the daemon: {at_end} at the end, {later} later')
		# Nothing; but its program may get a page that drop_caches had taken.
		faults = run['daemon_faults'][1] - run['daemon_faults'][0]
		assert at_end > 0 and (later == at_end or faults > 0 and later - at_end < 8192), faults
		assert run['stats']['blocks_in_flight'] == 0 and run['stats']['files_open'] == 0, run['stats']
	EOS
}

controller_reports() {		# DEVICE
	judge "$1" <<-'EOS'
		rows, control, counters = run['timeline'], run['stats']['control'], run['daemon']
		assert len(rows) >= 2, rows
		assert float(rows[-1]['seconds']) <= run['redo_seconds'] + 2, rows[-1]
		assert 0 < int(rows[-1]['blocks_read']) <= counters['blocks_read'], rows[-1]
		for row in rows:
		    assert 256 <= int(row['io_depth']) <= 1024, row
		    assert 64 <= int(row['readahead_limit']) <= 65536, row
		    # Some 64 pieces of WAL, and gaps, may be in flight, too, which are not ahead of redo.
		    assert int(row['in_flight']) - 80 - counters['gap_blocks_read'] <= int(row['ahead']) <= int(row['readahead_limit']) + int(row['io_depth']), row
		assert control['gap_bytes'] in (0, 65536, 131072), control
		assert 256 <= control['io_depth'] <= 1024 and 64 <= control['readahead_limit'] <= 65536, control
		assert control['changes'] >= len(control['last_changes']), control
		times = [change['seconds'] for change in control['last_changes']]
		assert times == sorted(times) and all(0 <= at <= counters['elapsed_seconds'] for at in times), times
		for change in control['last_changes']:
		    assert change['from'] != change['to'], change
		    assert change['limit'] in ('io_depth', 'gap_bytes', 'readahead_limit') and change['reason'], change
	EOS
}

# Lost otherwise: data.  Reading is all that the daemon does, but what a read
# brings into the page cache, redo writes back.
@test "ssd: the data is what stock recovery makes of it" { same_data_as_stock ssd; }
@test "raid: the data is what stock recovery makes of it" { same_data_as_stock raid0; }

# Lost otherwise: the same, for a request that reads blocks that nobody needs, too.
@test "volume: the data is what stock recovery makes of it, with gaps between blocks read" {
	same_data_as_stock gp3
	judge gp3 <<-'EOS'
		counters, control = run['daemon'], run['stats']['control']
		print(f'{counters["requests"]} requests for {counters["blocks_read"]} blocks and '
		      f'{counters["gap_blocks_read"]} in gaps, of up to {control["gap_bytes"]} bytes')
		assert counters['gap_blocks_read'] > 0, counters
		assert control['gap_bytes'] > 0 and counters['requests'] < 0.8 * counters['blocks_read'], counters
	EOS
}

# Lost otherwise: a recovery that is right, and as slow as ever.
@test "ssd: of what redo reads, the daemon fetches 99 %, WAL included" { nearly_all_by_daemon ssd; }
@test "raid: of what redo reads, the daemon fetches 99 %, WAL included" { nearly_all_by_daemon raid0; }

# Lost otherwise: the daemon would disturb a server that has work to do.
@test "ssd: the daemon reads nothing after recovery has ended" { nothing_after_the_end ssd; }
@test "raid: the daemon reads nothing after recovery has ended" { nothing_after_the_end raid0; }

# Lost otherwise: nobody could see why the daemon did what it did.
@test "ssd: the timeline and the record of the controller are complete and plausible" { controller_reports ssd; }
@test "raid: the timeline and the record of the controller are complete and plausible" { controller_reports raid0; }

# Lost otherwise: the speed of eight disks, of which one would do all the work.
@test "raid: the reads are spread over all disks" {
	judge raid0 <<-'EOS'
		reads = run['disk_reads']
		mean = sum(reads) / len(reads)
		print('reads of each disk:', reads)
		assert len(reads) == 8 and min(reads) > 0, reads
		assert max(reads) <= 1.5 * mean, reads
	EOS
}

# Lost otherwise: the same.  Queues wander: what one disk is behind, the others get less
# of meanwhile.
@test "raid: what is in flight is spread over all disks" {
	judge raid0 <<-'EOS'
		in_flight, model = run['disk_mean_in_flight'], run['disk_model']
		print('in flight:', in_flight)
		assert max(in_flight) <= 2 * sum(in_flight) / len(in_flight), in_flight
		assert model['phase'] == 'run' and model['disks'] == 8, model
		assert model['requests'] >= sum(run['disk_reads']) / 2, model
	EOS
}

# Lost otherwise: what all this is for.  Eight disks serve one request at a time in 12 ms
# and hundreds in 1 ms each.  How long stock takes beyond that does not matter here.
@test "raid: redoahead is at least twice as fast as stock's default" {
	local ours
	recovered raid0
	ours=$(json_member "$work/raid0-redoahead.json" redo_seconds)
	recovered raid0 default "$(awk -v ours="$ours" 'BEGIN { print 2 * ours + 1 }')"
	/usr/bin/python3 - "$ours" "$work/raid0-default.json" >&3 <<-'EOS'
		import json, sys
		ours, stock = float(sys.argv[1]), json.load(open(sys.argv[2]))
		unfinished = stock.get('unfinished_seconds')
		seconds = unfinished or stock['redo_seconds']
		print(f'# RAID: redo in {ours:.2f} s, stock {"> " if unfinished else ""}{seconds:.2f} s')
		sys.exit(seconds < 2 * ours)
	EOS
}
