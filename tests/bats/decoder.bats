#!/usr/bin/env bats
# The decoder hands over records in crash recovery, and recovery ends as stock's does
# whatever happens to it.

load lib/servers

setup_file() {
	suite_begin
	make_cluster "$WORK/crashed"
	start_server "$PATCHED" "$WORK/crashed" "${fast[@]}"
	pgbench "$WORK/crashed" -iq -s 2
	sql "$WORK/crashed" -c 'create extension redoahead' -c checkpoint
	as_server_user "$PATCHED/bin/pg_basebackup" -h "$WORK/crashed" -D "$WORK/backup" -X none --no-sync --checkpoint=fast
	write_transactions "$WORK/crashed" 60000
	sql "$WORK/crashed" -c 'select pg_current_wal_lsn()' >"$WORK/middle"
	emit_message "$WORK/crashed"
	write_transactions "$WORK/crashed" 60000
	crash_server "$WORK/crashed"
	make_reference
}

# A test of one CPU has the tag one-cpu.
setup() {
	case_begin
	[ "$(nproc)" -gt 1 ] || [[ " ${BATS_TEST_TAGS[*]-} " == *" one-cpu "* ]] || skip "there is one CPU"
}

# The decoder begins behind what the startup process has decoded itself: with the default, behind
# most of this WAL.
redoahead_settings+=(redoahead.lookahead=65536)

# Where tests beside this one take all CPUs, the decoder would be too slow for redo.
[ "$(id -u)" -ne 0 ] || as_user=(nice -n -10 "${as_user[@]}")

# A record of 6 MB.
emit_message() { sql "$1" -c "select pg_logical_emit_message(false, '', repeat('x', 6 * 1024 * 1024), true)" >/dev/null; }	# DATA

takes_records() { grep -q 'DEBUG:  redoahead: taking records from the decoder' "$1.log"; }
runs() { grep -c 'DEBUG:  redoahead: took [1-9][0-9]* records from the decoder' "$1.log"; }	# DATA

# Recover with few references ahead, so that the decoder lives as long as redo, and stop redo
# while it takes records.  Their process ids are in $startup and $decoder.
stop_amid_run() { stop_redo 'taking records from the decoder' redoahead.lookahead=4096; }

# The same before it takes records: there are many that it has decoded itself.
stop_before_take() { stop_redo 'the decoder begins' redoahead.decode_buffer_size=64MB; }

# Start the server, and stop redo once the daemon is connected, which may take longer than redo.
start_connected() { start_server_and_hold_redo "$PATCHED" "$DATA" is_connected; }
is_connected() { grep -q 'redoahead: connected' "$DATA.log"; }

# Recover so.
recover_connected() {
	start_connected
	kill -CONT "$startup"
	wait_until "the end of recovery" is_ready "$DATA"
}

stop_redo() {				# LOG-LINE SETTING...
	local line=$1
	shift
	copy_crashed
	settings "$DATA" log_min_messages=debug1 redoahead.decoder=on "$@"
	start_daemon "$DATA"
	start_connected
	let_redo_go_on_to "$DATA" "$line"
	wait_until "the stop" is_stopped "$startup"
	wait_until "the decoder" child "$DATA" 'redoahead decoder' >/dev/null
	decoder=$(child "$DATA" 'redoahead decoder')
}

has_taken_none() { no takes_records "$DATA"; }

# End the decoder while redo is stopped.  The stopped process may hold a lock that the decoder
# waits for, and signals don't interrupt that: only then let redo go on, no longer than it takes
# to stop it again.  On a busy machine that is time enough to take records.
end_decoder() {
	kill -TERM "$decoder"
	wait_until "the end of the decoder" decoder_has_ended
	wait_until "the stop" is_stopped "$startup"
}

decoder_has_ended() {
	! is_gone "$decoder" || return 0
	if grep -q futex "/proc/$decoder/wchan"; then
		kill -CONT "$startup"
		sleep 0.001
		kill -STOP "$startup"
	fi
	return 1
}

ends_as_stock() { ends_as_stock_with "$connected" "$@"; }	# LOG-LINE...

ends_as_stock_with() {		# LOG-LINE...
	wait_until "the end of recovery" is_ready "$DATA"
	stop_server "$DATA"
	stop_daemon "$DATA"
	log_is "$DATA" "$@"
	good_checksums "$DATA"
	same_data "$DATA" "$WORK/reference"
}

stop_checkpointer() {
	wait_until "the checkpointer" child "$DATA" checkpointer
	checkpointer=$(child "$DATA" checkpointer)
	kill -STOP "$checkpointer"
}

# Write something, crash, and recover, which must end as stock does, whose log is in $CASE/stock.log.
crash_without_checkpoint() {
	wait_until "the end of recovery" is_ready "$DATA"
	write_transactions "$DATA" 4000
	as_server_user "$PATCHED/bin/pg_ctl" -D "$DATA" -W -m immediate stop >/dev/null
	kill -KILL "$checkpointer"
	wait_until "the end of the server" server_has_gone "$DATA"
	copy_cluster "$DATA" "$CASE/stock"
	settings "$CASE/stock" shared_preload_libraries=
	recover_with "$STOCK" "$CASE/stock"
	mv "$DATA.log" "$DATA.log.old"
	start_daemon "$DATA"
	recover_connected
	stop_server "$DATA"
	stop_daemon "$DATA"
	same_data "$DATA" "$CASE/stock"
}

# Kilobytes that are allocated of a mapping that postmaster and decoder share.
shared_kb() {				# DATA
	local maps=/proc/$(head -n 1 "$1/postmaster.pid")/map_files range
	# The server's own shared memory is there without the extension, too.
	for range in $(grep -F '/dev/zero (deleted)' "${maps%map_files}maps" | cut -d' ' -f1); do
		echo $(($(stat -Lc '%b * %B' "$maps/$(sed 's/\b0*\([0-9a-f]\)/\1/g' <<<"$range")") / 1024))
	done
}

# Block references in the WAL from where redo starts.
references() {				# DATA
	local start
	start=$(redo_lsn "$1")
	{ "$PATCHED/bin/pg_waldump" -p "$1/pg_wal" -s "$start" 2>/dev/null || true; } | grep -o 'blkref #' | wc -l
}

# Lost otherwise: the gain; and that is all that the decoder does.
@test "the startup process takes records from the decoder, whose memory is given back" {
	copy_crashed
	settings "$DATA" log_min_messages=debug1 redoahead.decoder=on
	start_daemon "$DATA"
	recover_connected
	takes_records "$DATA"
	wait_until "the end of the decoder" has_no_child "$DATA" 'redoahead decoder'
	if [ "$UID" -eq 0 ]; then
		shared_kb "$DATA" >"$CASE/shared"
		# Of two mappings, buffers and the decoder's, one is empty but for counters.
		[ "$(sort -n "$CASE/shared" | head -n 1)" -le 2048 ]
	fi
	ends_as_stock
	[ "$(runs "$DATA")" -ge 1 ]
}

# Lost otherwise: CPU time of decoder and daemon, for what has been looked at before.
@test "neither process looks ahead where the other one has" {
	local all offered
	copy_crashed
	all=$(references "$DATA")
	settings "$DATA" log_min_messages=debug1 redoahead.decoder=on
	start_daemon "$DATA"
	recover_connected
	takes_records "$DATA"
	offered=$(sql "$DATA" -c 'select offered from pg_stat_redoahead')
	echo "$all references, $offered offered"
	no grep -q 'has not responded' "$DATA.log"
	# Some come before the daemon is connected.
	[ "$offered" -ge $((all / 2)) ]
	[ "$offered" -le $((all * 101 / 100)) ]
	stop_server "$DATA"
	stop_daemon "$DATA"
}

# Lost otherwise: the head start of the daemon, which reads nothing before something is decoded.
@test "the decoder begins when the startup process has looked ahead as far as it may" {
	local first
	copy_crashed
	settings "$DATA" log_min_messages=debug1 redoahead.decoder=on redoahead.lookahead=32768
	start_daemon "$DATA"
	recover_connected
	first=$(grep -oE -m 1 'the decoder begins [0-9]+' "$DATA.log")
	echo "$first references ahead"
	[ "${first##* }" -ge 30000 ]
	ends_as_stock
}

# Lost otherwise: a way to do without it.
@test "without redoahead.decoder the startup process decodes all WAL" {
	copy_crashed
	settings "$DATA" log_min_messages=debug1
	start_daemon "$DATA"
	recover_connected
	no takes_records "$DATA"
	no grep -q 'redoahead decoder' "$DATA.log"
	ends_as_stock
}

# Lost otherwise: CPU time, where redo has to share one CPU with it.
# bats test_tags=one-cpu
@test "with one CPU the startup process decodes all WAL" {
	as_user=(taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')" "${as_user[@]}")
	copy_crashed
	settings "$DATA" log_min_messages=debug1 redoahead.decoder=on
	start_daemon "$DATA"
	recover_connected
	no takes_records "$DATA"
	no grep -q 'the decoder begins' "$DATA.log"
	ends_as_stock_with '^there is one CPU, so no decoder is used' "$connected"
}

# Lost otherwise: recovery, which would wait as long as it is stopped.
@test "a decoder that does not respond is left after 250 ms" {
	stop_amid_run
	kill -STOP "$decoder"
	kill -CONT "$startup"
	wait_until "the end of recovery" is_ready "$DATA"
	kill -CONT "$decoder"
	wait_until "the end of the decoder" is_gone "$decoder"
	ends_as_stock "^decoder \(PID $decoder\) has not responded for 250 ms; the startup process decodes WAL itself\$"
}

# Lost otherwise: the same, where the server cannot start processes in time.
@test "a decoder that does not start is left after 250 ms" {
	local postmaster
	copy_crashed
	settings "$DATA" log_min_messages=debug1 redoahead.decoder=on redoahead.lookahead=4096
	start_server_and_stop_redo "$PATCHED" "$DATA" "$DATA.log" 'no daemon at'
	startup=$(startup_pid "$DATA")
	postmaster=$(head -n 1 "$DATA/postmaster.pid")
	kill -STOP "$postmaster"
	start_daemon "$DATA"
	wait_until "the daemon" goes_on_unless "$startup" is_connected
	kill -CONT "$startup"
	wait_until "the line" grep -q 'has not started' "$DATA.log"
	kill -CONT "$postmaster"
	ends_as_stock_with '^no daemon at ' "$connected" \
		'^the decoder has not started after 250 ms; the startup process decodes WAL itself$'
}

# Lost otherwise: recovery, if an administrator ends it.
@test "a decoder that is ended is not missed" {
	stop_amid_run
	end_decoder
	kill -CONT "$startup"
	ends_as_stock
}

# Lost otherwise: the same, before any was taken.
@test "a decoder that is ended before records are taken is not missed" {
	stop_before_take
	end_decoder
	has_taken_none
	kill -CONT "$startup"
	ends_as_stock
}

# Lost otherwise: the look-ahead that was set.
@test "a reload changes the look-ahead before records are taken" {
	stop_before_take
	settings "$DATA" redoahead.lookahead=8192
	kill -HUP "$(head -n 1 "$DATA/postmaster.pid")"
	# It is noticed before the next record.
	wait_until "the signal" grep -q '^ShdPnd:.*[13579bdf]$' "/proc/$startup/status"
	has_taken_none
	kill -CONT "$startup"
	wait_until "the end of the run" grep -q 'took 0 records from the decoder' "$DATA.log"
	wait_until "the end of the decoder" is_gone "$decoder"
	ends_as_stock
}

# Lost otherwise: the server, where it is killed for lack of memory.
@test "after a kill of the decoder recovery begins anew, as after that of any process of the server" {
	stop_amid_run
	# It may have ended once redo goes on.
	kill -KILL "$decoder"
	kill -CONT "$startup"
	ends_as_stock "^the decoder \(PID $decoder\) was running when a process crashed" "$connected"
	grep -q 'redoahead decoder.* was terminated by signal 9' "$DATA.log"
	# Nor is it used again.
	[ "$(grep -c "taking records from the decoder" "$DATA.log")" -eq 1 ]
}

# Lost otherwise: recovery where all worker slots are taken, and the reason why it is slower.
@test "without a worker slot the startup process decodes WAL itself" {
	copy_crashed
	settings "$DATA" redoahead.decoder=on max_worker_processes=0
	start_daemon "$DATA"
	recover_connected
	ends_as_stock '^no background worker slot for the decoder; the startup process decodes WAL itself$'
}

# Lost otherwise: the reason why no decoder is used.
@test "a decode buffer that is too small for the decoder is logged once" {
	refuses decode_buffer_size=1MB '^the decode buffer is too small for the decoder, which needs 4096 kB'
}
@test "a look-ahead that is too short for the decoder is logged once" {
	refuses lookahead=2048 '^a look-ahead of 2048 block references is too short for the decoder, which needs 4096'
}
refuses() {					# SETTING LOG-LINE
	copy_crashed
	settings "$DATA" redoahead.decoder=on "redoahead.$1"
	start_daemon "$DATA"
	recover_connected
	ends_as_stock "$2"
}

# Lost otherwise: the same, and memory behind that of the decoder.
@test "a decode buffer that a reload enlarges beyond what is reserved is logged once" {
	copy_crashed
	settings "$DATA" redoahead.decoder=on redoahead.decode_buffer_size=4MB
	start_daemon "$DATA"
	start_connected
	settings "$DATA" redoahead.decode_buffer_size=256MB
	kill -HUP "$(head -n 1 "$DATA/postmaster.pid")"
	wait_until "the signal" grep -q '^ShdPnd:.*[13579bdf]$' "/proc/$startup/status"
	kill -CONT "$startup"
	ends_as_stock '^too little memory is reserved for the decoder'
}

ends_without_daemon() {
	stop_daemon "$DATA"
	kill -CONT "$startup"
	wait_until "the loss" grep -q 'redoahead: lost' "$DATA.log"
	wait_until "the end of the decoder" is_gone "$decoder"
	wait_until "the end of recovery" is_ready "$DATA"
	stop_server "$DATA"
	same_data "$DATA" "$WORK/reference"
}

# Lost otherwise: recovery, if the daemon goes while records are taken.
@test "without the daemon the startup process decodes WAL itself" {
	stop_amid_run
	ends_without_daemon
}

# Lost otherwise: the same, if it goes before.
@test "without the daemon no records are taken" {
	stop_before_take
	ends_without_daemon
	has_taken_none
}

# Make all reads of WAL by a process fail; with -f, those of children that it starts from now
# on, too.
fail_wal_reads() {			# [-f] PROCESS
	strace "${@:1:$#-1}" -qq -o "$CASE/calls" -p "${*: -1}" -e trace=pread64 -e inject=pread64:error=EIO \
		$(printf -- '-P %s ' "$DATA"/pg_wal/0*) 3>&- &
	tracer=$!
	wait_until "the tracer" is_traced "${*: -1}"
}
is_traced() { grep -q "^TracerPid:[[:space:]]$tracer$" "/proc/$1/status"; }
has_failed() { grep -q 'EIO .*(INJECTED)' "$CASE/calls"; }

# Lost otherwise: recovery, where only the decoder's reads of WAL fail.
@test "where the decoder cannot read WAL, the startup process reads on" {
	need_attach
	stop_amid_run
	fail_wal_reads "$decoder"
	kill -CONT "$startup"
	wait_until "the end of the decoder" is_gone "$decoder"
	has_failed
	ends_as_stock
	[ "$(runs "$DATA")" -ge 1 ]
}

# Lost otherwise: prefetching, each time that redo has come to the end of what was looked ahead.
@test "where the decoder ends early, the startup process looks ahead again at once" {
	local postmaster ahead
	need_attach
	copy_crashed
	settings "$DATA" log_min_messages=debug1 redoahead.decoder=on redoahead.lookahead=32768 \
		redoahead.decode_buffer_size=64MB
	start_server_and_stop_redo "$PATCHED" "$DATA" "$DATA.log" 'no daemon at'
	startup=$(startup_pid "$DATA")
	postmaster=$(head -n 1 "$DATA/postmaster.pid")
	fail_wal_reads -f "$postmaster"
	start_daemon "$DATA"
	wait_until "the daemon" goes_on_unless "$startup" is_connected
	let_redo_go_on_to "$DATA" 'the decoder begins'
	wait_until "the error" has_failed
	wait_until "the end of the decoder" has_no_child "$DATA" 'redoahead decoder'
	kill -TERM "$tracer"
	wait "$tracer" || true
	kill -CONT "$startup"
	ends_as_stock_with '^no daemon at ' "$connected"
	ahead=$(sed -n 's/.*took 0 records from the decoder; the startup process is \([0-9]*\) .*/\1/p' "$DATA.log" | head -n 1)
	[ "$ahead" -ge 1024 ] || { echo "only $ahead references ahead"; return 1; }
}

# Lost otherwise: recovery of records that do not fit into shared memory.
@test "a record larger than the decode buffer is read by the startup process, and then the decoder again" {
	copy_crashed
	settings "$DATA" log_min_messages=debug1 redoahead.decoder=on redoahead.decode_buffer_size=4MB
	start_daemon "$DATA"
	recover_connected
	ends_as_stock
	[ "$(runs "$DATA")" -ge 2 ]
}

# Lost otherwise: recovery of WAL in which an incomplete record was overwritten, whose redo
# consults the reader that has seen that.
@test "an overwritten record and an end-of-recovery record in the WAL" {
	local last segments
	copy_cluster "$WORK/reference" "$DATA"
	settings "$DATA" "${redoahead_settings[@]}" log_min_messages=debug1 redoahead.decoder=on
	start_server "$PATCHED" "$DATA"
	write_transactions "$DATA" 40000
	emit_message "$DATA"
	last=$(sql "$DATA" -c 'select pg_walfile_name(pg_current_wal_lsn())')
	stop_server "$DATA" immediate
	# The record ends in the last segment; leave its first part.
	segments=($(ls "$DATA/pg_wal" | grep -xE '[0-9A-F]{24}'))
	for i in "${!segments[@]}"; do
		[[ ! ${segments[i + 2]:-$last} < $last ]] && rm "$DATA/pg_wal/${segments[i]}"
	done
	# This recovery overwrites it, and the next one begins before, since there is no checkpoint.
	mv "$DATA.log" "$DATA.log.old"
	start_server_and_stop_redo "$PATCHED" "$DATA" "$DATA.log" 'redo starts'
	stop_checkpointer
	kill -CONT "$(startup_pid "$DATA")"
	end_recovery_without "$DATA" "$checkpointer"
	crash_without_checkpoint
	grep -q 'successfully skipped missing contrecord' "$CASE/stock.log"
	grep -q 'successfully skipped missing contrecord' "$DATA.log"
	[ "$(runs "$DATA")" -ge 1 ]
}

# Lost otherwise: what was written after a point-in-time recovery; and WAL that it was to
# exclude would be replayed, which is still there on the old timeline.
@test "a crash after a promotion, before its first checkpoint" {
	copy_cluster "$WORK/backup" "$DATA"
	as_server_user cp -r "$WORK/crashed/pg_wal/." "$DATA/pg_wal"
	as_server_user touch "$DATA/recovery.signal"
	settings "$DATA" "${redoahead_settings[@]}" log_min_messages=debug1 redoahead.decoder=on restore_command=false hot_standby=on \
		recovery_target_lsn="$(cat "$WORK/middle")" recovery_target_action=pause
	start_server "$PATCHED" "$DATA"
	wait_until "the target" has_paused "$DATA"
	stop_checkpointer
	sql "$DATA" -c 'select pg_promote(false)'
	crash_without_checkpoint
	[ -e "$DATA/pg_wal/00000002.history" ]
}
