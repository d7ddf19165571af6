# What the tests of the whole share: clusters, recoveries, daemons, and what
# must hold after each.  To be loaded by a bats file, which calls suite_begin in
# setup_file.  It tests nothing by itself.
#
# Everything that a test makes or starts lives in $CASE, so that case_end can
# end it, and can report what was left behind.  A test that did all it should
# leaves nothing.  $DATA is the place for the test's cluster.
#
# environment: PG               the major release of PostgreSQL (default 18)
#              STOCK, PATCHED   installed servers (default build/pg/MAJOR/...)
#              REDOAHEAD        the program (default build/redoahead)

. "$BATS_TEST_DIRNAME/../../scripts/lib/common.sh"
. "$BATS_TEST_DIRNAME/lib/common.bash"
. "$BATS_TEST_DIRNAME/lib/redo.bash"

STOCK=$(readlink -f "${STOCK:-$redoahead_root/build/pg/$pg_major/stock}")
PATCHED=$(readlink -f "${PATCHED:-$redoahead_root/build/pg/$pg_major/patched}")
REDOAHEAD=${REDOAHEAD:-$redoahead_root/build/redoahead}

# Settings that recovery by the stock server does not know.
redoahead_settings=(shared_preload_libraries=redoahead)

# ---------- processes ----------

# The processes that run in or from a directory.
processes_in() {			# DIRECTORY
	{
		grep -lF -- "$1/" /proc/[0-9]*/cmdline
		find /proc -maxdepth 2 -path '/proc/[0-9]*/cwd' -lname "$1/*"
	} 2>/dev/null | cut -d / -f 3 | sort -u | while read -r pid; do
		# grep names itself.
		[ ! -d "/proc/$pid" ] || echo "$pid"
	done
}

# ---------- suites and cases ----------

# A bats file that needs more has functions of its own, which call these.
setup() { case_begin; }
teardown() { case_end; }
teardown_file() { suite_end; }

suite_begin() {
	drop_own_settings
	WORK=$(mktemp -d /var/tmp/redoahead-test.XXXXXX)
	export WORK
	chmod 755 "$WORK"
	keep_subdirectories_apart "$WORK"
	# The servers' user may not be able to reach the clone.
	install -m 755 "$REDOAHEAD" "$WORK/redoahead"
	install -m 755 "$redoahead_root/tests/tools/fake_daemon.py" \
		"$redoahead_root/tests/bats/lib/restore" "$WORK"
	# Sticky: the servers' user cannot replace the programs, which root runs, too.
	[ "$(id -u)" -ne 0 ] || { chgrp "$redoahead_user" "$WORK" && chmod 1775 "$WORK"; }
}

suite_end() {
	[ -n "${WORK:-}" ] || return 0
	kill_all_in "$WORK"
	rm -rf "$WORK"
}

case_begin() {
	# ext4 goes by its name; tests of other files have the same numbers.
	CASE=$WORK/$BATS_TEST_NUMBER.${WORK: -3}
	DATA=$CASE/data
	as_server_user mkdir "$CASE"
	export CASE
}

case_end() {
	local left log pid args
	if [ -z "${BATS_TEST_COMPLETED:-}" ]; then
		for log in "$CASE"/*.log; do
			[ ! -e "$log" ] || { echo "--- ${log##*/}"; tail -n 25 "$log"; }
		done
	fi
	# What ends has no memory any more, and may wait for a parent that is busy.
	left=$(processes_in "$CASE" | while read -r pid; do
			args=$(ps -o pid=,args= -p "$pid") || continue
			! grep -q '^VmSize:' "/proc/$pid/status" 2>/dev/null || echo "$args"
		done
		find "$CASE" -type s)
	kill_all_in "$CASE"
	rm -rf "$CASE"
	if [ -n "$left" ] && [ -n "${BATS_TEST_COMPLETED:-}" ]; then
		printf 'left behind:\n%s\n' "$left" >&2
		return 1
	fi
}

kill_all_in() {				# DIRECTORY
	local pid
	for pid in $(processes_in "$1"); do
		kill -KILL "$pid" 2>/dev/null || true
	done
	wait_until "the end of all processes" nothing_runs_in "$1"
}

nothing_runs_in() { [ -z "$(processes_in "$1")" ]; }

# ---------- clusters ----------

# Make a data directory with the settings that all of the tests want: small
# buffers and WAL segments of WAL_SEGMENT_MB (1), and nothing that writes by itself.
make_cluster() {			# DATA [SETTING...]
	local data=$1
	shift
	as_server_user "$PATCHED/bin/initdb" -D "$data" -A trust --no-sync --no-instructions \
		--data-checksums --locale=C --encoding=UTF8 --wal-segsize="${WAL_SEGMENT_MB:-1}" >"$data.initdb" 2>&1 || { cat "$data.initdb"; return 1; }
	rm "$data.initdb"
	settings "$data" listen_addresses= autovacuum=off fsync=off full_page_writes=off \
		shared_buffers=4MB max_wal_size=20GB checkpoint_timeout=1d wal_keep_size=20GB \
		max_logical_replication_workers=0 max_prepared_transactions=10 \
		allow_in_place_tablespaces=on log_line_prefix='%p ' "$@"
}

# Add settings; the last one of a name counts.
settings() {				# DATA NAME=VALUE...
	local data=$1 setting
	shift
	for setting in "$@"; do
		echo "${setting%%=*} = '${setting#*=}'"
	done | as_server_user tee -a "$data/postgresql.auto.conf" >/dev/null
}

# Copy a cluster that does not run, to where the test may change it.
copy_cluster() {			# FROM TO
	as_server_user cp -a --reflink=auto --sparse=always "$1" "$2"
}

# Start a server, for once with other settings; with --no-wait, do not wait
# until it takes connections, but until it holds the data directory.
start_server() {			# [--no-wait] SERVER DATA [NAME=VALUE...]
	local wait=-w server data logged=0
	[ "$1" != --no-wait ] || { wait=-W; shift; }
	server=$1 data=$2
	shift 2
	[ ! -e "$data.log" ] || logged=$(wc -l <"$data.log")
	# bats waits until nobody has its descriptor 3 any more.
	(as_server_user "$server/bin/pg_ctl" -D "$data" -l "$data.log" $wait -t "$long_patience" \
		-o "$(printf -- "-c %s " "unix_socket_directories=$data" "$@")" start >/dev/null 3>&-) ||
		{ tail -n 5 "$data.log" >&2; return 1; }
	[ $wait = -w ] || wait_until "the start of the server" has_begun "$data" "$logged"
}

# Is there a server, or did it log since that there will be none?
has_begun() {				# DATA LINES-OF-ITS-LOG-BEFORE
	kill -0 "$(head -n 1 "$1/postmaster.pid")" || tail -n "+$(($2 + 1))" "$1.log" | grep -qE 'FATAL|shut down'
}

# Where redo starts, by pg_control.
redo_lsn() {				# DATA
	as_server_user "$PATCHED/bin/pg_controldata" -D "$1" | sed -n "s/^Latest checkpoint's REDO location: *//p"
}

# Has a standby replayed all that a server, which may be a standby, too, has now?
has_replayed_all() {		# FROM STANDBY
	local lsn
	lsn=$(sql "$1" -c "select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end")
	[ "$(sql "$2" -c "select pg_last_wal_replay_lsn() >= '$lsn'")" = t ]
}

# Has redo of a hot standby been paused?
has_paused() {				# DATA
	[ "$(sql "$1" -c 'select pg_get_wal_replay_pause_state()')" = paused ]
}

stop_server() {				# DATA [MODE]
	local postmaster
	postmaster=$(head -n 1 "$1/postmaster.pid" 2>/dev/null) || true
	as_server_user "$PATCHED/bin/pg_ctl" -D "$1" -w -t "$long_patience" -m "${2:-fast}" stop >/dev/null || return 1
	# pg_ctl waits until its file has gone, which it removes a little before it ends.
	wait_until "the end of the postmaster" is_gone "$postmaster"
}

server_has_gone() { [ ! -e "$1/postmaster.pid" ]; }

# Make a standby a primary.
promote() {					# DATA
	as_server_user "$PATCHED/bin/pg_ctl" -D "$1" -w -t "$long_patience" promote >/dev/null
}

# Crash a server, but with all WAL so far, however short ago it was written.
crash_server() {			# DATA
	sql "$1" -c "SELECT pg_logical_emit_message(false, '', '', flush => true)" >/dev/null
	stop_server "$1" immediate
}

# Recover, to the end and no further.  pg_ctl alone would wait until the server
# is consistent, and stop it there.
recover_with() {			# SERVER DATA
	start_server "$1" "$2"
	wait_until "the end of recovery" is_ready "$2"
	stop_server "$2"
}

sql() {						# DATA ARGUMENT...
	local data=$1
	shift
	as_server_user "$PATCHED/bin/psql" -XAtq -v ON_ERROR_STOP=1 -h "$data" -d postgres "$@"
}

# Have a server read its settings again.
reload() {					# DATA
	kill -HUP "$(head -n 1 "$1/postmaster.pid")"
}

# Skip where no process of the servers' user can be traced that runs already.
need_attach() {
	local target reason
	need_strace
	# It ends when it is traced.
	(cd / && exec "${as_user[@]}" sh -c 'until grep -q "^TracerPid:.[1-9]" /proc/$$/status; do sleep 0.02; done') 3>&- &
	target=$!
	reason=$(strace -qq -o /dev/null -p "$target" 2>&1) || { kill "$target"; skip "$reason"; }
}

# The process of a server with this title.
child() {					# DATA TITLE
	pgrep -P "$(head -n 1 "$1/postmaster.pid")" -f "postgres: $2"
}
has_no_child() { no child "$@" >/dev/null; }		# DATA TITLE

startup_pid() { child "$1" startup; }	# DATA

# Settings under which WAL is written fast.
fast=(shared_buffers=512MB synchronous_commit=off)

pgbench() {					# DATA ARGUMENT...
	local data=$1
	shift
	as_server_user "$PATCHED/bin/pgbench" -h "$data" "$@" postgres >"$data.pgbench" 2>&1 ||
		{ cat "$data.pgbench" >&2; return 1; }
}

# Many transactions that write the WAL of `pgbench -N`, by two sessions that wait for no client
# between them, which takes a fraction of the time.
write_transactions() {		# DATA COUNT
	local session sessions=()
	for session in 1 2; do
		sql "$1" -c "do \$\$
declare
	accounts int := (select max(aid) from pgbench_accounts);
	account int;
begin
	for i in 1..$(($2 / 2)) loop
		account := 1 + random() * (accounts - 1);
		update pgbench_accounts set abalance = abalance + i where aid = account;
		insert into pgbench_history (tid, bid, aid, delta, mtime) values ($session, 1, account, i, now());
		commit;
	end loop;
end \$\$" 3>&- &
		sessions+=($!)
	done
	for session in "${sessions[@]}"; do wait "$session"; done
}

is_ready() { grep -q 'database system is ready to accept connections' "$1.log"; }

# A pgbench cluster in $WORK/crashed that crashed with WAL to replay.
make_crashed() {			# SCALE TRANSACTIONS [PSQL-ARGUMENT...]
	local scale=$1 transactions=$2
	shift 2
	make_cluster "$WORK/crashed"
	start_server "$PATCHED" "$WORK/crashed" "${fast[@]}"
	[ $# -eq 0 ] || sql "$WORK/crashed" "$@"
	pgbench "$WORK/crashed" -iq -s "$scale"
	sql "$WORK/crashed" -c checkpoint
	write_transactions "$WORK/crashed" "$transactions"
	crash_server "$WORK/crashed"
}

# What the stock server makes of it, in $WORK/reference.
make_reference() {
	copy_cluster "$WORK/crashed" "$WORK/reference"
	recover_with "$STOCK" "$WORK/reference"
}

# A copy of it in $DATA, for a server with the extension.
copy_crashed() {
	copy_cluster "$WORK/crashed" "$DATA"
	settings "$DATA" "${redoahead_settings[@]}"
}

# ---------- daemons ----------

# Start the daemon, and wait until servers can find it.  Its process id is in
# $DAEMON, what it logs in DATA.daemon.log, its counters in DATA.stats.
start_daemon() {			# DATA [OPTION...]
	local data=$1
	shift
	: >"$data.daemon.log"		# or what is waited for could be found in that of the last one
	(cd / && exec "${as_user[@]}" "$WORK/redoahead" serve -D "$data" --stats "$data.stats" "$@") \
		>"$data.daemon.log" 2>&1 </dev/null 3>&- &
	DAEMON=$!
	wait_until "the daemon's socket" grep -q 'serving "' "$data.daemon.log"
}

# Stop it as an administrator would: it must succeed and clean up.
stop_daemon() {				# DATA
	kill -TERM "$DAEMON"
	wait "$DAEMON" || { echo "the daemon ended with status $?" >&2; return 1; }
	[ ! -e "$1/pg_stat_tmp/redoahead.sock" ]
}

# A number from the daemon's counters over all recoveries.
daemon_count() { json_member "$1.stats" total "$2"; }		# DATA NAME

# Blocks that the daemon has read, with those in gaps, which redo need not want.
all_blocks_read() {			# DATA
	echo $(($(daemon_count "$1" blocks_read) + $(daemon_count "$1" gap_blocks_read)))
}

# No test may pass because the daemon did nothing.
daemon_has_read() {			# DATA BLOCKS
	local read
	read=$(daemon_count "$1" blocks_read)
	[ "$read" -ge "$2" ] || { echo "the daemon has read $read blocks, expected $2 or more" >&2; return 1; }
}

# Start a hostile or broken daemon.  What it saw is in DATA.fake.
start_fake() {				# DATA MODE [OPTION...]
	local data=$1 mode=$2
	local -a as_fake=("${as_user[@]//$redoahead_user/${FAKE_USER:-$redoahead_user}}")
	shift 2
	(cd / && exec "${as_fake[@]}" "$WORK/fake_daemon.py" \
		"${FAKE_SOCKET:-$data/pg_stat_tmp/redoahead.sock}" "$mode" "$@") \
		>"$data.fake" 2>"$data.fake.log" </dev/null 3>&- &
	FAKE=$!
	wait_until "the fake daemon's socket" test -S "${FAKE_SOCKET:-$data/pg_stat_tmp/redoahead.sock}"
}

stop_fake() {
	kill -TERM "$FAKE" 2>/dev/null || true
	wait "$FAKE" || { echo "the fake daemon ended with status $?" >&2; return 1; }
}

fake_saw() { json_member "$1.fake" "$2"; }		# DATA NAME

# ---------- what must hold ----------

# The data of two clusters, shut down, must be the same.
same_data() {				# [OPTION] DATA DATA
	"$redoahead_root/scripts/compare-clusters" "$@"
}

# All checksums of a cluster, shut down, must be right.
good_checksums() {			# DATA
	as_server_user "$PATCHED/bin/pg_checksums" --check -D "$1"
}

# The server's log must hold these lines about redoahead, in this order, and no
# others: at most one for each change of state.
log_is() {					# DATA PATTERN...
	local data=$1 line
	local -a lines
	shift
	mapfile -t lines < <(sed -n 's/^[0-9]* LOG:  redoahead: //p' "$data.log")
	if [ ${#lines[@]} -eq $# ]; then
		for line in "${lines[@]}"; do
			[[ $line =~ $1 ]] || break
			shift
		done
		[ $# -gt 0 ] || return 0
	fi
	printf 'the log has %s lines about redoahead:\n' ${#lines[@]} >&2
	[ ${#lines[@]} -eq 0 ] || printf '    %s\n' "${lines[@]}" >&2
	echo "expected from here: ${1:-no more}" >&2
	return 1
}

# Lines of a server's log about redoahead.
connected='^connected to daemon \(PID [0-9]+\), looking ahead [0-9]+ block references$'
