#!/usr/bin/env bats
# Base backups of a primary with wal_keep_block_data: their WAL keeps its full-page images in an
# archive by `redoahead lesslog`, because they repair the pages that a base backup copies torn.

bats_require_minimum_version 1.5.0
load lib/servers
load lib/lesslog

# Lost otherwise: base backups.  A page that is copied while it is being written is torn.
@test "images in the WAL of a base backup stay, and repair each page that it copied torn" {
	local torn
	dump_wal "$PLAIN" $(backup_range) >"$CASE/wal"
	[ "$(removed <"$CASE/wal")" -eq 0 ]
	[ "$(applied <"$CASE/wal")" -gt 100 ]
	# Each page that has an image there could have been copied in two halves.
	torn=$(/usr/bin/python3 - "$CASE/wal" "$DATA" <<-'EOS'
	import os, re, sys
	done = set()
	for spc, db, rel, fork, block in re.findall(
	        r'rel (\d+)/(\d+)/(\d+) fork (\w+) blk (\d+) \(FPW\)', open(sys.argv[1]).read()):
	    name = f'base/{db}/{rel}' if spc == '1663' else f'global/{rel}' if spc == '1664' else None
	    path = name and os.path.join(sys.argv[2], name + ('' if fork == 'main' else f'_{fork}'))
	    at = int(block) * 8192
	    if path and os.path.exists(path) and os.path.getsize(path) >= at + 8192:
	        with open(path, 'r+b') as file:
	            file.seek(at + 4096)
	            file.write(bytes(4096))
	        done.add((path, block))
	print(len(done))
	EOS
	)
	[ "$torn" -gt 100 ]
	restore_with "$STOCK" "$DATA"
	same_as_primary "$DATA"
}

# Lost otherwise: base backups of a standby, whose WAL the primary does not know to be one's.
@test "a standby refuses base backups while images may be removed" {
	local primary=$CASE/primary
	copy_cluster "$PRIMARY" "$primary"
	settings "$primary" archive_mode=off
	start_server "$PATCHED" "$primary" "${keeping[@]}"
	rm -rf "$DATA"
	as_server_user "$STOCK/bin/pg_basebackup" -h "$primary" -D "$DATA" -X stream --checkpoint=fast
	rm -f "$DATA"/.s.PGSQL.*
	settings "$DATA" restore_command= "primary_conninfo=host=$primary user=$redoahead_user"
	as_server_user touch "$DATA/standby.signal"
	start_server "$STOCK" "$DATA"
	run -1 as_server_user "$STOCK/bin/pg_basebackup" -h "$DATA" -D "$CASE/backup" -X none --checkpoint=fast
	grep -q 'WAL generated with "full_page_writes=off" was replayed' <<<"$output"
	# pg_rewind copies pages like a base backup.
	as_server_user cp -a "$BASE" "$CASE/other"
	run -1 as_server_user "$PATCHED/bin/pg_rewind" -D "$CASE/other" --source-server "host=$primary user=$redoahead_user dbname=postgres"
	grep -q '"wal_keep_block_data" must be disabled in the source server' <<<"$output"
	stop_server "$primary"
	start_server "$PATCHED" "$primary"
	sql "$primary" -c checkpoint
	pgbench "$primary" -n -t 100
	wait_until "replay" has_replayed_all "$primary" "$DATA"
	sql "$DATA" -c checkpoint
	as_server_user "$STOCK/bin/pg_basebackup" -h "$DATA" -D "$CASE/backup" -X none --checkpoint=fast
	stop_server "$DATA"
	stop_server "$primary"
}

# Begin and end a base backup of $primary by hand; the file of its name gets start and stop.
begin_backup() {			# NAME
	mkfifo "$CASE/$1.commands"
	as_server_user "$PATCHED/bin/psql" -XAtq -h "$primary" -d postgres <"$CASE/$1.commands" >"$CASE/$1" 3>&- &
	exec {backup_commands[$1]}>"$CASE/$1.commands"
	echo "select pg_backup_start('$1', true);" >&"${backup_commands[$1]}"
	wait_until "start of the $1 backup" test -s "$CASE/$1"
}

has_stopped() { [ "$(wc -l <"$1")" -ge 2 ]; }		# FILE

end_backup() {				# NAME
	echo "select lsn from pg_backup_stop(false);" >&"${backup_commands[$1]}"
	exec {backup_commands[$1]}>&-
	wait_until "stop of the $1 backup" has_stopped "$CASE/$1"
}

# Lost otherwise: base backups that begin while the setting is switched on and off, that
# outlast a reload, or another base backup.
@test "reloads take effect at once, and no base backup loses images by them" {
	local primary=$CASE/primary load from between to
	local -A backup_commands
	copy_cluster "$PRIMARY" "$primary"
	settings "$primary" archive_mode=off wal_keep_size=20GB
	start_server "$PATCHED" "$primary"
	pgbench "$primary" -n -M prepared -c 2 -t 4000 3>&- &
	load=$!
	for value in on off on; do
		settings "$primary" wal_keep_block_data=$value
		reload "$primary"
		wait_until "$value" eval '[ "$(sql "$primary" -c "show wal_keep_block_data")" = $value ]'
		sql "$primary" -c checkpoint
	done
	# Two backups at once: the first one begins, the second one begins, the first one ends.
	begin_backup first
	begin_backup second
	end_backup first
	sql "$primary" -c checkpoint
	pgbench "$primary" -n -c 2 -t 200
	end_backup second
	wait "$load"
	pgbench "$primary" -n -c 2 -t 200
	stop_server "$primary"
	from=$(head -n 1 "$CASE/first") between=$(tail -n 1 "$CASE/first") to=$(tail -n 1 "$CASE/second")
	[ "$(dump_wal "$primary/pg_wal" -s "$between" -e "$to" | applied)" -gt 10 ]
	[ "$(dump_wal "$primary/pg_wal" -s "$from" -e "$to" | applied)" -gt 10 ]
	read -r before within < <(optional_images "$primary" "$from" "$to")
	[ "$before" -gt 100 ] && [ "$within" -eq 0 ]
}
