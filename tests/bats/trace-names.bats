#!/usr/bin/env bats
# `redoahead trace`: its report names relations, where the server lets it look them up.

bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/lib/traces.bash"
# bats file_tags=exclusive

# The cluster that is recovered in tests of names: two databases, a shared catalog, a table that
# is dropped, a temporary one, and a name that has to be quoted.
make_named() {
	local database
	CRASHED=$CASE/crashed
	make_cluster "$CRASHED"
	start_server "$PATCHED" "$CRASHED" "${fast[@]}"
	sql "$CRASHED" -c "CREATE DATABASE \"o'ther=1\""
	for database in postgres "o'ther=1"; do
		sql "$CRASHED" -d "dbname='${database//\'/\\\'}'" -c 'CREATE SCHEMA "S"' \
			-c "CREATE TABLE \"S\".\"a|b
c\" AS SELECT g AS id, repeat('x', 100) AS text FROM generate_series(1, 30000) g" \
			-c 'CREATE TABLE gone AS TABLE "S"."a|b
c"' -c 'CREATE TABLE named AS TABLE gone' -c 'VACUUM named'
	done
	sql "$CRASHED" -c checkpoint
	for database in postgres "o'ther=1"; do
		sql "$CRASHED" -d "dbname='${database//\'/\\\'}'" -c 'CREATE TEMP TABLE passing AS TABLE gone' \
			-c 'UPDATE "S"."a|b
c" SET id = -id' -c 'UPDATE gone SET id = -id' -c 'UPDATE named SET id = -id' -c 'DROP TABLE gone'
	done
	sql "$CRASHED" -c 'ALTER ROLE ALL SET work_mem = 8192' -c 'CREATE ROLE somebody' \
		-c 'SELECT pg_switch_wal()'
	crash_server "$CRASHED"
}

# Lost otherwise: who does not know relfilenumbers by heart.
@test "relations are reported with their names, of each database" {
	make_named
	trace_recovery "$STOCK" stock --names=auto
	adds_up "$DATA"
	for database in postgres "o'ther=1"; do
		for name in named $'"S"."a|b\nc"'; do
			path=$(sql "$DATA" -d "dbname='${database//\'/\\\'}'" -v name="$name" \
				<<<"SELECT pg_relation_filepath(:'name')")
			holds "$DATA" "[(x['name'], x['database_name']) for x in r['relations'] if x['path'] == '$path'] == [('''$name''', '''$database''')]"
		done
	done
	holds "$DATA" 'any(x["fork"] != "main" and x["name"] is not None for x in r["relations"])'
	holds "$DATA" '("pg_authid", None) in [(x["name"], x["database_name"]) for x in r["relations"]]'
	holds "$DATA" 'all(x["name"] is None for x in r["relations"] if x["dropped"] or x["kind"] == "slru")'
	holds "$DATA" 'any(x["dropped"] for x in r["relations"])'
	no grep -q passing "$DATA.trace"
	no grep -q 'by their paths' "$DATA.trace.log"
	stop_server "$DATA"
	rm -r "$CASE"/data*
	trace_recovery "$STOCK" stock
	holds "$DATA" 'all(x["name"] is None and x["database_name"] is None for x in r["relations"])'
	no grep -q 'by their paths' "$DATA.trace.log"
	stop_server "$DATA"
}

# Lost otherwise: reports of servers that let nobody in; and the time of who waits for them.
@test "where the server does not let it in, relations are reported with their paths" {
	CRASHED=$CASE/crashed
	copy_cluster "$WORK/crashed" "$CRASHED"
	echo 'local all all reject' | as_server_user tee "$CRASHED/pg_hba.conf" >/dev/null
	trace_recovery "$STOCK" stock --names=auto
	adds_up "$DATA"
	holds "$DATA" 'all(x["name"] is None for x in r["relations"])'
	grep -q 'relations are shown by their paths: psql: .*pg_hba.conf' "$DATA.trace.log"
	stop_server "$DATA"
}

# Trace a standby of stock until it has replayed something, as $DATA, which is left running.
trace_standby() {			# NAME HOT_STANDBY
	DATA=$CASE/$1
	copy_cluster "$WORK/crashed" "$DATA"
	feed_from_archive "$DATA"
	settings "$DATA" hot_standby="$2" recovery_prefetch=off
	evict "$DATA"
	start_trace "$DATA" --names=auto
	start_server --no-wait "$STOCK" "$DATA"
	wait_until 'the trace' grep -q 'tracing the startup process' "$DATA.trace.log"
	feed "$DATA"
	feed "$DATA"
	[ "$2" = off ] || wait_until 'connections' sql "$DATA" -c 'SELECT 1'
}

# Lost otherwise: names on standbys; and recoveries that take no connections.
@test "names of a standby are looked up if it takes connections" {
	local hot
	for hot in off on; do
		trace_standby $hot $hot
		kill -INT "$TRACE"
		end_trace "$DATA"
		stop_server "$DATA" immediate
	done
	grep -q '^base/5/' "$CASE/off.trace"
	grep -q 'by their paths: the server takes no connections' "$CASE/off.trace.log"
	grep -qE '^pgbench_accounts +[0-9]' "$CASE/on.trace"
	grep -qE '^pgbench_accounts_pkey +[0-9]' "$CASE/on.trace"
	no grep -q '^base/5/' "$CASE/on.trace"
	# A path may be as long as it likes.
	sed "s|$CASE/on||" "$CASE/on.trace" >"$CASE/without-path"
	no grep -E '.{81}' "$CASE/without-path"
}

# Lost otherwise: the report, for who waits for it, of a server that hangs.
@test "a server that does not answer costs names, and not the report" {
	local postmaster
	trace_standby silent on
	postmaster=$(head -n 1 "$DATA/postmaster.pid")
	kill -STOP "$postmaster"
	kill -INT "$TRACE"
	end_trace "$DATA" || { kill -CONT "$postmaster"; false; }
	kill -CONT "$postmaster"
	stop_server "$DATA" immediate
	grep -q 'by their paths: .*timeout expired' "$DATA.trace.log"
	grep -q '^base/5/' "$DATA.trace"
}
