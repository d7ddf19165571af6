#!/usr/bin/env bats
# That recovery with the daemon ends in the data that stock leaves on servers that
# are built, initialized or set up in other ways than those of the other files.

load lib/servers

setup_file() {
	suite_begin
	make_crashed 2 8000
	copy_cluster "$WORK/crashed" "$WORK/reference"
	recover_with "$STOCK" "$WORK/reference"
}

# Recover $DATA with the daemon, from a cold cache.  It must be what stock leaves.
recover_as_stock() {		# REFERENCE
	evict "$DATA"
	start_daemon "$DATA"
	recover_with "$PATCHED" "$DATA"
	stop_daemon "$DATA"
	log_is "$DATA" "$connected"
	daemon_has_read "$DATA" 1000
	good_checksums "$DATA"
	same_data "$1" "$DATA"
}

with_settings() {			# SETTING...
	copy_crashed
	settings "$DATA" "$@"
	recover_as_stock "$WORK/reference"
}

# Lost otherwise: recovery where buffers are read by another I/O method.
@test "io_method = sync" { with_settings io_method=sync; }
@test "io_method = worker" { with_settings io_method=worker io_workers=1; }

# Lost otherwise: recovery where all workers are taken, or none is allowed.
@test "without a free worker slot nothing but the worker is missing" {
	with_settings max_worker_processes=0
	no grep -q 'prefault' "$DATA.log"
}

# Lost otherwise: WAL is not read ahead, or the wrong part of it, and names of segments
# are wrong where a segment is not 1 MB.
with_segments_of() {		# MEGABYTES
	local read
	WAL_SEGMENT_MB=$1 make_cluster "$CASE/crashed" min_wal_size=$((2 * $1))MB
	start_server "$PATCHED" "$CASE/crashed" "${fast[@]}"
	pgbench "$CASE/crashed" -iq -s 2
	sql "$CASE/crashed" -c checkpoint
	pgbench "$CASE/crashed" -n -N -M prepared -c 4 -t 8000
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
