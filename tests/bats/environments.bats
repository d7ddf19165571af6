#!/usr/bin/env bats
# That recovery with the daemon ends in the data that stock leaves on servers that
# are built, initialized or set up in other ways than those of the other files.

load lib/servers

setup_file() {
	suite_begin
	make_crashed 2 32000
	make_reference
}

# Recover $DATA with the daemon, from a cold cache.  It must be what stock leaves.
recover_as_stock() {		# REFERENCE
	evict "$DATA"
	start_daemon "$DATA"
	recover_behind_daemon "$DATA" 1000
	stop_daemon "$DATA"
	log_is "$DATA" "$connected"
	good_checksums "$DATA"
	same_data "$1" "$DATA"
}

with_settings() {			# SETTING...
	copy_crashed
	settings "$DATA" "$@"
	recover_as_stock "$WORK/reference"
}

# Lost otherwise: recovery where buffers are read by another I/O method.
with_io_method() {			# SETTING...
	[ "$pg_major" -ge 18 ] || skip "PostgreSQL $pg_major has no io_method"
	with_settings "$@"
}
@test "io_method = sync" { with_io_method io_method=sync; }
@test "io_method = worker" {
	if [ "$pg_major" -ge 19 ]; then
		with_io_method io_method=worker io_min_workers=1 io_max_workers=1
	else
		with_io_method io_method=worker io_workers=1
	fi
}
need_io_uring() {
	as_server_user "$WORK/redoahead" check -D "$WORK/crashed" --bindir "$PATCHED/bin" |
		grep -qE '^(ok|warning) +io_uring +(reads|works)' || skip "io_uring cannot be used here"
}
@test "io_method = io_uring" {
	need_io_uring
	with_io_method io_method=io_uring
}

# Lost otherwise: recovery where all workers are taken, or none is allowed.
@test "without a free worker slot nothing but the worker is missing" {
	with_settings max_worker_processes=0
	no grep -q 'prefault' "$DATA.log"
}

# Lost otherwise: the server.  Workers of a second copy of the library crashed, and the server with
# them, again and again.
@test "the workers are of the library that the server has loaded, by whatever path" {
	as_server_user cp "$("$PATCHED/bin/pg_config" --pkglibdir)/redoahead.so" "$WORK/copy.so"
	with_settings "shared_preload_libraries=$WORK/copy" redoahead.decoder=on \
		redoahead.lookahead=4096 log_min_messages=debug1
	grep -q 'starting background worker process "redoahead prefault"' "$DATA.log"
	[ "$(nproc)" -eq 1 ] || grep -q 'taking records from the decoder' "$DATA.log"
}

# Lost otherwise: WAL is not read ahead, or the wrong part of it, and names of segments
# are wrong where a segment is not 1 MB.
with_segments_of() {		# MEGABYTES
	local read
	WAL_SEGMENT_MB=$1 make_cluster "$CASE/crashed" min_wal_size=$((2 * $1))MB
	start_server "$PATCHED" "$CASE/crashed" "${fast[@]}"
	pgbench "$CASE/crashed" -iq -s 2
	sql "$CASE/crashed" -c checkpoint
	write_transactions "$CASE/crashed" 32000
	crash_server "$CASE/crashed"
	copy_cluster "$CASE/crashed" "$DATA"
	settings "$DATA" "${redoahead_settings[@]}"
	recover_with "$STOCK" "$CASE/crashed"
	recover_as_stock "$CASE/crashed"
	read=$(daemon_count "$DATA" wal_blocks_read)
	echo "$read blocks of WAL read ahead" >&2
	[ "$read" -gt 100 ]
}
@test "WAL segments of 16 MB" { with_segments_of 16; }
@test "WAL segments of 64 MB" { with_segments_of 64; }

# Lost otherwise: recovery, images or data of servers whose blocks are not of 8 kB.  Such a
# server is compared with itself without the extension.
with_blocks_of() {			# KILOBYTES
	[[ " ${REDOAHEAD_BLOCK_SIZES-} " == *" $1 "* ]] ||
		skip "takes a server of its own, and minutes to build it; set REDOAHEAD_BLOCK_SIZES='16 32'"
	local PATCHED
	PATCHED=$("$redoahead_root/scripts/build-postgresql" "blocks$1")
	make_cluster "$CASE/crashed" wal_compression=lz4:transform
	start_server "$PATCHED" "$CASE/crashed" "${fast[@]}"
	[ "$(sql "$CASE/crashed" -c 'show block_size')" = $(($1 * 1024)) ]
	pgbench "$CASE/crashed" -iq -s 4
	sql "$CASE/crashed" -c checkpoint
	write_transactions "$CASE/crashed" 1200
	# What has not been modified since the checkpoint gets images.
	settings "$CASE/crashed" full_page_writes=on
	reload "$CASE/crashed"
	write_transactions "$CASE/crashed" 8000
	crash_server "$CASE/crashed"
	as_server_user "$PATCHED/bin/pg_waldump" --stats -p "$CASE/crashed/pg_wal" -s "$(redo_lsn "$CASE/crashed")" \
		>"$CASE/waldump" 2>/dev/null || true
	# Bytes of images, in the table of records, which is the first.
	awk '$1 == "Total" { print; images = $5; exit } END { exit images < 100000 }' "$CASE/waldump" >&2
	copy_cluster "$CASE/crashed" "$DATA"
	settings "$DATA" "${redoahead_settings[@]}"
	recover_with "$PATCHED" "$CASE/crashed"
	evict "$DATA"
	start_daemon "$DATA"
	recover_behind_daemon "$DATA" 200
	stop_daemon "$DATA"
	log_is "$DATA" "$connected"
	good_checksums "$DATA"
	same_data "$CASE/crashed" "$DATA"
}
@test "blocks of 16 kB" { with_blocks_of 16; }
@test "blocks of 32 kB" { with_blocks_of 32; }

# The segment that is being read, as a number; nothing if recovery has ended.
segment_read() {		# DATA
	local title
	title=$(ps -o args= -p "$(startup_pid "$1")" 2>/dev/null) || return 0
	[[ $title != *' recovering '* ]] || echo $((16#${title: -8}))
}

# Lost otherwise: recovery of the cluster whose daemon gets less of a device that both use.
@test "of two clusters that recover at once, with a daemon each, neither starves" {
	local second=$CASE/second data last segment slower daemons=() stopped=()
	local -A first
	copy_crashed
	# WAL is read half a segment ahead of redo.
	settings "$DATA" redoahead.lookahead=1024 redoahead.decode_buffer_size=512kB wal_decode_buffer_size=512kB
	copy_cluster "$DATA" "$second"
	last=$(ls "$DATA/pg_wal" | grep -E '^[0-9A-F]{24}$' | sort | tail -n 1)
	evict "$DATA" "$second"
	for data in "$DATA" "$second"; do
		start_daemon "$data"
		daemons+=($DAEMON)
		start_server_and_hold_redo "$PATCHED" "$data" has_read_by_now "$data" 1000
		stopped+=("$startup")
		first[$data]=$(segment_read "$data")
	done
	kill -CONT "${stopped[@]}"
	either_is_ready() { is_ready "$DATA" || is_ready "$second"; }
	wait_until "the end of a recovery" either_is_ready
	slower=$second
	is_ready "$DATA" || slower=$DATA
	segment=$(segment_read "$slower")
	wait_until "the end of the other" is_ready "$slower"
	echo "of ${first[$slower]} to $((16#${last: -8})), it was at ${segment:-the end}" >&2
	[ $((16#${last: -8} - first[$slower])) -ge 6 ]
	[ -z "$segment" ] || [ $(((segment - first[$slower]) * 3)) -ge $((16#${last: -8} - first[$slower])) ]

	for data in "$DATA" "$second"; do
		stop_server "$data"
		DAEMON=${daemons[0]}
		daemons=("${daemons[@]:1}")
		stop_daemon "$data"
		same_data "$WORK/reference" "$data"
	done
}
