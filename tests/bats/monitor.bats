#!/usr/bin/env bats
# What serve and follow show people: the status document, the metrics file, the line at the
# end of a recovery; and that no client of the status socket disturbs prefetching.

bats_require_minimum_version 1.5.0
load lib/daemon
# bats file_tags=fast

status_socket() { echo "$pgdata/pg_stat_tmp/redoahead-status.sock"; }

# What the status socket sends, to $work/status.
read_status() { "$BATS_TEST_DIRNAME/lib/status_client.py" read "$(status_socket)" >"$work/status"; }

# A member of what was read last: a JavaScript path without the dots.
status_field() { json_member "$work/status" "$@"; }

status_is() {				# VALUE NAME...
	local value=$1
	shift
	read_status && [ "$(status_field "$@")" = "$value" ]
}

# A server that is connected until its input ends.
connect_server() {			# OPTION...
	mkfifo "$work/input"
	"$tools/ring_producer" -D "$pgdata" --no-wait --hold "$@" <"$work/input" >"$work/out" 3>&- &
	producer=$!
	exec 7>"$work/input"
	wait_until "the connection" grep -q 'recovery connected' "$work/log"
}

disconnect_server() {
	exec 7>&-
	wait "$producer"
	wait_until "the end of the session" sessions_ended 1
}

# Lost otherwise: all that `redoahead status` shows.
@test "the document of a daemon that waits, that serves, and that has served" {
	relation base/5/16384 500
	start --
	wait_until "the status" status_is waiting phase
	[ "$(status_field version)" = 1 ]
	[ "$(status_field command)" = serve ]
	[ "$(status_field pid)" = "$daemon" ]
	[ "$(status_field data_directory)" = "$pgdata" ]
	[ "$(status_field server_major)" = 18 ]
	[ "$(status_field recoveries)" = 0 ]
	[ "$(status_field recovery)" = None ]
	# Before redo begins, its position is not known, nor how far ahead of it WAL is decoded.
	connect_server --count 500 --blocks 500 --sequential --replay-lsn 0
	wait_until "the reads in the status" status_is 500 recovery counters blocks_read
	[ "$(status_field recovery replay_lsn)" = None ]
	[ "$(status_field recovery lookahead_bytes)" = None ]
	[ "$(status_field recovery gap_bytes)" = 0 ]
	echo 1 >&7
	wait_until "the position" status_is 0/00000001 recovery replay_lsn
	echo 10000001 >&7
	wait_until "the progress" status_is 10000000 recovery replayed_bytes
	[ "$(status_field recovery redo_start_lsn)" = 0/00000001 ]
	[ "$(status_field recovery replay_lsn)" = 0/00989681 ]
	[ "$(status_field recoveries)" = 1 ]
	[ "$(status_field recovery coverage)" = 1.0 ]
	[ "$(status_field recovery history interval_seconds)" = 0.5 ]
	[ "$(status_field total blocks_read)" = 500 ]
	disconnect_server
	wait_until "the last recovery" status_is 500 last_recovery counters blocks_read
	[ "$(status_field recovery)" = None ]
	grep -q 'redo of 10.0 MB of WAL, from 0/00000001 to 0/00989681, took .* s: .*100.0 % of the blocks submitted in time' "$work/log"
}

# Lost otherwise: prefetching, to anybody who may connect.
@test "garbage, slow readers and a thousand connections do not disturb prefetching" {
	local cpu before
	relation base/5/16384 2000
	start --
	wait_until "the status" status_is waiting phase
	before=$(descriptors)
	connect_server --count 100 --blocks 2000
	cpu=$(awk '{ print $14 + $15 }' "/proc/$daemon/stat")
	"$BATS_TEST_DIRNAME/lib/status_client.py" disturb "$(status_socket)" >"$work/disturbed" 3>&- &
	local client=$!
	wait_until "the disturbance" grep -q begun "$work/disturbed"
	disconnect_server
	produce --count 2000 --blocks 2000 --sequential
	[ "$(field blocks_read)" = 2000 ]
	wait "$client"
	cat "$work/disturbed"
	grep -q '1000 connections' "$work/disturbed"
	wait_until "the status" status_is waiting phase
	wait_until "the descriptors of before" descriptors_at_most "$before"
	echo "CPU ticks: $(($(awk '{ print $14 + $15 }' "/proc/$daemon/stat") - cpu))"
	[ $(($(awk '{ print $14 + $15 }' "/proc/$daemon/stat") - cpu)) -le 300 ]
	no grep -E 'error|warning' "$work/log"
}

# Lost otherwise: who may see the state of the server is not who was chosen.
@test "the owner alone may connect, or a group" {
	start --
	wait_until "the status" read_status
	[ "$(stat -c %a "$(status_socket)")" = 600 ]
	stop
	start -- --status-group "$(id -gn)" --status-socket "$work/status.sock"
	wait_until "the socket" test -S "$work/status.sock"
	[ "$(stat -c %a:%G "$work/status.sock")" = "660:$(id -gn)" ]
	stop
	[ ! -e "$work/status.sock" ]
	run ! "$redoahead" serve -D "$pgdata" --status-group no-such-group
	[[ $output == *'group "no-such-group" is not known'*'--status-group'* ]]
	[ "$(id -u)" -ne 0 ] || return 0
	run ! "$redoahead" serve -D "$pgdata" --status-group root
	[[ $output == *'not a member of group "root"'* ]]
}

# Lost otherwise: the daemon, for a socket that it can do without.
@test "a status socket that cannot be made is a warning, and none can be chosen" {
	mkdir "$(status_socket)"
	start --
	wait_until "the warning" grep -q 'warning: the status cannot be read from a socket' "$work/log"
	grep -q 'redoahead-status.sock" exists and is not a socket.*--status-socket' "$work/log"
	relation base/5/16384 10
	produce --count 10 --blocks 10
	[ "$(field status)" = 0 ]
	stop
	rmdir "$(status_socket)"
	start -- --status-socket=
	produce --count 10 --blocks 10
	[ ! -e "$(status_socket)" ]
	no grep warning "$work/log"
	stop
	[ ! -e "$(status_socket)" ]
}

# Lost otherwise: the status after a new base backup, and a file system that cannot be unmounted.
@test "the status of a data directory that takes another's place, and of a removed socket" {
	start --
	wait_until "the status" read_status
	rm "$(status_socket)"
	wait_until "the socket again" read_status
	mv "$pgdata" "$pgdata.old"
	wait_until "the release of the old one" no holds "$pgdata.old"
	cp -a "$pgdata.old" "$pgdata"
	rm -f "$pgdata"/pg_stat_tmp/*
	wait_until "the status of the new one" status_is waiting phase
}

# Lost otherwise: alerts on a server that recovers.
@test "the metrics file is replaced every few seconds, and is gone at the end" {
	relation base/5/16384 100
	start -- --metrics "$work/redoahead.prom"
	wait_until "the metrics" test -s "$work/redoahead.prom"
	produce --count 100 --blocks 100 --sequential
	wait_until "the counters" grep -q 'blocks_read_total{.*} 100$' "$work/redoahead.prom"
	stop
	[ ! -e "$work/redoahead.prom" ]
	start -- --metrics "$work/missing/redoahead.prom" --report "$work/missing"
	wait_until "the warning" grep -q 'metrics file .*cannot be written: No such file' "$work/log"
	# For that of --report, nobody should have to wait until a recovery ends.
	grep -q 'no report can be written to directory .*: No such file' "$work/log"
	produce --count 100 --blocks 100
	[ "$(field status)" = 0 ]
	wait_until "the second one" eval '[ "$(grep -c "no report can be written to directory .*: No such file" "$work/log")" -eq 2 ]'
}

# Lost otherwise: the status for who reads it with anything but this program.
@test "the JSON of a data directory whose name is not UTF-8 is UTF-8" {
	local shown=$work/$'data\xef\xbf\xbd\xef\xbf\xbd\xc3\xa4'
	mv "$pgdata" "$work/"$'data\xff\xc3\xc3\xa4'
	pgdata=$work/$'data\xff\xc3\xc3\xa4'
	start --
	wait_until "the status" status_is waiting phase
	"$redoahead" status -D "$pgdata" --json >"$work/printed"
	"$redoahead" check -D "$pgdata" --json >"$work/checked" || true
	/usr/bin/python3 - "$shown" "$work/status" "$work/printed" "$work/checked" <<'EOP'
import json, os, sys
for path in sys.argv[2:]:
    with open(path, encoding='utf-8') as file:
        assert json.load(file)['data_directory'] == os.fsencode(sys.argv[1]).decode(), path
EOP
}

# Lost otherwise: what is known of a recovery that runs, to a second start by mistake.
@test "a second daemon does not touch the files of the first one" {
	local outputs=(--metrics "$work/redoahead.prom" --timeline "$work/timeline" --block-log "$work/blocks")
	relation base/5/16384 5000
	start -- "${outputs[@]}"
	produce --count 5000 --blocks 5000 --sequential
	wait_until "the last statistics" grep -q '"connected": false' "$work/stats"
	wait_until "the counters" grep -q 'blocks_read_total{.*} 5000$' "$work/redoahead.prom"
	wait_until "the lines" test -s "$work/timeline" -a -s "$work/blocks"
	cp "$work/blocks" "$work/timeline" "$work/stats" "$work/redoahead.prom" "$BATS_TEST_TMPDIR"
	run -1 "$redoahead" serve -D "$pgdata" --stats "$work/stats" "${outputs[@]}"
	[[ $output == *'belongs to another redoahead'* ]]
	cmp "$work/blocks" "$BATS_TEST_TMPDIR/blocks"
	cmp "$work/timeline" "$BATS_TEST_TMPDIR/timeline"
	cmp "$work/stats" "$BATS_TEST_TMPDIR/stats"
	grep 'blocks_read_total{.*} 5000$' "$work/redoahead.prom"
}

# Lost otherwise: the reason for slow prefetching for a hot standby, in containers for example.
@test "that sessions of a hot standby cannot be seen is logged once for each recovery" {
	local unseen='warning: cannot see whether sessions of ' i
	relation base/5/16384 2000
	start --
	for i in 1 2; do
		# For longer than there is between two checks.
		produce --count 500 --blocks 500 --rate 1000 --hot-standby
		wait_until "the end of the session" sessions_ended "$i"
		[ "$(grep -c "$unseen.*$pgdata.* read: no process of the server is visible; .*share the PID namespace" "$work/log")" -eq "$i" ]
	done
	produce --count 2000 --blocks 2000
	wait_until "the end of the session" sessions_ended 3
	[ "$(grep -c "$unseen" "$work/log")" -eq 2 ]
}

# Lost otherwise: after an upgrade of one of both, that they do not fit; all looks well.
@test "the status has why a server is not served, until one is" {
	local refusal='waiting for a recovery; THE SERVER IS NOT SERVED: .*version'
	relation base/5/16384 10
	start --
	wait_until "the status socket" test -S "$(status_socket)"
	shows() { "$redoahead" status -D "$pgdata" | grep -qE "$1"; }
	shows '^waiting for a recovery$'
	produce --abi-version 99
	[ "$(field status)" = 1 ]
	wait_until "the reason" shows "$refusal"
	"$redoahead" status -D "$pgdata" --json | grep -qE '"refused": *"[^"]*version'
	# It is gone when the server is served, which may take months.
	connect_server
	served() { "$redoahead" status -D "$pgdata" --json | grep -qE '"refused": *null'; }
	wait_until "the end of the reason" served
	disconnect_server
	wait_until "the end of the session" shows '^waiting for a recovery; 1 so far'
}
