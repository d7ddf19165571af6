#!/usr/bin/env bats
# That recovery with the daemon ends in the right data, whatever the WAL does to
# the files that it reads ahead: lib/workload.sql, while pgbench runs.  After
# each recovery the files are those that the stock server makes of the same
# copy, pg_amcheck and pg_checksums find nothing, and the daemon did read.

load lib/servers
load lib/feeding
lib=$BATS_TEST_DIRNAME/lib

# Make a cluster with the schema, stopped, and one table with a hole of 1 GB.
make_base() {				# DATA [SETTING...]
	local data=$1 path
	shift
	make_cluster "$data" "$@"
	as_server_user mkdir "$data.space"
	start_server "$PATCHED" "$data" "${fast[@]}"
	pgbench "$data" -iq -s 2
	sql "$data" -v space="$data.space" -f - <"$lib/schema.sql"
	path=$(sql "$data" -c "select pg_relation_filepath('large')")
	stop_server "$data"

	# Empty pages up to five before the end of the segment.  New rows go to the
	# last page, and then over the boundary.
	truncate -s $((1024 * 1024 * 1024 - 5 * 8192)) "$data/$path"
	find "$data/${path%/*}" -name "${path##*/}_*" -delete
	start_server "$PATCHED" "$data" "${fast[@]}"
	sql "$data" -c "insert into large select i, repeat('x', 2000) from generate_series(11, 60) i"
	stop_server "$data"
	[ -s "$data/$path.1" ]
}

# Copy a cluster and its tablespace.
take() {					# FROM TO
	local link
	copy_cluster "$1" "$2"
	copy_cluster "$1.space" "$2.space"
	for link in "$2"/pg_tblspc/*; do
		[ ! -L "$link" ] || ln -sfn "$2.space" "$link"
	done
}

# Let the workload run on a cluster, with pgbench beside it, and crash it.
write_wal_and_crash() {		# DATA TRANSACTIONS [SETTING...]
	local data=$1 transactions=$2 beside
	shift 2
	start_server "$PATCHED" "$data" "${fast[@]}" "$@"
	pgbench "$data" -n -N -c 2 -t "$transactions" 3>&- &
	beside=$!
	sql "$data" -f - <"$lib/workload.sql" >/dev/null
	wait "$beside"
	pgbench "$data" -n -f - -c 4 -t $((transactions / 8)) <"$lib/mixed.sql"
	sql "$data" -c "vacuum"
	pgbench "$data" -n -N -c 2 -t $((transactions / 4))
	crash_server "$data"
}

setup_file() {
	suite_begin
	make_base "$WORK/base"
	take "$WORK/base" "$WORK/crashed"
	write_wal_and_crash "$WORK/crashed" 6000
	# What the stock server makes of the base and all of this WAL.
	take "$WORK/base" "$WORK/restored"
	from_archive "$WORK/restored"
	recover_with "$STOCK" "$WORK/restored"
}

setup() {
	case_begin
	STOCK_DATA=$CASE/stock
}

# Make a copy of the base recover from all of the WAL, $wal if that is set.
from_archive() {			# DATA [SETTING...]
	local data=$1
	shift
	settings "$data" restore_command="cp ${wal:-$WORK/crashed/pg_wal}/%f %p" hot_standby=off "$@"
	as_server_user touch "$data/recovery.signal"
}

# Recover two copies of a cluster, one with the stock server and one with the
# daemon from a cold cache, and check them.  With settings, recover from the
# archive as they set it.
recover_both() {			# FROM [SETTING...]
	local from=$1
	shift
	take "$from" "$STOCK_DATA"
	[ $# -eq 0 ] || from_archive "$STOCK_DATA" "$@"
	recover_with "$STOCK" "$STOCK_DATA"
	recover_ours "$from" "$@"
}

# The same, where what the stock server makes of it is there.
recover_ours() {			# FROM [SETTING...]
	local from=$1
	shift
	take "$from" "$DATA"
	[ $# -eq 0 ] || from_archive "$DATA" "$@"
	settings "$DATA" "${redoahead_settings[@]}"
	recover_here
	check_both
}

recover_here() {
	evict "$DATA"
	start_daemon "$DATA"
	recover_behind_daemon "$DATA" 500
	stop_daemon "$DATA"
}

check_both() {
	log_is "$DATA" "${expected_log[@]:-$connected}"
	daemon_has_read "$DATA" 500
	same_data "$STOCK_DATA" "$DATA"
	is_sound "$DATA"
}

# What is in the files makes sense.
is_sound() {				# DATA
	start_server "$PATCHED" "$1"
	sql "$1" -c "create extension if not exists amcheck"
	amcheck "$1" --all --install-missing --heapallindexed
	stop_server "$1"
	good_checksums "$1"
}

# pg_amcheck, but of the large table only what is not a hole.
amcheck() {					# DATA [OPTION...]
	local data=$1
	shift
	as_server_user "$PATCHED/bin/pg_amcheck" -h "$data" --exclude-table=large "$@"
	[ "$(sql "$data" -c "select count(*) from verify_heapam('large', startblock => 131060)")" = 0 ]
}

@test "after a crash, what the WAL created, truncated, dropped and recreated is as stock leaves it" {
	recover_both "$WORK/crashed"
}

@test "restored from an archive, the same, with databases and tablespaces of the whole history" {
	STOCK_DATA=$WORK/restored
	recover_ours "$WORK/base" recovery_target_timeline=current
	sql_once "$DATA" "select count(*) from pg_prepared_xacts" 1
}

@test "recovery to a point in time stops there, and leaves nothing of what was read ahead" {
	recover_both "$WORK/base" recovery_target_name=middle recovery_target_action=promote
	grep -q 'recovery stopping at restore point "middle"' "$DATA.log"
}

@test "recovery to an LSN stops there" {
	local lsn first
	local -a segments
	first=$("$PATCHED/bin/pg_controldata" "$WORK/base" | sed -n "s/.*REDO WAL file: *//p")
	mapfile -t segments < <(cd "$WORK/crashed/pg_wal" && ls | grep -E '^[0-9A-F]{24}$' |
		awk -v f="$first" '$0 > f')
	# From the middle on: a segment may hold an index's build, and no record of the heap.
	lsn=$("$PATCHED/bin/pg_waldump" --rmgr=Heap \
		"$WORK/crashed/pg_wal/${segments[${#segments[@]} / 2]}" "${segments[-1]}" 2>/dev/null |
		sed -n '50{s/.*lsn: \([^,]*\),.*/\1/p;q}')
	[ -n "$lsn" ]
	recover_both "$WORK/base" recovery_target_lsn="$lsn" recovery_target_action=promote
	# Servers before PostgreSQL 19 write no leading zeros.
	grep -q "recovery stopping after WAL location (LSN) \"$(sed 's|/0*|/0*|' <<<"$lsn")\"" "$DATA.log"
}

@test "a second crash in mid-recovery is recovered from like the first" {
	STOCK_DATA=$WORK/restored
	take "$WORK/base" "$DATA"
	as_server_user cp -a "$WORK"/crashed/pg_wal/???????????????????????? "$DATA/pg_wal"
	settings "$DATA" "${redoahead_settings[@]}"
	feed_from_archive "$DATA"
	evict "$DATA"
	start_daemon "$DATA"
	start_server --no-wait "$PATCHED" "$DATA"
	feed_until "$DATA" 'redoahead: connected'
	feed "$DATA"
	feed "$DATA"
	# The startup process first, and then, in its next life, the postmaster.
	kill -KILL "$(startup_pid "$DATA")"
	wait_until "the server's end" server_has_gone "$DATA"
	start_server --no-wait "$PATCHED" "$DATA"
	# The server reads the daemon's reply between records.
	until test_log_count "$DATA" 'redoahead: connected' 2; do
		feed "$DATA"
		sleep 0.1
	done
	feed "$DATA"
	stop_server "$DATA" immediate
	feed_all "$DATA"
	recover_with "$PATCHED" "$DATA"
	stop_daemon "$DATA"
	expected_log=("$connected" "$connected" "$connected")
	check_both
}

@test "every page that redo makes is the one that the primary made (wal_consistency_checking)" {
	take "$WORK/base" "$CASE/primary"
	write_wal_and_crash "$CASE/primary" 400 wal_consistency_checking=all
	# From the start: without full-page writes, redo of a crash meets pages as
	# later WAL left them.
	local wal=$CASE/primary/pg_wal
	recover_both "$WORK/base" recovery_target_timeline=current
}

@test "streaming standbys stay the same as their primary, through a change of timeline, and their daemons do not grow" {
	local primary=$CASE/primary first=$CASE/first second=$CASE/second third=$CASE/third data end
	local -A daemons before
	take "$WORK/base" "$primary"
	start_server "$PATCHED" "$primary" "${fast[@]}"
	for data in "$first" "$second"; do
		take "$WORK/base" "$data"
		settings "$data" "${redoahead_settings[@]}" wal_retrieve_retry_interval=100ms \
			primary_conninfo="host=$([ "$data" = "$first" ] && echo "$primary" || echo "$first") user=$redoahead_user"
		as_server_user touch "$data/standby.signal"
		evict "$data"
		start_daemon "$data"
		daemons[$data]=$DAEMON
		start_server "$PATCHED" "$data"
	done

	# What the stock server makes of the same stream.
	take "$WORK/base" "$third"
	settings "$third" wal_retrieve_retry_interval=100ms \
		primary_conninfo="host=$first user=$redoahead_user"
	as_server_user touch "$third/standby.signal"
	start_server "$STOCK" "$third"

	run_mix "$primary" 500
	wait_until "the first standby" has_replayed_all "$primary" "$first"
	wait_until "the second standby" has_replayed_all "$primary" "$second"
	for data in "$first" "$second"; do
		before[$data]=$(resident "${daemons[$data]}")
	done
	for _ in 1 2 3; do
		sql "$primary" -c "create table coming as select * from shrinking" -c "update coming set filler = 'c'" \
			-c "vacuum full coming" -c "drop table coming"
		run_mix "$primary" 300
	done
	wait_until "the first standby" has_replayed_all "$primary" "$first"
	stop_server "$primary"

	promote "$first"
	run_mix "$first" 300
	sql "$first" -c "create extension if not exists amcheck"
	wait_until "the second standby" has_replayed_all "$first" "$second"
	[ "$(sql "$second" -c "select received_tli from pg_stat_wal_receiver")" = 2 ]

	for data in "$first" "$second"; do
		as_server_user "$PATCHED/bin/pg_dumpall" -h "$data" --restrict-key=same \
			--no-tablespaces --no-unlogged-table-data >"$data.dump"
		amcheck "$data" -d postgres
		wait_until "descriptors of dropped files to be closed" holds_no_dropped_file "${daemons[$data]}"
		echo "resident: before ${before[$data]} kB, after $(resident "${daemons[$data]}") kB"
		# The memory of waiting blocks, 3 MB, is touched bit by bit.
		[ "$(resident "${daemons[$data]}")" -le $((before[$data] + 5120)) ]
	done
	cmp "$first.dump" "$second.dump"
	[ "$(sql "$second" -c "select state from pg_stat_redoahead")" = connected ]

	# The checkpoint of its shutdown lets standbys write out all they have.
	stop_server "$first"
	end=$("$PATCHED/bin/pg_controldata" -D "$first" | sed -n 's/^Latest checkpoint location: *//p')
	for data in "$second" "$third"; do
		wait_until "$data to replay all" has_replayed_beyond "$end" "$data"
		stop_server "$data"
	done
	same_data "$second" "$third"
	for data in "$first" "$second"; do
		DAEMON=${daemons[$data]}
		stop_daemon "$data"
		log_is "$data" "$connected"
		daemon_has_read "$data" 500
		good_checksums "$data"
	done
}

run_mix() {					# DATA TRANSACTIONS
	pgbench "$1" -n -f - -c 4 -t "$2" <"$lib/mixed.sql"
	pgbench "$1" -n -c 4 -t "$2"
}

has_replayed_beyond() {		# LSN DATA
	[ "$(sql "$2" -c "select pg_last_wal_replay_lsn() > '$1'")" = t ]
}

# Resident memory of a process, kB.
resident() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$1/status"; }

holds_no_dropped_file() {	# PID
	! find "/proc/$1/fd" -lname '*/pg*(deleted)' -o -lname '*/base/*(deleted)' | grep -q .
}

test_log_count() { [ "$(grep -c "$2" "$1.log")" -eq "$3" ]; }

# Run one query on a recovered server.
sql_once() {				# DATA QUERY ANSWER
	start_server "$PATCHED" "$1"
	[ "$(sql "$1" -c "$2")" = "$3" ]
	stop_server "$1"
}

wal_is_read() { [ "$(daemon_count "$1" wal_blocks_read)" -gt "$2" ]; }		# DATA BLOCKS

# Few references arrive then, and records are decoded in bursts.  Lost otherwise:
# the server reads the WAL itself, in small pieces, and waits for each.
@test "WAL of full-page images is read ahead of decoding, too" {
	local data=$CASE/images bytes
	make_cluster "$data" shared_buffers=512MB "${redoahead_settings[@]}"
	start_server "$PATCHED" "$data"
	sql "$data" -c "create table t as select i from generate_series(1, 1500000) i" -c "checkpoint" \
		-c "create index on t (i)" -c "create index on t (i)" -c "create index on t (i)" -c "create index on t (i)"
	bytes=$(sql "$data" -c "select pg_indexes_size('t')")
	crash_server "$data"
	start_daemon "$data"
	evict "$data"
	# Decoding them takes less time than a busy machine may need to run the daemon.
	start_server_and_hold_redo "$PATCHED" "$data" grep -q "connected to daemon" "$data.log"
	wait_until "WAL to be read ahead" wal_is_read "$data" $((bytes / 2 / 8192))
	end_held_recovery "$data"
	stop_daemon "$data"
	[ "$bytes" -gt 100000000 ]
}
