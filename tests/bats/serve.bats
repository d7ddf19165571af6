#!/usr/bin/env bats
# The daemon alone, with a stand-in for the startup process: usage, sockets,
# handshake, hostile rings, limits, and what is left behind.  The data
# directory is a fake that holds just what the daemon looks at.

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

teardown() {
	if [ -n "$daemon" ]; then
		kill -KILL "$daemon" 2>/dev/null || true
		wait "$daemon" 2>/dev/null || true
	fi
	# io_uring lets go of the files of a process that has ended a little later.
	wait_for unmounted
	rm -rf "$work"
}

# Wait until a command succeeds, for a minute.  Looks are counted, because time also
# passes while a virtual machine is suspended.
wait_for() {				# COMMAND...
	local looks=3000
	until "$@"; do
		if [ $((looks -= 1)) -le 0 ]; then
			echo "waited in vain for: $*"
			[ ! -e "$work/log" ] || cat "$work/log"
			return 1
		fi
		read -rt 0.02 <> <(:) || true
	done
}

unmounted() { ! mountpoint -q "$pgdata/base/5" || umount "$pgdata/base/5" 2>/dev/null; }

start() {					# [-w WRAPPER...] -- OPTION...
	local -a wrapper=()
	while [ "$1" != -- ]; do wrapper+=("$1"); shift; done
	shift
	"${wrapper[@]}" "$redoahead" serve -D "$pgdata" --stats "$work/stats" "$@" 2>"$work/log" 3>&- &
	daemon=$!
	wait_for grep -q 'serving' "$work/log"
}

stop() {
	kill -TERM "$daemon"
	wait "$daemon"
	daemon=
}

# A relation of so many blocks that the page cache does not hold.
relation() {				# PATH BLOCKS
	dd if=/dev/zero of="$pgdata/$1" bs=8192 count="$2" status=none conv=fsync
	dd of="$pgdata/$1" oflag=nocache conv=notrunc,fdatasync count=0 status=none
}

produce() {
	"$tools/ring_producer" -D "$pgdata" "$@" >"$work/out"
}

field() {					# NAME : from the producer's line
	sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p" "$work/out"
}

stat_field() {				# NAME : of the last recovery, once the file tells of its end
	wait_for grep -q '"attached": false' "$work/stats"
	sed -n "/\"recovery\"/,/\"total\"/s/.*\"$1\": \([^,]*\),\{0,1\}$/\1/p" "$work/stats"
}

sessions_ended() { [ "$(grep -c 'recovery ended' "$work/log")" -ge "$1" ]; }

descriptors() { ls "/proc/$daemon/fd" | wc -l; }

resident() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$daemon/status"; }

@test "usage errors exit 2 and say what is wrong" {
	run "$redoahead"
	[ "$status" -eq 2 ]
	run "$redoahead" nonsense
	[ "$status" -eq 2 ]
	run "$redoahead" serve
	[ "$status" -eq 2 ]
	[[ $output == *"no data directory"* ]]
	local option
	for option in --depth=0 --depth=4097 --depth=x --start-depth=0 --start-depth=4097 --window=0 --window=1048577 --files=-1 --backend=magic --nonsense; do
		run "$redoahead" serve -D "$pgdata" "$option"
		[ "$status" -eq 2 ]
	done
	run "$redoahead" serve -D "$pgdata" extra
	[ "$status" -eq 2 ]
}

@test "help and version go to stdout and exit 0" {
	run "$redoahead" --help
	[ "$status" -eq 0 ]
	[[ $output == *serve* ]]
	run "$redoahead" serve --help
	[ "$status" -eq 0 ]
	[[ $output == *--backend* ]]
	run "$redoahead" --version
	[ "$status" -eq 0 ]
	[[ $output == redoahead\ [0-9]* ]]
}

@test "the manual page names every option, and every counter of the statistics file" {
	local page word
	page=$(sed 's/\\-/-/g' "$top/userspace/redoahead.1")
	for word in $("$redoahead" serve --help | grep -oE -- '--[a-z-]+' | sort -u); do
		[[ $page == *"$word"* ]] || { echo "no $word"; return 1; }
	done
	start --
	for word in $(sed -nE 's/^ {2,4}"([a-z_]+)".*/\1/p' "$work/stats"); do
		[[ $page == *"${word%_by_reason}"* ]] || { echo "no $word"; return 1; }
	done
}

@test "what is not a data directory is refused" {
	run "$redoahead" serve -D "$work/none"
	[ "$status" -eq 1 ]
	[[ $output == *"$work/none"*"No such file"* ]]
	run "$redoahead" serve -D "$work"
	[ "$status" -eq 1 ]
	[[ $output == *PG_VERSION* ]]
	echo 99 >"$pgdata/PG_VERSION"
	run "$redoahead" serve -D "$pgdata"
	[ "$status" -eq 1 ]
	[[ $output == *"PostgreSQL 99"* ]]
	echo 18 >"$pgdata/PG_VERSION"
	: >"$pgdata/global/pg_control"
	run "$redoahead" serve -D "$pgdata"
	[ "$status" -eq 1 ]
	[[ $output == *pg_control* ]]
}

@test "PGDATA names the data directory, and SIGTERM removes the socket" {
	PGDATA=$pgdata "$redoahead" serve 2>"$work/log" 3>&- &
	daemon=$!
	wait_for test -S "$socket"
	wait_for grep -q serving "$work/log"
	stop
	[ -z "$(ls -A "$pgdata/pg_stat_tmp")" ]
}

@test "a killed daemon's socket is replaced, a live one's is not" {
	start --
	run "$redoahead" serve -D "$pgdata"
	[ "$status" -eq 1 ]
	[[ $output == *"another redoahead (process $daemon)"* ]]
	kill -KILL "$daemon"
	wait "$daemon" || true
	[ -S "$socket" ]
	start --
	relation base/5/16384 10
	produce --count 10 --blocks 10
	[ "$(field status)" = 0 ]
	rm "$socket.lock"
	run "$redoahead" serve -D "$pgdata"
	[ "$status" -eq 1 ]
	[[ $output == *"somebody listens"* ]]
}

@test "a file in the socket's place is not touched" {
	echo precious >"$socket"
	run "$redoahead" serve -D "$pgdata"
	[ "$status" -eq 1 ]
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

@test "hellos that are wrong are answered with the reason" {
	start --
	local case
	for case in "--abi-version 99|1" "--identifier 7|2" "--server-version 170001|2" \
		"--block-size 5000|2" "--block-size 0|2" "--segment-blocks 0|2" \
		"--tablespace-dir ../etc|2" "--tablespace-dir a/b|2" \
		"--fault magic|1" "--fault short-hello|1" "--fault long-hello|1" \
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
	local before
	before=$(descriptors)
	mkdir "$work/other"
	cp -r "$pgdata/global" "$work/other/"
	"$tools/ring_producer" -D "$work/other" --socket "$socket" >"$work/out"
	[ "$(field status)" = 2 ]
	wait_for test "$(descriptors)" -eq "$before"
	relation base/5/16384 10
	produce --count 10 --blocks 10
	[ "$(field status)" = 0 ]
}

@test "a second startup process is told that the daemon is busy" {
	start --
	mkfifo "$work/hold"
	"$tools/ring_producer" -D "$pgdata" --count 1 --hold <"$work/hold" >"$work/first" 3>&- &
	local first=$!
	exec 9>"$work/hold"
	wait_for grep -q attached "$work/log"
	produce
	[ "$(field status)" = 4 ]
	exec 9>&-
	wait "$first"
	wait_for sessions_ended 1
	produce --count 1
	[ "$(field status)" = 0 ]
}

@test "a client that says nothing does not hold up others, and is closed" {
	start --
	relation base/5/16384 10
	"$tools/ring_producer" -D "$pgdata" --fault silent >"$work/silent" 3>&- &
	local silent=$!
	produce --count 10 --blocks 10
	[ "$(field status)" = 0 ]
	wait "$silent"
	grep -q 'said nothing' "$work/log"
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
	wait_for sessions_ended 1
	produce --identifier 7
	[ "$(grep -c 'refused a connection' "$work/log")" = 3 ]
}

# Lost otherwise: the recovery that is alive, which would find the daemon busy
# with one that is not.
@test "a server that left while the daemon was stopped is not served" {
	start --
	kill -STOP "$daemon"
	produce --fault leave
	produce --fault leave
	kill -CONT "$daemon"
	produce --count 1
	[ "$(field status)" = 0 ]
	wait_for sessions_ended 1
	[ "$(grep -c 'recovery attached' "$work/log")" = 1 ]
}

# Lost otherwise: a core, to a daemon that is told of the same connection
# without end.
@test "a connection that finds no descriptor waits until there is one" {
	start --
	local free=0
	while [ -e "/proc/$daemon/fd/$free" ]; do free=$((free + 1)); done
	prlimit --pid "$daemon" --nofile=$free:1024
	"$tools/ring_producer" -D "$pgdata" --count 1 >"$work/out" 3>&- &
	local producer=$!
	wait_for grep -q 'cannot take a connection: Too many open files' "$work/log"
	prlimit --pid "$daemon" --nofile=1024:1024
	wait "$producer"
	[ "$(field status)" = 0 ]
	[ "$(grep -c 'cannot take a connection' "$work/log")" = 1 ]

	# Room for the connection, and none for what comes with it.
	wait_for sessions_ended 1
	prlimit --pid "$daemon" --nofile=$((free + 1)):1024
	produce
	[ "$(field status)" = 3 ]
	grep -q 'no descriptor is left for the ring; raise' "$work/log"
}

@test "blocks are read once each, joined, and counted" {
	relation base/5/16384 2000
	start -- --trace "$work/trace"
	produce --count 2000 --blocks 2000 --sequential
	[ "$(field blocks_read)" = 2000 ]
	wait_for sessions_ended 1
	[ "$(stat_field blocks_read)" = 2000 ]
	[ "$(stat_field requests)" -lt 500 ]
	stop
	[ "$(awk '$1 == "relation" && $2 == "base/5/16384" && $5 == "read" {print $3}' "$work/trace" | sort -un | wc -l)" = 2000 ]
}

# Lost otherwise: CPU time, of which small sweeps cost more for each block.
@test "references of a trickle gather while redo is far from them, and only then" {
	local far near
	start --
	relation base/5/16384 2000
	produce --count 6000 --rate 20000 --blocks 2000 --lsn-step 100000
	far=$(stat_field sweeps)
	produce --count 6000 --rate 20000 --blocks 2000
	wait_for sessions_ended 2
	near=$(stat_field sweeps)
	echo "sweeps: far $far, near $near"
	[ $((far * 2)) -lt "$near" ]
}

control_field() {			# NAME : of the limits, in the statistics file
	sed -n "/\"control\"/,/\"recovery\"/s/.*\"$1\": \([^,]*\),\{0,1\}$/\1/p" "$work/stats"
}

cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$daemon/stat"; }

all_is_asked_for() { [ "$(sed -n '/"recovery"/,/"total"/s/.*"blocks_read": \([0-9]*\).*/\1/p' "$work/stats")" -ge "$1" ]; }

# Lost otherwise: a core while a recovery is paused, and the way to end the
# daemon; a server that died there would keep all others from being served.
@test "while redo stands still and no more may be read ahead, the daemon rests and listens" {
	local before
	relation base/5/16384 500
	start -- --window 64
	mkfifo "$work/input"
	"$tools/ring_producer" -D "$pgdata" --count 500 --blocks 500 --sequential --replay-lsn 1 \
		--no-wait --hold <"$work/input" >"$work/out" 3>&- &
	local producer=$!
	exec 7>"$work/input"
	wait_for all_is_asked_for 64
	before=$(cpu_ticks)
	read -rt 1 <> <(:) || true
	echo "CPU ticks: $(($(cpu_ticks) - before))"
	[ $(($(cpu_ticks) - before)) -le 10 ]
	[ "$(control_field window_blocks)" = 64 ]
	[ "$(control_field depth_blocks)" -ge 1 ]
	kill -KILL "$producer"
	exec 7>&-
	wait_for sessions_ended 1
	[ "$(stat_field blocks_read)" -le 80 ]
	[ "$(($(stat_field blocks_read) + $(stat_field blocks_abandoned) + $(stat_field refs_duplicate)))" -le 500 ]
	stop
}

@test "the window is never larger than --window" {
	relation base/5/16384 500
	start -- --window 1 --depth 1
	produce --count 50 --blocks 50 --no-wait
	wait_for sessions_ended 1
	[ "$(control_field window_blocks)" = 1 ]
	[ "$(control_field depth_blocks)" = 1 ]
	[ "$(stat_field blocks_in_flight_max)" -le 1 ]
}

@test "the timeline names its columns, and goes on until the recovery ends" {
	relation base/5/16384 2000
	start -- --timeline "$work/timeline"
	produce --count 6000 --rate 10000 --blocks 2000
	wait_for sessions_ended 1
	awk -F '\t' 'NR == 1 && $0 !~ /^seconds\treplay_lsn\twaiting\tin_flight\tahead\tdepth\twindow\tblocks_read$/ { exit 1 }
		NR > 1 && (NF != 8 || $1 < seconds || $8 < blocks || $4 > 2 * $6) { exit 1 }
		NR > 1 { seconds = $1; blocks = $8 }
		END { if (NR < 4 || blocks == 0) exit 1 }' "$work/timeline" || { cat "$work/timeline"; return 1; }
	stop
	run "$redoahead" serve -D "$pgdata" --timeline "$work/none/timeline"
	[ "$status" -eq 1 ]
	[[ $output == *"$work/none/timeline"*"--timeline"* ]]
}

@test "segments, forks, tablespaces, global and SLRU files are found" {
	local spc=$work/spc
	mkdir -p "$spc/PG_18_202506291/5"
	ln -s "$spc" "$pgdata/pg_tblspc/70000"
	relation base/5/16384.2 8
	relation base/5/16384_fsm 8
	relation base/5/16384_vm.1 8
	relation global/1262 8
	relation pg_tblspc/70000/PG_18_202506291/5/16384_init 8
	relation pg_xact/000A 32
	relation pg_multixact/members/14078 32
	start --
	local case
	for case in "--segment-blocks 100 --first-block 200 --blocks 8" "--fork 1 --blocks 8" \
		"--fork 2 --segment-blocks 100 --first-block 100 --blocks 8" \
		"--spc 1664 --db 0 --rel 1262 --blocks 8" "--spc 70000 --fork 3 --blocks 8" \
		"--kind 1 --rel 0 --first-block 320 --blocks 8" \
		"--kind 1 --rel 2 --first-block $((0x14078 * 32)) --blocks 8"; do
		produce --sequential --count 8 $case
		echo "$case: $(cat "$work/out")"
		[ "$(field blocks_read)" = 8 ]
	done
}

@test "replayed references are dropped, the one being replayed is not" {
	relation base/5/16384 100
	start --
	produce --sequential --count 100 --blocks 100 --replay-lsn 1090
	[ "$(field blocks_stale)" = 90 ]
	[ "$(field blocks_read)" = 10 ]
}

@test "unknown kinds, forks, SLRUs and impossible databases are counted by reason" {
	start --
	local case
	for case in "--kind 2|kind" "--fork 4|fork" "--kind 1 --rel 4|slru" "--rel 0|relation" \
		"--db 0|database" "--spc 1664|database" "--spc 0|database" \
		"--first-block 4294967295 --blocks 1|block" \
		"--kind 1 --rel 0 --first-block 4294967295 --blocks 1|block"; do
		produce --count 5 ${case%|*}
		wait_for sessions_ended 1
		[ "$(stat_field "${case#*|}")" = 5 ]
		[ "$(field blocks_read)" = 0 ]
		: >"$work/log"
	done
}

@test "missing files and blocks beyond the end are failures, not errors" {
	relation base/5/16384 10
	start --
	produce --count 5000 --rel 90000 --blocks 10
	[ "$(field blocks_failed)" -gt 0 ]
	produce --count 100 --blocks 100 --sequential
	[ "$(field blocks_read)" = 10 ]
	[ "$(field blocks_failed)" = 90 ]
	wait_for sessions_ended 2
	[ "$(stat_field beyond_eof)" = 90 ]
	produce --count 10 --spc 70000
	wait_for sessions_ended 3
	[ "$(grep -c -e error: -e warning: "$work/log")" = 0 ]
}

@test "a ring full of garbage harms nothing" {
	start --
	local seed
	for seed in 1 2 3; do
		produce --garbage --count 100000 --seed $seed
		[ "$(field tail)" = 100000 ]
	done
	relation base/5/16384 10
	produce --count 10 --blocks 10 --sequential
	[ "$(field blocks_read)" = 10 ]
}

@test "an impossible head ends the session with one line" {
	relation base/5/16384 100
	start --
	local name
	for name in head-jump head-back; do
		: >"$work/log"
		produce --count 100 --blocks 100 --fault $name
		[ "$(field gone)" = true ]
		[ "$(grep -c warning: "$work/log")" = 1 ]
	done
	produce --count 100 --blocks 100 --sequential
	[ "$(field blocks_read)" = 100 ]
}

@test "with few descriptors it keeps fewer files open and reads all the same" {
	local i
	for i in {0..99}; do relation base/5/$((20000 + i)) 4; done
	start bash -c 'ulimit -n 40; exec "$@"' - --
	grep -q 'RLIMIT_NOFILE is 40' "$work/log"
	produce --rel 20000 --rels 100 --blocks 4 --count 400 --sequential
	[ "$(field blocks_read)" = 400 ]
	wait_for sessions_ended 1
	[ "$(stat_field files_evicted)" -gt 0 ]
}

@test "out of descriptors is counted, and the session goes on" {
	local i
	for i in {0..99}; do relation base/5/$((20000 + i)) 4; done
	start --
	prlimit --pid "$daemon" --nofile=18:18
	produce --rel 20000 --rels 100 --blocks 4 --count 400 --sequential
	[ "$(field status)" = 0 ]
	[ $(($(field blocks_read) + $(field blocks_failed))) = 400 ]
	[ "$(field blocks_read)" -gt 0 ]
}

@test "without io_uring it says so once and uses posix_fadvise" {
	relation base/5/16384 100
	local error
	for error in EPERM ENOSYS; do
		start "$tools/without_io_uring" $error --
		[ "$(grep -c 'io_uring cannot be used' "$work/log")" = 1 ]
		grep -q '"backend": "fadvise"' "$work/stats"
		produce --count 200 --blocks 200 --sequential
		[ "$(field blocks_read)" = 100 ]
		[ "$(field blocks_failed)" = 100 ]
		stop
	done
	run "$tools/without_io_uring" EPERM "$redoahead" serve -D "$pgdata" --backend io_uring
	[ "$status" -eq 1 ]
	[[ $output == *kernel.io_uring_disabled* ]]
}

# Lost otherwise: everything, on the file systems that containers have.
@test "where a read that may not wait is refused, it reads all the same" {
	[ "$(id -u)" -eq 0 ] || skip "must be root to mount"
	mkdir "$work"/{lower,upper,scratch}
	mount -t overlay -o "lowerdir=$work/lower,upperdir=$work/upper,workdir=$work/scratch" \
		overlay "$pgdata/base/5" || skip "the kernel has no overlay file system"
	local i
	for i in {0..99}; do relation base/5/$((20000 + i)) 1; done
	start --
	produce --rel 20000 --rels 100 --blocks 1 --count 100 --sequential
	[ "$(field blocks_read)" = 100 ]
	[ "$(grep -c 'does not start reads that may not wait' "$work/log")" = 1 ]
	PYTHONPATH=$top/scripts/lib PYTHONDONTWRITEBYTECODE=1 python3 - "$pgdata"/base/5/20* <<-'EOF'
	import sys
	from bench import host

	assert len(sys.argv) == 101, sys.argv
	for path in sys.argv[1:]:
	    assert host.cached_pages(path) * 4096 == 8192, path
	EOF
	stop
}

# Lost otherwise: half of each block, on devices that somebody tuned for random reads.
@test "where the device's read-ahead is zero, whole blocks are read all the same" {
	[ "$(id -u)" -eq 0 ] || skip "must be root to mount"
	[ -c /dev/loop-control ] || skip "there is no /dev/loop-control"
	command -v mkfs.ext4 >/dev/null || skip "mkfs.ext4 is not installed"
	truncate -s 256M "$work/disk"
	mkfs.ext4 -q "$work/disk"
	mount -o loop "$work/disk" "$pgdata/base/5" || skip "no loop device can be had"
	blockdev --setra 0 "$(findmnt -no SOURCE "$pgdata/base/5")"
	relation base/5/16384 20000
	start --
	! grep -q 'io_uring cannot be used' "$work/log" || skip "io_uring cannot be used"
	produce --count 2000 --blocks 20000
	[ "$(field blocks_failed)" = 0 ]
	[ "$(grep -c 'waiting for each read' "$work/log")" = 1 ]
	stop
	PYTHONPATH=$top/scripts/lib PYTHONDONTWRITEBYTECODE=1 python3 - "$pgdata/base/5/16384" <<-'EOF'
	import sys
	from bench import host

	pages = host.residency(sys.argv[1])
	blocks = [pages[i] + pages[i + 1] for i in range(0, len(pages), 2)]
	print(f'{blocks.count(2)} whole blocks, {blocks.count(1)} halves')
	# A few were read before the daemon knew.
	assert blocks.count(2) >= 1500 and blocks.count(1) <= 300, blocks
	EOF
}

@test "files of a dropped relation are closed while recovery goes on" {
	relation base/5/16384 100
	start --
	mkfifo "$work/hold"
	"$tools/ring_producer" -D "$pgdata" --count 100 --blocks 100 --hold <"$work/hold" >"$work/out" 3>&- &
	local producer=$!
	exec 9>"$work/hold"
	holds() { ls -l "/proc/$daemon/fd" | grep -q base/5/16384; }
	wait_for holds
	rm "$pgdata/base/5/16384"
	gone() { ! holds; }
	wait_for gone
	exec 9>&-
	wait "$producer"
}

@test "fifty sessions leave no descriptor and no memory behind" {
	relation base/5/16384 200
	start --
	local i fds rss
	for i in {1..50}; do
		produce --count 200 --blocks 200
		wait_for sessions_ended "$i"
		[ "$i" -ne 5 ] || { fds=$(descriptors); rss=$(resident); }
	done
	[ "$(descriptors)" -eq "$fds" ]
	[ "$(resident)" -le $((rss + 256)) ]
	[ "$(resident)" -le 65536 ]
	! ls -l "/proc/$daemon/fd" | grep -q base/
	[ "$(ls "/proc/$daemon/task" | wc -l)" = 1 ]
}

@test "SIGTERM in the middle of a session ends both cleanly" {
	relation base/5/16384 1000
	start --
	"$tools/ring_producer" -D "$pgdata" --blocks 1000 --count 100000000 --rate 10000 >"$work/out" 3>&- &
	local producer=$!
	wait_for grep -q attached "$work/log"
	stop
	wait "$producer"
	[ "$(field gone)" = true ]
	grep -q 'recovery ended' "$work/log"
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
	run setpriv --reuid daemon --clear-groups "$work/redoahead" serve -D "$pgdata"
	[ "$status" -eq 1 ]
	[[ $output == *"start it as the owner"* ]]
}
