#!/usr/bin/env bats
# Daemons that are not what they should be, and that PostgreSQL recovers all the same:
# to the end, to the same data as the stock server, and with one line in its
# log for each change of state.

load lib/recoveries

# Recover with a fake daemon, and expect these lines in the log, no others.  One
# that was connected disconnects for good when it is dropped; any other stays.
recover_with_fake() {		# MODE PATTERN...
	local pattern connections=0 interval=0.1
	[ "$2" != "$connected" ] || connections=1
	# The server gives it 10 s for an answer, and WAL must last so long.
	[ "$1" != silent ] || interval=1
	start_fake "$DATA" "$1" $connections
	shift
	begin_recovery
	for pattern; do
		feed_until "$DATA" "redoahead: ${pattern#^}" $interval
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

@test "a daemon of another protocol version is not used, and both versions are named" {
	recover_with_fake wrong-version \
		"${no_daemon}daemon has protocol version 5, server has 4; install the same release of both, and restart the server and the daemon$meanwhile"
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
	# F_SEAL_SEAL, F_SEAL_SHRINK and F_SEAL_GROW; F_SEAL_EXEC since Linux 6.3
	[ $(($(fake_saw "$DATA" seals) & ~32)) -eq 7 ]
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
	wait_until "the fake daemon" grep -q 'turned away' "$DATA.fake.log"
	stop_fake
	log_is "$DATA" "${no_daemon}socket does not belong to the user that the server runs as$meanwhile"
	[ "$(fake_saw "$DATA" "turned away")" -ge 1 ]
	same_as_stock
}
