#!/usr/bin/env bats
# The checkpoint after crash recovery comes after the first connections, and whatever
# happens before it is complete, nothing is lost.

load lib/servers
load lib/feeding

setup_file() {
	suite_begin
	make_crashed 4 100000
	make_reference
}

# Recover to where clients can connect; the checkpointer is stopped before redo ends.
recover_without_checkpoint() {	# DATA
	start_server_and_stop_redo "$PATCHED" "$1" "$1.log" 'redo starts'
	wait_until "the checkpointer" child "$1" checkpointer
	checkpointer=$(child "$1" checkpointer)
	kill -STOP "$checkpointer"
	kill -CONT "$(startup_pid "$1")"
	end_recovery_without "$1" "$checkpointer"
	wait_until "the end of recovery" is_ready "$1"
	# Stock's server would have had to wait for it.
	no grep -q 'checkpoint starting' "$1.log"
}

# A server crashes while its checkpointer is stopped, and it goes on at no time.
crash_without_checkpoint() {	# DATA
	as_server_user "$PATCHED/bin/pg_ctl" -D "$1" -W -m immediate stop >/dev/null
	kill -KILL "$checkpointer"
	wait_until "the end of the server" server_has_gone "$1"
	no grep -q 'checkpoint complete' "$1.log"
	mv "$1.log" "$1.log.old"
}

waits_for_checkpoint() {	# DATA
	recover_with "$PATCHED" "$1"
	grep -q 'checkpoint starting: end-of-recovery' "$1.log"
}

# Lost otherwise: the time until users can connect.
@test "clients connect before the checkpoint, which begins at once; the data is stock's" {
	copy_crashed
	recover_without_checkpoint "$DATA"
	# A session would change catalogs.
	"$PATCHED/bin/pg_isready" -q -h "$DATA"
	kill -CONT "$checkpointer"
	wait_until "the checkpoint" grep -q 'checkpoint complete' "$DATA.log"
	grep -q 'checkpoint starting: \(immediate\|fast\) force$' "$DATA.log"
	stop_server "$DATA"
	same_data "$DATA" "$WORK/reference"
	good_checksums "$DATA"
}

has_recovered() {			# DATA TIMES
	[ "$(grep -c 'ready to accept connections' "$1.log")" -eq "$2" ]
}

# Lost otherwise: the same for the most frequent crash.
@test "after the crash of a session, clients connect before the checkpoint, too" {
	local sums="select sum(abalance) from pgbench_accounts union all select sum(delta) from pgbench_history" before
	copy_cluster "$WORK/reference" "$DATA"
	settings "$DATA" "${redoahead_settings[@]}" full_page_writes=on
	start_server "$PATCHED" "$DATA"
	sql "$DATA" -c checkpoint
	write_transactions "$DATA" 8000
	before=$(sql "$DATA" -c "$sums")
	sql "$DATA" -c "select pg_backend_pid()" -c "select pg_sleep(3600)" >"$CASE/session" 2>&1 3>&- &
	wait_until "the session" test -s "$CASE/session"
	kill -KILL "$(head -n 1 "$CASE/session")"
	wait_until "the end of recovery" has_recovered "$DATA" 2
	[ "$(sql "$DATA" -c "$sums")" = "$before" ]
	# Or the one at the shutdown may take its place.
	wait_until "the checkpoint" grep -q 'checkpoint starting: \(immediate\|fast\) force$' "$DATA.log"
	stop_server "$DATA"
	no grep -q 'checkpoint starting: end-of-recovery' "$DATA.log"
	good_checksums "$DATA"
}

# Lost otherwise: what users write between two crashes; and a bound for the time of recovery,
# if servers crash again and again.
@test "a crash before it is complete loses nothing, and the next recovery waits for its checkpoint" {
	copy_crashed
	recover_without_checkpoint "$DATA"
	sql "$DATA" -c "create table first (n int primary key, t text)" \
		-c "insert into first select n, repeat('x', n) from generate_series(1, 2000) n" \
		-c "create unlogged table lost as select 1" -c "drop table pgbench_history"
	sql "$DATA" -c "begin" -c "insert into first values (-1)" -c "prepare transaction 'kept'"
	crash_without_checkpoint "$DATA"
	# A standby that is made of it must not be consistent before the end of its WAL.
	"$PATCHED/bin/pg_controldata" "$DATA" | grep -q 'Minimum recovery ending location: *0/0*$'
	# Stock's recovery of the same is the truth.
	copy_cluster "$DATA" "$CASE/stock"
	settings "$CASE/stock" shared_preload_libraries=
	recover_with "$STOCK" "$CASE/stock"
	waits_for_checkpoint "$DATA"
	same_data "$DATA" "$CASE/stock"
	good_checksums "$DATA"
	start_server "$PATCHED" "$DATA"
	[ "$(sql "$DATA" -c 'select count(*), sum(length(t)) from first')" = '2000|2001000' ]
	[ "$(sql "$DATA" -c 'select count(*) from lost')" = 0 ]
	sql "$DATA" -c "commit prepared 'kept'"
	[ "$(sql "$DATA" -c 'select count(*) from first where n = -1')" = 1 ]
	as_server_user "$PATCHED/bin/pg_amcheck" -h "$DATA" -d postgres --install-missing --heapallindexed
	stop_server "$DATA"
}

# Lost otherwise: a prepared transaction, which the next recovery would take for the one that had
# its ID before the first crash and left no trace in WAL.
@test "recovery that finds the status of a transaction that WAL does not have waits for its checkpoint" {
	local next
	copy_cluster "$WORK/reference" "$DATA"
	settings "$DATA" "${redoahead_settings[@]}"
	start_server "$PATCHED" "$DATA"
	sql "$DATA" -c checkpoint -c "create table changed ()"
	next=$(sql "$DATA" -c "select pg_snapshot_xmax(pg_current_snapshot())")
	crash_server "$DATA"
	# Four transactions that were aborted, two bits each.
	printf '\xaa' | as_server_user dd of="$DATA/pg_xact/$(printf '%04X' $((next / 1048576)))" bs=1 \
		seek=$(((next % 1048576 + 40) / 4)) conv=notrunc status=none
	mv "$DATA.log" "$DATA.log.old"
	waits_for_checkpoint "$DATA"
}

# Lost otherwise: what users write, to a torn page that has no image though they are turned on.
@test "recovery after which full_page_writes is turned on waits for its checkpoint" {
	copy_crashed
	settings "$DATA" full_page_writes=on
	waits_for_checkpoint "$DATA"
}

# Lost otherwise: pages of a base backup from a standby, torn while they were copied: it is
# refused only if the standby knows that WAL has no images.
@test "crash recovery logs that full_page_writes was turned off" {
	local begin
	copy_cluster "$WORK/reference" "$DATA"
	settings "$DATA" "${redoahead_settings[@]}" wal_level=replica full_page_writes=on
	start_server "$PATCHED" "$DATA"
	sql "$DATA" -c checkpoint
	begin=$(sql "$DATA" -c 'select pg_current_wal_insert_lsn()')
	sql "$DATA" -c "create table changed ()"
	crash_server "$DATA"
	settings "$DATA" full_page_writes=off
	start_server "$PATCHED" "$DATA"
	sql "$DATA" -c checkpoint
	crash_server "$DATA"
	as_server_user "$PATCHED/bin/pg_waldump" -p "$DATA/pg_wal" -r XLOG --start="$begin" >"$CASE/records" 2>/dev/null || true
	grep -A 1 END_OF_RECOVERY "$CASE/records" | grep -q 'FPW_CHANGE false'
}

replayed() {				# STANDBY PRIMARY
	[ "$(sql "$1" -c "select pg_last_wal_replay_lsn() >= '$(sql "$2" -c 'select pg_current_wal_insert_lsn()')'")" = t ]
}

# pg_dump writes a random key into what psql is to read.
dump() {					# DATA
	as_server_user "$PATCHED/bin/pg_dump" -h "$1" postgres | grep -v '^.\(un\)\?restrict '
}

# Lost otherwise: queries of a standby wait for locks of transactions that are gone; logical
# decoding loses or repeats changes.
@test "standbys and logical decoding notice that the primary's transactions are gone" {
	local primary=$CASE/primary locks="select count(*) from pg_locks where mode = 'AccessExclusiveLock'" end
	copy_cluster "$WORK/reference" "$primary"
	settings "$primary" "${redoahead_settings[@]}" wal_level=logical synchronous_commit=off
	start_server "$PATCHED" "$primary" "${fast[@]}"
	sql "$primary" -c "select pg_create_logical_replication_slot('slot', 'test_decoding')" >/dev/null
	as_server_user "$STOCK/bin/pg_basebackup" -h "$primary" -D "$DATA" -X stream --checkpoint=fast
	rm -f "$DATA/.s.PGSQL."*
	settings "$DATA" shared_preload_libraries= hot_standby=on wal_retrieve_retry_interval=100ms \
		primary_conninfo="host=$primary user=$redoahead_user"
	as_server_user touch "$DATA/standby.signal"
	start_server "$STOCK" "$DATA"
	sql "$primary" -c "create table changes (n int)" -c "insert into changes values (1)"
	sql "$primary" -c "begin" -c "lock pgbench_tellers" -c "insert into changes values (2)" \
		-c "select pg_log_standby_snapshot()" -c "select pg_sleep(3600)" >/dev/null 2>&1 3>&- &
	wait_until "the lock on the standby" eval '[ "$(sql "$DATA" -c "$locks")" -gt 0 ]'
	write_transactions "$primary" 60000
	crash_server "$primary"
	mv "$primary.log" "$primary.log.old"
	[ "$(sql "$DATA" -c "$locks")" -gt 0 ]
	recover_without_checkpoint "$primary"
	wait_until "replay" replayed "$DATA" "$primary"
	[ "$(sql "$DATA" -c "$locks")" = 0 ]
	sql "$primary" -c "insert into changes values (3)"
	wait_until "replay" replayed "$DATA" "$primary"
	diff <(dump "$primary") <(dump "$DATA")
	[ "$(sql "$primary" -c "select data from pg_logical_slot_get_changes('slot', null, null)" |
		sed -n 's/table public.changes: INSERT: //p' | xargs)" = 'n[integer]:1 n[integer]:3' ]
	kill -CONT "$checkpointer"
	stop_server "$primary"
	stop_server "$DATA"
	# The snapshot is the startup process's, not a later one of the background writer.
	end=$(sed -n 's/.*redo done at \([0-9A-F/]*\) .*/\1/p' "$primary.log")
	as_server_user "$PATCHED/bin/pg_waldump" -p "$primary/pg_wal" -s "$end" -n 4 | sed -n '/END_OF_RECOVERY/,$p' |
		sed -n 2p | grep -q RUNNING_XACTS
}

changes_checksums() {		# DATA
	"$PATCHED/bin/pg_controldata" "$1" | grep -q '^Data page checksum version: *2$'
}

# A small cluster that crashed, for tests of how recovery ends and not of what it replays.
make_small() {
	make_cluster "$CASE/small"
	start_server "$PATCHED" "$CASE/small"
	pgbench "$CASE/small" -iq -s 1
	crash_server "$CASE/small"
}

# A copy of it in $DATA, for a server with the extension.
copy_small() {				# [SETTING...]
	copy_cluster "$CASE/small" "$DATA"
	settings "$DATA" "${redoahead_settings[@]}" "$@"
}

# Lost otherwise: what replaying all WAL again would do wrong (see CanDeferCheckpoint() of the
# patch); and a way to have stock's behaviour.
@test "clients wait for it where it cannot be deferred, and where it is off" {
	local setting
	make_small
	# It is deferred without any of these.
	copy_small max_wal_senders=0
	start_server "$PATCHED" "$DATA"
	wait_until "the checkpoint" grep -q 'checkpoint starting: \(immediate\|fast\) force$' "$DATA.log"
	stop_server "$DATA"
	rm -rf "$DATA" "$DATA.log"
	for setting in wal_level=minimal track_commit_timestamp=on redoahead.defer_checkpoint=off redoahead.socket= \
		recovery_prefetch=off; do
		copy_small max_wal_senders=0 "$setting"
		waits_for_checkpoint "$DATA"
		no grep -q 'not deferred' "$DATA.log"
		rm -rf "$DATA" "$DATA.log"
	done
	# WAL of a server that logged less than the one that recovers.
	copy_cluster "$WORK/reference" "$DATA"
	settings "$DATA" "${redoahead_settings[@]}" max_wal_senders=0
	start_server "$PATCHED" "$DATA" wal_level=minimal
	pgbench "$DATA" -n -N -t 100
	crash_server "$DATA"
	waits_for_checkpoint "$DATA"
	rm -rf "$DATA" "$DATA.log"
	# PostgreSQL 19 may be about to change data checksums; each step ends with a checkpoint.
	if [ "$pg_major" -ge 19 ]; then
		copy_cluster "$WORK/reference" "$DATA"
		settings "$DATA" "${redoahead_settings[@]}"
		start_server "$PATCHED" "$DATA"
		checkpointer=$(child "$DATA" checkpointer)
		kill -STOP "$checkpointer"
		sql "$DATA" -c "select pg_disable_data_checksums()" >/dev/null 2>&1 3>&- &
		wait_until "the change" changes_checksums "$DATA"
		crash_without_checkpoint "$DATA"
		waits_for_checkpoint "$DATA"
		rm -rf "$DATA" "$DATA.log"
	fi
	# An archive may have the copy of a database.
	copy_small
	feed_from_archive "$DATA"
	feed_all "$DATA"
	waits_for_checkpoint "$DATA"
}

# Lost otherwise: a server that crashed because pg_wal was full crashes at once again.
@test "with little space in pg_wal, clients wait for the checkpoint, and the log has why" {
	need_namespace --mount
	copy_crashed
	as_server_user mkdir "$CASE/wal"
	(exec unshare --mount sh -c 'mount -t tmpfs -o size=1000m,mode=777 none "$0" && cp -a "$1/pg_wal" "$0" &&
		mount --bind "$0/pg_wal" "$1/pg_wal" && shift && exec "$@"' "$CASE/wal" "$DATA" "${as_user[@]}" \
		"$PATCHED/bin/pg_ctl" -D "$DATA" -l "$DATA.log" -w -t "$long_patience" -o "-k $DATA" start >/dev/null 3>&-)
	wait_until "the end of recovery" is_ready "$DATA"
	grep -q 'checkpoint starting: end-of-recovery' "$DATA.log"
	log_is "$DATA" '^no daemon at' '^the checkpoint is not deferred: the file system of "pg_wal" has only [0-9]+ MB of free space$'
	stop_server "$DATA"
}
