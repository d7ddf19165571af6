#!/usr/bin/env bats
# What can go wrong with a daemon, and that PostgreSQL recovers all the same:
# to the end, to the same data as the stock server, and with one line in its
# log for each change of state.

load lib/recoveries

# ---------- no daemon ----------

@test "a server whose daemon is not there recovers, and logs that once" {
	recover
	log_is "$DATA" "${no_daemon}No such file or directory$meanwhile"
	same_as_stock
}

@test "a server without a socket configured recovers, and logs nothing" {
	settings "$DATA" redoahead.socket=
	recover
	log_is "$DATA"
	same_as_stock
}

@test "a socket that nobody listens on any more does not keep a server from recovering" {
	/usr/bin/python3 -c '
import os, socket, sys
socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)' "$DATA/pg_stat_tmp/redoahead.sock"
	recover
	rm "$DATA/pg_stat_tmp/redoahead.sock"
	log_is "$DATA" "${no_daemon}Connection refused$meanwhile"
	same_as_stock
}

@test "a socket path that is too long for any socket does not keep a server from recovering" {
	settings "$DATA" redoahead.socket="/tmp/$(printf 'x%.0s' {1..200})"
	recover
	log_is "$DATA" "${no_daemon}socket path is too long$meanwhile"
	same_as_stock
}

# ---------- coming and going ----------

@test "a daemon that is started in mid-recovery is found and used" {
	begin_recovery
	feed_until "$DATA" 'redoahead: no daemon'
	start_daemon "$DATA"
	feed_until "$DATA" 'redoahead: connected'
	finish_with_daemon "${no_daemon}No such file or directory$meanwhile" "$connected"
	daemon_has_read "$DATA" 1000
}

# Lost otherwise: recovery, by a signal, where memory is not overcommitted and there is too little.
@test "where there is no memory for the ring, recovery is that of stock, and tries again" {
	local startup tracer
	need_attach
	begin_recovery
	feed_until "$DATA" 'redoahead: no daemon'
	startup=$(startup_pid "$DATA")
	strace -qq -o /dev/null -p "$startup" -e inject=fallocate:error=ENOSPC 3>&- &
	tracer=$!
	wait_until "the tracer" grep -q "^TracerPid:[[:space:]]$tracer$" "/proc/$startup/status"
	start_daemon "$DATA"
	feed_until "$DATA" 'could not create shared ring'
	kill "$tracer"
	wait "$tracer" || true
	feed_until "$DATA" 'redoahead: connected'
	finish_with_daemon "${no_daemon}No such file or directory$meanwhile" \
		"${no_daemon}could not create shared ring: No space left on device$meanwhile" "$connected"
}

@test "a daemon that is killed in mid-recovery is missed, and found again when it is back" {
	begin_with_daemon
	feed "$DATA"
	kill -KILL "$DAEMON"
	feed_until "$DATA" 'redoahead: lost'
	start_daemon "$DATA"
	grep -q 'replacing socket' "$DATA.daemon.log"
	until [ "$(grep -c 'redoahead: connected' "$DATA.log")" -eq 2 ]; do
		feed "$DATA"
		sleep 0.1
	done
	finish_with_daemon "$connected" "${lost}connection closed by daemon$instead" "$connected"
	daemon_has_read "$DATA" 1000
}

# Recover with a daemon that is lost when the server has looked ahead as far as it may, and
# stop redo there, with its process id in $startup.
lose_daemon_and_stop() {
	settings "$DATA" redoahead.lookahead=1048576 redoahead.decode_buffer_size=256MB maintenance_io_concurrency=10
	start_fake "$DATA" leaves-late
	evict "$DATA"
	start_server_and_stop_redo "$PATCHED" "$DATA" "$DATA.log" 'redoahead: lost'
	startup=$(startup_pid "$DATA")
	wait_until "the stop" is_stopped "$startup"
	stop_fake
}

# Lost otherwise: prefetching of all that was decoded when a daemon was restarted, which redo
# would read block by block.
@test "a new daemon is given what the server has looked ahead for the last one" {
	lose_daemon_and_stop
	start_daemon "$DATA"
	# The same socket by another name is looked for at once.
	settings "$DATA" redoahead.socket="$DATA/pg_stat_tmp/redoahead.sock"
	kill -HUP "$(head -n 1 "$DATA/postmaster.pid")"
	wait_until "the signal" grep -q '^ShdPnd:.*[13579bdf]$' "/proc/$startup/status"
	kill -CONT "$startup"
	wait_until "the end of recovery" is_ready "$DATA"
	stop_server "$DATA"
	stop_daemon "$DATA"
	log_is "$DATA" "$connected" "${lost}connection closed by daemon$instead" "$connected"
	daemon_has_read "$DATA" 1000
	same_as_stock
}

# Lost otherwise: the same, where no daemon comes back: redo would be slower than stock's.
@test "what the server has looked ahead for a lost daemon is prefetched by the kernel" {
	need_attach
	lose_daemon_and_stop
	strace -qq -o "$CASE/calls" -p "$startup" -e trace=fadvise64,pread64 -e signal=none 3>&- &
	tracer=$!
	wait_until "the tracer" grep -q "^TracerPid:[[:space:]]$tracer$" "/proc/$startup/status"
	kill -CONT "$startup"
	wait_until "the end of recovery" is_ready "$DATA"
	stop_server "$DATA"
	wait "$tracer"
	# Redo may find a block in shared buffers, so few may seem to be in flight for longer.
	awk -v limit=10 '
		/POSIX_FADV_WILLNEED/ { requested++; if (requested - read > most) most = requested - read }
		/^pread64.* = 8192$/ && requested > read { read++ }
		END { print requested, "requested, at most", most, "in flight"; exit !(requested >= 1000 && most <= 10 * limit) }
	' "$CASE/calls"
	same_as_stock
}

@test "a daemon that is stopped in mid-recovery is noticed, not waited for, and used again when it responds" {
	begin_with_daemon
	kill -STOP "$DAEMON"
	wait_until "the daemon to stop" is_stopped "$DAEMON"
	local three_seconds_on=$((SECONDS + 3))
	feed_until "$DATA" 'redoahead: .*has not responded'
	# The server goes on replaying all the time.
	for _ in 1 2 3 4; do feed "$DATA"; done
	wait_until "three seconds" eval "[ \$SECONDS -ge $three_seconds_on ]"
	feed "$DATA"
	kill -CONT "$DAEMON"
	feed_until "$DATA" 'redoahead: .*is responding again'
	finish_with_daemon "$connected" "$stalled" "$responding"
}

# ---------- settings ----------

@test "the smallest look-ahead and decode buffer work" {
	settings "$DATA" redoahead.lookahead=64 redoahead.decode_buffer_size=512kB
	recover_with_daemon "${connected/\[0-9]+ block/64 block}"
}

@test "the largest look-ahead and decode buffer work" {
	settings "$DATA" redoahead.lookahead=1048576 redoahead.decode_buffer_size=1GB
	recover_with_daemon "${connected/\[0-9]+ block/1048576 block}"
}

# The daemon has left a recovery and come back, and takes that neither for its end nor for another one.
one_recovery_was_served() {
	[ "$(json_member "$DATA.stats" recoveries)" -eq 1 ]
	[ "$(grep -c 'recovery connected' "$DATA.daemon.log")" -eq 2 ]
	[ "$(grep -c 'recovery no longer served' "$DATA.daemon.log")" -eq 1 ]
	[ "$(grep -c 'recovery ended' "$DATA.daemon.log")" -eq 1 ]
	[ "$(grep -c 'redo of ' "$DATA.daemon.log")" -eq 1 ]
}

# Lost otherwise: recoveries of servers whose settings change, and what is counted and logged of them.
@test "the look-ahead can be changed back and forth in mid-recovery" {
	settings "$DATA" redoahead.lookahead=3000
	begin_with_daemon
	for distance in 64 1048576 100 8192; do
		settings "$DATA" redoahead.lookahead=$distance
		reload "$DATA"
		feed_until "$DATA" "parameter \"redoahead.lookahead\" changed to \"$distance\""
		feed "$DATA"
		# That needs a larger ring, which is large enough for the last one, too.
		until [ "$distance" -lt 65536 ] || [ "$(grep -c 'redoahead: connected' "$DATA.log")" -eq 2 ]; do
			feed "$DATA"
			sleep 0.1
		done
	done
	finish_with_daemon "$connected" "$connected"
	daemon_has_read "$DATA" 1000
	one_recovery_was_served
}

# Lost otherwise: the same, and prefetching until the server restarts.
@test "the socket can be changed, emptied and set again in mid-recovery" {
	FAKE_SOCKET=$CASE/other start_fake "$DATA" good
	begin_with_daemon
	settings "$DATA" redoahead.socket="$CASE/other"
	reload "$DATA"
	feed_until "$DATA" "redoahead: connected to daemon \(PID $FAKE\)"
	# It may have been connected at the end of what was fed.
	feed "$DATA"
	settings "$DATA" redoahead.socket=
	reload "$DATA"
	feed_until "$DATA" 'parameter "redoahead.socket" changed to ""'
	until is_gone "$FAKE"; do feed "$DATA"; sleep 0.1; done
	settings "$DATA" redoahead.socket=pg_stat_tmp/redoahead.sock
	reload "$DATA"
	feed_until "$DATA" 'parameter "redoahead.socket" changed to "pg_stat_tmp'
	until [ "$(grep -c "connected to daemon (PID $DAEMON)" "$DATA.log")" -eq 2 ]; do feed "$DATA"; sleep 0.1; done
	finish_recovery
	stop_daemon "$DATA"
	stop_fake
	log_is "$DATA" "$connected" "connected to daemon \(PID $FAKE\)" "connected to daemon \(PID $DAEMON\)"
	[ "$(fake_saw "$DATA" taken)" -gt 0 ]
	daemon_has_read "$DATA" 1000
	one_recovery_was_served
	same_as_stock
}

# Lost otherwise: a server that is told not to prefetch would do it all the same.
turned_off_by() {			# SETTING
	settings "$DATA" "$1"
	start_daemon "$DATA"
	recover
	stop_daemon "$DATA"
	log_is "$DATA"
	[ "$(daemon_count "$DATA" refs_taken)" -eq 0 ]
	same_as_stock
}

@test "recovery_prefetch = off turns redoahead off" {
	turned_off_by recovery_prefetch=off
}

# Each block that is not in shared buffers is a read of the device then.
@test "direct I/O turns redoahead off" {
	settings "$DATA" shared_buffers=256MB
	turned_off_by debug_io_direct=data
}
