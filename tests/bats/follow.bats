#!/usr/bin/env bats
# `redoahead follow` on stock servers: crash recovery, archives, standbys, and what becomes
# of it and of the server when something is wrong.  After each recovery the data is that of
# a stock server without it.

bats_require_minimum_version 1.5.0
load lib/servers
load lib/feeding
load lib/follow

setup_file() { follow_setup; }

# Lost otherwise: what the command is for.
@test "in crash recovery it reads what redo needs, and little else" {
	copy_cluster "$WORK/crashed" "$DATA"
	evict "$DATA"
	start_follow "$DATA"
	start_server_followed "$STOCK" "$DATA" 'following redo by memory'
	wait_until "the reads" reads_ahead "$DATA" 1000
	wait_until "the end of WAL" has_decoded "$DATA" "$(redo_end "$WORK/recovered")"
	end_followed "$DATA"
	stop_follow "$DATA"
	# The same blocks as prefault lists, which is compared with the patched server.
	listed=$(as_server_user "$WORK/redoahead" prefault -D "$WORK/crashed" --dry-run 2>/dev/null | wc -l)
	[ "$listed" -gt 5000 ]
	daemon_has_read "$DATA" 1000
	[ "$(daemon_count "$DATA" refs_taken)" -le "$listed" ]
	end=$(redo_end "$DATA")
	decoded=$(sed -n 's/.*records decoded, up to \([0-9A-F/]*\).*/\1/p' "$DATA.follow.log")
	(( 16#${decoded#*/} > 16#${end#*/} ))
	good_checksums "$DATA"
	same_data "$WORK/recovered" "$DATA"
}

has_found_again() {			# DATA
	[ "$(grep -c 'recovery of PostgreSQL' "$1.follow.log")" -eq 2 ] || follow_logs "$1" 'io_uring cannot be used'
}

# Lost otherwise: the end of a recovery that goes on, which is logged, counted and reported by then.
@test "where io_uring fails in the middle of a recovery, follow goes on without, and counts it once" {
	need_strace
	copy_cluster "$WORK/crashed" "$DATA"
	evict "$DATA"
	follow_as=(strace -f -D -o "$CASE/strace" -e trace=io_uring_enter
		-e inject=io_uring_enter:error=EBADF:when=3+ "${as_user[@]}")
	start_follow "$DATA"
	follow_as=("${as_user[@]}")
	start_server_followed "$STOCK" "$DATA"
	wait_until "the rest of the recovery" goes_on_unless "$startup" has_found_again "$DATA"
	wait_until "the position of redo" knows_redo "$DATA" "$startup"
	end_followed "$DATA"
	no follow_logs "$DATA" 'io_uring cannot be used' || skip "io_uring cannot be used here"
	stop_follow "$DATA"
	follow_logs "$DATA" 'io_uring failed: Bad file descriptor; using posix_fadvise'
	[ "$(grep -c 'recovery no longer served' "$DATA.follow.log")" -eq 1 ]
	[ "$(grep -c 'recovery ended' "$DATA.follow.log")" -eq 1 ]
	[ "$(grep -c 'redo of ' "$DATA.follow.log")" -eq 1 ]
	[ "$(json_member "$DATA.stats" recoveries)" -eq 1 ]
}

# A hot standby of a primary that the test makes; both stock, with pg_wal as a link.
make_standby() {			# PRIMARY STANDBY
	copy_cluster "$WORK/recovered" "$1"
	settings "$1" wal_level=replica
	start_server "$STOCK" "$1"
	as_server_user "$STOCK/bin/pg_basebackup" -h "$1" -D "$2" -X stream --waldir "$2.wal" --checkpoint=fast
	settings "$2" primary_conninfo="host=$1 user=$redoahead_user" hot_standby=on wal_retrieve_retry_interval=100ms
	as_server_user touch "$2/standby.signal"
	[ -L "$2/pg_wal" ]
	rm -f "$2/.s.PGSQL."*
}

# Does the status have the end of the primary's WAL?
knows_primary() {			# PRIMARY STANDBY
	read_status "$2" &&
		[ "$(json_member "$CASE/status" recovery primary_lsn | sed 's,/0*,/,')" = \
			"$(sql "$1" -c 'select pg_current_wal_lsn()' | sed 's,/0*,/,')" ]
}

# Lost otherwise: standbys, and all recoveries after a promotion.
@test "a streaming standby by SQL and by memory, pg_wal being a link, through a promotion" {
	local primary=$CASE/primary standby=$CASE/standby second=$CASE/second psql
	make_standby "$primary" "$standby"
	as_server_user "$STOCK/bin/pg_basebackup" -h "$primary" -D "$second" -X stream --checkpoint=fast
	rm -f "$second/.s.PGSQL."*
	settings "$second" primary_conninfo="host=$standby user=$redoahead_user" hot_standby=on wal_retrieve_retry_interval=100ms
	as_server_user touch "$second/standby.signal"
	[ "$(id -u)" -ne 0 ] || follow_as=("${with_bpf[@]}")
	start_follow "$standby" --position sql
	follow_as=("${as_user[@]}")
	by_sql=$DAEMON
	start_server "$STOCK" "$standby"
	start_follow "$second"
	start_server "$STOCK" "$second"
	pgbench "$primary" -n -N -c 2 -t 500
	wait_until "replay" has_replayed_all "$primary" "$standby"
	wait_until "an answer" grep -q 'following redo by sql' "$standby.follow.log"
	wait_until "the primary's position" knows_primary "$primary" "$standby"
	# The owner decides which psql is found.
	wait_until "psql" pgrep -x -P "$by_sql" psql
	psql=$(pgrep -x -P "$by_sql" psql)
	[ "$(grep -cE '^Cap(Inh|Prm|Eff|Amb):	0*$' "/proc/$psql/status")" -eq 4 ]
	no grep -qvz ^PG "/proc/$psql/environ"
	# A smart shutdown waits for sessions, ours, too.
	stop_server "$standby" smart
	start_server "$STOCK" "$standby"
	# Redo that keeps up has often read a block before the daemon can: pause it.
	for each in "$standby" "$second"; do
		wait_until "connections" sql "$each" -c 'select pg_wal_replay_pause()'
		wait_until "a pause" has_paused "$each"
	done
	evict "$second/base" "$standby/base"
	pgbench "$primary" -n -N -c 2 -t 1000
	# The pages of a table of 10 000 000 bytes and its index are updated at random.
	for each in "$standby" "$second"; do
		wait_until "the counters" daemon_has_read "$each" 300
		sql "$each" -c 'select pg_wal_replay_resume()'
	done
	wait_until "replay" has_replayed_all "$primary" "$standby"
	wait_until "replay" has_replayed_all "$primary" "$second"
	stop_server "$primary"
	promote "$standby"
	wait_until "the end for follow" has_followed "$standby"
	pgbench "$standby" -n -N -c 2 -t 1000
	wait_until "replay on the new timeline" has_replayed_all "$standby" "$second"
	wait_until "the new timeline" grep -q 'following timeline 2' "$second.follow.log"
	# Decoding must not end where the first timeline did.
	pgbench "$standby" -n -N -c 2 -t 1000
	wait_until "replay on the new timeline" has_replayed_all "$standby" "$second"
	wait_until "the end of WAL" has_decoded "$second" "$(sql "$standby" -c 'select pg_current_wal_lsn() - 1')"
	stop_server "$second"
	wait_until "the end for follow" has_followed "$second"
	end=$(sed -n 's/.*records decoded, up to \([0-9A-F/]*\).*/\1/p' "$second.follow.log")
	[ "$(sql "$standby" -c "select abs(pg_wal_lsn_diff(pg_current_wal_lsn(), '$end')) < 100000")" = t ]
	stop_server "$standby"
	kill -TERM "$by_sql" "$DAEMON"
	wait "$by_sql" "$DAEMON"
}

# Lost otherwise: recoveries from archives in which an old primary went on after a failover.
@test "the timeline is the one that the server replays, not the one that goes on longest" {
	local primary=$CASE/primary standby=$CASE/standby
	make_standby "$primary" "$standby"
	as_server_user "$STOCK/bin/pg_basebackup" -h "$primary" -D "$DATA" -X stream --checkpoint=fast
	rm -f "$DATA/.s.PGSQL."*
	start_server "$STOCK" "$standby"
	pgbench "$primary" -n -N -c 2 -t 1000
	wait_until "replay" has_replayed_all "$primary" "$standby"
	promote "$standby"
	write_transactions "$standby" 12000
	write_transactions "$primary" 18000
	stop_server "$primary"
	stop_server "$standby"
	as_server_user mkdir "$CASE/archive"
	as_server_user bash -c "cp '$primary'/pg_wal/00000001* '$CASE/archive'; cp '$standby'/pg_wal/0000000[12]* '$CASE/archive'
		rm -f '$CASE'/archive/*.partial"
	settings "$DATA" hot_standby=off recovery_prefetch=off \
		restore_command="$WORK/redoahead restore --jobs 4 \"cp $CASE/archive/%%f %%p\" %f %p"
	as_server_user touch "$DATA/recovery.signal"
	copy_cluster "$DATA" "$CASE/alone"
	evict "$DATA"
	start_follow "$DATA"
	# Redo is over soon: it waits on the second timeline until that is noticed.
	start_server_and_stop_redo "$STOCK" "$DATA" "$DATA.log" \
		"restored log file \"$(ls "$CASE/archive" | grep -xE '00000002[0-9A-F]{16}' | sed -n 2p)\""
	wait_until "the second timeline" follow_logs "$DATA" 'following timeline 2'
	# And at the end until the last record is decoded.
	startup=$(startup_pid "$DATA")
	let_redo_go_on_to "$DATA" 'redo done at'
	wait_until "the end of WAL" has_decoded "$DATA" "$(redo_end "$DATA")"
	kill -CONT "$startup"
	start_server --no-wait "$STOCK" "$CASE/alone"
	for each in "$DATA" "$CASE/alone"; do
		wait_until "the end of recovery" is_ready "$each"
		[ "$(sql "$each" -c 'select timeline_id from pg_control_checkpoint()')" = 3 ]
		stop_server "$each"
	done
	wait_until "the end for follow" has_followed "$DATA"
	stop_follow "$DATA"
	# Nothing was decoded of what only the first timeline has.
	end=$(redo_end "$DATA")
	decoded=$(sed -n 's/.*records decoded, up to \([0-9A-F/]*\).*/\1/p' "$DATA.follow.log")
	(( 16#${decoded#*/} > 16#${end#*/} && 16#${decoded#*/} - 16#${end#*/} < 1000 ))
	daemon_has_read "$DATA" 500
	same_data "$CASE/alone" "$DATA"
}

# Lost otherwise: the next recovery, and a file system that cannot be unmounted.
keeps_nothing_open() {		# DATA
	[ -z "$(find "/proc/$DAEMON/fd" \( -lname "$1/*" -o -lname "$1" \) 2>/dev/null)" ]
}

@test "it follows one recovery after the other, and keeps nothing open in between" {
	copy_cluster "$WORK/crashed" "$DATA"
	recover_followed "$DATA"
	wait_until "nothing being open" keeps_nothing_open "$DATA"
	rm -rf "$DATA.first"
	mv "$DATA" "$DATA.first"
	copy_cluster "$WORK/crashed" "$DATA"
	: >"$DATA.follow.log"
	recover_found "$STOCK" "$DATA"
	[ "$(json_member "$DATA.stats" recoveries)" = 2 ]
	stop_follow "$DATA"
	same_data "$WORK/recovered" "$DATA"
}

@test "killed, stopped, or with a server that is killed, it harms nobody" {
	copy_cluster "$WORK/crashed" "$DATA"
	feed_from_archive "$DATA"
	start_follow "$DATA"
	start_server --no-wait "$STOCK" "$DATA"
	wait_until "recovery" grep -q 'recovery of PostgreSQL' "$DATA.follow.log"
	feed "$DATA"
	kill -KILL "$DAEMON"
	wait "$DAEMON" || true
	feed "$DATA"
	start_follow "$DATA"
	wait_until "recovery" grep -q 'recovery of PostgreSQL' "$DATA.follow.log"
	feed "$DATA"
	kill -STOP "$DAEMON"
	feed "$DATA"
	# The server is gone while nobody looks.
	kill -KILL "$(startup_pid "$DATA")"
	wait_until "the end of the server" server_has_gone "$DATA"
	kill -CONT "$DAEMON"
	wait_until "the end for follow" has_followed "$DATA"
	: >"$DATA.follow.log"
	start_server --no-wait "$STOCK" "$DATA"
	wait_until "recovery" grep -q 'recovery of PostgreSQL' "$DATA.follow.log"
	feed_rest "$DATA"
	wait_until "the end for follow" has_followed "$DATA"
	stop_follow "$DATA"
	stop_server "$DATA"
	same_data "$WORK/recovered" "$DATA"
}

# Lost otherwise: a program that reads another cluster's WAL, or none, for ever.
@test "WAL that is wrong, and a data directory that is none" {
	copy_cluster "$WORK/crashed" "$DATA"
	as_server_user tee "$DATA/pg_wal/00000002.history" <<<'garbage' >/dev/null
	as_server_user tee "$DATA/pg_wal/00000003.history" <<<'2	0/1000000' >/dev/null
	recover_followed "$DATA" -v
	stop_follow "$DATA"
	same_data "$WORK/recovered" "$DATA"
	# A base backup that is being restored, for example.
	start_follow "$DATA"
	as_server_user touch "$DATA/postmaster.pid"
	as_server_user mv "$DATA/PG_VERSION" "$DATA/moved"
	wait_until "the message" follow_logs "$DATA" 'error: .* is not a PostgreSQL data directory: its PG_VERSION: No such file'
	as_server_user mv "$DATA/global/pg_control" "$DATA/global/moved"
	as_server_user mv "$DATA/moved" "$DATA/PG_VERSION"
	wait_until "the other" follow_logs "$DATA" 'error: .*: its global/pg_control: No such file'
	stop_follow "$DATA"
	[ "$(grep -c 'error:' "$DATA.follow.log")" -eq 2 ]
	as_server_user mv "$DATA/global/moved" "$DATA/global/pg_control"
	as_server_user rm "$DATA/postmaster.pid"
	run -1 as_server_user "$WORK/redoahead" follow -D "$WORK"
	grep -q 'is not a PostgreSQL data directory' <<<"$output"
	run -2 as_server_user "$WORK/redoahead" follow -D "$DATA" --position guess
	grep -q 'not one of auto|memory|bpf|sql|title' <<<"$output"
	run -1 as_server_user "$WORK/redoahead" follow -D "$DATA" --block-log /nowhere/log
	grep -q 'block-log' <<<"$output"
}

# Lost otherwise: prefetching for the whole recovery, by one error that the device has.
@test "WAL that cannot be read now is read later, and redo does not notice" {
	need_attach
	copy_cluster "$WORK/crashed" "$DATA"
	evict "$DATA"
	start_follow "$DATA"
	strace -f -qq -o "$CASE/calls" -p "$DAEMON" -e trace=pread64 -e inject=pread64:error=EIO:when=1..10 \
		$(printf -- '-P %s ' "$DATA"/pg_wal/0*) 3>&- &
	tracer=$!
	wait_until "the tracer" grep -q "^TracerPid:[[:space:]]$tracer$" "/proc/$DAEMON/status"
	start_server_followed "$STOCK" "$DATA"
	wait_until "reads after the errors" reads_ahead "$DATA" 1000
	end_followed "$DATA"
	kill -TERM "$tracer"
	wait "$tracer" || true
	stop_follow "$DATA"
	[ "$(grep -c 'EIO .*(INJECTED)' "$CASE/calls")" -ge 5 ]
	same_data "$WORK/recovered" "$DATA"
}

# Lost otherwise: trust.
@test "it opens files for reading, and changes none" {
	need_strace
	copy_cluster "$WORK/crashed" "$DATA"
	(cd / && exec "${as_user[@]}" strace -f -qq -o "$CASE/calls" -e trace=file,desc,process_vm_writev,ptrace,kill \
		"$WORK/redoahead" follow -D "$DATA" --backend fadvise --status-socket=) >"$DATA.follow.log" 2>&1 </dev/null 3>&- &
	tracer=$!
	wait_until "follow" grep -q 'following recoveries of' "$DATA.follow.log"
	DAEMON=$(pgrep -P "$tracer" -f 'redoahead follow')
	# Being traced makes it slow: redo waits until it has found what to read.
	start_server_followed "$STOCK" "$DATA"
	wait_until "a data file" goes_on_unless "$startup" grep -q 'openat(.*"base/' "$CASE/calls"
	end_followed "$DATA"
	pkill -TERM -P "$tracer" -f 'redoahead follow'
	wait "$tracer" || true
	grep -v '"/dev/null"' "$CASE/calls" | no grep -E 'O_WRONLY|O_RDWR|O_CREAT|O_TRUNC'
	no grep -E '^[0-9]+ +(rename|unlink|ftruncate|truncate|mkdir|link|symlink|chmod|chown|fchmod|fchown|pwrite|fallocate|fsync|process_vm_writev|ptrace)[a-z0-9]*\(' "$CASE/calls"
	no grep -E '^[0-9]+ +writev?\(([3-9]|[1-9][0-9]+)<?[^,]*"[^"]{60}' "$CASE/calls"
	same_data "$WORK/recovered" "$DATA"
}

# Lost otherwise: servers as Debian packages them.
@test "servers of other majors" {
	local server servers way ways=(memory)
	[ -n "$(why_no_bpf)" ] || ways+=(bpf)
	servers=$(for server in ${REDOAHEAD_OTHER_SERVERS-} /usr/lib/postgresql/*; do
		[ ! -x "$server/bin/initdb" ] || echo "$server"
	done)
	[ -n "$servers" ] || skip "no other server is installed; set REDOAHEAD_OTHER_SERVERS"
	for server in $servers; do
		DATA=$CASE/${server##*/}
		as_server_user "$server/bin/initdb" -D "$DATA" -A trust --locale=C --encoding=UTF8 >"$DATA.initdb"
		settings "$DATA" listen_addresses= full_page_writes=off autovacuum=off fsync=off shared_buffers=4MB \
			max_wal_size=20GB checkpoint_timeout=1d
		start_server "$server" "$DATA"
		pgbench "$DATA" -iq -s 10
		sql "$DATA" -c checkpoint
		write_transactions "$DATA" 16000
		stop_server "$DATA" immediate
		copy_cluster "$DATA" "$DATA.stock"
		recover_with "$server" "$DATA.stock"
		for way in "${ways[@]}"; do
			copy_cluster "$DATA" "$DATA.$way"
			evict "$DATA.$way"
			[ "$way" = memory ] || follow_as=("${with_bpf[@]}")
			start_follow "$DATA.$way" --position "$way"
			follow_as=("${as_user[@]}")
			start_server_followed "$server" "$DATA.$way" "following redo by $way"
			wait_until "the reads" reads_ahead "$DATA.$way" 3000
			end_followed "$DATA.$way"
			stop_follow "$DATA.$way"
			daemon_has_read "$DATA.$way" 3000
			same_data "$DATA.stock" "$DATA.$way"
		done
	done
}
