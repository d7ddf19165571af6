#!/usr/bin/env bats
# What PostgreSQL's tools and standbys make of WAL whose images stock does not know,
# and that no such image comes before the record that stops stock.
# Settings and crash recovery are the matter of wal-compression.bats.

bats_require_minimum_version 1.5.0

load lib/servers
load lib/images

setup_file() {
	suite_begin
	make_images_base
}

# Numbers that show whether two servers hold the same rows.
rows() {					# DATA
	sql "$1" -c "select count(*), sum(hashtext(n::text)) from narrow n" \
		-c "select count(*), sum(hashtext(s::text)) from shuffled s" \
		-c "select count(*), sum(hashtext(w::text)) from wide w" \
		-c "select count(*), sum(hashtext(k::text)) from keys k" \
		-c "select count(*), sum(hashtext(c::text)) from copied c"
}

# A standby of it, streaming.
make_standby() {
	base_backup "$PATCHED" "$DATA" "$STANDBY" -R
	settings "$STANDBY" primary_conninfo="host=$DATA"
	start_server "$PATCHED" "$STANDBY"
}

has_replayed() {			# DATA LSN
	[ "$(sql "$1" -c "select pg_last_wal_replay_lsn() >= '$2'")" = t ]
}

catch_up() {
	wait_until "the standby" has_replayed "$STANDBY" "$(sql "$DATA" -c "select pg_current_wal_flush_lsn()")"
}

# ---------- what tools report ----------

@test "pg_waldump prints method and saving of each image, and their sums" {
	crash_with "$PATCHED" "$DATA" wal_compression=lz4:transform
	waldump "$PATCHED" "$DATA" -b >"$CASE/records" 2>/dev/null || true
	grep -qE 'FPW\); hole: offset: [0-9]+, length: [0-9]+, compression saved: [0-9]+, method: lz4:transform$' "$CASE/records"
	waldump "$PATCHED" "$DATA" --stats >"$CASE/stats" 2>/dev/null || true
	sed -n '/by compression method/,$p' "$CASE/stats"
	for method in lz4 lz4:transform; do
		images=$(grep -c ", method: $method\$" "$CASE/records")
		saved=$(sed -n "s/.*compression saved: \([0-9]*\), method: $method\$/\1/p" "$CASE/records" | awk '{ sum += $1 } END { print sum }')
		awk -v "method=$method" -v "images=$images" -v "saved=$saved" '
			/by compression method/ { table = 1 }
			table && $1 == method { gsub(/[()]/, ""); found = $2 == images && $6 - $4 == saved && $7 == sprintf("%.2f%%", 100 * saved / $6) }
			END { exit !found }' "$CASE/stats"
	done
	grep -E '^ExtendedImages +1 ' "$CASE/stats"
	# It belongs to no transaction: logical decoding would meet it in subtransactions.
	grep -E '^rmgr: ExtendedImages .* tx: +0,' "$CASE/records"
}

@test "pg_walinspect reports method and saving" {
	start_primary wal_compression=zstd:transform
	from=$(sql "$DATA" -c "select pg_current_wal_insert_lsn()")
	sql "$DATA" -c "create index on narrow (v)" -c "set wal_compression = zlib" -c "create index on narrow (v)"
	kinds=$(sql "$DATA" -c "
		select distinct array_to_string(block_fpi_info, ' ') from
			pg_get_wal_block_info('$from', pg_current_wal_flush_lsn()) where block_fpi_length > 0 order by 1")
	echo "$kinds"
	[[ "$kinds" == *"APPLY COMPRESS_ZLIB"* && "$kinds" == *"APPLY COMPRESS_ZSTD TRANSFORM"* ]]
	[ "$(sql "$DATA" -c "
		select count(*) > 1 from pg_get_wal_records_info('$from', pg_current_wal_flush_lsn())
		where block_ref ~ 'compression saved: [0-9]+, method: zlib'")" = t ]
	# The images are the pages that were built, but for LSN, checksum and hole.
	[ "$(sql "$DATA" -c "
		select count(*) > 30 and bool_and(substr(block_fpi_data, 11, lower - 10) = substr(raw, 11, lower - 10)
			and substr(block_fpi_data, upper + 1) = substr(raw, upper + 1))
		from pg_get_wal_block_info('$from', pg_current_wal_flush_lsn()) i
		join pg_class c on c.relfilenode = i.relfilenode,
		get_raw_page(c.oid::regclass::text, relblocknumber::int) raw, page_header(raw)
		where c.relname like 'narrow_v%'")" = t ]
	stop_server "$DATA"
}

# ---------- the record that stops stock ----------

@test "whatever redo starts from, the record that stops stock comes before the first new image" {
	start_primary wal_compression=lz4:transform shared_buffers=64MB checkpoint_completion_target=0
	pgbench "$DATA" -iq -s 2
	pgbench "$DATA" -n -N -M prepared -c 4 -t 4000 3>&- &
	load=$!
	while kill -0 "$load" 2>/dev/null; do
		sql "$DATA" -c checkpoint
	done
	wait "$load"
	stop_server "$DATA" immediate
	"$PATCHED/bin/pg_waldump" -b "$(ls "$DATA"/pg_wal/0* | head -n 1)" "$(ls "$DATA"/pg_wal/0* | tail -n 1)" >"$CASE/records" 2>/dev/null || true
	/usr/bin/python3 - "$CASE/records" <<-'END'
	import re, sys

	def number(lsn):
	    high, low = lsn.split('/')
	    return int(high, 16) << 32 | int(low, 16)

	redo, records = [], []              # redo pointers; (LSN, stops stock, has a new image)
	for line in open(sys.argv[1]):
	    head = re.match(r'rmgr: (\w+) .* lsn: ([0-9A-F/]+),', line)
	    if head:
	        records.append([number(head[2]), head[1] == 'ExtendedImages', False])
	    elif line.rstrip().endswith('method: lz4:transform'):
	        records[-1][2] = True
	    pointer = re.search(r'desc: CHECKPOINT_\w+ redo ([0-9A-F/]+)', line)
	    if pointer:
	        redo.append(number(pointer[1]))
	assert len(redo) >= 5, redo
	with_images = 0
	for start, end in zip(redo, redo[1:] + [1 << 62]):
	    stopped = False
	    for lsn, stops, has_image in records:
	        if start <= lsn < end:
	            stopped = stopped or stops
	            assert stopped or not has_image, hex(lsn)
	            with_images += has_image
	print(len(redo), 'redo pointers,', with_images, 'records with new images')
	assert with_images > 500
	END
}

# ---------- standbys and copies ----------

@test "a patched standby replays each kind of image, and checks each page" {
	start_primary wal_consistency_checking=all wal_compression=off
	make_standby
	for method in "${extended_methods[@]}"; do
		sql "$DATA" -c "alter system set wal_compression = '$method'" -c "select pg_reload_conf()" -c "checkpoint"
		load_images
		kind=${method%%:*}
		[[ $method != *transform* ]] || kind+=:transform
		[[ " $(methods_in "$DATA")" == *" $kind "* ]]
		sql "$DATA" -c "drop index shuffled_id, shuffled_both, wide_filler, keys_hash, keys_gist" -c "drop table copied"
		catch_up
	done
	load_images
	catch_up
	[ "$(rows "$DATA")" = "$(rows "$STANDBY")" ]
	stop_server "$DATA"
	promote "$STANDBY"
	is_sound "$STANDBY"
	stop_server "$STANDBY"
	no grep -E 'FATAL|PANIC|inconsistent' <(grep -v 'walreceiver\|streaming\|connect' "$STANDBY.log")
}

@test "what pg_receivewal has received can be replayed" {
	start_primary wal_compression=zstd:level=1,transform
	as_server_user mkdir "$CASE/received"
	sql "$DATA" -c "select pg_create_physical_replication_slot('received', true)" >/dev/null
	load_images
	expected=$(rows "$DATA")
	sql "$DATA" -c "select pg_switch_wal()" >/dev/null
	end=$(sql "$DATA" -c "select pg_current_wal_flush_lsn()")
	# pg_receivewal ends when it has more than that, and so all of the segment.
	sql "$DATA" -c "select pg_logical_emit_message(false, '', '', flush => true)" >/dev/null
	as_server_user "$PATCHED/bin/pg_receivewal" -h "$DATA" -D "$CASE/received" -S received --endpos "$end" --no-loop --no-sync
	stop_server "$DATA"
	copy_cluster "$WORK/base" "$STANDBY"
	settings "$STANDBY" restore_command="cp $CASE/received/%f %p" hot_standby=off
	as_server_user touch "$STANDBY/recovery.signal"
	start_server "$PATCHED" "$STANDBY"
	wait_until "the end of recovery" is_ready "$STANDBY"
	[ "$(rows "$STANDBY")" = "$expected" ]
	is_sound "$STANDBY"
	stop_server "$STANDBY"
}

@test "pg_basebackup takes a copy under load that recovers" {
	start_primary wal_compression=lz4:transform
	load_images &
	load=$!
	as_server_user "$PATCHED/bin/pg_basebackup" -h "$DATA" -D "$STANDBY" -c fast -X stream --no-sync
	wait "$load"
	stop_server "$DATA"
	as_server_user "$PATCHED/bin/pg_verifybackup" "$STANDBY"
	rm "$STANDBY"/.s.PGSQL.*.lock	# of the socket, which lies in the data directory
	start_server "$PATCHED" "$STANDBY"
	is_sound "$STANDBY"
	stop_server "$STANDBY"
}

@test "pg_rewind makes a standby of a former primary" {
	start_primary wal_compression=lz4:transform wal_log_hints=on
	make_standby
	load_images
	catch_up
	promote "$STANDBY"
	sql "$STANDBY" -c "checkpoint" -c "update narrow set v = 77 where id % 5 = 0" -c "create index on keys (h)"
	sql "$DATA" -c "update shuffled set v = 88" -c "create table lost as select * from narrow"
	stop_server "$DATA"
	# From its directory, because a server would report its socket, which lies there.
	stop_server "$STANDBY"
	as_server_user "$PATCHED/bin/pg_rewind" -D "$DATA" --source-pgdata "$STANDBY" --no-sync
	start_server "$PATCHED" "$STANDBY"
	settings "$DATA" primary_conninfo="host=$STANDBY"
	as_server_user touch "$DATA/standby.signal"
	start_server "$PATCHED" "$DATA"
	wait_until "the rewound server" has_replayed "$DATA" "$(sql "$STANDBY" -c "select pg_current_wal_flush_lsn()")"
	[ "$(rows "$DATA")" = "$(rows "$STANDBY")" ]
	stop_server "$DATA"
	stop_server "$STANDBY"
}
