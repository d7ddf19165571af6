#!/usr/bin/env bats
# The daemon alone, with a stand-in for the startup process: usage, sockets,
# handshake, sessions, and what is left behind.

bats_require_minimum_version 1.5.0
load lib/daemon
# bats file_tags=fast

@test "usage errors exit 2 with the reason, 127 without a command that is known" {
	run -127 "$redoahead"
	run -127 "$redoahead" nonsense
	[[ $output == *'there is no command "nonsense"'* ]]
	run -2 "$redoahead" serve
	[[ $output == *"no data directory"* ]]
	local option
	for option in --io-depth=0 --io-depth=4097 --io-depth=x --readahead-limit=0 --readahead-limit=1048577 --files=-1 --backend=magic --nonsense; do
		run -2 "$redoahead" serve -D "$pgdata" "$option"
	done
	run -2 "$redoahead" serve -D "$pgdata" extra
}

@test "help and version go to stdout and exit 0" {
	run -0 "$redoahead" --help
	[[ $output == *serve* ]]
	run -0 "$redoahead" serve --help
	local text=$(tr -s ' \n' ' ' <<<"$output")
	[[ $text == *"--io-depth=BLOCKS most blocks in flight, 1 to 4096 (default: 1024)"* ]]
	[[ $text == *"--backend=auto|io_uring|fadvise "*"(default: auto)"* ]]
	[[ $text == *"(default: pg_stat_tmp/redoahead.sock)"* ]]
	run -0 "$redoahead" --version
	[[ $output == redoahead\ [0-9]* ]]
}

# Lost otherwise: the terminal, to who chooses a name.
@test "control characters of a name are not printed" {
	run -1 --separate-stderr "$redoahead" serve -D "$work/"$'\e[31m\xc2\x9b31m'
	[[ $stderr == *"$work/?[31m"* ]]
	no grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' <<<"$stderr"
}

@test "what is not a data directory is refused" {
	run -1 "$redoahead" serve -D "$work/none"
	[[ $output == *"$work/none"*"No such file"* ]]
	run -1 "$redoahead" serve -D "$work"
	[[ $output == *PG_VERSION* ]]
	echo 99 >"$pgdata/PG_VERSION"
	run -1 "$redoahead" serve -D "$pgdata"
	[[ $output == *"PostgreSQL 99"* ]]
	echo 18 >"$pgdata/PG_VERSION"
	: >"$pgdata/global/pg_control"
	run -1 "$redoahead" serve -D "$pgdata"
	[[ $output == *pg_control* ]]
}

@test "PGDATA names the data directory, and SIGTERM removes the socket" {
	PGDATA=$pgdata "$redoahead" serve 2>"$work/log" 3>&- &
	daemon=$!
	wait_until "the daemon's socket" test -S "$socket"
	wait_until "the daemon's socket" grep -q serving "$work/log"
	stop
	[ -z "$(ls -A "$pgdata/pg_stat_tmp")" ]
}

@test "a killed daemon's socket is replaced, a live one's is not" {
	start --
	run -1 "$redoahead" serve -D "$pgdata"
	[[ $output == *"redoahead.sock\" belongs to another redoahead (process $daemon); stop that one first" ]]
	[ ${#lines[@]} -eq 1 ]
	kill -KILL "$daemon"
	wait "$daemon" || true
	[ -S "$socket" ]
	start --
	relation base/5/16384 10
	produce --count 10 --blocks 10
	[ "$(field status)" = 0 ]
	rm "$socket.lock"
	run -1 "$redoahead" serve -D "$pgdata"
	[[ $output == *"another process listens"* ]]
}

@test "a file in the socket's place is not touched" {
	echo precious >"$socket"
	run -1 "$redoahead" serve -D "$pgdata"
	[[ $output == *"not a socket"* ]]
	[ "$(cat "$socket")" = precious ]
}

@test "a data directory with a very long path works" {
	local deep
	deep=$work/$(printf 'x%.0s' {1..120})/$(printf 'y%.0s' {1..120})
	mkdir -p "$deep"
	mv "$pgdata" "$deep/"
	pgdata=$deep/data
	socket=$pgdata/pg_stat_tmp/redoahead.sock
	relation base/5/16384 10
	start --
	produce --count 10 --blocks 10 --sequential
	[ "$(field blocks_read)" = 10 ]
}

@test "handshakes that are wrong are answered with the reason" {
	start --
	local case before
	wait_until "the status socket" has_status_socket
	before=$(descriptors)
	for case in "--abi-version 99|1" "--identifier 7|2" "--server-version 170001|2" \
		"--block-size 5000|2" "--block-size 0|2" "--segment-blocks 0|2" \
		"--tablespace-dir ../etc|2" "--tablespace-dir a/b|2" \
		"--fault magic|1" "--fault empty-handshake|1" "--fault short-handshake|1" "--fault long-handshake|1" \
		"--fault no-fds|3" "--fault three-fds|3" "--fault not-eventfd|3" \
		"--fault unsealed|3" "--fault truncated|3" "--fault oversized|3" \
		"--fault ring-magic|3" "--fault ring-version|3" "--fault ref-size|3" \
		"--fault odd-capacity|3" "--fault refs-offset|3" "--fault used-ring|3" \
		"--capacity 512|3"; do
		produce ${case%|*}
		echo "$case: $(cat "$work/out")"
		[ "$(field status)" = "${case#*|}" ]
		[ -n "$(field reason)" ]
	done
	mkdir "$work/other"
	cp -r "$pgdata/global" "$work/other/"
	"$tools/ring_producer" -D "$work/other" --socket "$socket" >"$work/out"
	[ "$(field status)" = 2 ]
	wait_until "closed descriptors" descriptors_at_most "$before"
	relation base/5/16384 10
	produce --count 10 --blocks 10
	[ "$(field status)" = 0 ]
}

# Lost otherwise: prefetching for servers in containers, where the path is another.
@test "a server in another mount namespace may see the data directory elsewhere" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	unshare --mount true 2>/dev/null || skip "needs mount namespaces"
	relation base/5/16384 10
	mkdir "$work/elsewhere"
	start --
	unshare --mount sh -c 'mount --bind "$1" "$2" && mount -t tmpfs none "$1" && shift 2 && exec "$@"' - \
		"$pgdata" "$work/elsewhere" "$tools/ring_producer" -D "$work/elsewhere" \
		--count 10 --blocks 10 --sequential >"$work/out"
	[ "$(field status)" = 0 ]
	[ "$(field blocks_read)" = 10 ]
}

# Lost otherwise: prefetching, until somebody restarts the daemon.
@test "a directory that comes in the place of the socket's gets a socket" {
	start --
	mv "$pgdata/pg_stat_tmp" "$pgdata/before"
	mkdir "$pgdata/pg_stat_tmp"
	wait_until "a socket" test -S "$pgdata/pg_stat_tmp/redoahead.sock"
	relation base/5/16384 10
	produce --count 10 --blocks 10
	[ "$(field status)" = 0 ]
}

@test "a second startup process is refused as busy" {
	start --
	mkfifo "$work/hold"
	"$tools/ring_producer" -D "$pgdata" --count 1 --hold <"$work/hold" >"$work/first" 3>&- &
	local first=$!
	exec 9>"$work/hold"
	wait_until "the connection" grep -q connected "$work/log"
	produce
	[ "$(field status)" = 4 ]
	exec 9>&-
	wait "$first"
	wait_until "the end of the session" sessions_ended 1
	produce --count 1
	[ "$(field status)" = 0 ]
}

@test "a client without a handshake does not delay others, and is closed" {
	start --
	relation base/5/16384 10
	"$tools/ring_producer" -D "$pgdata" --fault silent >"$work/silent" 3>&- &
	local silent=$!
	produce --count 10 --blocks 10
	[ "$(field status)" = 0 ]
	wait "$silent"
	grep -q 'no handshake for' "$work/log"
}

# Lost otherwise: the log's readability, and the disk it fills, when a wrong
# version is installed for days.
@test "a server that is refused again and again is logged once" {
	start --
	local i
	for i in 1 2 3; do produce --abi-version 99; done
	[ "$(grep -c 'refused a connection' "$work/log")" = 1 ]
	produce --identifier 7
	[ "$(grep -c 'refused a connection' "$work/log")" = 2 ]
	produce
	[ "$(field status)" = 0 ]
	wait_until "the end of the session" sessions_ended 1
	produce --identifier 7
	[ "$(grep -c 'refused a connection' "$work/log")" = 3 ]
}

# Lost otherwise: the recovery that is alive, which would find the daemon busy
# with one that is not.
@test "a server that disconnected while the daemon was stopped is not served" {
	start --
	kill -STOP "$daemon"
	produce --fault leave
	produce --fault leave
	kill -CONT "$daemon"
	produce --count 1
	[ "$(field status)" = 0 ]
	wait_until "the end of the session" sessions_ended 1
	[ "$(grep -c 'recovery connected' "$work/log")" = 1 ]
}

# Lost otherwise: a core, to a daemon for which epoll reports the same connection
# without end.
@test "a connection that finds no descriptor waits until there is one" {
	start --
	local free=0
	wait_until "the status socket" has_status_socket
	while [ -e "/proc/$daemon/fd/$free" ]; do free=$((free + 1)); done
	prlimit --pid "$daemon" --nofile=$free:1024
	"$tools/ring_producer" -D "$pgdata" --count 1 >"$work/out" 3>&- &
	local producer=$!
	wait_until "the warning" grep -q 'cannot take a connection: Too many open files' "$work/log"
	prlimit --pid "$daemon" --nofile=1024:1024
	wait "$producer"
	[ "$(field status)" = 0 ]
	[ "$(grep -c 'cannot take a connection' "$work/log")" = 1 ]

	# Room for the connection, and none for what comes with it.
	wait_until "the end of the session" sessions_ended 1
	prlimit --pid "$daemon" --nofile=$((free + 1)):1024
	produce
	[ "$(field status)" = 3 ]
	grep -q 'no descriptor is left for the ring; raise' "$work/log"
}

@test "files of a dropped relation are closed while recovery goes on" {
	relation base/5/16384 100
	start --
	mkfifo "$work/hold"
	"$tools/ring_producer" -D "$pgdata" --count 100 --blocks 100 --hold <"$work/hold" >"$work/out" 3>&- &
	local producer=$!
	exec 9>"$work/hold"
	wait_until "the open file" holds base/5/16384
	rm "$pgdata/base/5/16384"
	wait_until "the closed file" no holds base/5/16384
	exec 9>&-
	wait "$producer"
}

@test "fifty sessions leave no descriptor and no memory behind" {
	relation base/5/16384 200
	start --
	local i fds rss
	for i in {1..50}; do
		produce --count 200 --blocks 200
		wait_until "the end of the session" sessions_ended "$i"
		[ "$i" -ne 5 ] || { fds=$(descriptors); rss=$(resident); }
	done
	# Its threads have some open for a moment.
	wait_until "no more descriptors than at first" descriptors_at_most "$fds"
	[ "$(resident)" -le $((rss + 256)) ]
	[ "$(resident)" -le 65536 ]
	no holds base/
	# Beside those of the kernel that read, on dm-crypt before Linux 6.5 for example.
	[ "$(grep -Lx 'iou-wrk-.*' "/proc/$daemon"/task/*/comm | wc -l)" = 2 ]
}

@test "SIGTERM in the middle of a session ends both cleanly" {
	relation base/5/16384 1000
	start --
	"$tools/ring_producer" -D "$pgdata" --blocks 1000 --count 100000000 --rate 10000 >"$work/out" 3>&- &
	local producer=$!
	wait_until "the connection" grep -q connected "$work/log"
	stop
	wait "$producer"
	[ "$(field gone)" = true ]
	grep -q 'recovery no longer served' "$work/log"
}

# Lost otherwise: the daemon, when its logs are rotated.
@test "SIGHUP opens the output files again" {
	relation base/5/16384 100
	# The tests may run under nohup, with SIGHUP ignored.
	start env --default-signal=HUP -- --block-log "$work/blocks" --timeline "$work/timeline"
	produce --count 100 --blocks 100
	wait_until "the end of the session" sessions_ended 1
	mv "$work/blocks" "$work/blocks.1"
	mv "$work/timeline" "$work/timeline.1"
	kill -HUP "$daemon"
	wait_until "the new files" test -s "$work/timeline" -a -e "$work/blocks"
	evict "$pgdata/base/5/16384"
	produce --count 100 --blocks 100
	wait_until "the end of the session" sessions_ended 2
	rm -r "$work/timeline"
	mkdir "$work/timeline"
	kill -HUP "$daemon"
	wait_until "the warning" grep -q 'timeline" cannot be opened again: Is a directory' "$work/log"
	stop
	grep -q base/5/16384 "$work/blocks.1"
	grep -q base/5/16384 "$work/blocks"
}

# Lost otherwise: the daemon, with the terminal, the pipe or the disk that its log went to.
@test "a log that cannot be written does not end the daemon" {
	local case
	relation base/5/16384 100
	for case in '2> >(head -n 1 >"$work/head")' '2>&-' '2>/dev/full'; do
		eval '"$redoahead" serve -D "$pgdata" --stats "$work/stats" --block-log /dev/full' "$case" '3>&- &'
		daemon=$!
		wait_until "the first statistics" test -e "$work/stats"
		evict "$pgdata/base/5/16384"
		produce --count 100 --blocks 100 --sequential
		[ "$(field gone)" = false ]
		wait_until "the statistics" grep -q '"recoveries": 1' "$work/stats"
		[ "$(stat_field blocks_read)" = 100 ]
		kill -HUP "$daemon"
		kill -TERM "$daemon"
		wait "$daemon"
		rm "$work/stats"
	done
}

# Lost otherwise: the daemon, for the rest of its time.
@test "where io_uring fails in the middle of a recovery, the daemon goes on without" {
	need_strace
	relation base/5/16384 1000
	start --
	grep -q 'with io_uring' "$work/log" || skip "io_uring cannot be used here"
	stop
	start strace -f -D -o "$work/strace" -e trace=io_uring_enter \
		-e inject=io_uring_enter:error=EBADF:when=3+ --
	local served=0
	wait_until "the warning" recovery_warns_of_uring
	wait_until "the end of all sessions" are_over "$served"
	evict "$pgdata/base/5/16384"
	produce --count 1000 --blocks 1000 --sequential
	[ "$(stat_field blocks_read)" = 1000 ]
	stop
}

# A recovery may end before the daemon's third call.
recovery_warns_of_uring() {
	produce --count 1000 --blocks 1000 --sequential --no-wait
	[ "$(field status)" != 0 ] || served=$((served + 1))
	grep -q 'io_uring failed: Bad file descriptor; using posix_fadvise' "$work/log"
}

are_over() { [ "$(grep -cE 'recovery (ended|no longer served)' "$work/log")" -ge "$1" ]; }	# SESSIONS

is_served() { grep -c 'serving "' "$work/log" | grep -qx "$1"; }

has_warned() { grep -c 'was moved' "$work/log" | grep -qx "$1"; }

holds_any() { ls -l "/proc/$daemon/fd" | grep -qF "$1"; }

# Lost otherwise: prefetching after each new base backup, and the old file system, which
# could not be unmounted.
@test "a data directory that is moved, replaced or emptied is served again" {
	relation base/5/16384 100
	start --
	produce --count 100 --blocks 100 --sequential
	wait_until "the end of the session" sessions_ended 1
	cp -a "$pgdata" "$work/copy"
	rm -f "$work/copy/pg_stat_tmp"/*
	mv "$pgdata" "$work/old"
	wait_until "the warning" grep -q 'was moved, replaced, removed or emptied' "$work/log"
	wait_until "closed files" no holds_any "$work/old"
	[ -z "$(ls -A "$work/old/pg_stat_tmp")" ]
	mv "$work/copy" "$pgdata"
	wait_until "the new directory" is_served 2
	evict "$pgdata/base/5/16384"
	produce --count 100 --blocks 100 --sequential
	wait_until "the end of the session" sessions_ended 2
	[ "$(stat_field blocks_read)" = 100 ]
	# The daemon makes files in both, which rm would meet.
	mv "$pgdata/pg_stat_tmp" "$work/removed_tmp"
	rm -r "$work/removed_tmp"
	wait_until "the second warning" has_warned 2
	wait_until "what is missing" grep -q "directory \"$pgdata/pg_stat_tmp\" of the socket is missing; create it" "$work/log"
	mv "$pgdata/PG_VERSION" "$work/"
	mkdir "$pgdata/pg_stat_tmp"
	mv "$work/PG_VERSION" "$pgdata/"
	wait_until "the new socket" is_served 3
	produce --count 100 --blocks 100 --sequential
	wait_until "the end of the session" sessions_ended 3
	mv "$pgdata" "$work/removed"
	wait_until "the third warning" has_warned 3
	rm -r "$work/removed"
	stop
}

# The heartbeat in the ring that a process made.
heartbeat() {				# PID
	/usr/bin/python3 -c '
import os, struct, sys
folder = f"/proc/{sys.argv[1]}/fd/"
ring, = (fd for fd in os.listdir(folder) if "memfd:" in os.readlink(folder + fd))
with open(folder + ring, "rb") as file:
    print(struct.unpack_from("Q", file.read(256), 200)[0])' "$1"
}

has_beaten() { [ "$(heartbeat "$1")" -gt "$2" ]; }

# Lost otherwise: the look-ahead, each time that the daemon waits for a saturated file system.
@test "the heart beats while the daemon waits for a file system" {
	command -v strace >/dev/null || skip "needs strace"
	strace -o "$work/strace" true 2>/dev/null || skip "needs ptrace"
	local producer
	relation base/5/16384 100
	start strace -f -D -o "$work/strace" -P base/5/16384 -P "$pgdata/base/5/16384" \
		-e trace=openat -e inject=openat:delay_enter=300000000 --
	"$tools/ring_producer" -D "$pgdata" --count 100 --blocks 100 >"$work/out" 3>&- &
	producer=$!
	wait_until "the slow open" grep -q 16384 "$work/strace"
	wait_until "the next beat" has_beaten "$producer" "$(heartbeat "$producer")"
	no grep -q DELAYED "$work/strace"
	# The file system responds when the tracer goes.
	kill -KILL "$(sed -n 's/^TracerPid:\t//p' "/proc/$daemon/status")"
	wait "$producer"
	[ "$(field status)" = 0 ]
}

@test "started by root it becomes the owner; nobody else may start it or connect" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	command -v setpriv >/dev/null || skip "needs setpriv of util-linux"
	relation base/5/16384 10
	chown -R nobody "$pgdata"
	touch "$work/stats" && chown nobody "$work"
	start --
	[ "$(stat -c %U "/proc/$daemon/task")" = nobody ] || [ "$(ps -o user= "$daemon")" = nobody ]
	produce --count 10 --blocks 10
	[ "$(field status)" = 2 ]
	cp "$tools/ring_producer" "$work/"
	setpriv --reuid nobody --clear-groups "$work/ring_producer" -D "$pgdata" --blocks 10 \
		--count 10 --sequential >"$work/out"
	[ "$(field blocks_read)" = 10 ]
	stop
	cp "$redoahead" "$work/"
	run -1 setpriv --reuid daemon --clear-groups "$work/redoahead" serve -D "$pgdata"
	[[ $output == *"start it as the owner"* ]]
}
