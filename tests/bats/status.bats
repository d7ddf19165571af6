#!/usr/bin/env bats
# What `redoahead status` shows and answers, with a stand-in for the daemon, which sends
# any document, and none.
# bats file_tags=fast

bats_require_minimum_version 1.5.0
load lib/daemon

documents=$BATS_TEST_DIRNAME/lib/metrics

status_socket=pg_stat_tmp/redoahead-status.sock

teardown() {
	[ ! -s "$work/next" ] || kill -KILL "$(cat "$work/next")" 2>/dev/null || true
	end_daemon
}

# Both have only 0.7 s for a probe.
status() { "${realtime[@]}" "$redoahead" status -D "$pgdata" "$@"; }

# The stand-in is $daemon, so that teardown ends it.
serve_status() {			# MODE [DOCUMENT]
	[ $# -lt 2 ] || cp "$2" "$work/document"
	rm -f "$pgdata/$status_socket"
	: >"$work/stand-in"
	"${realtime[@]}" "$top/tests/tools/status_server.py" "$pgdata/$status_socket" "$1" "$work/document" >"$work/stand-in" 3>&- &
	daemon=$!
	wait_until "the stand-in" grep -q listening "$work/stand-in"
}

end_status() {
	kill -KILL "$daemon"
	wait "$daemon" || true
	daemon=
}

# Change the document: Python statements about d and its recovery r.
change() {					# STATEMENTS
	/usr/bin/python3 - "$work/document" "$1" <<'EOP'
import json, sys
with open(sys.argv[1]) as file:
    d = json.load(file)
r = d['recovery']
exec(sys.argv[2])
with open(sys.argv[1] + '.new', 'w') as file:
    json.dump(d, file)
EOP
	mv "$work/document.new" "$work/document"
}

fails_with() {				# PATTERN OPTION...
	local pattern=$1
	shift
	run -1 status "$@"
	[[ $output == *$pattern* ]] || { echo "$output"; return 1; }
}

# Lost otherwise: where a recovery is, and when it will be done.
@test "a line has phase, positions, rate, time left, look-ahead, in flight, coverage and limit" {
	serve_status file "$documents/streaming.json"
	run -0 status
	[ "$output" = 'streaming 12.5 %: redo at 0/02000028 of 0/09000000 from 0/01000028 on, 1.60 MB/s, mean 1.50 MB/s, 73 s left (60 s to 90 s), look-ahead 8.39 MB, 64 in flight, coverage 99.3 %, limited by cpu' ]
	cp "$documents/waiting.json" "$work/document"
	run -0 status
	[ "$output" = 'waiting for a recovery' ]
	cp "$documents/checkpoint.json" "$work/document"
	run -0 status
	[[ $output == 'end-of-recovery checkpoint 100.0 %: redo at 0/9000000 of 0/9000000'*'limited by checkpoint' ]]
	[[ $output != *left* && $output != *'no progress'* ]]
	cp "$documents/crash.json" "$work/document"
	run -0 status
	[ "$output" = 'crash recovery: position not known yet, 0 B/s, mean 73 B/s' ]
	cp "$documents/streaming.json" "$work/document"
	change 'd["phase"] = "waiting"; d["recovery"] = None'
	run -0 status
	[ "$output" = 'waiting for a recovery; 3 so far, the last one took 33 s for 1.07 GB of WAL, coverage 99.8 %' ]
}

# Lost otherwise: scripts that read the status.
@test "--json has each member and its value, and --prometheus is what the daemon's file has" {
	serve_status file "$documents/streaming.json"
	status --json >"$work/json"
	/usr/bin/python3 -c 'import json, sys; one, other = (json.load(open(path)) for path in sys.argv[1:]); assert one == other' \
		"$work/json" "$documents/streaming.json"
	status --prometheus >"$work/metrics"
	"$tools/status_metrics" <"$documents/streaming.json" | diff -u - "$work/metrics"
	end_status
	fails_with 'no daemon listens there any more' --prometheus
	status --prometheus 2>/dev/null >"$work/metrics" || true
	grep -q "^redoahead_up{data_directory=\"$pgdata\"} 0$" "$work/metrics"
}

# Lost otherwise: the reason, and what to do about it.
@test "without a daemon the reason and the remedy are reported" {
	fails_with 'No such file or directory; start redoahead serve or redoahead follow'
	: >"$pgdata/$status_socket"
	fails_with 'no daemon listens there any more'
	serve_status file "$documents/waiting.json"
	end_status
	fails_with 'no daemon listens there any more: Connection refused'
	run -1 "$redoahead" status -D "$work"
	[[ $output == *'is not a PostgreSQL data directory'* ]]
	run -2 "$redoahead" status
	[[ $output == *'give one with -D or in PGDATA, or the daemon'*'--socket'* ]]
	run -2 status --json --probe
	run -2 status --socket=
	run -2 status 5
	# The socket for servers is another one.
	start --
	fails_with 'not a socket for status' --socket "$socket"
}

# Lost otherwise: status for the group that the daemon allows, and the reason for all others.
@test "the socket's mode decides who may read the status, and a socket may have any path" {
	[ "$(id -u)" -eq 0 ] || skip "must be root to run as another user"
	local deep
	serve_status file "$documents/waiting.json"
	chmod 755 "$work" "$pgdata" "$pgdata/pg_stat_tmp"
	chmod 600 "$pgdata/$status_socket"
	as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups -- "$redoahead" status "$@"; }
	run -1 as_nobody --socket "$pgdata/$status_socket"
	[[ $output == *'Permission denied; run this as the owner of the data directory, or as a member'* ]]
	chmod 666 "$pgdata/$status_socket"
	run -0 as_nobody --socket "$pgdata/$status_socket"
	run -0 as_nobody -D "$pgdata"
	# Longer than the address of a socket may be.
	deep=$work/$(printf 'd%.0s' {1..150})
	mkdir "$deep"
	mv "$pgdata/$status_socket" "$deep/s"
	run -0 "$redoahead" status --socket "$deep/s"
	[ "$output" = 'waiting for a recovery' ]
	(cd "$deep" && "$redoahead" status --socket s)
	mv "$deep/s" "$pgdata/s"
	run -0 "$redoahead" status -D "$pgdata" --socket s
}

# Lost otherwise: a prompt, and the memory of the machine, to a daemon that is not well.
@test "what a faulty daemon sends is refused in time" {
	local mode begun
	for mode in silent stuck; do
		serve_status "$mode" "$documents/streaming.json"
		begun=$EPOCHREALTIME
		fails_with "$([ "$mode" = stuck ] && echo 'the document is not complete in time' ||
			echo 'the daemon takes no connection')"
		awk -v begun="$begun" -v now="$EPOCHREALTIME" 'BEGIN { exit !(now - begun > 4.5 && now - begun < 15) }'
		end_status
	done
	serve_status endless
	fails_with 'sends more than 1048576 bytes'
	end_status
	serve_status empty
	fails_with 'the daemon sent nothing'
	end_status
	serve_status cut "$documents/streaming.json"
	fails_with 'is not complete'
	end_status
	serve_status slow "$documents/waiting.json"
	run -0 status
	[ "$output" = 'waiting for a recovery' ]
}

# Lost otherwise: a terminal whose title or contents another user may set.
@test "garbage and hostile documents are refused or harmless" {
	local text
	serve_status file "$documents/streaming.json"
	head -c 100000 /dev/urandom >"$work/garbage"
	for text in '[]' '"x"' '7' 'null' '{}' '{"version": "1"}' '{"version": 1}' '{} {}' '{"version": 1}x' \
		"$(printf '[%.0s' {1..100000})"; do
		printf '%s' "$text" >"$work/document"
		run -1 status
		[[ $output == *'redoahead: error: '* ]]
	done
	printf '{"version": 1}\0' >"$work/document"
	fails_with 'sends no status document'
	cp "$work/garbage" "$work/document"
	fails_with 'sends no status document'
	cp "$documents/streaming.json" "$work/document"
	change 'd["version"] = 2'
	fails_with 'is of version 2, this program knows 1; use the redoahead of the daemon'
	change 'd["version"] = 1; d["phase"] = "dancing"'
	fails_with 'no known phase'
	# Text for the terminal is printable, and numbers are numbers.
	cp "$documents/streaming.json" "$work/document"
	change 'r["limit"] = "\33]0;mine\7\x9b31m"; r["replay_lsn"] = "\33[2J"; r["end_lsn"] = "0/1" + "0" * 99'
	change 'r["bytes_per_second"] = -1; r["time_left_seconds"] = 1e308; r["time_left_max_seconds"] = "x"; r["coverage"] = 7'
	change 'r["blocks_in_flight"] = float("nan"); r["lookahead_bytes"] = 1e300; r["progress"] = [0.5]'
	run -0 status
	[ "$output" = 'streaming: position not known yet, mean 1.50 MB/s, > 9999 d left, look-ahead > 1000000 PB, limited by ?]0;mine???31m' ]
}

# Lost otherwise: a server whose recovery would have ended is restarted, or one that
# hangs is not.
@test "--probe: 0 while recovery advances or nothing should, 1 while it is stalled" {
	serve_status file "$documents/streaming.json"
	run -0 status --probe
	[[ $output == 'streaming 12.5 %'* ]]
	change 'd["phase"] = "crash recovery"; r["stalled_seconds"] = 59.9'
	run -0 status --probe
	run -1 status --probe=59
	[[ $output == 'stalled for 60 s: crash recovery 12.5 %: redo at 0/02000028'* ]]
	change 'r["stalled_seconds"] = 60'
	run -1 status --probe
	# A restart would help none of these.
	change 'r["limit"] = "wal supply"'
	run -1 status --probe
	change 'd["phase"] = "archive recovery"'
	run -0 status --probe
	change 'r["limit"] = "lock conflict"'
	run -0 status --probe
	change 'r["limit"] = "pause or delay"'
	run -0 status --probe
	change 'r["limit"] = "device latency"; r["remaining_bytes"] = 0'
	run -0 status --probe
	change 'r["remaining_bytes"] = 1; d["phase"] = "end-of-recovery checkpoint"'
	run -0 status --probe
	change 'd["phase"] = "waiting"; d["recovery"] = None'
	run -0 status --probe
	# The daemon need not be on this machine's processes, nor is a data directory needed.
	run -0 "${realtime[@]}" "$redoahead" status --socket "$pgdata/$status_socket" --probe
	# Whatever the daemon reports, a server that takes connections has started.
	cp "$documents/streaming.json" "$work/document"
	change 'd["phase"] = "crash recovery"; r["stalled_seconds"] = 600'
	run -1 status --probe
	printf '%s\n' 1 "$pgdata" 1 5432 /tmp '*' '1 2' 'ready   ' >"$pgdata/postmaster.pid"
	run -0 status --probe
	[ "$output" = 'the server takes connections' ]
}

# Lost otherwise: standbys in containers, which would be restarted again and again while they wait for WAL.
@test "--probe: a daemon that sees no process of the server does not know whether a standby is stalled" {
	serve_status file "$documents/streaming.json"
	change 'd["phase"] = "archive recovery"; r.update(stalled_seconds=600, limit=None, remaining_bytes=None)'
	printf '%s\n' 4194305 "$pgdata" 1 5432 /tmp '*' '1 2' 'standby ' >"$pgdata/postmaster.pid"
	run -0 status --probe
	[ "$output" = 'the server is a standby without connections' ]
	printf '%s\n' 4194305 "$pgdata" 1 5432 /tmp '*' '1 2' starting >"$pgdata/postmaster.pid"
	run -0 status --probe
	[ "$output" = 'no process of the server is visible here' ]
	run -0 "${realtime[@]}" "$redoahead" status --socket "$pgdata/$status_socket" --probe
	# A crash recovery waits for nothing of that.
	change 'd["phase"] = "crash recovery"'
	run -1 status --probe
	[[ $output == 'stalled for 10 min'*': crash recovery'* ]]
}

# Lost otherwise: an alert about a standby that has replayed all there is.
@test "redo that waits for WAL has not stalled, one that a query holds up has" {
	serve_status file "$documents/streaming.json"
	change 'r["stalled_seconds"] = 600; r["remaining_bytes"] = 120; r["limit"] = "wal supply"'
	run -0 status
	[[ $output != *'no progress'* ]]
	change 'd["phase"] = "archive recovery"; r["remaining_bytes"] = None'
	run -0 status
	[[ $output != *'no progress'* ]]
	change 'r["limit"] = "pause or delay"'
	run -0 status
	[[ $output == *'limited by pause or delay'* && $output != *'no progress'* ]]
	change 'r["limit"] = "lock conflict"'
	run -0 status
	[[ $output == *'no progress for 10 min'* ]]
}

# Lost otherwise: a server that is fine, because the log of its probe is on a full disk.
@test "--probe: only what it finds of the recovery counts, not who reads what it prints" {
	[ -w /dev/full ] || skip "needs /dev/full"
	serve_status file "$documents/streaming.json"
	run -0 bash -c '"$@" >/dev/full' - "${realtime[@]}" "$redoahead" status -D "$pgdata" --probe
	change 'd["phase"] = "crash recovery"; r["stalled_seconds"] = 600'
	run -1 bash -c '"$@" >/dev/full' - "${realtime[@]}" "$redoahead" status -D "$pgdata" --probe
	run -0 status --socket "$(printf 'x%.0s' {1..4200})" --probe
}

# Lost otherwise: what a daemon reports in another container, or to a user of its group.
@test "a socket with an absolute path needs no data directory" {
	serve_status file "$documents/streaming.json"
	change 'd["phase"] = "crash recovery"; r["stalled_seconds"] = 600'
	mkdir "$work/empty"
	run -1 env PGDATA="$work/empty" "${realtime[@]}" "$redoahead" status --socket "$pgdata/$status_socket" --probe
	[[ $output == *'stalled for 10 min'* ]]
	run -0 env PGDATA="$work/empty" "$redoahead" status --socket "$pgdata/$status_socket" --prometheus
	[[ $output == *'redoahead_up{'*'} 1'* ]]
	end_status
	run -1 "$redoahead" status -D "$pgdata" --socket "$pgdata/$status_socket" --prometheus
	[[ $output == *'redoahead_up{'*"$(realpath "$pgdata")"*'} 0'* ]]
}

# Lost otherwise: a healthy server, to a daemon that has died or hangs.
@test "--probe without a daemon: the server's own state, within a second" {
	local state
	run -0 status --probe
	[[ $output == *'no server runs' ]]
	for state in "standby " stopping "" starting; do
		printf '%s\n' 4194305 "$pgdata" 1 5432 /tmp '*' '1 2' "$state" >"$pgdata/postmaster.pid"
		run -0 status --probe
	done
	[[ $output == *'no process of the server is visible here' ]]
	serve_status stuck "$documents/streaming.json"
	run -0 "${realtime[@]}" bash -c 'begun=$EPOCHREALTIME; "$@" && echo "$begun $EPOCHREALTIME"' - \
		"$redoahead" status -D "$pgdata" --probe
	[[ $output == *'the document is not complete in time'* ]]
	awk '{ exit !($2 - $1 < 3) }' <<<"${lines[-1]}"
	# Before initdb or a base backup is complete.
	run -0 "$redoahead" status -D "$work/none" --probe
	rm "$pgdata/PG_VERSION"
	run -0 status --probe
	[[ $output == *'there is no complete data directory, so there is nothing to recover' ]]
	run -2 status --probe=0
}

# A document with a history.
make_history() {
	cp "$documents/streaming.json" "$work/document"
	change 'r["history"] = {"bytes_per_second": [float(i) for i in range(240)], "blocks_in_flight": [64] * 240,
		"coverage": [None] * 120 + [i / 120 for i in range(120)]}'
}

# --watch in a terminal that tests/tools/terminal.py plays; what it prints is in $output.
watch() {					# COLUMNSxLINES STEP...
	run -0 "${watch_in[@]}" "$top/tests/tools/terminal.py" "$@" -- "$redoahead" status -D "$pgdata" --watch="${interval:-0.2}"
}

watch_in=(env TERM=xterm LC_ALL=C.UTF-8)

# Lost otherwise: a view that is wrong once the window has another size.
@test "--watch shows all on a full screen, whatever its size, and q ends it" {
	make_history
	serve_status file
	# Where the status does not come within a second, that is shown.
	watch 80x24 'wait:q: quit' wait:^streaming print key:q end
	[ "${lines[0]}" = streaming ]
	[ "${lines[1]}" = 'time left   73 s (60 s to 90 s)' ]
	[[ ${lines[2]} == '[########....'*'] 12.5 %' ]]
	[[ $output == *$'\nredo        0/02000028 of 0/09000000\nrate        1.60 MB/s, mean 1.50 MB/s\nlimited by  cpu\n'* ]]
	[[ $output == *$'\nrate        ▁▁▁'*$'█\nin flight   ███'*$'\ncoverage     '*▁▁▂*▇█*█$'\n'* ]]
	[ "${lines[-1]}" = 'status 0' ]
	# Smaller, narrow, tiny, and back.
	watch 80x24 'wait:q: quit' size:60x10 'gone:q: quit' 'wait:^rate        ▁' print size:20x6 'wait:^[#.........] 12.5 %' \
		size:1x1 wait:^s size:132x40 'wait:q: quit' wait:^streaming print key:q end
	[ "$(grep -c '^redo  *0/02000028 of 0/09000000$' <<<"$output")" -eq 2 ]
	[[ $output == *'] 12.5 %'*'] 12.5 %'* ]]
	# 20 columns, another locale, a terminal of another kind.
	watch_in=(env TERM=vt100 LC_ALL=C)
	watch 20x24 'wait:q: quit' wait:^streaming print key:q end
	[[ $output == *$'\nrate        __..,,--\n'* || $output == *$'\nrate        _.,-=+*#\n'* ]]
	no grep -qE '.{21}' <<<"$output"
	no grep -qP '[^\x00-\x7f]' <<<"$output"
}

# Lost otherwise: a shell without echo and cursor.
@test "--watch restores the terminal whatever ends it" {
	local name
	make_history
	serve_status file
	for name in SIGINT SIGTERM SIGHUP SIGQUIT; do
		watch 80x24 'wait:q: quit' "signal:$name" end
		[[ $output == *'status 0' ]]
	done
	# As the terminal sends it, and while the daemon hangs.
	watch 80x24 'wait:q: quit' key:$'\x03' end
	end_status
	serve_status stuck
	watch 80x24 'wait:^no status' key:q end
	# A terminal that is gone.
	watch 80x24 'wait:^no status' hangup
	# Its signal goes to the shell only, which may ignore it.
	run -0 "${watch_in[@]}" "$top/tests/tools/terminal.py" 80x24 'wait:^no status' hangup -- \
		bash -c 'trap "" HUP; "$@"; :' - "$redoahead" status -D "$pgdata" --watch=0.2
	# From job control.
	end_status
	serve_status file
	watch 80x24 'wait:q: quit' signal:SIGTSTP stopped signal:SIGCONT size:80x23 'wait:q: quit' key:q end
}

# Lost otherwise: the view of the next recovery, after the daemon was restarted.
@test "--watch goes on without a daemon, and shows the next one" {
	make_history
	cp "$work/document" "$work/streaming"
	serve_status file
	(cd "$work" && interval=0.1 watch 80x24 wait:^streaming "run:kill -KILL $daemon" 'wait:no daemon listens there any more' print \
		"run:rm '$pgdata/$status_socket'" 'wait:No such file or directory' \
		"run:cp '$documents/waiting.json' '$work/document'" \
		"run:'$top/tests/tools/status_server.py' '$pgdata/$status_socket' file '$work/document' >/dev/null 2>&1 & echo \$! >'$work/next'" \
		wait:^waiting 'gone:no status' "run:cp '$work/streaming' '$work/document'" wait:^streaming \
		"run:echo garbage >'$work/document'" 'wait:no status document' key:q end)
	wait "$daemon" || true
	daemon=
}

# Lost otherwise: a log of a recovery, and any view on a terminal without a cursor.
@test "--watch prints a line each interval where there is no full screen" {
	serve_status file "$documents/streaming.json"
	"$redoahead" status -D "$pgdata" --watch=0.1 </dev/null >"$work/lines" 3>&- &
	local watcher=$!
	has_lines() { [ "$(grep -c '^streaming 12.5 %' "$work/lines")" -ge "$1" ]; }
	wait_until "three lines" has_lines 3
	end_status
	wait_until "the loss of the daemon" grep -q 'no daemon listens there any more' "$work/lines"
	serve_status file
	: >"$work/lines"
	wait_until "the next daemon" has_lines 1
	kill -TERM "$watcher"
	wait "$watcher"
	# A pipe that is closed ends it.
	PGDATA=$pgdata run -0 bash -c '"$0" status --watch=0.1 2>/dev/null | head -n 2' "$redoahead"
	[ "${#lines[@]}" -eq 2 ]
	for term in dumb '' no-such-terminal; do
		watch_in=(env TERM="$term")
		watch 200x5 'wait:limited by cpu' print signal:SIGINT end
		[[ $output == *'streaming 12.5 %'* ]]
	done
}
