#!/usr/bin/env bats
# The program's own WAL decoder, against pg_waldump, on WAL that has a bit of everything
# (lib/workload.sql): of this major's server, and of each other one that is installed.

load lib/servers
lib=$BATS_TEST_DIRNAME/lib
decoder=$redoahead_root/build/tests/tools/wal_references

setup_file() {
	suite_begin
	install -m 755 "$decoder" "$WORK"
	make_cluster "$WORK/written" track_commit_timestamp=on wal_level=logical
	as_server_user mkdir "$WORK/written.space"
	start_server "$PATCHED" "$WORK/written"
	sql "$WORK/written" -v space="$WORK/written.space" -f - <"$lib/schema.sql"
	pgbench "$WORK/written" -iq -s 1
	sql "$WORK/written" -c "select pg_logical_emit_message(true, 'a', repeat('message', 5000))" \
		-c "select pg_logical_emit_message(false, 'b', 'another')" -c checkpoint
	settings "$WORK/written" full_page_writes=on wal_compression=lz4
	reload "$WORK/written"
	sql "$WORK/written" -f - <"$lib/workload.sql" >/dev/null
	settings "$WORK/written" wal_compression=off
	reload "$WORK/written"
	sql "$WORK/written" -c checkpoint -c 'select pg_switch_wal()'
	pgbench "$WORK/written" -n -f - -c 4 -t 200 <"$lib/mixed.sql"
	pgbench "$WORK/written" -n -c 2 -t 500
	crash_server "$WORK/written"
}

# The first segment in a directory, as a position.
first_position() {			# DIRECTORY SEGMENT-BYTES
	local name
	name=$(ls "$1" | grep -E '^[0-9A-F]{24}$' | head -n 1)
	printf '%X/%08X\n' "$((16#${name:8:8}))" "$((16#${name:16:8} * $2))"
}

# pg_waldump's output as the tool prints records, without INIT, which it does not print.
like_ours() {
	awk -F ', blkref ' '{
		sub(/, desc: .*/, "", $1)
		match($1, /tot\): +[0-9]+\/ *[0-9]+/); total = substr($1, RSTART, RLENGTH); sub(/.*\/ */, "", total)
		match($1, /tx: +[0-9]+/); xid = substr($1, RSTART, RLENGTH); sub(/.* /, "", xid)
		match($1, /lsn: [0-9A-F\/]+/); lsn = substr($1, RSTART + 5, RLENGTH - 5)
		line = lsn " " total " " xid
		for (i = 2; i <= NF; i++) {
			if ($i !~ /^#[0-9]+: rel /) continue
			block = $i
			sub(/: rel/, "", block)
			if (block !~ / fork /) sub(/ blk /, " fork main blk ", block)
			sub(/ fork /, " ", block); sub(/ blk /, " ", block)
			sub(/ FPW for WAL verification.*/, " FPW UNUSED", block)
			sub(/ FPW$|FPW .*saved.*/, " FPW", block); gsub(/  +/, " ", block)
			line = line " " block
		}
		print line
	}'
}

# Does the tool print of all WAL in a cluster what a server's pg_waldump prints?
same_references() {			# SERVER DATA SEGMENT-BYTES
	local from
	from=$(first_position "$2/pg_wal" "$3")
	as_server_user "$1/bin/pg_waldump" -p "$2/pg_wal" -s "$from" >"$CASE/theirs.raw" 2>"$CASE/theirs.end" || true
	like_ours <"$CASE/theirs.raw" >"$CASE/theirs"
	as_server_user "$WORK/wal_references" "$2/pg_wal" 1 "$3" "$from" >"$CASE/ours.raw" 2>"$CASE/ours.end"
	sed 's/ INIT//g' "$CASE/ours.raw" >"$CASE/ours"
	cat "$CASE/ours.end" "$CASE/theirs.end" >&2
	diff "$CASE/theirs" "$CASE/ours" | head >&2
	cmp "$CASE/theirs" "$CASE/ours"
}

# Lost otherwise: blocks that redo needs and nobody reads; or blocks of nowhere, read in vain.
@test "records and their references are those that pg_waldump prints" {
	same_references "$STOCK" "$WORK/written" 1048576
	[ "$(wc -l <"$CASE/ours")" -gt 50000 ]
	for what in FPW fsm vm; do
		[ "$(grep -c " $what" "$CASE/ours")" -gt 10 ]
	done
	# Pages that redo initializes: the names of heap records show it.
	sed -nE 's/^rmgr: Heap.* lsn: ([^,]*),.*desc: [A-Z_]+\+INIT .*/\1/p' "$CASE/theirs.raw" >"$CASE/theirs.init"
	sed -nE 's/^rmgr: Heap.* lsn: ([^,]*),.*/\1/p' "$CASE/theirs.raw" |
		awk 'NR == FNR { heap[$0] = 1; next } $1 in heap && / INIT/ { print $1 }' - "$CASE/ours.raw" >"$CASE/ours.init"
	[ -s "$CASE/theirs.init" ]
	cmp "$CASE/theirs.init" "$CASE/ours.init"
}

# The servers of other majors, of Debian's packages, or in REDOAHEAD_OTHER_SERVERS (directories).
other_servers() {
	local server
	for server in ${REDOAHEAD_OTHER_SERVERS-} /usr/lib/postgresql/*; do
		[ ! -x "$server/bin/initdb" ] || [ ! -x "$server/bin/pg_waldump" ] || echo "$server"
	done
}

# Lost otherwise: the same, on servers that are not patched.
@test "the same for servers of other majors" {
	local server data
	[ -n "$(other_servers)" ] || skip "no other server is installed; set REDOAHEAD_OTHER_SERVERS"
	for server in $(other_servers); do
		data=$CASE/${server##*/}
		as_server_user "$server/bin/initdb" -D "$data" -A trust --locale=C --encoding=UTF8 >"$data.initdb"
		settings "$data" listen_addresses= wal_level=logical track_commit_timestamp=on \
			max_prepared_transactions=10 wal_keep_size=20GB unix_socket_directories="$CASE"
		"$server/bin/postgres" --version >&2
		start_server "$server" "$data"
		pgbench "$data" -iq -s 2
		sed '/^create extension/d; /^create tablespace/d; s/ tablespace outside//; s/ oid = [0-9]*//' "$lib/schema.sql" |
			sql "$data" -f - >/dev/null
		sql "$data" -c "select pg_logical_emit_message(true, 'a', repeat('message', 5000))" -c checkpoint
		pgbench "$data" -n -f - -c 4 -t 100 <"$lib/mixed.sql"
		pgbench "$data" -n -c 2 -t 2000
		sql "$data" -c "create database copied template template0" -c 'vacuum' -c 'select pg_switch_wal()'
		pgbench "$data" -n -c 2 -t 200
		stop_server "$data"
		same_references "$server" "$data" 16777216
		[ "$(wc -l <"$CASE/ours")" -gt 20000 ]
	done
}
