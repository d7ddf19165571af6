#!/usr/bin/env bats
# `redoahead prefault`: which blocks it lists and reads, and what it reports about WAL and
# words that are wrong.  On a stock server's data directory, except for one comparison.

load lib/servers
load lib/blocks
bats_require_minimum_version 1.5.0

segment_bytes=1048576

setup_file() {
	suite_begin
	make_cluster "$WORK/crashed"
	start_server "$STOCK" "$WORK/crashed" "${fast[@]}"
	pgbench "$WORK/crashed" -iq -s 5
	sql "$WORK/crashed" -c 'create table cut as select generate_series(1, 20000) n' -c 'create index on cut (n)' -c checkpoint
	write_transactions "$WORK/crashed" 8000
	sql "$WORK/crashed" -c 'vacuum pgbench_accounts' -c 'create table t as select generate_series(1, 10000)'
	# Created, truncated and dropped relations: some files are missing, some have had other ends.
	sql "$WORK/crashed" -c 'delete from t where generate_series > 5000' -c 'vacuum t' -c 'insert into t select generate_series(1, 10000)' \
		-c 'delete from cut where n > 9000' -c 'vacuum cut' -c 'insert into cut select generate_series(10001, 15000)' -c 'update cut set n = n + 1' \
		-c 'create table gone as select * from cut' -c 'delete from gone where n % 2 = 0' -c 'vacuum gone' -c 'drop table gone'
	write_transactions "$WORK/crashed" 2000
	crash_server "$WORK/crashed"
}

setup() {
	case_begin
	DATA=$WORK/crashed
}

prefault() { as_server_user "$WORK/redoahead" prefault -D "$DATA" "$@"; }

# The records of a resource manager, from a position on.
records() {					# RESOURCE-MANAGER [LSN]
	as_server_user "$PATCHED/bin/pg_waldump" -p "$DATA/pg_wal" -r "$1" --start="${2:-$(redo_lsn "$DATA")}" 2>/dev/null
}

# The command must fail with this message.
refuses() {					# PATTERN ARGUMENT...
	local pattern=$1
	shift
	run -1 prefault "$@"
	grep -qE -- "$pattern" <<<"$output" || { echo "no \"$pattern\" in: $output" >&2; return 1; }
}

# Lost otherwise: what the command is for.
@test "it reads the blocks that it lists, all of them and no others" {
	local existing cached others
	prefault --dry-run >"$CASE/list"
	paths_of <"$CASE/list" >"$CASE/blocks"
	[ "$(wc -l <"$CASE/blocks")" -gt 3000 ]
	grep -q ' fork vm blk ' "$CASE/list"
	grep -q ' fork fsm blk .* implied' "$CASE/list"
	evict "$DATA/base"
	read -r existing cached < <(resident "$DATA" <"$CASE/blocks")
	[ "$cached" -lt 10 ]
	prefault --json >"$CASE/json"
	[ "$(json_member "$CASE/json" blocks)" = "$(wc -l <"$CASE/list")" ]
	[ "$(json_member "$CASE/json" dry_run)" = False ]
	# What redo makes does not exist yet; a kernel may reclaim some early (DAMON).
	read -r existing cached < <(resident "$DATA" <"$CASE/blocks")
	[ "$existing" -gt 2000 ]
	[ "$cached" -ge $((existing * 95 / 100)) ]
	# The rest of one file that redo does not need.
	read -r existing others < <(find "$DATA/base" -type f -printf '%P %s\n' | awk '{ for (b = 0; b < int($2 / 8192); b++) print "base/" $1, b }' |
		sort | comm -23 - "$CASE/blocks" | resident "$DATA")
	[ "$others" -lt 100 ] || { echo "$others other blocks" >&2; return 1; }
}

# Lost otherwise: most blocks, which are reported as left out for want of memory.
@test "beside a server that takes connections it reads all of them, too" {
	local first
	first=$(prefault --dry-run 2>/dev/null | sed -n '1s/^lsn: \([^,]*\),.*/\1/p')
	copy_cluster "$WORK/crashed" "$CASE/data"
	as_server_user cp -r "$CASE/data/pg_wal" "$CASE/wal"
	start_server "$STOCK" "$CASE/data" "${fast[@]}"
	DATA=$CASE/data
	evict "$DATA/base"
	prefault --wal "$CASE/wal" --json "$first.." >"$CASE/json"
	[ "$(json_member "$CASE/json" blocks)" -gt 3000 ]
	[ "$(json_member "$CASE/json" blocks_read)" -gt 3000 ]
	[ "$(json_member "$CASE/json" blocks_stale)" = 0 ]
	crash_server "$DATA"
}

# Does the daemon's log have all blocks that are listed?  SIGHUP makes it write what it has so far.
all_are_reported() {
	local first
	[ -z "$DAEMON" ] || kill -HUP "$DAEMON"
	awk '$2 ~ /^(base|global)\// && $5 != "gap" { print $2, $3 }' "$CASE/log" | sort -u >"$CASE/reported"
	# Before the daemon is connected, the server reads by itself.
	first=$(awk '$2 ~ /^base/ { print $4 }' "$CASE/log" | sort | head -n 1)
	prefault --dry-run | awk -v first="$first" '$2 > first' | paths_of | comm -23 - "$CASE/reported" >"$CASE/not_reported"
	[ -s "$CASE/reported" ] && [ ! -s "$CASE/not_reported" ]
}

# Lost otherwise: one of the two knows less than the other.
@test "its blocks are those that the patched server reports to the daemon" {
	copy_cluster "$WORK/crashed" "$CASE/patched"
	settings "$CASE/patched" "${redoahead_settings[@]}" shared_buffers=128MB
	prefault --dry-run | paths_of >"$CASE/listed"
	# The tests may run under nohup, with SIGHUP ignored.
	as_user=(env --default-signal=HUP "${as_user[@]}")
	start_daemon "$CASE/patched" --block-log "$CASE/log"
	# Nothing has to be read, so redo may be over before the daemon has run.
	start_server_and_hold_redo "$PATCHED" "$CASE/patched" all_are_reported
	end_held_recovery "$CASE/patched"
	stop_daemon "$CASE/patched"
	DAEMON=
	all_are_reported
	[ "$(wc -l <"$CASE/reported")" -gt 3000 ]
	comm -13 "$CASE/listed" "$CASE/reported" >"$CASE/not_listed"
	head "$CASE/not_listed" >&2
	# The extension does not know that a relation that is truncated is created before that.
	records Storage | sed -n 's/.* CREATE //p' | sort -u >"$CASE/created"
	[ -s "$CASE/created" ]
	no grep -vE '_(fsm|vm) ' "$CASE/not_listed"
	sed 's/_.*//' "$CASE/not_listed" | no grep -vxFf "$CASE/created"
}

# Lost otherwise: reads of files that do not exist yet.
@test "relations and databases that WAL creates first are not listed" {
	local start oid strategy
	prefault --dry-run 2>/dev/null | paths_of >"$CASE/listed"
	records Storage | sed -n 's/.* CREATE //p' >"$CASE/created"
	[ "$(wc -l <"$CASE/created")" -ge 2 ]
	sed 's/[_ ].*//' "$CASE/listed" | no grep -xFf "$CASE/created"

	copy_cluster "$WORK/crashed" "$CASE/databases"
	start_server "$STOCK" "$CASE/databases" "${fast[@]}"
	start=$(sql "$CASE/databases" -c 'select pg_current_wal_lsn()')
	for strategy in file_copy wal_log; do
		sql "$CASE/databases" -c "create database $strategy strategy $strategy"
		as_server_user "$STOCK/bin/psql" -qh "$CASE/databases" -d "$strategy" -c 'create table a (b int)' -c 'comment on table a is $$c$$'
	done
	oid=$(sql "$CASE/databases" -c "select oid from pg_database where datname = 'file_copy'")
	[ "$(sql "$CASE/databases" -c "select count(*) from pg_database where datname ~ '_'")" = 2 ]
	crash_server "$CASE/databases"
	DATA=$CASE/databases
	records Database "$start" | grep -q "CREATE_FILE_COPY .*/$oid"
	records Heap "$start" | grep -q "rel 1663/$oid/.* blk"
	prefault --dry-run "$start.." 2>/dev/null >"$CASE/listed"
	grep -q ' rel 1664/0/' "$CASE/listed"
	no grep -v ' rel 1664/0/\| slru ' "$CASE/listed"
}

# Lost otherwise: trust.
@test "it opens files for reading, changes none, and runs no command" {
	need_strace
	as_server_user strace -f -o "$CASE/calls" "$WORK/redoahead" prefault -D "$DATA" --backend=fadvise
	grep -q 'openat(.*pgbench\|openat(.*"base/' "$CASE/calls"
	grep -v '"/dev/null"' "$CASE/calls" | no grep -E 'O_WRONLY|O_RDWR|O_CREAT|O_TRUNC'
	no grep -E '^[0-9]+ +(rename|unlink|ftruncate|truncate|mkdir|link|symlink|chmod|chown|fchmod|fchown|pwrite|fallocate|fsync|connect|kill|execve.*sh)[a-z0-9]*\(' "$CASE/calls"
	no grep -E '^[0-9]+ +write[v]?\(([3-9]|[1-9][0-9]+),' "$CASE/calls"
}

@test "parts of WAL: positions, segments, an archive, a compressed archive" {
	local first all part
	all=$(prefault --dry-run 2>/dev/null | wc -l)
	first=$(prefault --dry-run 2>/dev/null | sed -n '1s/^lsn: \([^,]*\),.*/\1/p')
	[ "$(prefault --dry-run "$first.." 2>/dev/null | wc -l)" = "$all" ]
	part=$(prefault --dry-run 2>/dev/null | sed -n '1000s/^lsn: \([^,]*\),.*/\1/p')
	[ "$(prefault --dry-run "$first..$part" 2>/dev/null | wc -l)" -lt 1000 ]
	prefault --dry-run "$first..$part" "$part.." 2>/dev/null | cmp - <(prefault --dry-run 2>/dev/null)

	as_server_user mkdir "$CASE/plain" "$CASE/compressed"
	as_server_user cp "$DATA"/pg_wal/0* "$CASE/plain"
	prefault --dry-run --wal "$CASE/plain" 2>/dev/null | cmp - <(prefault --dry-run 2>/dev/null)
	as_server_user cp "$DATA"/pg_wal/0* "$CASE/compressed"
	as_server_user gzip -1 -r "$CASE/compressed"
	prefault --dry-run --wal "$CASE/compressed" --decompress 'gzip -dc' 2>/dev/null | cmp - <(prefault --dry-run 2>/dev/null)

	# A segment by its name, and by its path.
	segment=$(as_server_user ls "$DATA/pg_wal" | grep -E '^[0-9A-F]{24}$' | tail -n 3 | head -n 1)
	prefault --dry-run "$segment" 2>/dev/null >"$CASE/by_name"
	[ -s "$CASE/by_name" ]
	prefault --dry-run "$CASE/plain/$segment" 2>/dev/null | cmp - "$CASE/by_name"
	prefault --dry-run --decompress 'gzip -dc' "$CASE/compressed/$segment.gz" 2>/dev/null | cmp - "$CASE/by_name"
}

@test "one relation, a limited rate, progress" {
	local relation
	relation=$(prefault --dry-run 2>/dev/null | sed -n 's/.* rel \([0-9/]*\) blk.*/\1/p' | sort | uniq -c | sort -n | awk 'END { print $2 }')
	prefault --dry-run --relation "$relation" 2>/dev/null >"$CASE/list"
	[ "$(wc -l <"$CASE/list")" -gt 500 ]
	no grep -v " rel $relation " "$CASE/list"
	evict "$DATA/base"
	prefault --limit-rate 10 --progress --json >"$CASE/json" 2>"$CASE/log"
	/usr/bin/python3 -c '
import json, sys
j = json.load(open(sys.argv[1]))
assert j["elapsed_seconds"] >= j["blocks_read"] * 8192 / 10e6 * 0.99, j' "$CASE/json"
	grep -qE '[0-9]+ of [0-9]+ MB of WAL \([0-9]+ %\), [0-9]+ blocks, [0-9]+ s left' "$CASE/log"
}

@test "SIGTERM ends it soon" {
	evict "$DATA/base"
	(cd / && exec "${as_user[@]}" "$WORK/redoahead" prefault -D "$DATA" --limit-rate 0.1 --progress --json) \
		>"$CASE/json" 2>"$CASE/log" 3>&- &
	process=$!
	wait_until "progress" grep -q 's left' "$CASE/log"
	kill -TERM "$process"
	wait_until "its end" test -s "$CASE/json"
	[ "$(json_member "$CASE/json" stopped)" = True ]
}

# Lost otherwise: what is wrong, and with what.
@test "words and options that are wrong are refused by name" {
	refuses 'neither FROM-LSN..TO-LSN nor the name of a WAL segment' nonsense
	refuses '"0/1.." names no part|no WAL of timeline' 0/1..
	refuses '"0/zz..0/5" names no part of WAL' 0/zz..0/5
	refuses '"0/5..0/4" ends before it begins' 0/5..0/4
	refuses 'no WAL of timeline 1 from 7/00000000 on' 7/0..7/1000000
	refuses 'no WAL of timeline 1' 000000010000000900000001
	refuses 'neither FROM-LSN' 000000010000000000ABCDEF
	refuses 'relation=16384: give TABLESPACE/DATABASE/RELFILENUMBER' --relation 16384
	refuses 'cannot open the directory of WAL "/nowhere"' --wal /nowhere
	run -2 prefault --timeline 0
	grep -q 'not a number from 1 to' <<<"$output"
	DATA=/tmp refuses 'not a data directory|PG_VERSION' 0/1..0/2
	[ "$(prefault --dry-run "$(as_server_user ls "$DATA/pg_wal" | grep -E '^0' | head -n 1)" nonsense 2>/dev/null | wc -l)" = 0 ]
}

@test "WAL that is wrong ends there, and nothing is read from nowhere" {
	local segment
	as_server_user mkdir "$CASE/wal"
	as_server_user cp "$DATA"/pg_wal/0* "$CASE/wal"
	segment=$(as_server_user ls "$CASE/wal" | sort | tail -n 3 | head -n 1)
	# Zeros in the middle.
	as_server_user dd if=/dev/zero of="$CASE/wal/$segment" bs=8192 seek=50 count=2 conv=notrunc 2>/dev/null
	prefault --dry-run --wal "$CASE/wal" 2>"$CASE/log" >"$CASE/list"
	grep -q "WAL ends at .*: the \(page\|record\) at" "$CASE/log"
	prefault --dry-run 2>/dev/null | head -n "$(wc -l <"$CASE/list")" | cmp - "$CASE/list"
	# Cut off.
	as_server_user truncate -s 400000 "$CASE/wal/$segment"
	prefault --dry-run --wal "$CASE/wal" 2>"$CASE/log" >/dev/null
	grep -q 'WAL ends at .*: there is no WAL at' "$CASE/log"
	# Of another cluster.
	make_cluster "$CASE/other"
	as_server_user cp "$CASE/other/pg_wal/$(as_server_user ls "$CASE/other/pg_wal" | grep -E '^0' | head -n 1)" "$CASE/wal/$segment"
	refuses 'of another cluster|that of another position' --dry-run --wal "$CASE/wal" "$segment"
	# A history that is none, a command that fails.
	as_server_user tee "$CASE/wal/00000002.history" <<<"garbage" >/dev/null
	refuses 'the history of timeline 2 has the line "garbage"' --dry-run --wal "$CASE/wal" --timeline 2
	# Nothing that has no end is read into memory.
	as_server_user ln -sf /dev/zero "$CASE/wal/00000002.history"
	refuses '"00000002.history" is no history of a timeline' --dry-run --wal "$CASE/wal" --timeline 2
	as_server_user rm "$CASE/wal/00000002.history"
	as_server_user truncate -s 1G "$CASE/wal/00000002.history"
	refuses '"00000002.history" is no history of a timeline' --dry-run --wal "$CASE/wal" --timeline 2
	as_server_user rm "$CASE/wal/$segment"
	as_server_user cp "$DATA/pg_wal/$segment" "$CASE/wal/$segment.gz"
	refuses '"gzip -dc" failed with status 1 for' --dry-run --wal "$CASE/wal" --decompress 'gzip -dc' "$segment"
	refuses 'cannot read WAL from [0-9A-F/]+ on: "gzip -dc" failed' --dry-run --wal "$CASE/wal" --decompress 'gzip -dc'
	# Nor does a command fill the memory.
	refuses '"cat /dev/zero" (failed with status 153|was ended by signal 25) for' --dry-run --wal "$CASE/wal" --decompress 'cat /dev/zero' "$segment"
}

# Lost otherwise: root's terminal, on which the owner's processes could type.
@test "root's commands are not run as the owner" {
	[ "$(id -u)" -eq 0 ] || skip "must be root"
	run -1 "$WORK/redoahead" prefault -D "$DATA" --dry-run --decompress "touch $CASE/run; cat"
	[[ $output == *"--decompress runs no command for root; start this as the owner"* ]]
	[ ! -e "$CASE/run" ]
}
