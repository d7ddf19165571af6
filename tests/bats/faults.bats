#!/usr/bin/env bats
# What can go wrong with a daemon, and that PostgreSQL recovers all the same:
# to the end, to the same data as the stock server, and with one line in its
# log for each change of state.  Every test recovers a copy of one crashed
# pgbench cluster from a cold cache.

load lib/servers
load lib/feeding

setup_file() {
	suite_begin
	make_crashed 4 25000
	copy_cluster "$WORK/crashed" "$WORK/reference"
	recover_with "$STOCK" "$WORK/reference"
}

setup() {
	case_begin
	copy_crashed
}

# Recover from what is in pg_wal, as after any crash.
recover() {
	evict "$DATA"
	recover_with "$PATCHED" "$DATA"
}

# Recover step by step: feed_until and feed_rest set how far.
begin_recovery() {
	feed_from_archive "$DATA"
	evict "$DATA"
	start_server --no-wait "$PATCHED" "$DATA"
}

finish_recovery() {
	feed_rest "$DATA"
	stop_server "$DATA"
}

same_as_stock() {
	same_data "$DATA" "$WORK/reference"
}

# Recover with a daemon, which is expected to read.  The log must have this line alone.
recover_with_daemon() {		# PATTERN
	start_daemon "$DATA"
	recover
	stop_daemon "$DATA"
	log_is "$DATA" "$1"
	daemon_has_read "$DATA" 1000
	same_as_stock
}

# The same step by step: begin, and be connected; finish, with these lines in the log.
begin_with_daemon() {
	start_daemon "$DATA"
	begin_recovery
	feed_until "$DATA" 'redoahead: connected'
}

finish_with_daemon() {		# PATTERN...
	finish_recovery
	stop_daemon "$DATA"
	log_is "$DATA" "$@"
	same_as_stock
}

no_daemon='^no daemon at "[^"]*": '
meanwhile='; using built-in prefetching until one is available$'
lost='^lost connection to daemon \(PID [0-9]+\): '
instead='; using built-in prefetching$'
stalled='^daemon \(PID [0-9]+\) has not responded for [0-9]+ ms; using built-in prefetching until it does$'
responding='^daemon \(PID [0-9]+\) is responding again$'

# Recover with a fake daemon, and expect these lines in the log, no others.  One
# that was connected disconnects for good when it is dropped; any other stays.
recover_with_fake() {		# MODE PATTERN...
	local pattern connections=0
	[ "$2" != "$connected" ] || connections=1
	start_fake "$DATA" "$1" $connections
	shift
	begin_recovery
	for pattern; do
		feed_until "$DATA" "redoahead: ${pattern#^}"
	done
	# A few more, for what comes late or twice.
	for _ in 1 2 3; do feed "$DATA"; done
	finish_recovery
	# One that serves this server only ends by itself.
	[ "$connections" -eq 0 ] || wait_until "the end of the fake daemon" is_gone "$FAKE"
	stop_fake
	log_is "$DATA" "$@"
	same_as_stock
}

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
	# Not by the server's user, who may be unable to run the python3 of this one's PATH.
	python3 -c '
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

# ---------- daemons that are not what they should be ----------

@test "a daemon of another protocol version is not used, and both versions are named" {
	recover_with_fake wrong-version \
		"${no_daemon}daemon has protocol version 5, server has 4; install the same release of both$meanwhile"
}

@test "a daemon that refuses is not used, and its reason is logged and bounded" {
	recover_with_fake refuses "${no_daemon}connection refused by daemon: x{107}$meanwhile"
}

@test "a daemon that answers wrongly again and again is logged once" {
	start_fake "$DATA" garbage-reply 0
	begin_recovery
	while [ "$(ls "$DATA.store" | wc -l)" -gt 3 ]; do
		feed "$DATA"
		sleep 0.1
	done
	finish_recovery
	stop_fake
	[ "$(fake_saw "$DATA" connections)" -ge 2 ]
	log_is "$DATA" "${no_daemon}invalid reply$meanwhile"
	same_as_stock
}

@test "an answer that is too short is not taken for a daemon's" {
	recover_with_fake short-reply "${no_daemon}invalid reply$meanwhile"
}

@test "a daemon that never answers is not waited for" {
	recover_with_fake silent "${no_daemon}no reply$meanwhile"
}

@test "a daemon that closes the connection instead of answering is not used" {
	recover_with_fake closes "${no_daemon}connection closed by daemon$meanwhile"
}

@test "a daemon that disconnects is reported" {
	recover_with_fake disconnects "$connected" "${lost}connection closed by daemon$instead"
}

@test "a daemon that connects and then does nothing is noticed by its heartbeat" {
	recover_with_fake dead "$connected" "$stalled"
}

@test "a daemon that sends what it should not is dropped" {
	recover_with_fake chatters "$connected" "${lost}unexpected message$instead"
}

@test "a tail beyond the head is not believed" {
	recover_with_fake tail-beyond "$connected" "${lost}invalid ring tail$instead"
}

# Lost otherwise: the startup process, when the first reference that meets the tail is one
# that the WAL implies, and the reference after it goes to a ring that is gone.
@test "a tail beyond the head is not believed when the ring is full" {
	settings "$DATA" redoahead.lookahead=1024
	recover_with_fake tail-when-full "$connected" "${lost}invalid ring tail$instead"
}

# Lost otherwise: a log with two lines for each second that recovery lasts.
@test "a daemon that misbehaves again and again is connected later each time" {
	local -a times
	settings "$DATA" log_line_prefix='%n '
	start_fake "$DATA" tail-beyond 0
	begin_recovery
	until [ "$(grep -c 'redoahead: lost connection' "$DATA.log")" -ge 3 ]; do
		feed "$DATA"
		sleep 0.3
	done
	finish_recovery
	stop_fake
	mapfile -t times < <(sed -n 's/^\([0-9.]*\) LOG:  redoahead: connected to daemon.*/\1/p' "$DATA.log")
	printf '%s\n' "${times[@]}"
	awk -v a="${times[0]}" -v b="${times[1]}" -v c="${times[2]}" \
		'BEGIN { exit !(b - a >= 0.9 && c - b >= 1.9) }'
	same_as_stock
}

@test "the largest numbers in all of the daemon's fields do no harm" {
	recover_with_fake huge "$connected" "${lost}invalid ring tail$instead"
}

@test "garbage over the whole ring, the server's fields included, does no harm" {
	recover_with_fake scribbles "$connected" "${lost}invalid ring tail$instead"
}

@test "the ring cannot be truncated, extended or sealed under the server's feet" {
	recover_with_fake truncates "$connected"
	for what in shrink "shrink a little" grow "grow by allocating" seal; do
		[ "$(fake_saw "$DATA" "$what")" = "Operation not permitted" ] ||
			{ echo "$what: $(fake_saw "$DATA" "$what")"; false; }
	done
	# F_SEAL_SEAL, F_SEAL_SHRINK and F_SEAL_GROW
	[ "$(fake_saw "$DATA" seals)" -eq 7 ]
	[ "$(fake_saw "$DATA" taken)" -gt 1000 ]
}

@test "a ring whose memory is taken away page by page does no harm" {
	recover_with_fake punches "$connected"
	[ "$(fake_saw "$DATA" "pages punched")" -gt 100 ]
}

@test "a daemon that always reports that it sleeps gets its wake-ups, and the server its recovery" {
	recover_with_fake never-awake "$connected"
	[ "$(fake_saw "$DATA" wakeups)" -gt 10 ]
	[ "$(fake_saw "$DATA" taken)" -gt 1000 ]
}

@test "a daemon that makes wake-ups block does not stop the server" {
	recover_with_fake blocks-wakeups "$connected"
}

@test "a daemon that beats but takes nothing is not waited for, nor relied on" {
	settings "$DATA" redoahead.lookahead=1024
	recover_with_fake idle "$connected" "$stalled"
	[ "$(fake_saw "$DATA" dropped)" -gt 1000 ]
}

@test "a socket of another user is not used" {
	[ "$(id -u)" -eq 0 ] || skip "only root can run a daemon as another user"
	mkdir -m 1777 "$CASE/shared"
	settings "$DATA" redoahead.socket="$CASE/shared/socket"
	FAKE_USER=$(id -u nobody) FAKE_SOCKET=$CASE/shared/socket start_fake "$DATA" good 0
	recover
	stop_fake
	log_is "$DATA" "${no_daemon}socket does not belong to the user that the server runs as$meanwhile"
	[ "$(fake_saw "$DATA" "turned away")" -ge 1 ]
	same_as_stock
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
