#!/usr/bin/env bats
# The view pg_stat_redoahead and the settings of the extension, as a DBA meets
# them: on a hot standby in recovery, after recovery, and without a daemon.

load lib/machine
load lib/servers
load lib/feeding

setup_file() {
	suite_begin
	make_crashed 2 48000 -c "create extension redoahead" -c "create role reader login"
}

setup() {
	case_begin
	copy_crashed
}

# Recover as a hot standby, as far as it has been fed.
begin_standby() {
	feed_from_archive "$DATA"
	settings "$DATA" hot_standby=on wal_retrieve_retry_interval=10ms
	as_server_user rm "$DATA/recovery.signal"
	as_server_user touch "$DATA/standby.signal"
	evict "$DATA"
	start_server "$PATCHED" "$DATA"
	# WAL that is fed is soon used up.
	[ ! -e "$DATA.daemon.log" ] || wait_until "the daemon" grep -q 'recovery connected' "$DATA.daemon.log"
}

end_standby() {
	feed_all "$DATA"
	promote "$DATA"
}

# Do lines with these texts come in this order?
log_is_in_order() {			# DATA FIRST SECOND
	[ "$(grep -oE -m 1 "$2|$3" "$1.log")" = "$2" ]
}

# Does the view show that?
view() {					# EXPRESSION
	[ "$(sql "$DATA" -c "select $1 from pg_stat_redoahead")" = t ] ||
		{ sql "$DATA" -x -c "table pg_stat_redoahead" >&2; return 1; }
}

# Feed until it does.  WAL that is fed is soon used up, and the daemon may get no CPU for a while.
feed_until_view() {			# EXPRESSION
	until view "$1" 2>/dev/null; do
		feed "$DATA" || { view "$1" || true; return 1; }
		let_daemon_run
	done
}

@test "a hot standby shows the daemon, its progress and its counters, to anyone" {
	start_daemon "$DATA"
	begin_standby
	feed_until_view "state = 'connected' and daemon_pid = $DAEMON and emitted > 1000"
	feed_until_view "daemon_refs_taken > 0 and daemon_blocks_read > 0 and daemon_cpu_seconds > 0"
	view "replay_lsn <= decode_lsn and replay_lsn > '0/0' and lookahead = current_setting('redoahead.lookahead')::int"
	view "connects = 1 and disconnects = 0 and dropped = 0 and daemon_io_depth > 0 and daemon_readahead_limit > 0"
	[ "$(sql "$DATA" -U reader -c "select count(*) from pg_stat_redoahead")" = 1 ]
	stop_server "$DATA"
	stop_daemon "$DATA"
}

# What the server's own view, p, has more than ours, r.
built_in_more="p.prefetch - (r.emitted - r.implied), p.skip_rep - r.skip_rep, p.hit - r.hit,
	p.skip_fpw - r.skip_fpw, p.skip_init - r.skip_init, p.skip_new - r.skip_new"

@test "after recovery the counters stay, they add up, and a block that redo has to read is emitted once" {
	local before
	start_daemon "$DATA"
	begin_standby
	feed_until_view "state = 'connected'"
	before=$(sql "$DATA" -c "select array[$built_in_more]::bigint[] from pg_stat_recovery_prefetch p, pg_stat_redoahead r")
	end_standby
	view "state = 'off' and daemon_pid is null and connects = 1 and daemon_in_flight = 0 and daemon_io_depth = 0"
	view "offered between 10000 and hit + skip_rep + skip_fpw + skip_init + skip_new + dropped + emitted - implied"
	# Of what was dropped, some was implied; without drops each reference is in one column.
	view "dropped > 0 or offered = hit + skip_rep + skip_fpw + skip_init + skip_new + emitted - implied"
	view "daemon_refs_taken <= emitted and daemon_blocks_read > 0 and buffers_found > 0"
	# Of 4 MB of shared buffers, some blocks are evicted before redo comes to them again.
	view "evicted between 1 and hit + skip_rep"
	# Lost otherwise: the device's time, to blocks that are on their way already.
	view "emitted - implied between 500 and
		1.05 * (select sum(reads) from pg_stat_io where backend_type = 'startup' and object = 'relation')"
	# The server's own view has the same, but for what came before the daemon.
	[ "$(sql "$DATA" -c "select p.prefetch > 0 and more[1] - earlier[1] <= 0.05 * offered and
			(select bool_and(abs(more[i] - earlier[i]) <= 0.05 * offered) from generate_series(2, 6) i)
		from pg_stat_recovery_prefetch p, pg_stat_redoahead r,
			lateral (select array[$built_in_more]::bigint[] as more, '$before'::bigint[] as earlier)")" = t ]
	stop_server "$DATA"
	stop_daemon "$DATA"
}

# Lost otherwise: each of the prefetches, silently.  To a compiler, a function that does
# nothing but prefetch has no effect, so that it drops the calls of one that is not inlined.
@test "the prefetches are in the extension's code" {
	command -v objdump >/dev/null || skip "objdump is missing; install binutils"
	case $(uname -m) in x86_64 | aarch64) ;; *) skip "what a prefetch looks like on $(uname -m) is not known here" ;; esac
	code() {				# FILE FUNCTION
		objdump --no-show-raw-insn --disassemble="$2" "$1" | grep -cE '[[:space:]](prefetch|prfm)' || true
	}
	library=$("$PATCHED/bin/pg_config" --pkglibdir)/redoahead.so
	# Both lines of a set; entry, descriptor, page and its middle, parts of pages.
	[ "$(code "$library" prefetch_record_decoded)" -ge 2 ]
	[ "$(code "$library" prefetch_record_returned)" -ge 7 ]
}

# Lost otherwise: a process and the slot of a worker, for as long as the server runs, or the
# standby.
@test "the worker that prefaults shared buffers ends when redo needs none or recovery ends, and runs only where it may" {
	settings "$DATA" shared_buffers=256MB huge_pages=off
	start_daemon "$DATA"
	begin_standby
	feed_until_view "state = 'connected'"
	wait_until "the worker" prefault_worker "$DATA"
	end_standby
	wait_until "the worker's end" eval '! prefault_worker "$DATA"'
	stop_server "$DATA"
	stop_daemon "$DATA"

	rm -rf "$DATA" "$DATA".*
	copy_crashed
	settings "$DATA" shared_buffers=256MB huge_pages=off
	start_daemon "$DATA"
	begin_standby
	feed_until_view "state = 'connected'"
	wait_until "the worker" prefault_worker "$DATA"
	wait_until "the worker's end in an idle standby" eval '! prefault_worker "$DATA"'
	view "state = 'connected'"
	stop_server "$DATA"
	stop_daemon "$DATA"

	rm -rf "$DATA" "$DATA".*
	copy_crashed
	settings "$DATA" shared_buffers=256MB huge_pages=off redoahead.prefault=0
	start_daemon "$DATA"
	begin_standby
	feed_until_view "state = 'connected' and emitted > 1000"
	[ -z "$(prefault_worker "$DATA")" ]
	stop_server "$DATA"
	stop_daemon "$DATA"
}

# A test's cgroup is gone with its processes.
teardown() {
	local result=0
	case_end || result=$?
	[ ! -d "${memory_cgroup:-}" ] || wait_until "the end of the cgroup" rmdir "$memory_cgroup"
	return $result
}

# kB of shared memory that a process has touched.
shared_memory() { awk '/^RssShmem:/ { print $2 }' "/proc/$1/status"; }

# Lost otherwise: memory that the server does not have, and the slot, for as long as it has none.
@test "where memory is short, the worker populates nothing, and ends" {
	need_memory_cgroup
	local worker
	memory_cgroup=$(python $$ <<-'EOF'
		import sys
		from bench import cgroup
		limit = cgroup.MemoryLimit(450 << 20)
		limit.directory = f'{limit.top}/{cgroup.PREFIX}{sys.argv[1]}'
		limit.__enter__()
		print(limit.directory)
	EOF
	)
	as_user=(sh -c 'echo 0 >"$0/cgroup.procs" && exec "$@"' "$memory_cgroup" "${as_user[@]}")
	settings "$DATA" shared_buffers=256MB huge_pages=off
	start_daemon "$DATA"
	begin_standby
	feed_until_view "state = 'connected'"
	wait_until "the worker" prefault_worker "$DATA"
	worker=$(prefault_worker "$DATA")
	# It would populate 64 MB at once.
	has_ended() { is_gone "$worker" || { shared_memory "$worker" >>"$CASE/shared"; false; }; }
	wait_until "the worker's end" has_ended
	[ "$(sort -n "$CASE/shared" | tail -n 1)" -lt 16384 ]
	view "state = 'connected'"
	stop_server "$DATA"
	stop_daemon "$DATA"
}

prefault_worker() {			# DATA
	pgrep -P "$(head -n 1 "$1/postmaster.pid")" -f 'redoahead prefault'
}

@test "a daemon that is lost shows in the view" {
	start_daemon "$DATA"
	begin_standby
	feed_until_view "state = 'connected'"
	kill -KILL "$DAEMON"
	feed_until_view "state = 'disconnected' and daemon_pid is null and disconnects = 1"
	# Without a daemon, too, nothing is replayed before it is decoded.
	lost=$(sql "$DATA" -c 'select decode_lsn from pg_stat_redoahead')
	feed_until_view "replay_lsn > '$lost'"
	view "decode_lsn >= replay_lsn"
	rm "$DATA"/pg_stat_tmp/redoahead{,-status}.sock
	stop_server "$DATA"
}

@test "a stalled daemon shows in the view" {
	FAKE=
	start_fake "$DATA" dead
	begin_standby
	feed_until "$DATA" 'redoahead: .*has not responded'
	feed_until_view "state = 'stalled' and daemon_pid = $FAKE and disconnects = 1"
	stop_server "$DATA"
	stop_fake
}

# Lost otherwise: why there is no daemon, where one hangs before it replies.
@test "a daemon that does not reply shows in the view" {
	FAKE=
	start_fake "$DATA" silent 0
	begin_standby
	feed_until_view "state = 'connecting' and daemon_pid is null and connects = 0"
	stop_server "$DATA"
	stop_fake
}

@test "without a daemon the view shows that there is none" {
	begin_standby
	feed_until_view "state = 'disconnected' and daemon_pid is null and connects = 0 and emitted = 0"
	stop_server "$DATA"
}

@test "without a socket the view shows that it is off" {
	settings "$DATA" redoahead.socket=
	begin_standby
	feed "$DATA"
	view "state = 'off' and emitted = 0 and offered = 0"
	stop_server "$DATA"
}

# Lost otherwise: recovery on a release whose WAL is not what the extension takes it for.
@test "where the extension does not know the WAL, recovery is as in stock, after one log line" {
	local built=$WORK/unknown
	mkdir "$built"
	cp -R "$BATS_TEST_DIRNAME"/../../pg-patch/redoahead/. "$BATS_TEST_DIRNAME/../../userspace/common" "$built"
	sed -i -E "s/\{$pg_major, 0x(....),/{$pg_major, 0xFFFF,/" "$built/common/wal_format.c"
	make -s -C "$built" clean PG_CONFIG="$PATCHED/bin/pg_config"
	make -s -C "$built" PG_CONFIG="$PATCHED/bin/pg_config"
	settings "$DATA" shared_preload_libraries="$built/redoahead"
	start_daemon "$DATA"
	recover_with "$PATCHED" "$DATA"
	[ "$(grep -c "redoahead does not know the WAL of PostgreSQL $pg_major" "$DATA.log")" -eq 1 ]
	[ "$(daemon_count "$DATA" refs_taken)" -eq 0 ]
	# Clients wait for the checkpoint, as in stock.
	log_is_in_order "$DATA" 'checkpoint complete: ' 'database system is ready to accept connections'
	stop_daemon "$DATA"
}

@test "a server that has not loaded the library names the remedy" {
	settings "$DATA" shared_preload_libraries=
	start_server "$PATCHED" "$DATA"
	run sql "$DATA" -c "table pg_stat_redoahead"
	[ "$status" -ne 0 ]
	[[ "$output" == *"redoahead is not loaded"*"shared_preload_libraries"* ]]
	stop_server "$DATA"
}

# What the startup process did to blocks of relations, and usage counts of their buffers.
redo_statistics() {			# SERVER DATA
	start_server "$1" "$2"
	sql "$2" -c "select sum(hits), sum(reads) from pg_stat_io
			where backend_type = 'startup' and object = 'relation'" \
		-c "create extension pg_buffercache" \
		-c "select usagecount, count(*) from pg_buffercache
			where relfilenode = pg_relation_filenode('pgbench_accounts_pkey') group by 1 order by 1"
	stop_server "$2"
}

# Lost otherwise: hits in pg_stat_io, and the usage counts that keep a block in shared buffers.
@test "without the library, hits and usage counts of redo are those of stock" {
	local stock patched
	# Nothing is evicted, which would depend on time.
	settings "$DATA" shared_preload_libraries= shared_buffers=128MB
	copy_cluster "$DATA" "$DATA.stock"
	settings "$DATA.stock" recovery_prefetch=off
	stock=$(redo_statistics "$STOCK" "$DATA.stock")
	patched=$(redo_statistics "$PATCHED" "$DATA")
	echo "stock: $stock, patched: $patched" >&2
	[ "${stock%%|*}" -gt 10000 ]
	[ "$stock" = "$patched" ]
}

@test "the settings have units and bounds, and can be changed by a reload" {
	start_server "$PATCHED" "$DATA"
	run sql "$DATA" -c "select name, unit, context, min_val, max_val from pg_settings
		where name in ('redoahead.decode_buffer_size', 'redoahead.prefault',
			'redoahead.socket', 'redoahead.lookahead')
		order by name"
	echo "$output"
	[ "${lines[0]}" = "redoahead.decode_buffer_size|kB|sighup|512|1048576" ]
	[ "${lines[1]}" = "redoahead.lookahead||sighup|64|1048576" ]
	[ "${lines[2]}" = "redoahead.prefault|MB|postmaster|0|1024" ]
	[ "${lines[3]}" = "redoahead.socket||sighup||" ]
	[ "$(sql "$DATA" -c "show redoahead.socket")" = pg_stat_tmp/redoahead.sock ]
	run sql "$DATA" -c 'set redoahead.lookahead = 100'
	[[ "$output" == *"cannot be changed now"* ]]
	run sql "$DATA" -c 'alter system set redoahead.lookahead = 63'
	[[ "$output" == *"outside the valid range"* ]]
	run sql "$DATA" -c "set redoahead.lokahead = 100"
	[[ "$output" == *"reserved prefix"* ]]
	sql "$DATA" -c 'alter system set redoahead.lookahead = 100' -c "select pg_reload_conf()"
	wait_until "the new look-ahead" view "lookahead = 100"
	stop_server "$DATA"
}

@test "the extension can be dropped and made again" {
	start_server "$PATCHED" "$DATA"
	sql "$DATA" -c "drop extension redoahead" -c "create extension redoahead"
	view "state = 'off'"
	stop_server "$DATA"
}
