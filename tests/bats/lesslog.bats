#!/usr/bin/env bats
# Archives without full-page images: a primary with wal_keep_block_data archives by
# `redoahead lesslog`, and what is restored from that is what the primary had, by every server
# and tool that reads WAL.

bats_require_minimum_version 1.5.0
load lib/servers
load lib/follow
load lib/lesslog

# Lost otherwise: data, or the use of the archive.
@test "what stock's server restores from it is what the primary had, and most images are gone" {
	dump_wal "$PLAIN" >"$CASE/wal"
	[ "$(removed <"$CASE/wal")" -gt 2000 ]
	# Behind the backup's WAL, all but those of records that are in two segments of 1 MB.
	stop=$(backup_range | sed -n 's/-e //p') end=$(grep -o 'lsn: [0-9A-F/]*' "$CASE/wal" | sed -n '$s/lsn: //p')
	dump_wal "$PLAIN" -s "$stop" -e "$end" >"$CASE/wal"
	echo "$(applied <"$CASE/wal") applied, $(removed <"$CASE/wal") removed"
	[ $(($(applied <"$CASE/wal") * 20)) -lt "$(removed <"$CASE/wal")" ]
	restore_with "$STOCK" "$DATA"
	same_as_primary "$DATA"
	start_server "$STOCK" "$DATA"
	as_server_user "$STOCK/bin/pg_amcheck" -h "$DATA" -d postgres --install-missing --heapallindexed
	stop_server "$DATA"
}

# Lost otherwise: all WAL behind a fault of the archive, by a server that becomes a primary there.
@test "only a file that the archive does not have ends WAL, other faults end recovery" {
	local archive=$CASE/archive command segments
	copy_cluster "$ARCHIVE" "$archive"
	command=$(restoring "$archive")
	settings "$DATA" restore_command="$command"
	mapfile -t segments < <(cd "$archive" && ls | sed -nE 's/^([0-9A-F]{24})\.zst$/\1/p')
	restored() {				# STATUS FILE [COMMAND...]
		local file=$2 status=$1
		shift 2
		rm -f "$CASE/restored"
		run "-$status" as_server_user "$@" sh -c "$(sed "s|%f|$file|g; s|%p|$CASE/restored|g" <<<"$command")"
	}
	restored 0 "${segments[0]}"
	cmp "$CASE/restored" "$PLAIN/${segments[0]}"
	restored 1 0000000100000009000000AA
	restored 1 00000002.history
	# From before the archive had compressed files.
	as_server_user cp "$PLAIN/${segments[1]}" "$archive/0000000100000009000000AB"
	restored 0 0000000100000009000000AB
	cmp "$CASE/restored" "$PLAIN/${segments[1]}"
	restored 126 0000000100000009000000AB prlimit --fsize=1000
	# No process can be started.
	restored 126 "${segments[0]}" prlimit --nproc=1
	# A full disk, a damaged file, and none of the archive that can be read.
	restored 126 "${segments[0]}" prlimit --fsize=1000
	as_server_user truncate -s 100 "$archive/${segments[0]}.zst"
	restored 126 "${segments[0]}"
	chmod 0 "$archive"
	restored 126 "${segments[1]}"
	chmod 700 "$archive"
	mv "$archive" "$archive.away"
	restored 126 "${segments[1]}"
	# As a mount point without the archive.
	as_server_user mkdir "$archive"
	restored 126 "${segments[1]}"
	as_server_user touch "$DATA/recovery.signal"
	start_server --no-wait "$STOCK" "$DATA"
	wait_until "the end of the server" server_has_gone "$DATA"
	grep -q 'FATAL:  could not restore file' "$DATA.log"
	[ -e "$DATA/recovery.signal" ]
}

# Lost otherwise: prefetching, where it is needed most.
@test "redoahead reads ahead what redo now has to read, on a patched and on a stock server" {
	local stock=$CASE/stock
	copy_cluster "$DATA" "$stock"
	evict "$DATA/base" "$stock/base"
	settings "$DATA" "${redoahead_settings[@]}" hot_standby=off
	start_daemon "$DATA"
	restore_with "$PATCHED" "$DATA"
	stop_daemon "$DATA"
	daemon_has_read "$DATA" 1000
	same_as_primary "$DATA"
	settings "$stock" recovery_prefetch=off hot_standby=off \
		restore_command="exec $WORK/redoahead restore \"$(restoring "$ARCHIVE" | sed 's/%/%%/g')\" %f %p"
	as_server_user touch "$stock/recovery.signal"
	recover_followed "$stock"
	stop_follow "$stock"
	daemon_has_read "$stock" 500
	same_as_primary "$stock"
}

# Lost otherwise: prefetching and look-ahead of a patched server without redoahead's daemon.
@test "a patched server takes removed images for none" {
	as_server_user touch "$DATA/recovery.signal"
	settings "$DATA" recovery_prefetch=try
	start_server "$PATCHED" "$DATA"
	wait_until "the end of recovery" is_ready "$DATA"
	IFS='|' read -r considered skipped < <(sql "$DATA" -c "select prefetch + hit + skip_init + skip_new + skip_rep, skip_fpw from pg_stat_recovery_prefetch")
	stop_server "$DATA"
	echo "$considered blocks without an image, $skipped with one"
	[ "$considered" -gt $((10 * skipped)) ]
	dump_wal "$PLAIN" >"$CASE/stock"
	STOCK=$PATCHED dump_wal "$PLAIN" >"$CASE/patched"
	[ "$(removed <"$CASE/stock")" -gt 2000 ]
	[ "$(removed <"$CASE/patched")" -eq 0 ]
	[ "$(applied <"$CASE/stock")" -eq "$(applied <"$CASE/patched")" ]
}

# A position so many bytes behind the base backup.
backup_end_and() {			# BYTES
	local stop
	stop=$(backup_range | sed -n 's/-e //p')
	printf '%s/%X\n' "${stop%/*}" $((16#${stop#*/} + $1))
}

has_tables() { sql "$1" -c "select count(*) from pgbench_accounts"; }

# Lost otherwise: standbys of standbys, failover, and the old primary after it.
@test "standbys stream it on, follow a promotion, and pg_rewind brings the old primary back" {
	local second=$CASE/second old=$CASE/old
	copy_cluster "$DATA" "$second"
	settings "$DATA" summarize_wal=on
	as_server_user touch "$DATA/standby.signal" "$second/standby.signal"
	start_server "$STOCK" "$DATA"
	settings "$second" restore_command= primary_conninfo="host=$DATA user=$redoahead_user" wal_retrieve_retry_interval=100ms
	start_server "$STOCK" "$second"
	wait_until "a table" has_tables "$second"
	wait_until "replay" has_replayed_all "$DATA" "$second"
	# What the first has restored without images is what it sends.
	[ "$(dump_wal "$second/pg_wal" 2>"$CASE/end-of-wal" | removed)" -gt 0 ]
	promote "$DATA"
	pgbench "$DATA" -n -c 2 -t 200
	wait_until "replay on the new timeline" has_replayed_all "$DATA" "$second"
	stop_server "$second"
	# The summarizer finds in WAL without images what it found in that of the primary.
	compared=0
	for summary in "$DATA"/pg_wal/summaries/*.summary; do
		[ -e "$PRIMARY/pg_wal/summaries/${summary##*/}" ] || continue
		diff <(as_server_user "$STOCK/bin/pg_walsummary" "$PRIMARY/pg_wal/summaries/${summary##*/}") \
			<(as_server_user "$STOCK/bin/pg_walsummary" "$summary")
		compared=$((compared + 1))
	done
	[ "$compared" -gt 0 ]
	# The old primary went on, and removed its own WAL; an archive has what it needs of that.
	copy_cluster "$PRIMARY" "$old"
	copy_cluster "$ARCHIVE" "$CASE/archive"
	settings "$old" "archive_command=$WORK/redoahead lesslog --compress zstd %p $CASE/archive/%f.zst"
	start_server "$PATCHED" "$old" "${keeping[@]}"
	pgbench "$old" -n -c 2 -t 200
	archive_all "$old"
	stop_server "$old"
	settings "$old" archive_mode=off restore_command="$(restoring "$CASE/archive")"
	# Not from the running server: its data directory has a socket, which cannot be copied.
	stop_server "$DATA"
	as_server_user "$STOCK/bin/pg_rewind" -D "$old" --restore-target-wal --source-pgdata "$DATA"
	start_server "$STOCK" "$DATA"
	settings "$old" shared_preload_libraries= restore_command= primary_conninfo="host=$DATA user=$redoahead_user"
	as_server_user touch "$old/standby.signal"
	start_server "$STOCK" "$old"
	wait_until "replay after the rewind" has_replayed_all "$DATA" "$old"
	stop_server "$DATA"
	stop_server "$old"
	same_data --ignore-hints --ignore-padding "$DATA" "$second"
	same_data --ignore-hints --ignore-padding "$DATA" "$old"
}

# Lost otherwise: recovery that goes on after a crash.  No page is torn, because the kernel
# stays; what to do where it does not is in OPERATING.md.
@test "a restoring server that crashes goes on from its restartpoint" {
	# Behind the last checkpoint, from which a restartpoint is made.
	settings "$DATA" shared_buffers=1MB recovery_target_action=pause \
		"recovery_target_lsn=$(dump_wal "$PLAIN" | sed -n 's/.*lsn: \([^,]*\),.*CHECKPOINT_ONLINE.*/\1/p' | tail -n 1)"
	as_server_user touch "$DATA/recovery.signal"
	start_server --no-wait "$STOCK" "$DATA"
	wait_until "the pause" grep -q 'pausing at the end of recovery' "$DATA.log"
	sql "$DATA" -c checkpoint
	stop_server "$DATA" immediate
	redo=$(redo_lsn "$DATA")
	start=$(backup_range | sed -n 's/^-s //p')
	[ $((16#${redo#*/})) -gt $((16#${start#*/})) ]
	settings "$DATA" recovery_target_lsn= recovery_target_action=promote
	recover_with "$STOCK" "$DATA"
	grep -q 'interrupted while in recovery' "$DATA.log"
	same_as_primary "$DATA"
}

# Lost otherwise: recovery from an archive in which a promoted server has gone on.
@test "a promoted server goes on with the archive, and both timelines are restored from it" {
	local archive=$CASE/archive
	copy_cluster "$ARCHIVE" "$archive"
	copy_cluster "$DATA" "$CASE/second"
	settings "$DATA" archive_mode=on "archive_command=$WORK/redoahead lesslog --compress zstd %p $archive/%f.zst"
	as_server_user touch "$DATA/standby.signal"
	# In the middle of a segment, whose first half then begins the new timeline.
	settings "$DATA" recovery_target_action=promote "recovery_target_lsn=$(backup_end_and 1500000)"
	start_server "$PATCHED" "$DATA" "${keeping[@]}"
	wait_until "the promotion" eval '[ "$(sql "$DATA" -c "select pg_is_in_recovery()")" = f ]'
	sql "$DATA" -c checkpoint
	run_load "$DATA" 400
	archive_all "$DATA"
	stop_server "$DATA"
	unpack "$archive" "$CASE"
	[ -s "$CASE/00000002.history" ]
	# Behind the first segment, which begins with WAL of the old timeline.
	dump_wal "$CASE" $(cd "$CASE" && ls | grep -xE '00000002[0-9A-F]{16}' | sed -n '2p; $p') >"$CASE/dump"
	[ "$(removed <"$CASE/dump")" -gt 100 ]
	settings "$CASE/second" restore_command="$(restoring "$archive")"
	restore_with "$STOCK" "$CASE/second"
	same_data --ignore-hints --ignore-padding "$DATA" "$CASE/second"
	good_checksums "$CASE/second"
}

# Lost otherwise: a way to verify redo.
@test "with wal_consistency_checking, images stay, and redo is verified with them" {
	local primary=$CASE/primary archive=$CASE/archive
	rm -rf "$DATA"
	copy_cluster "$PRIMARY" "$primary"
	as_server_user mkdir "$archive"
	settings "$primary" wal_consistency_checking=all "archive_command=$WORK/redoahead lesslog %p $archive/%f"
	start_server "$PATCHED" "$primary" "${keeping[@]}"
	begin=$(sql "$primary" -c "select pg_current_wal_lsn()")
	as_server_user "$STOCK/bin/pg_basebackup" -h "$primary" -D "$DATA" -X none --checkpoint=fast
	rm -f "$DATA"/.s.PGSQL.*
	sql "$primary" -c checkpoint
	run_load "$primary" 200
	archive_all "$primary"
	stop_server "$primary"
	settings "$DATA" wal_consistency_checking= archive_mode=off "restore_command=cp $archive/%f %p"
	as_server_user touch "$DATA/recovery.signal"
	recover_with "$STOCK" "$DATA"
	same_data --ignore-hints --ignore-padding "$primary" "$DATA"
	dump_wal "$archive" >"$CASE/wal"
	[ "$(applied <"$CASE/wal")" -gt 100 ]
	# The server has marked none of the records that are compared, which are all but those of XLOG.
	as_server_user mkdir "$CASE/all"
	as_server_user ln -s "$archive" "$CASE/all/pg_wal"
	read -r _ within < <(optional_images "$CASE/all" "$begin" FFFFFFFF/0 XLOG)
	[ "$within" -eq 0 ]
}

# Lost otherwise: archives of primaries with wal_compression, whose images have other headers.
@test "compressed images are removed, too; stock restores what it knows, and stops at what it does not" {
	local primary=$CASE/primary archive=$CASE/archive value
	as_server_user mkdir "$archive"
	rm -rf "$DATA"
	copy_cluster "$PRIMARY" "$primary"
	settings "$primary" "archive_command=$WORK/redoahead lesslog --compress lz4 --json %p $archive/%f.lz4" \
		wal_compression=lz4
	start_server "$PATCHED" "$primary" "${keeping[@]}"
	as_server_user "$STOCK/bin/pg_basebackup" -h "$primary" -D "$DATA" -X none --checkpoint=fast
	rm -f "$DATA"/.s.PGSQL.*
	settings "$DATA" archive_mode=off wal_compression=off \
		restore_command="$(restoring "$archive" lz4 lz4)"
	copy_cluster "$DATA" "$CASE/second"
	for value in lz4 lz4:transform; do
		sql "$primary" -c "alter system set wal_compression = '$value'" -c "select pg_reload_conf()" -c checkpoint >/dev/null
		run_load "$primary" 200
		archive_all "$primary"
	done
	stop_server "$primary"
	[ "$(grep -o '"images_removed":[1-9][0-9]*' "$primary.log" | wc -l)" -gt 4 ]
	# Stock goes as far as it knows the images.
	as_server_user touch "$DATA/recovery.signal"
	start_server --no-wait "$STOCK" "$DATA"
	wait_until "the end of the server" server_has_gone "$DATA"
	grep -q 'resource manager with ID 250 not registered' "$DATA.log"
	restore_with "$PATCHED" "$CASE/second"
	same_data --ignore-hints --ignore-padding "$primary" "$CASE/second"
	good_checksums "$CASE/second"
}

# Lost otherwise: the warning that a crash of this server needs more than a restart.
@test "check warns on a server that restores it, and not on the primary" {
	as_server_user touch "$DATA/standby.signal"
	start_server "$STOCK" "$DATA"
	wait_until "a restartpoint" sql "$DATA" -c checkpoint
	stop_server "$DATA"
	run as_server_user "$WORK/redoahead" check -D "$DATA" --bindir "$STOCK/bin"
	grep -qE '^warning +full_page_writes +off on the primary, or its archive may have no images' <<<"$output"
	copy_cluster "$DATA" "$CASE/streaming"
	settings "$CASE/streaming" restore_command=
	run as_server_user "$WORK/redoahead" check -D "$CASE/streaming" --bindir "$STOCK/bin"
	grep -qE '^warning +full_page_writes +off on the primary, or on there with wal_keep_block_data \(WAL from another standby may then have no images\):' <<<"$output"
	# It may have to replay WAL without images until it has made a checkpoint as a primary.
	start_server "$STOCK" "$DATA"
	checkpointer=$(pgrep -P "$(head -n 1 "$DATA/postmaster.pid")" -f 'postgres: checkpointer')
	kill -STOP "$checkpointer"
	promote "$DATA" 3>&- &
	promoting=$!
	end_recovery_without "$DATA" "$checkpointer"
	wait "$promoting"
	# A base backup may have the primary's setting, with which its own checkpoints are like that.
	settings "$DATA" wal_keep_block_data=on
	run as_server_user "$WORK/redoahead" check -D "$DATA" --bindir "$STOCK/bin"
	kill -CONT "$checkpointer"
	grep -qE '^warning +full_page_writes +on, but not at the last checkpoint' <<<"$output"
	sql "$DATA" -c checkpoint
	run as_server_user "$WORK/redoahead" check -D "$DATA" --bindir "$STOCK/bin"
	grep -qE '^ok +full_page_writes +on' <<<"$output"
	stop_server "$DATA"
	copy_cluster "$PRIMARY" "$CASE/primary"
	settings "$CASE/primary" "${keeping[@]}"
	run as_server_user "$WORK/redoahead" check -D "$CASE/primary" --bindir "$PATCHED/bin"
	grep -qE '^ok +full_page_writes +on' <<<"$output"
}

# Lost otherwise: WAL.  The archiver tries again, and the server keeps what is not archived.
@test "a full archive keeps the server's WAL, and is caught up with" {
	need_namespace --mount
	local primary=$CASE/primary
	copy_cluster "$PRIMARY" "$primary"
	as_server_user mkdir "$CASE/small"
	settings "$primary" "archive_command=$WORK/redoahead lesslog --compress lz4 %p $CASE/small/%f.lz4"
	(exec unshare --mount sh -c 'mount -t tmpfs -o size=300k,mode=777 none "$0" && shift 0 && exec "$@"' "$CASE/small" \
		"${as_user[@]}" "$PATCHED/bin/pg_ctl" -D "$primary" -l "$primary.log" -w -t "$long_patience" -o "-k $primary -c wal_keep_block_data=on" start >/dev/null 3>&-)
	pgbench "$primary" -n -c 2 -t 2000
	wait_until "a full archive" grep -q 'redoahead: error: cannot write .*No space left on device' "$primary.log"
	has_failed() { [ "$(sql "$primary" -c 'select failed_count > 0 from pg_stat_archiver')" = t ]; }
	wait_until "the count of the failure" has_failed
	sql "$primary" -c "alter system set archive_command = '$WORK/redoahead lesslog --compress lz4 %p $primary.archive/%f.lz4'"
	as_server_user mkdir "$primary.archive"
	reload "$primary"
	archive_all "$primary"
	stop_server "$primary"
	for segment in "$primary.archive"/0*.lz4; do as_server_user lz4 -tq "$segment"; done
}
