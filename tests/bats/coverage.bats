#!/usr/bin/env bats
# Which blocks redo reads without a reference to them, by `redoahead trace`: a recovery whose WAL
# does a bit of everything, so that redo reads every kind of file.

. "$BATS_TEST_DIRNAME/lib/traces.bash"
# bats file_tags=exclusive

# A transaction ID for each loop.
burn='do $$ begin for i in 1..40000 loop perform pg_current_xact_id(); commit; end loop; end $$'

setup_file() {
	local data
	suite_begin
	data=$WORK/crashed
	make_cluster "$data" track_commit_timestamp=on
	as_server_user mkdir "$data.space"
	start_server "$PATCHED" "$data" "${fast[@]}"
	pgbench "$data" -iq -s 5
	sql "$data" -v space="$data.space" -f - <"$BATS_TEST_DIRNAME/lib/schema.sql"
	sql "$data" -c 'call make_multixacts(2000)' \
		-c "begin; insert into child values (1, 'old'); prepare transaction 'old'" -c "$burn" -c checkpoint
	write_transactions "$data" 16000
	# It has old pages of pg_xact and pg_commit_ts.
	sql "$data" -c "commit prepared 'old'"
	pgbench "$data" -n -f - -c 4 -t 500 <"$BATS_TEST_DIRNAME/lib/mixed.sql"
	sql "$data" -c 'call make_multixacts(1000)' -c "$burn" \
		-c 'delete from shrinking where id > 8000' -c 'vacuum shrinking' -c 'vacuum indexed' \
		-c 'delete from toasted where id % 3 = 0' -c 'drop table dropped' -c 'truncate emptied' \
		-c 'insert into emptied select * from shrinking limit 3000' \
		-c 'create table created as select * from indexed' -c 'create index on created (t)' \
		-c 'vacuum created' -c 'update created set b = b + 1 where id % 50 = 0' \
		-c 'vacuum full created' -c 'create database copy strategy wal_log'
	write_transactions "$data" 4000
	crash_server "$data"
	WHY_NOT=$(why_not)
	export WHY_NOT
}

# Lost otherwise: reads that the WAL implies and redo waits for; and reads in vain.
@test "of each kind of file, redo finds what it reads prefetched, and little is read in vain" {
	local kind try
	# A kernel that reclaims pages meanwhile (DAMON) reads others, whatever is requested: that
	# measures the kernel, and is repeated twice at most.
	for try in 1 2 3; do
		trace_recovery "$PATCHED" daemon
		[ "$(reported "$DATA" 'b["evicted"]')" != 0 ] && [ "$try" -lt 3 ] || break
		stop_server "$DATA"
		stop_daemon "$DATA"
		rm -rf "$DATA"
	done
	adds_up "$DATA"
	for kind in main fsm vm pg_xact pg_multixact/offsets pg_multixact/members pg_commit_ts; do
		holds "$DATA" "sum(x['used'] for x in r['relations'] if (x['fork'] or x['path']) == '$kind') > 0"
	done
	# Relations that the WAL creates or truncates have references only from there on.
	holds "$DATA" 'b["missed_by"]["not_referenced"] + b["missed_by"]["no_daemon"] <= 0.001 * b["read"]'
	stop_server "$DATA"
	stop_daemon "$DATA"
	# The last page of an SLRU may have been created before the daemon was there.
	holds "$DATA" "all(x['wasted'] <= 1 + $(gap_blocks "$DATA" slru) for x in r['relations'] if x['kind'] == 'slru')"
	holds "$DATA" "b['wasted'] <= 0.02 * b['prefetched'] + $(gap_blocks "$DATA" relation)"
}
