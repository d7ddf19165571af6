#!/usr/bin/env bats
# What serve and follow show of real recoveries, against what the servers themselves say.

bats_require_minimum_version 1.5.0
load lib/servers
load lib/follow
load lib/feeding

setup_file() { follow_setup; }

status_is() {				# DATA VALUE NAME...
	local data=$1 value=$2
	shift 2
	read_status "$data" && [ "$(json_member "$CASE/status" "$@")" = "$value" ]
}

knows_end() {				# DATA
	read_status "$1" && [ "$(json_member "$CASE/status" recovery)" != None ] &&
		[ "$(json_member "$CASE/status" recovery end_lsn)" != None ]
}

knows_limit() { read_status "$1" && [ "$(json_member "$CASE/status" recovery limit)" != None ]; }		# DATA

# The status in the middle of a crash recovery.
crash_recovery_status() {	# DATA LOG
	wait_until "the position of redo" knows_redo "$1" "$startup"
	wait_until "what limits redo" goes_on_unless "$startup" knows_limit "$1"
	wait_until "the end of WAL" knows_end "$1"
	[ "$(json_member "$CASE/status" phase)" = 'crash recovery' ]
	[ "$(json_member "$CASE/status" recovery end_source)" = scan ]
	END=$(json_member "$CASE/status" recovery end_lsn)
	kill -CONT "$startup"
	wait_until "the end of recovery" is_ready "$1"
	wait_until "the last recovery" status_is "$1" None recovery
	# pg_control and the server's log know the truth; the last record ends on the last page.
	local done=$(redo_end "$1")
	local begun=$(sed -n 's/.*redo starts at \([0-9A-F/]*\)$/\1/p' "$1.log")
	(( $(lsn_bytes "$END") > $(lsn_bytes "$done") ))
	(( $(lsn_bytes "$END") <= $(lsn_bytes "$done") + 3 * 8192 ))
	(( $(lsn_bytes "$(json_member "$CASE/status" last_recovery redo_start_lsn)") == $(lsn_bytes "$begun") ))
	local replayed=$(json_member "$CASE/status" last_recovery replayed_bytes)
	(( replayed <= $(lsn_bytes "$END") - $(lsn_bytes "$begun") ))
	grep -q 'info: redo of .*; its time: ' "$2"
}

# Lost otherwise: when recovery will be done.
@test "crash recovery with follow: the phase, and the end of WAL" {
	copy_cluster "$WORK/crashed" "$DATA"
	evict "$DATA"
	start_follow "$DATA" --metrics "$CASE/redoahead.prom" --report "$CASE"
	start_server_followed "$STOCK" "$DATA" 'following redo by'
	crash_recovery_status "$DATA" "$DATA.follow.log"
	status_is "$DATA" waiting phase
	stop_server "$DATA"
	stop_follow "$DATA"
	[ ! -e "$CASE/redoahead.prom" ]
	report=$(sed -n 's/.*report of the recovery: //p' "$DATA.follow.log")
	grep -q '<svg' "$report"
}

# Lost otherwise: the same for the patched server.
@test "crash recovery with serve: the phase, and the end of WAL" {
	copy_crashed
	evict "$DATA"
	start_daemon "$DATA"
	start_server_and_hold_redo "$PATCHED" "$DATA" grep -q 'recovery connected' "$DATA.daemon.log"
	crash_recovery_status "$DATA" "$DATA.daemon.log"
	status_is "$DATA" waiting phase
	stop_server "$DATA"
	stop_daemon "$DATA"
}

streams_to() {				# STANDBY PRIMARY
	read_status "$1" && [ "$(json_member "$CASE/status" phase)" = streaming ] &&
		(( $(lsn_bytes "$(json_member "$CASE/status" recovery received_lsn)") >= \
			$(lsn_bytes "$(sql "$2" -c 'select pg_current_wal_lsn()')") ))
}

# A primary, which runs, and its standby $DATA, which does not.
make_standby() {			# PRIMARY
	copy_cluster "$WORK/recovered" "$1"
	settings "$1" wal_level=replica
	start_server "$STOCK" "$1"
	as_server_user "$STOCK/bin/pg_basebackup" -h "$1" -D "$DATA" -X stream --checkpoint=fast
	rm -f "$DATA/.s.PGSQL."*
	settings "$DATA" primary_conninfo="host=$1 user=$redoahead_user" hot_standby=on wal_retrieve_retry_interval=100ms
	as_server_user touch "$DATA/standby.signal"
}

has_query() {				# DATA
	[ "$(sql "$1" -c "select count(*) from pg_stat_activity where wait_event = 'PgSleep'")" -eq 1 ]
}

# A few MB of WAL.
fill() {					# DATA
	sql "$1" -c 'create table if not exists filler (g int, t text)' \
		-c "insert into filler select g, repeat('x', 100) from generate_series(1, 30000) g"
}

# Lost otherwise: how far a standby lags.
@test "a standby: streaming, what was received, and what is to be replayed" {
	local primary=$CASE/primary
	make_standby "$primary"
	start_follow "$DATA"
	start_server "$STOCK" "$DATA"
	pgbench "$primary" -n -N -c 2 -t 200
	wait_until "the stream in the status" streams_to "$DATA" "$primary"
	# Redo's position comes on its own.
	wait_until "the end of WAL in the status" status_is "$DATA" received recovery end_source
	sql "$DATA" -c 'select pg_wal_replay_pause()'
	fill "$primary"
	wait_until "what was received" streams_to "$DATA" "$primary"
	(( $(json_member "$CASE/status" recovery remaining_bytes) > 0 ))
	wait_until "the pause" status_is "$DATA" 'pause or delay' recovery limit
	[ "$(json_member "$CASE/status" recovery time_left_seconds)" = None ]
	sql "$DATA" -c 'select pg_wal_replay_resume()'
	wait_until "replay" status_is "$DATA" 0 recovery remaining_bytes
	wait_until "the supply of WAL" status_is "$DATA" 'wal supply' recovery limit
	# Each commit is replayed an hour late, and what follows it after that.
	settings "$DATA" recovery_min_apply_delay=1h
	sql "$DATA" -c 'select pg_reload_conf()'
	fill "$primary"
	fill "$primary"
	wait_until "the delay" status_is "$DATA" 'pause or delay' recovery limit
	settings "$DATA" recovery_min_apply_delay=0
	sql "$DATA" -c 'select pg_reload_conf()'
	wait_until "replay" status_is "$DATA" 0 recovery remaining_bytes
	# How long a query takes is not known.
	settings "$DATA" max_standby_streaming_delay=-1
	sql "$DATA" -c 'select pg_reload_conf()'
	sql "$DATA" -c 'begin isolation level repeatable read' -c 'table pgbench_branches' -c 'select pg_sleep(600)' \
		>/dev/null 3>&- &
	query=$!
	wait_until "the query" has_query "$DATA"
	pgbench "$primary" -n -N -c 1 -t 10
	sql "$primary" -c 'delete from pgbench_branches where bid = 1' -c 'vacuum pgbench_branches'
	pgbench "$primary" -n -N -c 2 -t 200
	wait_until "the conflict" status_is "$DATA" 'lock conflict' recovery limit
	(( $(json_member "$CASE/status" recovery remaining_bytes) > 0 ))
	[ "$(json_member "$CASE/status" recovery time_left_seconds)" = None ]
	sql "$DATA" -c "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(600)' and pid <> pg_backend_pid()"
	wait "$query" || true
	wait_until "replay" status_is "$DATA" 0 recovery remaining_bytes
	stop_follow "$DATA"
	stop_server "$DATA"
	stop_server "$primary"
}

# Each of them is read now and then.
has_replayed_what_was_received() {	# DATA
	status_is "$1" 0 recovery remaining_bytes &&
		[ "$(json_member "$CASE/status" recovery replay_lsn)" = "$(json_member "$CASE/status" recovery received_lsn)" ]
}

# Lost otherwise: a night's sleep, for an alert that nothing is the matter with.
@test "a patched standby that waits for WAL has replayed what was received" {
	local primary=$CASE/primary
	make_standby "$primary"
	settings "$DATA" "${redoahead_settings[@]}"
	start_daemon "$DATA"
	start_server "$PATCHED" "$DATA"
	pgbench "$primary" -n -N -c 2 -t 200
	wait_until "the stream in the status" streams_to "$DATA" "$primary"
	wait_until "the end of replay in the status" has_replayed_what_was_received "$DATA"
	stop_server "$DATA"
	stop_server "$primary"
	stop_daemon "$DATA"
}

has_waited() {				# DATA SECONDS
	read_status "$1" && [ "$(json_member "$CASE/status" recovery)" != None ] &&
		(( $(json_member "$CASE/status" recovery stalled_seconds | cut -d . -f 1) >= $2 ))
}

# Lost otherwise: that the archive is slow, which passed for a pause.
@test "redo that waits for restore_command with decoded WAL behind it is not paused" {
	copy_crashed
	feed_from_archive "$DATA"
	settings "$DATA" "${redoahead_settings[@]}"
	start_daemon "$DATA"
	start_server --no-wait "$PATCHED" "$DATA"
	feed "$DATA"
	feed "$DATA"
	wait_until "redo that waits" has_waited "$DATA" 5
	(( $(json_member "$CASE/status" recovery lookahead_bytes) > 1024 * 1024 ))
	[ "$(json_member "$CASE/status" recovery limit)" = 'wal supply' ]
	feed_rest "$DATA"
	stop_server "$DATA"
	stop_daemon "$DATA"
}

has_report() { compgen -G "$CASE/reports/*.html" >/dev/null; }

# Lost otherwise: where the time of a recovery went.
@test "the report of a recovery has the relations that redo read, and the server's positions" {
	copy_crashed
	evict "$DATA"
	as_server_user mkdir "$CASE/reports"
	start_daemon "$DATA" --report "$CASE/reports"
	start_server_and_hold_redo "$PATCHED" "$DATA" has_read_by_now "$DATA" 1000
	kill -CONT "$startup"
	wait_until "the end of recovery" is_ready "$DATA"
	wait_until "the report" has_report
	local page=$(compgen -G "$CASE/reports/*.html") oid path
	wait_until "the line" grep -qF "report of the recovery: $page" "$DATA.daemon.log"
	wait_until "the last statistics" grep -q '"connected": false' "$DATA.stats"
	[[ ${page##*/} =~ ^redoahead-report-[0-9]{8}T[0-9]{6}-$DAEMON\.html$ ]]
	/usr/bin/python3 -B "$BATS_TEST_DIRNAME/lib/report.py" --text "$page" >"$CASE/text"
	grep -qxF "Recovery of | $DATA" "$CASE/text"
	# The server's name of the relation with most blocks: accounts or their index.
	path=$(sed -n 's/^1 | \([^ ]*\) | .*/\1/p' "$CASE/text")
	oid=${path#base/}
	[[ $(sql "$DATA" -c "select pg_filenode_relation(1663, ${oid#*/})") = pgbench_accounts* ]]
	[ "$(sql "$DATA" -c "select oid from pg_database where datname = current_database()")" = "${oid%/*}" ]
	[ "$(sed -n 's/^refs_taken | //p' "$CASE/text" | tr -d ' ')" = "$(json_member "$DATA.stats" recovery refs_taken)" ]
	stop_server "$DATA"
	stop_daemon "$DATA"
}

# Make pg_control record that the server was killed while it shut down.
was_shutting_down() {		# DATA
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$redoahead_root/tests/tools /usr/bin/python3 - "$1/global/pg_control" <<'EOP'
import struct, sys
from corrupt_image import crc32c

with open(sys.argv[1], 'r+b') as file:
    control = bytearray(file.read(512))
    # The checksum follows the data that it covers.
    length = next(n for n in range(100, 508, 4) if struct.unpack_from('=I', control, n)[0] == crc32c(control[:n]))
    struct.pack_into('=I', control, 16, 3)
    struct.pack_into('=I', control, length, crc32c(control[:length]))
    file.seek(0)
    file.write(control)
EOP
	"$STOCK/bin/pg_controldata" -D "$1" | grep -q '^Database cluster state: *shutting down$'
}

# Lost otherwise: the time left; before redo, the status would report the end-of-recovery checkpoint.
@test "a server that was killed while it shut down has no checkpoint before redo" {
	copy_cluster "$WORK/crashed" "$DATA"
	was_shutting_down "$DATA"
	# The startup process waits there.
	as_server_user mkfifo "$DATA/backup_label"
	start_server --no-wait "$STOCK" "$DATA"
	wait_until "the startup process" startup_pid "$DATA"
	start_daemon "$DATA"
	wait_until "the phase" status_is "$DATA" waiting phase
	stop_daemon "$DATA"
	stop_server "$DATA" immediate
}
