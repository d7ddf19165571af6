#!/usr/bin/env bats
# The disk lab: arrays of modelled disks keep their data and take their time,
# and nothing of them stays behind, whatever happens to the model.
# Whether the figures are right is checked by the unit test of the model, and by
# scripts/bench disks.

bats_require_minimum_version 1.5.0
load lib/machine
# bats file_tags=exclusive

setup() {
	disklab=$scripts/disklab
	work=$(mktemp -d "$REDOAHEAD_BENCH_DIR/lab.XXXXXX")
	export REDOAHEAD_DISKLAB_DIR=$work/lab
	lab=$REDOAHEAD_DISKLAB_DIR
	holder= others=$(disks)
	[[ " ${BATS_TEST_TAGS[*]-} " == *" diskless "* ]] || need_disks
}

teardown() {
	[ -z "$holder" ] || kill -KILL "$holder" 2>/dev/null || true
	"$disklab" down --force >/dev/null 2>&1 || true
	rm -rf --one-file-system "$work"
}

# The model must not keep the descriptor that bats waits for.
up() {
	"$disklab" up "$@" >"$work/up.out" 2>&1 3>&- || { cat "$work/up.out"; return 1; }
}

field() { json_member <("$disklab" status --json) "$@"; }	# KEY... of the status

# The loop devices of disks of this lab, and of others whose model has ended: they have no path.
disks() { grep -E -e "$work" -e ':/disk[0-9]' /sys/block/loop*/loop/backing_file 2>/dev/null | sort; }

# Show what is left of the array, and fail if anything is.
nothing_left() {
	local left
	left=$({
		grep -F "$work" /proc/self/mountinfo
		disks | comm -23 - <(echo "$others")
		pgrep -ax diskmodel | grep -F "$work"
		ls -d "$lab"
	} 2>/dev/null) || true
	[ -z "$left" ] || { echo "left behind: $left"; return 1; }
}

# Seconds that 40 reads of a block device take, one at a time, at random places.
time_reads() {				# DEVICE
	/usr/bin/python3 - "$1" <<-'EOF'
	import mmap, os, random, sys, time
	fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
	blocks = os.lseek(fd, 0, os.SEEK_END) // 8192
	random.seed(1)
	start = time.monotonic()
	for _ in range(40):
	    os.preadv(fd, [mmap.mmap(-1, 8192)], random.randrange(blocks) * 8192)
	print(time.monotonic() - start)
	EOF
}

reads_take_less_than() {	# DEVICE SECONDS, an expression
	awk -v seconds="$(time_reads "$1")" "BEGIN { exit !(seconds < $2) }"
}

# Lost otherwise: a mistyped option would measure something else than was meant.
# bats test_tags=diskless
@test "wrong usage exits with 2, help with 0" {
	for arguments in "" what "up" "up --size" "up --size big" "up --size 8G --raid 5" \
		"up --size 8G --model ssd" "up --size 8G --disks 33" "up --size 8G --disks 3 --raid 10" \
		"up --size 1G --disks 8" "status --force" "down --json" "run fast" \
		"fail" "fail some" "stall" "stall 1s"; do
		# shellcheck disable=SC2086
		run "$disklab" $arguments
		[ "$status" -eq 2 ] || { echo "\"$arguments\" exits with $status"; return 1; }
		[[ $output == *usage:* ]]
	done
	run -0 "$disklab" --help
	[[ $output == *--raid* ]]
	[ ! -e "$lab" ]
}

# Lost otherwise: scripts could not clean up without knowing what there is.
# bats test_tags=diskless
@test "no array is a state like others" {
	run -1 "$disklab" status
	[[ $output == down:* ]]
	run -1 "$disklab" run
	[[ $output == *"make one with disklab up"* ]]
	run -0 "$disklab" down
}

is_healthy() {
	"$disklab" run
	run "$disklab" status
	[ "$status" -eq 0 ] && [[ $output == *"2 x hdd, raid 0"*healthy* ]] &&
		[ "$(field health healthy)" = True ]
}

# Lost otherwise: nobody could make an array, see whether to trust it, and get
# rid of it; and a second `up` could destroy the data of the first.
@test "an array comes up, reports its health, and goes down" {
	up --model hdd --disks 2 --raid 0 --size 1G
	[ "$(cat "$work/up.out")" = "$lab/mnt" ]
	grep -F " $lab/mnt " /proc/self/mountinfo | grep -w btrfs

	# It is not while the machine does not let it run; its counters begin anew with `run`.
	wait_until "the disks to be healthy" is_healthy
	[ "$(field state)" = up ]
	[ "$(field health phase)" = run ]
	[ "$(field health disk 1 pending)" = 0 ]
	loop=$(field loops 0)
	[ "$(cat "/sys/block/${loop#/dev/}/queue/rotational")" = 1 ]

	touch "$lab/mnt/precious"
	run -1 "$disklab" up --size 1G --disks 2 3>&-
	[[ $output == *"is up in $lab already"* ]]
	[ -e "$lab/mnt/precious" ]

	"$disklab" down
	nothing_left
	"$disklab" down
}

# Lost otherwise: comparisons of levels, and of RAID with a single disk.
@test "all levels and models come up" {
	for arguments in "--raid 10 --disks 4 --size 512M" "--raid single --size 512M" \
		"--raid single --model gp3 --size 512M" "--raid 0 --disks 3 --model gp3 --size 1G"; do
		# shellcheck disable=SC2086
		up $arguments
		level=$(field raid)
		btrfs filesystem df "$lab/mnt" | grep -iE "^Data, (RAID)?$level:"
		[ "$(df --output=size -B 1M "$lab/mnt" | tail -n 1)" -ge 512 ]
		"$disklab" down
		nothing_left
	done
}

# Lost otherwise: a recovery measured on an array could read garbage.
@test "what is written is what is read, in both phases" {
	up --model hdd --disks 3 --raid 0 --size 1G
	"$disklab" load
	dd if=/dev/urandom of="$work/original" bs=1M count=32 status=none
	sum=$(sha256sum <"$work/original")
	cp "$work/original" "$lab/mnt/loaded"
	"$disklab" run
	dd if="$work/original" of="$lab/mnt/written" bs=256k oflag=direct conv=fsync status=none
	for copy in loaded written; do
		# past the page cache, then through it, but not from it
		[ "$(dd if="$lab/mnt/$copy" bs=1M iflag=direct status=none | sha256sum)" = "$sum" ]
		evict "$lab/mnt/$copy"
		[ "$(sha256sum <"$lab/mnt/$copy")" = "$sum" ]
	done
	[ "$(field health disk 0 reads)" -gt 0 ]
	[ "$(field health disk 2 writes)" -gt 0 ]
}

# Lost otherwise: what redoahead does on a disk that fails could not be tested.
@test "reads fail, and disks stall, when that is requested, and no longer" {
	up --model gp3 --raid single --size 512M
	device=$(field loops 0)
	read_once() { dd if="$device" of=/dev/null bs=4k count=1 iflag=direct status=none; }
	for phase in load run; do
		"$disklab" "$phase"
		"$disklab" fail 2
		no read_once
		no read_once
		read_once
		"$disklab" fail 1000
		no read_once
		"$disklab" fail 0
		read_once
		begun=$(date +%s%N)
		"$disklab" stall 1500
		read_once
		[ $(($(date +%s%N) - begun)) -ge 1500000000 ]
	done
}

# Lost otherwise: everything that is measured on the model.
@test "reads take the time of the model, but not while loading" {
	for model in hdd gp3; do
		up --model "$model" --raid single --size 2G
		device=$(field loops 0)
		slow=$(time_reads "$device")
		requests=$(field health requests)
		[ "$requests" -ge 40 ]
		# An average access takes 12 ms, a request to a volume 0.8 ms.
		least=0.0008 less=$slow
		[ "$model" != hdd ] || least=0.006 less="$slow / 2"
		awk -v slow="$slow" -v least="$least" 'BEGIN { exit !(slow > 40 * least) }'
		# A busy machine may take as long by itself, but not each time.
		"$disklab" load
		wait_until "fast reads" reads_take_less_than "$device" "$less"
		"$disklab" down
	done
}

# Lost otherwise: a killed model would hang its users for ever, and leave loop
# devices and mounts that only a reboot removes.
@test "a killed model hangs nobody and leaves nothing" {
	up --model hdd --disks 2 --raid 0 --size 1G
	dd if=/dev/zero of="$lab/mnt/dirty" bs=1M count=16 status=none
	dd if="$(field loops 1)" of=/dev/null bs=8k iflag=direct status=none 2>/dev/null 3>&- &
	reader=$!
	kill -KILL "$(field pid)"
	wait_until "the end of the reader" is_gone "$reader"
	run -1 "$disklab" status
	[[ $output == broken:* ]]
	"$disklab" down
	nothing_left
}

# Lost otherwise: an unattended benchmark would stop at the first accident.
@test "up removes what a killed model left" {
	up --disks 2 --size 1G
	kill -KILL "$(field pid)"
	up --disks 2 --size 1G
	grep -F "removing what another run left" "$work/up.out"
	[ "$(field state)" = up ]
	"$disklab" down
	nothing_left
}

# Lost otherwise: status and down would wait for ever for a model that does not
# answer.
@test "a stopped model can be taken down" {
	up --disks 2 --size 1G
	kill -STOP "$(field pid)"
	run -1 timeout 600 "$disklab" status
	[[ $output == broken:* ]]
	timeout 600 "$disklab" down
	nothing_left
}

# Lost otherwise: a benchmark could lose its array to a careless command.
@test "an array in use stays until its user has gone" {
	up --disks 2 --size 1G
	(cd "$lab/mnt" && exec sleep 600) 3>&- &
	holder=$!
	wait_until "the user" [ "/proc/$holder/cwd" -ef "$lab/mnt" ]
	run -1 "$disklab" down
	[[ $output == *"End what uses it, or use down --force"* ]]
	[ "$(field state)" = up ]

	kill "$holder"
	wait "$holder" || true
	holder=
	"$disklab" down
	nothing_left
}

# Lost otherwise: any file of root, to who has put a link where the state is kept.
# bats test_tags=diskless
@test "a state directory that another user made, or can write to, or a link is refused" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	local verb
	mkdir "$work"/{theirs,open,own}
	chown nobody "$work/theirs"
	chmod 777 "$work/open"
	ln -s own "$work/link"
	for verb in "up --disks 2 --size 1G" load status down; do
		# shellcheck disable=SC2086
		run -1 "$disklab" $verb --dir "$work/theirs" 3>&-
		[[ $output == *"disklab: $work/theirs cannot be used, because it belongs to user nobody; name "*--dir* ]]
		# shellcheck disable=SC2086
		run -1 "$disklab" $verb --dir "$work/open" 3>&-
		[[ $output == *"$work/open cannot be used, because other users can write to it"* ]]
		# shellcheck disable=SC2086
		run -1 "$disklab" $verb --dir "$work/link" 3>&-
		[[ $output == *"$work/link cannot be used, because it is a symbolic link"* ]]
	done
}

# Lost otherwise: half an array would stay when a step of making it fails.
@test "an array that cannot be made leaves nothing" {
	mkdir "$work/bin"
	printf '#!/bin/sh\necho "no room" >&2\nexit 1\n' >"$work/bin/mkfs.btrfs"
	chmod +x "$work/bin/mkfs.btrfs"
	PATH=$work/bin:$PATH run "$disklab" up --disks 2 --size 1G 3>&-
	[ "$status" -ne 0 ]
	[[ $output == *"no room"* ]]
	nothing_left

	mkdir "$lab"
	touch "$lab/of-somebody"
	run -1 "$disklab" up --disks 2 --size 1G 3>&-
	[[ $output == *"is not empty"* ]]
	[ -e "$lab/of-somebody" ]
	rm -r "$lab"
}
