#!/usr/bin/env bats
# What `redoahead status` shows and answers about recoveries of real servers.

bats_require_minimum_version 1.5.0
load lib/servers
load lib/follow

setup_file() { follow_setup; }

# It has only 0.7 s for a probe.
status() { "${realtime[@]}" "$WORK/redoahead" status -D "$DATA" "$@"; }

# A recovery whose startup process is stopped once a log has a line.
start_stopped() {			# SERVER LOG PATTERN
	evict "$DATA"
	start_server_and_hold_redo "$1" "$DATA" grep -q "$3" "$2"
	STARTUP=$startup
}

shows() {					# PATTERN OPTION...
	local pattern=$1 result=0
	shift
	output=$(status "$@" 2>&1) || result=$?
	[[ $output =~ $pattern ]] || return 1
	return "$result"
}

answers() {					# STATUS PATTERN OPTION...
	local expected=$1 pattern=$2 result=0
	shift 2
	output=$(status "$@" 2>&1) || result=$?
	[ "$result" -eq "$expected" ] && [[ $output =~ $pattern ]]
}

# The same recovery, with a daemon whose log this is, from beginning to end.
recovery_is_shown() {		# SERVER LOG PATTERN
	run -0 status --probe
	start_stopped "$@"
	wait_until "the position of redo" knows_redo "$DATA" "$STARTUP"
	wait_until "the end of WAL" shows '^crash recovery [0-9.]+ %: redo at [0-9A-F]+/[0-9A-F]+ of [0-9A-F]+/[0-9A-F]+ from '
	wait_until "the time without progress" answers 1 '^stalled for [0-9.]+ s: crash recovery' --probe=1
	wait_until "the probe" answers 0 '' --probe=3600
	run -0 env TERM=xterm LC_ALL=C "$redoahead_root/tests/tools/terminal.py" 80x24 'wait:q: quit' 'wait:^crash recovery' \
		print key:q end -- "$WORK/redoahead" status -D "$DATA" --watch=0.2
	[[ $output == *$'\nend is by   scan\nredoahead '*", PostgreSQL $pg_major, $DATA"* ]] || { echo "$output"; return 1; }
	status --prometheus | grep -q "^redoahead_phase{data_directory=\"$DATA\",phase=\"crash recovery\"} 1$"
	kill -CONT "$STARTUP"
	wait_until "redo" answers 0 '' --probe=1
	wait_until "the end of recovery" answers 0 '^the server takes connections$' --probe
	wait_until "the end for the daemon" shows '^waiting for a recovery; 1 so far, the last one took .* for [0-9.]+ MB of WAL'
	stop_server "$DATA"
}

# Lost otherwise: what the status is for, with the daemon for servers without patches.
@test "a crash recovery with follow: line and probe" {
	copy_cluster "$WORK/crashed" "$DATA"
	start_follow "$DATA"
	recovery_is_shown "$STOCK" "$DATA.follow.log" 'following redo by memory'
	stop_follow "$DATA"
	run -1 status
	[[ $output == *'no daemon listens there'* ]]
}

# Lost otherwise: the same with patches.
@test "a crash recovery with serve: line and probe" {
	copy_crashed
	start_daemon "$DATA"
	wait_until "the status" shows '^waiting for a recovery$'
	recovery_is_shown "$PATCHED" "$DATA.daemon.log" 'recovery connected'
	stop_daemon "$DATA"
}

# Lost otherwise: all that the daemon is for, without a word.
@test "a server that has not loaded the extension is reported, until it has" {
	copy_crashed
	start_daemon "$DATA"
	settings "$DATA" shared_preload_libraries=
	start_server "$PATCHED" "$DATA"
	wait_until "the warning" grep -q "server with PID $(head -n 1 "$DATA/postmaster.pid") is not served: it has not loaded redoahead; add that to shared_preload_libraries" "$DATA.daemon.log"
	wait_until "the status" shows '^waiting for a recovery; THE SERVER IS NOT SERVED: it has not loaded redoahead; .* if it is stock$'
	settings "$DATA" "${redoahead_settings[@]}"
	sql "$DATA" -c "create table filler as select g, repeat('x', 100) from generate_series(1, 30000) g"
	# As a standby it stays connected; it is there again before the daemon notices that it was not.
	as_server_user touch "$DATA/standby.signal"
	as_server_user "$PATCHED/bin/pg_ctl" -w -D "$DATA" -l "$DATA.log" -m immediate restart >/dev/null
	wait_until "the recovery" grep -q 'recovery connected' "$DATA.daemon.log"
	is_served() { "$REDOAHEAD" status -D "$DATA" --json | grep -qE '"refused": *null'; }
	wait_until "the end of the reason" is_served
	wait_until "the phase" shows '^archive recovery'
	[ "$(grep -c 'has not loaded redoahead' "$DATA.daemon.log")" -eq 1 ]
	stop_server "$DATA"
	stop_daemon "$DATA"
}

# Lost otherwise: a server that recovers well, because the daemon has died.
@test "the probe without a daemon: a crash recovery that works, and one that does not" {
	copy_cluster "$WORK/crashed" "$DATA"
	start_stopped "$STOCK" "$DATA.log" 'redo starts at'
	answers 1 'stalled: crash recovery, and the startup process \([0-9]+\) does no work' --probe
	kill -CONT "$STARTUP"
	wait_until "the start of the process" no is_stopped "$STARTUP"
	answers 0 'the startup process works|takes connections|redo does not run|checkpoint runs' --probe
	wait_until "the end of recovery" answers 0 'the server takes connections' --probe
	stop_server "$DATA"
	answers 0 'no server runs' --probe
}

# A recovery whose daemon reports no progress in a phase is stalled only while its startup process does no work; without the
# daemon, the probe's answer becomes ANSWER.
slow_redo_is_not_stalled() {	# PHASE ANSWER
	local server tracer
	start_stopped "$STOCK" "$DATA.log" 'redo starts at'
	/usr/bin/python3 -c 'import json, sys
document = json.load(sys.stdin)
document["phase"] = sys.argv[1]
document["recovery"]["stalled_seconds"] = 600
json.dump(document, sys.stdout)' "$1" <"$BATS_TEST_DIRNAME/lib/metrics/streaming.json" >"$CASE/document"
	"${realtime[@]}" "$redoahead_root/tests/tools/status_server.py" "$CASE/socket" file "$CASE/document" >"$CASE/stand-in" 3>&- &
	server=$!
	wait_until "the stand-in" grep -q listening "$CASE/stand-in"
	chmod 777 "$CASE/socket"
	answers 1 "^stalled for 10 min.*: $1" --socket "$CASE/socket" --probe
	# Redo goes on, slowly.
	"${realtime[@]}" strace -qq -o /dev/null -p "$STARTUP" -e trace=pread64 -e inject=pread64:delay_enter=50000 3>&- &
	tracer=$!
	is_traced() { grep -q "^TracerPid:[[:space:]]$tracer$" "/proc/$STARTUP/status"; }
	wait_until "the tracer" is_traced
	kill -CONT "$STARTUP"
	answers 0 '^no progress is seen, but the startup process works$' --socket "$CASE/socket" --probe
	kill "$tracer"
	kill "$server"
	rm "$CASE/socket"
	wait_until "the answer '$2'" answers 0 "$2" --socket "$CASE/socket" --probe
	stop_server "$DATA"
}

# Lost otherwise: a server that is restarted again and again at a record whose redo takes minutes.
@test "the probe of a crash recovery whose daemon reports no progress, and whose startup process works" {
	need_attach
	copy_cluster "$WORK/crashed" "$DATA"
	slow_redo_is_not_stalled 'crash recovery' 'the server takes connections'
}

# Lost otherwise: the same with a standby that takes no connections until it is promoted.
@test "the probe of a standby without connections whose daemon reports no progress, and whose startup process works" {
	need_attach
	copy_cluster "$WORK/crashed" "$DATA"
	settings "$DATA" hot_standby=off restore_command=false
	as_server_user touch "$DATA/standby.signal"
	slow_redo_is_not_stalled 'archive recovery' 'the server is a standby without connections'
}

# Lost otherwise: a standby, which may wait for WAL for ever.
@test "the probe of a standby that waits for WAL, with a daemon and without" {
	copy_cluster "$WORK/recovered" "$DATA"
	settings "$DATA" hot_standby=off restore_command=false
	as_server_user touch "$DATA/standby.signal"
	start_follow "$DATA"
	start_server --no-wait "$STOCK" "$DATA"
	wait_until "the standby" shows '^archive recovery'
	# Where redo is, is not known here, so neither is for how long it has been there.
	lasts() { [ "$(status --json | /usr/bin/python3 -c 'import json, sys; found = json.load(sys.stdin)["recovery"]; print(found["elapsed_seconds"] > 2 and found["stalled_seconds"] is None)')" = True ]; }
	wait_until "two seconds" lasts
	run -0 status --probe=1
	stop_follow "$DATA"
	run -0 status --probe=1
	[[ $output == *'a standby without connections'* ]]
	stop_server "$DATA"
}

# Lost otherwise: the same beside a daemon in a container of its own, to a kubelet.
@test "the probe of a patched standby that waits for WAL, with a daemon in another PID namespace" {
	local apart=(--pid --fork --kill-child --mount-proc)
	need_namespace "${apart[@]}"
	copy_cluster "$WORK/crashed" "$DATA"
	settings "$DATA" "${redoahead_settings[@]}" hot_standby=off restore_command=false
	as_server_user touch "$DATA/standby.signal"
	local server_user=("${as_user[@]}")
	as_user=(unshare "${apart[@]}" "${server_user[@]}")
	start_daemon "$DATA"
	as_user=("${server_user[@]}")
	start_server --no-wait "$PATCHED" "$DATA"
	waits() {
		status --json >"$CASE/status" && [ "$(json_member "$CASE/status" phase)" = 'archive recovery' ] &&
			awk -v seconds="$(json_member "$CASE/status" recovery stalled_seconds)" 'BEGIN { exit !(seconds > 2) }'
	}
	wait_until "two seconds without progress" waits
	[ "$(json_member "$CASE/status" recovery limit)" = None ]
	wait_until "the answer of the daemon" answers 0 '^the server is a standby without connections$' --probe=1
	kill -TERM "$(pgrep -P "$DAEMON")"
	wait "$DAEMON"
	stop_server "$DATA"
}

# Kill a process of the server, and stop the startup process as soon as pg_control has "in crash recovery", which may last for
# a tenth of a second; prints its number.
stop_crash_recovery() {		# PID
	timeout "$patience" /usr/bin/python3 - "$DATA" "$1" <<'EOP'
import contextlib, os, signal, sys, time
# Before others, where that is allowed.
with contextlib.suppress(OSError):
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
with open(sys.argv[1] + '/postmaster.pid') as file:
    postmaster = file.readline().strip()
control = os.open(sys.argv[1] + '/global/pg_control', os.O_RDONLY)
os.kill(int(sys.argv[2]), signal.SIGKILL)
while os.pread(control, 4, 16)[0] != 4:
    time.sleep(0.0002)
with open(f'/proc/{postmaster}/task/{postmaster}/children') as file:
    for child in file.read().split():
        with open(f'/proc/{child}/cmdline') as title:
            if 'startup' in title.read():
                os.kill(int(child), signal.SIGSTOP)
                print(child)
EOP
}

in_crash_recovery() {
	"$STOCK/bin/pg_controldata" -D "$DATA" | grep -q '^Database cluster state: *in crash recovery$'
}

# Lost otherwise: a server that hangs after one of its processes crashed; its
# postmaster.pid has "ready" all the time.
@test "the probe after the crash of a process of a running server" {
	local checkpointer
	copy_cluster "$WORK/recovered" "$DATA"
	start_server "$STOCK" "$DATA"
	write_transactions "$DATA" 24000
	answers 0 'the server takes connections' --probe
	checkpointer=$(pgrep -P "$(head -n 1 "$DATA/postmaster.pid")" -f 'postgres: checkpointer')
	STARTUP=$(stop_crash_recovery "$checkpointer")
	wait_until "the stop" is_stopped "$STARTUP"
	in_crash_recovery
	grep -q '^ready' "$DATA/postmaster.pid"
	answers 1 'stalled: crash recovery' --probe
	kill -CONT "$STARTUP"
	wait_until "the end of recovery" answers 0 'the server takes connections' --probe
	stop_server "$DATA"
}
