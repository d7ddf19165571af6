#!/usr/bin/env bats
# The daemon alone, with a stand-in for the startup process: which blocks it reads,
# how far ahead, what it counts, and what it does where reading is hard.

bats_require_minimum_version 1.5.0
load lib/daemon
# bats file_tags=fast

@test "blocks are read once each, joined, and counted" {
	relation base/5/16384 2000
	start -- --block-log "$work/trace"
	produce --count 2000 --blocks 2000 --sequential
	[ "$(field blocks_read)" = 2000 ]
	wait_until "the end of the session" sessions_ended 1
	[ "$(stat_field blocks_read)" = 2000 ]
	[ "$(stat_field requests)" -lt 500 ]
	stop
	[ "$(awk '$1 == "relation" && $2 == "base/5/16384" && $5 == "read" {print $3}' "$work/trace" | sort -un | wc -l)" = 2000 ]
}

# Lost otherwise: lines, when logs are rotated and a FIFO leads to what collects them.
@test "a FIFO is opened again, too, and waited for when it is full" {
	local producer reader
	relation base/5/16384 10000
	: >"$work/blocks"
	start env --default-signal=HUP -- --block-log "$work/blocks"
	rm "$work/blocks"
	mkfifo "$work/blocks"
	exec 9<>"$work/blocks"
	kill -HUP "$daemon"
	wait_until "the FIFO" holds_file "$work/blocks"
	produce --count 10000 --blocks 10000 --sequential 3>&- 9>&- &
	producer=$!
	wait_until "the full FIFO" is_full 9
	cat "$work/blocks" >"$work/lines" 3>&- 9>&- &
	reader=$!
	wait "$producer"
	wait_until "the end of the session" sessions_ended 1
	exec 9>&-
	stop
	wait "$reader"
	[ "$(awk '$1 == "relation" { print $3 }' "$work/lines" | sort -un | wc -l)" = 10000 ]
}

holds_file() { find "/proc/$daemon/fd" -lname "$1" | grep -q .; }

# Has a pipe less room than a page?
is_full() {					# DESCRIPTOR
	/usr/bin/python3 -c '
import fcntl, struct, sys, termios
fd = int(sys.argv[1])
queued = struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0" * 4))[0]
sys.exit(queued < fcntl.fcntl(fd, 1032) - 4096)' "$1"	# F_GETPIPE_SZ
}

# Lost otherwise: that the ring is too small, which nobody would notice but in the time of redo.
@test "what the server drops is counted, over recoveries" {
	relation base/5/16384 10
	start --
	produce --count 10 --blocks 10 --dropped 7
	wait_until "the end of the session" sessions_ended 1
	produce --count 10 --blocks 10 --dropped 5
	wait_until "the end of the session" sessions_ended 2
	[ "$(stat_field refs_dropped)" = 5 ]
	[ "$(json_member "$work/stats" total refs_dropped)" = 12 ]
	grep -q '5 dropped by the server' "$work/log"
}

# Lost otherwise: half of the daemon's CPU time, and order: small sweeps cost more for
# each block.
@test "references of a trickle gather while redo is far from them, and only then" {
	local far near
	# Both must run when they want to, or references gather while they wait for a CPU.
	start "${realtime[@]}" --
	relation base/5/16384 2000
	"${realtime[@]}" "$tools/ring_producer" -D "$pgdata" --count 6000 --rate 20000 --blocks 2000 --lsn-step 100000 >"$work/out"
	wait_until "the end of the session" sessions_ended 1
	far=$(stat_field sweeps)
	"${realtime[@]}" "$tools/ring_producer" -D "$pgdata" --count 6000 --rate 20000 --blocks 2000 >"$work/out"
	wait_until "the end of the session" sessions_ended 2
	near=$(stat_field sweeps)
	echo "sweeps: far $far, near $near"
	[ $((far * 2)) -le "$near" ]
}

control_field() {			# NAME : of the limits, in the statistics file
	sed -n "/\"control\"/,/\"recovery\"/s/.*\"$1\": \([^,]*\),\{0,1\}$/\1/p" "$work/stats"
}

cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$daemon/stat"; }

# How often the daemon has waited for something.
times_waited() { awk '/^voluntary/ { print $2 }' "/proc/$daemon/status"; }

all_is_read() { [ "$(stat_now blocks_read)" -ge "$1" ]; }

# Lost otherwise: a core while a recovery is paused, and the way to end the
# daemon; a server that died there would keep all others from being served.
@test "while redo is stalled and no more may be read ahead, the daemon sleeps and listens" {
	local begun before ticks waits us name outcomes=0
	relation base/5/16384 500
	start -- --readahead-limit 64
	mkfifo "$work/input"
	"$tools/ring_producer" -D "$pgdata" --count 500 --blocks 500 --sequential --replay-lsn 1 \
		--no-wait --hold <"$work/input" >"$work/out" 3>&- &
	local producer=$!
	exec 7>"$work/input"
	wait_until "the reads" all_is_read 64
	# After a second without work it wakes up 20 times a second.
	sleep 1.1
	begun=${EPOCHREALTIME/[.,]/}
	before=$(cpu_ticks)
	waits=$(times_waited)
	sleep 1
	waits=$(($(times_waited) - waits))
	ticks=$(($(cpu_ticks) - before))
	us=$((${EPOCHREALTIME/[.,]/} - begun))
	echo "in $us us CPU ticks: $ticks, waits: $waits"
	[ $((ticks * 1000000)) -le $((10 * us)) ]
	[ "$waits" -gt 0 ]
	[ $((waits * 1000000)) -le $((60 * us)) ]
	[ "$(control_field readahead_limit)" = 64 ]
	[ "$(control_field io_depth)" -ge 1 ]
	kill -KILL "$producer"
	exec 7>&-
	wait_until "the end of the session" sessions_ended 1
	[ "$(stat_field blocks_read)" -le 80 ]
	# Each reference that was taken has one outcome.
	[ "$(stat_field refs_taken)" -ge 64 ]
	for name in refs_duplicate refs_invalid blocks_stale blocks_read blocks_failed blocks_resident blocks_abandoned; do
		outcomes=$((outcomes + $(stat_field $name)))
	done
	[ "$outcomes" -eq "$(stat_field refs_taken)" ]
	stop
}

has_reread() { [ "$(stat_now blocks_reread)" -ge "$1" ]; }

# Lost otherwise: reading ahead, for all that the kernel evicts before redo comes.
@test "what is evicted is read again when redo waits, and nothing else" {
	local cached
	need_cachestat
	relation base/5/16384 8000
	start -- --io-depth 64
	mkfifo "$work/input"
	"$tools/ring_producer" -D "$pgdata" --count 8000 --blocks 8000 --sequential --replay-lsn 1 \
		--hold <"$work/input" >"$work/out" 3>&- &
	local producer=$!
	exec 7>"$work/input"
	wait_until "the reads" all_is_read 8000
	has_reread 1 && skip "pages were evicted by themselves"
	evict "$pgdata/base/5/16384"
	if [ "$(fincore -bno RES "$pgdata/base/5/16384")" -gt 0 ]; then
		skip "this file system keeps what it should evict"
	fi
	echo 2000 >&7
	wait_until "blocks that are read again" has_reread 200
	cached=$(fincore -bno RES "$pgdata/base/5/16384")
	echo "checked $(stat_now blocks_revalidated), read again $(stat_now blocks_reread), cached $cached"
	[ "$cached" -ge $((200 * 8192)) ]
	[ "$cached" -le $((2000 * 8192)) ]
	exec 7>&-
	wait "$producer"
	wait_until "the end of the session" sessions_ended 1
	[ "$(stat_field blocks_read)" = 8000 ]
	[ "$(stat_field blocks_failed)" = 0 ]
	stop
}

@test "no limit is larger than its option" {
	relation base/5/16384 500
	start -- --readahead-limit 1 --io-depth 1
	produce --count 50 --blocks 50 --no-wait
	wait_until "the end of the session" sessions_ended 1
	[ "$(control_field readahead_limit)" = 1 ]
	[ "$(control_field io_depth)" = 1 ]
	[ "$(stat_field blocks_in_flight_max)" -le 1 ]
}

@test "the timeline names its columns, and goes on until the recovery ends" {
	relation base/5/16384 2000
	start -- --timeline "$work/timeline"
	# After each 100 ms there is a row, and without work after a second.
	mkfifo "$work/input"
	"$tools/ring_producer" -D "$pgdata" --count 6000 --rate 10000 --blocks 2000 --hold \
		<"$work/input" >"$work/out" 3>&- &
	local producer=$!
	exec 7>"$work/input"
	has_rows() { [ "$(wc -l <"$work/timeline")" -ge 4 ] && all_is_read 1; }
	wait_until "rows" has_rows
	exec 7>&-
	wait "$producer"
	wait_until "the end of the session" sessions_ended 1
	awk -F '\t' 'NR == 1 && $0 !~ /^seconds\treplay_lsn\tqueued\tin_flight\tahead\tio_depth\tgap_bytes\treadahead_limit\tblocks_read$/ { exit 1 }
		NR > 1 && (NF != 9 || $1 < seconds || $9 < blocks || $4 > 2 * $6) { exit 1 }
		NR > 1 { seconds = $1; blocks = $9 }
		END { if (NR < 4 || blocks == 0) exit 1 }' "$work/timeline" || { cat "$work/timeline"; return 1; }
	stop
	run -1 "$redoahead" serve -D "$pgdata" --timeline "$work/none/timeline"
	[[ $output == *"$work/none/timeline"*"--timeline"* ]]
}

# Lost otherwise: lines, without a word.  The write that fails is not the last one.
@test "a block log or timeline that is incomplete is reported" {
	[ -c /dev/full ] || skip "there is no /dev/full"
	relation base/5/16384 2000
	start -- --block-log /dev/full --timeline /dev/full
	produce --count 6000 --rate 10000 --blocks 2000
	wait_until "the end of the session" sessions_ended 1
	# At the end of the recovery, not when the daemon ends, months later.
	grep -q 'the file of --block-log is incomplete' "$work/log"
	grep -q 'the file of --timeline is incomplete' "$work/log"
	stop
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

# Else nothing shows that a unit or a container hides it, and that its blocks are not read.
@test "a tablespace that cannot be read is logged at the start of each recovery" {
	ln -s "$work/hidden" "$pgdata/pg_tblspc/70000"
	start --
	produce --count 8 --spc 70000
	[ "$(field blocks_failed)" -gt 0 ]
	grep -q "warning: tablespace \"$pgdata/pg_tblspc/70000\" cannot be read: No such file" "$work/log"
	mkdir -p "$work/hidden/PG_18_202506291/5"
	produce --count 8
	wait_until "the end of the session" sessions_ended 2
	[ "$(grep -c "warning: tablespace" "$work/log")" -eq 1 ]
}

@test "replayed references are dropped, the one being replayed is not" {
	relation base/5/16384 100
	start --
	produce --sequential --count 100 --blocks 100 --replay-lsn 1090
	[ "$(field blocks_stale)" = 90 ]
	[ "$(field blocks_read)" = 10 ]
}

@test "missing files and blocks beyond the end are failures, not errors" {
	relation base/5/16384 10
	start --
	produce --count 5000 --rel 90000 --blocks 10
	[ "$(field blocks_failed)" -gt 0 ]
	produce --count 100 --blocks 100 --sequential
	[ "$(field blocks_read)" = 10 ]
	[ "$(field blocks_failed)" = 90 ]
	wait_until "the end of the session" sessions_ended 2
	[ "$(stat_field beyond_eof)" = 90 ]
	produce --count 10 --spc 70000
	wait_until "the end of the session" sessions_ended 3
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

@test "an invalid head ends the session with one line" {
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
	wait_until "the end of the session" sessions_ended 1
	[ "$(stat_field files_evicted)" -gt 0 ]
}

@test "out of descriptors is counted, and the session goes on" {
	local i
	for i in {0..99}; do relation base/5/$((20000 + i)) 4; done
	start --
	prlimit --pid "$daemon" --nofile=22:22
	produce --rel 20000 --rels 100 --blocks 4 --count 400 --sequential
	[ "$(field status)" = 0 ]
	[ $(($(field blocks_read) + $(field blocks_failed))) = 400 ]
	[ "$(field blocks_read)" -gt 0 ]
}

@test "without io_uring it logs that once and uses posix_fadvise" {
	relation base/5/16384 100
	local error
	for error in EPERM ENOSYS; do
		start "$tools/without_call" io_uring_setup $error --
		[ "$(grep -c 'io_uring cannot be used' "$work/log")" = 1 ]
		grep -q '"backend": "fadvise"' "$work/stats"
		produce --count 200 --blocks 200 --sequential
		[ "$(field blocks_read)" = 100 ]
		[ "$(field blocks_failed)" = 100 ]
		stop
	done
	run -1 "$tools/without_call" io_uring_setup EPERM "$redoahead" serve -D "$pgdata" --backend io_uring
	[[ $output == *kernel.io_uring_disabled* ]]
}
