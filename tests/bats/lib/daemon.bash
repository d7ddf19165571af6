# The daemon alone, with a stand-in for the startup process: setup and teardown of
# each test, and what the tests do to both.  The data directory is a fake that
# holds just what the daemon reads.  It tests nothing by itself.

. "$BATS_TEST_DIRNAME/lib/common.bash"

setup() {
	top=$BATS_TEST_DIRNAME/../..
	redoahead=$top/build/redoahead
	tools=$top/build/tests/tools
	work=$(mktemp -d "${TMPDIR:-/var/tmp}/redoahead-serve.XXXXXX")
	chmod 755 "$work"
	pgdata=$work/data
	socket=$pgdata/pg_stat_tmp/redoahead.sock
	mkdir -p "$pgdata"/{global,base/5,pg_stat_tmp,pg_xact,pg_tblspc,pg_multixact/members}
	echo 18 >"$pgdata/PG_VERSION"
	printf 'ABCDEFGH\x08\x07\0\0\0\0\0\0' >"$pgdata/global/pg_control"
	unset PGDATA
	daemon=
}

# A bats file that needs more has a function of its own, which calls this.
teardown() { end_daemon; }

end_daemon() {
	[ -n "${BATS_TEST_COMPLETED:-}" ] || [ ! -e "$work/log" ] || cat "$work/log"
	if [ -n "$daemon" ]; then
		kill -KILL "$daemon" 2>/dev/null || true
		wait "$daemon" 2>/dev/null || true
	fi
	# io_uring closes the files of a process that has ended a little later.
	wait_until "the unmount" unmounted
	rm -rf "$work"
}

unmounted() {
	tac /proc/self/mounts | awk -v work="$work/" 'index($2, work) == 1 { print $2 }' |
		xargs -r umount 2>/dev/null || true
	! grep -qF " $work/" /proc/self/mounts
}

start() {					# [WRAPPER...] -- OPTION...
	local -a wrapper=()
	while [ "$1" != -- ]; do wrapper+=("$1"); shift; done
	shift
	: >"$work/log"
	"${wrapper[@]}" "$redoahead" serve -D "$pgdata" --stats "$work/stats" "$@" 2>"$work/log" 3>&- &
	daemon=$!
	wait_until "the daemon's socket" grep -q 'serving' "$work/log"
}

stop() {
	kill -TERM "$daemon"
	wait "$daemon"
	daemon=
}

# A relation of so many blocks that the page cache does not hold.
relation() {				# PATH BLOCKS
	dd if=/dev/zero of="$pgdata/$1" bs=8192 count="$2" status=none conv=fsync
	evict "$pgdata/$1"
}

produce() {
	"$tools/ring_producer" -D "$pgdata" "$@" >"$work/out"
}

field() {					# NAME : from the producer's line
	sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p" "$work/out"
}

stat_field() {				# NAME : of the last recovery, after its end
	wait_until "the last statistics" grep -q '"connected": false' "$work/stats"
	stat_now "$1"
}

stat_now() {				# NAME : of the present or the last recovery, as last written
	sed -n "/\"recovery\"/,/\"total\"/s/.*\"$1\": \([^,]*\),\{0,1\}$/\1/p" "$work/stats"
}

sessions_ended() { [ "$(grep -c 'recovery ended' "$work/log")" -ge "$1" ]; }

# It may come after the message that the daemon serves.
has_status_socket() { [ -S "$pgdata/pg_stat_tmp/redoahead-status.sock" ]; }

descriptors() { ls "/proc/$daemon/fd" | wc -l; }

# Threads of the daemon have some open for a moment, perhaps also when they were counted before.
descriptors_at_most() { [ "$(descriptors)" -le "$1" ]; }

# Does the daemon have a file open whose path has this in it?
holds() { ls -l "/proc/$daemon/fd" | grep -q "$1"; }

# Exactly; VmRSS is 256 kB off for each thread before Linux 6.2.
resident() { sed -n 's/^Rss:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$daemon/smaps_rollup"; }
