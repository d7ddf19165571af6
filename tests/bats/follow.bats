#!/usr/bin/env bats
# `redoahead follow` on stock servers: crash recovery, archives, standbys, and what becomes
# of it and of the server when something is wrong.  After each recovery the data is that of
# a stock server without it.

bats_require_minimum_version 1.5.0
load lib/servers

# As start_daemon and stop_daemon; $DAEMON is its process id.  What is in $follow_as is put
# before the command.
follow_as=("${as_user[@]}")
start_follow() {			# DATA [OPTION...]
	local data=$1
	shift
	(cd / && exec "${follow_as[@]}" "$WORK/redoahead" follow -D "$data" --stats "$data.stats" "$@") \
		>"$data.follow.log" 2>&1 </dev/null 3>&- &
	DAEMON=$!
	wait_until "follow" grep -q 'following recoveries of' "$data.follow.log"
}

stop_follow() {				# DATA
	kill -TERM "$DAEMON"
	wait "$DAEMON" || { echo "follow ended with status $?" >&2; return 1; }
}

follow_says() { grep -qE -- "$2" "$1.follow.log" || { cat "$1.follow.log" >&2; return 1; }; }		# DATA PATTERN
has_followed() { grep -q 'recovery ended' "$1.follow.log"; }

# What the server must not notice: all it logs is what it logs without.
recover_followed() {		# DATA [OPTION-OF-FOLLOW...]
	start_follow "$@"
	recover_with "$STOCK" "$1"
	wait_until "the end for follow" has_followed "$1"
}

setup_file() {
	suite_begin
	make_crashed 10 4000
	copy_cluster "$WORK/crashed" "$WORK/recovered"
	recover_with "$STOCK" "$WORK/recovered"
}

# Lost otherwise: what the command is for.
@test "in crash recovery it reads what redo needs, and little else" {
	copy_cluster "$WORK/crashed" "$DATA"
	evict "$DATA"
	recover_followed "$DATA"
	stop_follow "$DATA"
	follow_says "$DATA" 'following redo by memory'
	# The same blocks as prefault lists, which is compared with the patched server.
	listed=$(as_server_user "$WORK/redoahead" prefault -D "$WORK/crashed" --dry-run 2>/dev/null | wc -l)
	[ "$listed" -gt 5000 ]
	# Redo goes on while the recovery is being found.
	daemon_has_read "$DATA" 1000
	[ "$(daemon_count "$DATA" refs_taken)" -le "$listed" ]
	end=$(sed -n 's/.*redo done at \([0-9A-F/]*\) .*/\1/p' "$DATA.log")
	decoded=$(sed -n 's/.*records decoded, up to \([0-9A-F/]*\).*/\1/p' "$DATA.follow.log")
	(( 16#${decoded#*/} > 16#${end#*/} ))
	good_checksums "$DATA"
	same_data "$WORK/recovered" "$DATA"
}

# Lost otherwise: servers whose memory may not be read.
@test "the position of redo by the title of the process, while it recovers from an archive" {
	copy_cluster "$WORK/crashed" "$DATA"
	feed_from_archive "$DATA"
	evict "$DATA"
	start_follow "$DATA" --position title
	start_server --no-wait "$STOCK" "$DATA"
	wait_until "the first segment" grep -q 'following redo by title' "$DATA.follow.log"
	feed "$DATA"
	feed "$DATA"
	feed_rest "$DATA"
	wait_until "the end for follow" has_followed "$DATA"
	stop_follow "$DATA"
	stop_server "$DATA"
	daemon_has_read "$DATA" 1000
	same_data "$WORK/recovered" "$DATA"
}

# Why no BPF program can be loaded here; nothing if one can.
why_no_bpf() {
	if [ "$(id -u)" -ne 0 ]; then
		echo "needs root"
	elif ! bpftool feature probe kernel 2>/dev/null | grep -q 'program_type raw_tracepoint is available'; then
		echo "the kernel allows no BPF programs"
	fi
}

# Skip there; otherwise set $methods to the attach methods that the kernel has.
need_bpf() {
	local reason
	reason=$(why_no_bpf)
	[ -z "$reason" ] || skip "$reason"
	methods=(raw_tp)
	if bpftool btf dump file /sys/kernel/btf/vmlinux 2>/dev/null | grep -q btf_trace_mm_filemap_get_pages; then
		methods+=(tp_btf)
	fi
}

# Without a privilege to read the memory of processes, as where Yama restricts ptrace(2).
no_memory=("$redoahead_root/build/tests/tools/without_call" process_vm_readv EPERM)

# The owner, with what BPF needs; for root.
with_bpf=(setpriv "--reuid=$redoahead_user" "--regid=$redoahead_user" --init-groups
	--inh-caps=+bpf,+perfmon --ambient-caps=+bpf,+perfmon --)

# Feed segments, about ten a second, until a recovery that was found is followed by BPF: from the
# first block on that redo reads.
feed_until_seen() {			# DATA
	wait_until "recovery" grep -q 'recovery of PostgreSQL' "$1.follow.log"
	until grep -q 'following redo by bpf' "$1.follow.log"; do
		feed "$1" || return 1
		sleep 0.1
	done
}

# The BPF programs that a process has loaded, and the links by which it has attached some.
programs_of() { sed -n 's/^prog_id:[[:space:]]*//p' "/proc/$1"/fdinfo/* 2>/dev/null | sort -un; }
links_of() { grep -l '^link_id:' "/proc/$1"/fdinfo/* 2>/dev/null | wc -l; }

# Lost otherwise: servers whose memory may not be read.  What is attached costs all processes.
@test "the position of redo by BPF, by each attach method, which is attached during a recovery only" {
	need_bpf
	local method program
	follow_as=()			# root, who becomes the owner
	for method in "${methods[@]}"; do
		DATA=$CASE/$method
		copy_cluster "$WORK/crashed" "$DATA"
		feed_from_archive "$DATA"
		evict "$DATA"
		start_follow "$DATA" --position bpf --attach "$method" --verbose
		[ "$(ps -o user= -p "$DAEMON")" = "$redoahead_user" ]
		program=$(programs_of "$DAEMON")
		[ "$(wc -w <<<"$program")" -eq 1 ]
		[ "$(links_of "$DAEMON")" -eq 0 ]
		start_server --no-wait "$STOCK" "$DATA"
		feed_until_seen "$DATA"
		[ "$(links_of "$DAEMON")" -eq 1 ]
		follow_says "$DATA" "the position of redo is seen by $method"
		feed_rest "$DATA"
		wait_until "the end for follow" has_followed "$DATA"
		[ "$(links_of "$DAEMON")" -eq 0 ]
		stop_follow "$DATA"
		wait_until "the end of the program" no bpftool prog show id "$program"
		stop_server "$DATA"
		daemon_has_read "$DATA" 1000
		same_data "$WORK/recovered" "$DATA"
	done
}

# Lost otherwise: the second best position, where the best is not allowed.
@test "where memory may not be read, the position of redo by BPF, with two capabilities" {
	need_bpf
	copy_cluster "$WORK/crashed" "$DATA"
	feed_from_archive "$DATA"
	evict "$DATA"
	follow_as=("${no_memory[@]}" "${with_bpf[@]}")
	start_follow "$DATA"
	start_server --no-wait "$STOCK" "$DATA"
	feed_until_seen "$DATA"
	follow_says "$DATA" 'cannot read the memory of the startup process'
	feed_rest "$DATA"
	wait_until "the end for follow" has_followed "$DATA"
	stop_follow "$DATA"
	stop_server "$DATA"
	daemon_has_read "$DATA" 1000
	same_data "$WORK/recovered" "$DATA"
}

# Lost otherwise: containers, whose processes have other numbers in the kernel.
@test "the position of redo by BPF in a PID namespace" {
	need_bpf
	need_namespace --pid --fork --mount-proc
	local namespace init starter
	unshare --pid --fork --mount-proc sleep 600 3>&- &
	namespace=$!
	wait_until "the namespace" pgrep -P "$namespace" -x sleep
	init=$(pgrep -P "$namespace" -x sleep)
	follow_as=(nsenter --target "$init" --pid --mount --)
	as_user=("${follow_as[@]}" "${as_user[@]}")
	copy_cluster "$WORK/crashed" "$DATA"
	feed_from_archive "$DATA"
	start_follow "$DATA" --position bpf
	start_server "$STOCK" "$DATA" &
	starter=$!
	feed_until_seen "$DATA"
	feed_all "$DATA"
	wait "$starter"
	wait_until "the end for follow" has_followed "$DATA"
	stop_server "$DATA"
	kill -KILL "$init"
	wait "$namespace" "$DAEMON" || true
	same_data "$WORK/recovered" "$DATA"
}

# Lost otherwise: file systems that have a page cache of their own, where nothing would be seen.
@test "where reads do not pass the kernel's page cache, BPF follows system calls" {
	need_bpf
	need_namespace --mount
	mkdir "$DATA"
	follow_as=(unshare --mount sh -c 'mount -t tmpfs none "$0" && cp -a "$1/." "$0" && chmod 700 "$0" &&
		chown --reference="$1" "$0" && shift && exec "$@"' "$DATA" "$WORK/crashed")
	start_follow "$DATA" --position bpf --verbose
	stop_follow "$DATA"
	follow_says "$DATA" 'the position of redo cannot be seen by tp_btf'
	no grep -q 'cannot be seen by raw_tp' "$DATA.follow.log"
	rmdir "$DATA"
}

@test "where neither memory nor BPF is allowed, the title; and without the title, no position" {
	local way
	follow_as=("${no_memory[@]}" "${as_user[@]}")
	for way in auto bpf; do
		DATA=$CASE/$way
		copy_cluster "$WORK/crashed" "$DATA"
		feed_from_archive "$DATA"
		start_follow "$DATA" --position "$way"
		start_server --no-wait "$STOCK" "$DATA"
		feed "$DATA"
		wait_until "the refusal" grep -q 'cannot follow redo by BPF: .*; start this program as root, or as the owner with CAP_BPF' "$DATA.follow.log"
		[ $way = bpf ] || wait_until "the title" grep -q 'following redo by title' "$DATA.follow.log"
		feed_rest "$DATA"
		wait_until "the end for follow" has_followed "$DATA"
		stop_follow "$DATA"
		stop_server "$DATA"
		same_data "$WORK/recovered" "$DATA"
	done
	# Forced: one line, no other method.
	[ "$(grep -c 'cannot' "$DATA.follow.log")" -eq 1 ]
	no grep -q 'following redo by' "$DATA.follow.log"
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

has_replayed_all() {		# PRIMARY STANDBY
	[ "$(sql "$2" -c "select pg_last_wal_replay_lsn() >= '$(sql "$1" -c 'select pg_current_wal_lsn()')'")" = t ]
}

# Lost otherwise: standbys, and all recoveries after a promotion.
@test "a streaming standby by SQL and by memory, pg_wal being a link, through a promotion" {
	local primary=$CASE/primary standby=$CASE/standby second=$CASE/second
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
	# The owner decides which psql is found.
	[ "$(grep -cE '^Cap(Inh|Prm|Eff|Amb):	0*$' "/proc/$(pgrep -x -P "$by_sql" psql)/status")" -eq 4 ]
	evict "$second/base" "$standby/base"
	pgbench "$primary" -n -N -c 2 -t 1000
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
	stop_server "$second"
	wait_until "the end for follow" has_followed "$second"
	end=$(sed -n 's/.*records decoded, up to \([0-9A-F/]*\).*/\1/p' "$second.follow.log")
	[ "$(sql "$standby" -c "select pg_wal_lsn_diff(pg_current_wal_lsn(), '$end') < 100000")" = t ]
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
	pgbench "$standby" -n -N -c 2 -t 6000
	pgbench "$primary" -n -N -c 2 -t 9000
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
	for each in "$DATA" "$CASE/alone"; do
		start_server --no-wait "$STOCK" "$each"
		wait_until "the end of recovery" is_ready "$each"
		[ "$(sql "$each" -c 'select timeline_id from pg_control_checkpoint()')" = 3 ]
		stop_server "$each"
	done
	wait_until "the end for follow" has_followed "$DATA"
	stop_follow "$DATA"
	follow_says "$DATA" 'following timeline 2'
	# Nothing was decoded of what only the first timeline has.
	end=$(sed -n 's/.*redo done at \([0-9A-F/]*\) .*/\1/p' "$DATA.log")
	decoded=$(sed -n 's/.*records decoded, up to \([0-9A-F/]*\).*/\1/p' "$DATA.follow.log")
	(( 16#${decoded#*/} > 16#${end#*/} && 16#${decoded#*/} - 16#${end#*/} < 1000 ))
	daemon_has_read "$DATA" 500
	same_data "$CASE/alone" "$DATA"
}

# Lost otherwise: the next recovery, and a file system that cannot be unmounted.
@test "it follows one recovery after the other, and keeps nothing open in between" {
	copy_cluster "$WORK/crashed" "$DATA"
	recover_followed "$DATA"
	[ -z "$(find "/proc/$DAEMON/fd" \( -lname "$DATA/*" -o -lname "$DATA" \) 2>/dev/null)" ]
	rm -rf "$DATA.first"
	mv "$DATA" "$DATA.first"
	copy_cluster "$WORK/crashed" "$DATA"
	: >"$DATA.follow.log"
	recover_with "$STOCK" "$DATA"
	wait_until "the end for follow" has_followed "$DATA"
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
	run -1 as_server_user "$WORK/redoahead" follow -D "$WORK"
	grep -q 'is not a PostgreSQL data directory' <<<"$output"
	run -2 as_server_user "$WORK/redoahead" follow -D "$DATA" --position guess
	grep -q 'not one of auto|memory|bpf|sql|title' <<<"$output"
	run -1 as_server_user "$WORK/redoahead" follow -D "$DATA" --block-log /nowhere/log
	grep -q 'block-log' <<<"$output"
}

# Lost otherwise: trust.
@test "it opens files for reading, and changes none" {
	[ "$(type -t strace)" ] || skip "strace is missing; install it"
	copy_cluster "$WORK/crashed" "$DATA"
	(cd / && exec "${as_user[@]}" strace -f -qq -o "$CASE/calls" -e trace=file,desc,process_vm_writev,ptrace,kill \
		"$WORK/redoahead" follow -D "$DATA" --backend fadvise) >"$DATA.follow.log" 2>&1 </dev/null 3>&- &
	tracer=$!
	wait_until "follow" grep -q 'following recoveries of' "$DATA.follow.log"
	recover_with "$STOCK" "$DATA"
	wait_until "the end for follow" has_followed "$DATA"
	pkill -TERM -P "$tracer" -f 'redoahead follow'
	wait "$tracer" || true
	grep -q 'openat(.*"base/' "$CASE/calls"
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
		pgbench "$DATA" -n -N -M prepared -c 4 -t 4000
		stop_server "$DATA" immediate
		copy_cluster "$DATA" "$DATA.stock"
		recover_with "$server" "$DATA.stock"
		for way in "${ways[@]}"; do
			copy_cluster "$DATA" "$DATA.$way"
			evict "$DATA.$way"
			[ "$way" = memory ] || follow_as=("${with_bpf[@]}")
			start_follow "$DATA.$way" --position "$way"
			follow_as=("${as_user[@]}")
			recover_with "$server" "$DATA.$way"
			wait_until "the end for follow" has_followed "$DATA.$way"
			stop_follow "$DATA.$way"
			follow_says "$DATA.$way" "following redo by $way"
			daemon_has_read "$DATA.$way" 3000
			same_data "$DATA.stock" "$DATA.$way"
		done
	done
}
