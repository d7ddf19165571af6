#!/usr/bin/env bats
# `redoahead lesslog` as archive_command, without a server: which files it makes, and that
# each of them is complete or not there, whatever happens.
# bats file_tags=fast

bats_require_minimum_version 1.5.0
load lib/common

setup() {
	top=$BATS_TEST_DIRNAME/../..
	redoahead=$top/build/redoahead
	tools=$top/build/tests/tools
	work=$(mktemp -d "${TMPDIR:-/var/tmp}/redoahead-lesslog.XXXXXX")
	name=000000010000000000000003
	mkdir "$work/wal" "$work/archive"
	wal=$work/wal/$name
	out=$work/archive/$name
	"$tools/wal_segment" marked >"$wal"
}

teardown() { rm -rf "$work"; }

lesslog() { "$redoahead" lesslog "$@"; }

# The command fails, as archive_command must, and leaves nothing behind in the archive.
refused() {					# MESSAGE ARGUMENT...
	local message=$1
	shift
	run -1 "$redoahead" lesslog "$@"
	[[ $output == *"$message"* ]] || { echo "not \"$message\": $output"; return 1; }
	[ "$(wc -l <<<"$output")" -eq 1 ]
	[ -z "$(ls -A "$work/archive")" ]
}

# The records and images of a segment, in a line each.
records() {					# SEGMENT
	rm -rf "$work/one"
	mkdir "$work/one"
	cp "$1" "$work/one/$name"
	"$tools/wal_references" "$work/one" 1 1048576 0/300028 2>/dev/null
}

# Run the command with a fault in one of its system calls.
with_fault() {				# CALL:FAULT ARGUMENT...
	local fault=$1
	shift
	strace -qq -o /dev/null -e trace="${fault%%:*}" -e inject="$fault" "$redoahead" lesslog "$@"
}

# Lost otherwise: what the command is for, and records beside the images.
@test "marked images are removed, and all records stay where they are" {
	local summary
	summary=$(lesslog --json "$wal" "$out")
	[ "$(stat -c %s "$out")" -eq 1048576 ]
	records "$wal" >"$work/before"
	records "$out" >"$work/after"
	[ "$(grep -c ' FPW' "$work/before")" -gt 100 ]
	diff <(sed 's/ FPW//' "$work/before") <(sed 's/ FPW UNUSED//' "$work/after")
	[ "$(grep -c ' UNUSED' "$work/after")" -gt 100 ]
	# The others are of hints.
	[ $(($(grep -c ' FPW' "$work/before") - $(grep -c ' UNUSED' "$work/after"))) -eq 18 ]
	echo "$summary" >"$work/summary"
	[ "$(json_member "$work/summary" images_removed)" -eq "$(grep -c ' FPW' "$work/before")" ]
	[ "$(json_member "$work/summary" hints_removed)" -eq 18 ]
	[ "$(json_member "$work/summary" segment)" = $name ]
	[ "$(json_member "$work/summary" unchanged_reason)" = None ]
	[ "$(json_member "$work/summary" kept spans_segments)" -eq 1 ]
	[ "$(gzip -c "$out" | wc -c)" -lt 40000 ]
	# Once more removes nothing.
	lesslog "$out" "$work/again" 2>"$work/log"
	cmp "$out" "$work/again"
	[ ! -s "$work/log" ]
}

# Lost otherwise: images of servers that have written no data beside them.
@test "images that are not marked stay" {
	"$tools/wal_segment" unmarked >"$wal"
	lesslog --json "$wal" "$out" >"$work/summary"
	cmp "$wal" "$out"
	[ "$(json_member "$work/summary" kept not_optional)" -gt 100 ]
	[ "$(json_member "$work/summary" images_removed)" -eq 0 ]
}

@test "the usual programs decompress what is archived" {
	lesslog "$wal" "$out"
	lesslog --compress zstd "$wal" "$out.zst"
	lesslog --compress=zstd:19 "$wal" "$out.19.zst"
	lesslog --compress lz4 "$wal" "$out.lz4"
	cmp "$out" <(zstd -dc "$out.zst")
	cmp "$out" <(zstd -dc "$out.19.zst")
	cmp "$out" <(lz4 -dc "$out.lz4")
	zstd -lv "$out.zst" | grep -q 'Check: XXH64'
	[ "$(stat -c %s "$out.zst")" -lt 30000 ]
	[ "$(stat -c %a "$out.zst")" = "$(stat -c %a "$wal")" ]
	[ "$(ls -A "$work/archive" | wc -l)" -eq 4 ]
}

@test "as a filter, and from standard input" {
	lesslog "$wal" "$out"
	cmp "$out" <(lesslog "$wal" -)
	cmp "$out" <(lesslog - - <"$wal")
	cmp "$out" <(cat "$wal" | lesslog - -)
	cmp "$out" <(cat "$wal" | lesslog --compress zstd - - | zstd -dc)
	cat "$wal" | lesslog - "$out.2"
	cmp "$out" "$out.2"
	# What is no segment passes, and a reader that goes is an error.
	[ "$(echo history | lesslog - - 2>&1)" = history ]
	run -1 bash -o pipefail -c '"$1" lesslog "$2" - 2>&1 >&3 3>&- | cat' - "$redoahead" "$wal" 3> >(exec 0<&-)
	[[ $output == *'cannot write "-": Broken pipe'* ]]
}

# Lost otherwise: timelines, and backups that cannot be restored.
@test "files that are no segments pass through, compressed as the others" {
	local file
	echo "1	0/3000000	no recovery target specified" >"$work/wal/00000002.history"
	echo "START WAL LOCATION: 0/3000028" >"$work/wal/$name.00000028.backup"
	head -c 500000 "$wal" >"$work/wal/$name.partial"
	: >"$work/wal/empty"
	for file in 00000002.history $name.00000028.backup $name.partial empty; do
		run -0 lesslog --compress zstd "$work/wal/$file" "$work/archive/$file.zst"
		[ -z "$output" ]
		cmp "$work/wal/$file" <(zstd -dc "$work/archive/$file.zst")
		run -0 lesslog --compress lz4 "$work/wal/$file" "$work/archive/$file.lz4"
		cmp "$work/wal/$file" <(lz4 -dc "$work/archive/$file.lz4")
		lesslog "$work/wal/$file" "$work/archive/$file"
		cmp "$work/wal/$file" "$work/archive/$file"
	done
}

# Lost otherwise: a primary whose disk fills because it cannot archive, and the traces of damage.
@test "a segment that does not decode is archived unchanged, with one warning" {
	local reason
	unchanged() {			# REASON
		rm -f "$out"
		run -0 --separate-stderr lesslog --json "$wal" "$out"
		cmp "$wal" "$out"
		[ "$(wc -l <<<"$stderr")" -eq 1 ]
		[[ $stderr == *"warning: \"$wal\" is archived unchanged: "*"$1"* ]] || { echo "$stderr"; return 1; }
		[[ $output == *'"unchanged_reason":"'*"$1"* ]]
		[[ $output == *'"images_removed":0'* ]]
	}
	cp "$wal" "$work/good"
	truncate -s 500000 "$wal"
	unchanged "500000 bytes, and its segments have 1048576"
	truncate -s 1048576 "$wal"
	unchanged "the record at 0/00378478 has another CRC"
	truncate -s 499712 "$wal"
	truncate -s 1048576 "$wal"
	unchanged "the page at 0/0037A000 is of another version of PostgreSQL, or empty"
	head -c 1048576 /dev/urandom >"$wal"
	unchanged "known version of PostgreSQL"
	: >"$wal"
	unchanged "known version of PostgreSQL"
	cp "$work/good" "$wal"
	printf x | dd of="$wal" bs=1 seek=1000000 conv=notrunc status=none
	unchanged "has another CRC"
	cp "$work/good" "$wal"
	printf '\377' | dd of="$wal" bs=1 seek=$((8192 + 2)) conv=notrunc status=none
	unchanged "the page at 0/00302000 has unknown flags"
	# The right segment in the wrong file.
	mv "$work/good" "$work/wal/000000010000000000000004"
	wal=$work/wal/000000010000000000000004
	unchanged "the page at 0/00400000 is that of another position"
}

# Lost otherwise: an archiver that stops because the server crashed after the last run.
@test "what is archived already is a success" {
	local inode
	lesslog --compress zstd "$wal" "$out"
	inode=$(stat -c %i "$out")
	run -0 lesslog --json --compress zstd "$wal" "$out"
	[[ $output == *'"already_archived":true'* ]]
	[ "$(stat -c %i "$out")" = "$inode" ]
	# With another level it is the same content; and with the images, too.
	lesslog --compress zstd:9 "$wal" "$out"
	cp "$wal" "$out.plain"
	lesslog "$wal" "$out.plain"
	cmp "$wal" "$out.plain"
	[ "$(ls -A "$work/archive" | wc -l)" -eq 2 ]
}

# Lost otherwise: a segment of another server, or of another timeline's, in the same archive.
@test "what is in the archive is never replaced" {
	keeps() {				# MESSAGE ARGUMENT...
		local message=$1 before
		shift
		before=$(stat -c '%i %s %Y' "$out"; md5sum "$out")
		run -1 lesslog "$@" "$wal" "$out"
		[[ $output == *"\"$out\" exists, and is not"*"$message"* ]] || { echo "$output"; return 1; }
		[ "$before" = "$(stat -c '%i %s %Y' "$out"; md5sum "$out")" ]
		[ "$(ls -A "$work/archive" | wc -l)" -eq 1 ]
	}
	"$tools/wal_segment" unmarked >"$out"
	keeps "other content"
	truncate -s 5000 "$out"
	keeps "it is shorter"
	lesslog "$wal" "$work/removed"
	cat "$work/removed" <(echo x) >"$out"
	keeps "it is longer"
	keeps "damaged or incomplete" --compress zstd
	keeps "damaged or incomplete, or of another --compress" --compress lz4
	lesslog --compress zstd "$wal" "$work/removed.zst"
	head -c -1 "$work/removed.zst" >"$out"
	keeps "damaged or incomplete" --compress zstd
	cat "$work/removed.zst" <(echo) >"$out"
	keeps "damaged or incomplete" --compress zstd
	keeps "it is shorter"
	: >"$out"
	keeps "it is shorter"
	keeps "damaged or incomplete" --compress zstd
}

@test "what cannot be read or written is an error with a remedy" {
	refused "cannot read \"$work/wal/none\": No such file or directory" "$work/wal/none" "$out"
	refused "cannot read \"$work/wal\": Is a directory" "$work/wal" "$out"
	refused "cannot read \"/dev/null\": it is not a regular file" /dev/null "$out"
	refused "cannot open the directory of \"$work/none/file\": No such file" "$wal" "$work/none/file"
	refused "cannot open the directory of \"$wal/file\": Not a directory" "$wal" "$wal/file"
	refused "cannot open the directory of \"$work/archive/\": Is a directory" "$wal" "$work/archive/"
	refused "standard input is empty" - "$out" </dev/null
	refused "standard input is empty" - - < <(true)
	refused "standard input: it has 500000 bytes, and its segments have 1048576; check the command" - "$out" < <(head -c 500000 "$wal")
	mkdir "$out"
	run -1 lesslog "$wal" "$out"
	[[ $output == *"\"$out\" exists, and is no file; give another name"* ]]
	rmdir "$out"
	mkfifo "$out"
	run -1 lesslog "$wal" "$out"
	[[ $output == *"exists, and is no file"* ]]
	rm "$out"
	ln -s none "$out"
	run -1 lesslog "$wal" "$out"
	[[ $output == *"exists, and is no file"* ]]
	rm "$out"
	refused "File name too long" "$wal" "$work/archive/$(printf 'n%.0s' {1..242})"
}

@test "wrong usage" {
	local arguments
	for arguments in "" "one" "one two three" "--compress gzip one two" "--compress zstd: one two" \
		"--compress zstd:0 one two" "--compress zstd:20 one two" "--compress zstd:-1 one two" \
		"--compress lz4:1 one two" "--compress zstd:3x one two" "--json one -" "--frobnicate one two"; do
		# shellcheck disable=SC2086
		run -2 lesslog $arguments
	done
}

# Lost otherwise: an archive that a full disk has left with half a segment.
@test "a full disk leaves nothing behind" {
	[ "$(id -u)" -eq 0 ] || skip "must be root to mount"
	need_namespace --mount
	unshare --mount bash -eu -c '
		mount -t tmpfs -o size=300k none "$1/archive"
		status=0
		"$2" lesslog "$3" "$4" 2>"$1/log" || status=$?
		[ "$status" -eq 1 ]
		[ -z "$(ls -A "$1/archive")" ]
		# What fits is archived.
		"$2" lesslog --compress zstd "$3" "$4"
		zstd -tq <"$4"' - "$work" "$redoahead" "$wal" "$out"
	grep -q "cannot write \"$out\": No space left on device; make room in the archive" "$work/log"
	[ "$(wc -l <"$work/log")" -eq 1 ]
}

# Lost otherwise: a segment that is in the archive under its name, but only half of it.
@test "a run that is killed leaves nothing under the name, and the next one replaces the rest" {
	local call
	need_strace
	for call in fsync linkat; do
		run -137 with_fault "$call:signal=KILL:when=1" --compress zstd "$wal" "$out"
		[ ! -e "$out" ]
		[ -e "$out.redoahead-tmp" ]
		run -0 lesslog --compress zstd "$wal" "$out"
		[ -z "$output" ]
		[ "$(ls -A "$work/archive")" = $name ]
		zstd -tq <"$out"
		rm "$out"
	done
	# It is complete, and has both names.
	run -137 with_fault unlinkat:signal=KILL:when=1 "$wal" "$out"
	[ -e "$out.redoahead-tmp" ]
	run -0 lesslog --json "$wal" "$out"
	[[ $output == *'"already_archived":true'* ]]
	[ "$(ls -A "$work/archive")" = $name ]
}

# Lost otherwise: what is complete, if a leftover is another name of it.
@test "a leftover may be anything" {
	lesslog "$wal" "$work/archive/other"
	ln "$work/archive/other" "$out.redoahead-tmp"
	lesslog "$wal" "$out"
	cmp "$out" "$work/archive/other"
	rm "$out"
	mkfifo "$out.redoahead-tmp"
	lesslog "$wal" "$out"
	rm "$out"
	ln -s other "$out.redoahead-tmp"
	run -1 lesslog --compress zstd "$wal" "$out"
	[[ $output == *"\"$out.redoahead-tmp\" is a symbolic link; remove it" ]]
	rm "$out.redoahead-tmp"
	: >"$out.redoahead-tmp"
	chmod 0 "$out.redoahead-tmp"
	if [ "$(id -u)" -eq 0 ]; then
		lesslog "$wal" "$out"
	fi
	cmp "$work/archive/other" <(lesslog "$wal" -)
}

# Lost otherwise: a file of two processes, when the server runs the command again.
@test "two runs at once do not mix" {
	: >"$out.redoahead-tmp"
	run -1 flock "$out.redoahead-tmp" "$redoahead" lesslog "$wal" "$out"
	[[ $output == *"cannot write \"$out\": Resource temporarily unavailable; wait for the process that writes it"* ]]
	[ ! -e "$out" ]
	[ -e "$out.redoahead-tmp" ]
	lesslog "$wal" "$out"
	[ "$(ls -A "$work/archive")" = $name ]
}

# Run the command with faults, of which one stops it.
start_stopped() {			# LOG FAULT... ARGUMENT...
	local log=$1 faults=()
	shift
	while [[ $1 == *:* ]]; do
		faults+=(-e "inject=$1")
		shift
	done
	rm -f "$log.calls"
	strace -qq -o "$log.calls" "${faults[@]}" "$redoahead" lesslog "$@" >"$log" 2>&1 3>&- &
	tracer=$!
	wait_until "the archiver to stop" grep -q 'stopped by SIGSTOP' "$log.calls"
	archiver=$(pgrep -P "$tracer")
}

# Let it go on, to end with a status.
finish() {					# STATUS TRACER ARCHIVER
	local status=0
	kill -CONT "$3"
	wait "$2" || status=$?
	[ "$status" -eq "$1" ]
}

# Lost otherwise: a segment, if the archive has another one under its name.
@test "a segment that the server recycles meanwhile is not archived" {
	local tracer archiver
	need_strace
	start_stopped "$work/log" fsync:signal=STOP:when=1 "$wal" "$out"
	mv "$wal" "$work/wal/recycled"
	finish 1 "$tracer" "$archiver"
	mv "$work/wal/recycled" "$wal"
	grep -q "\"$wal\" was renamed or replaced while it was read" "$work/log"
	[ -z "$(ls -A "$work/archive")" ]
}

# Lost otherwise: a segment, where two hosts archive to a directory whose locks they do not share.
@test "without locks, what another process has written so far is not published" {
	local tracer archiver other faults
	need_strace
	# The file gets its name as an open file; by renaming it; and by a link, which is too late.
	for faults in fsync:signal=STOP:when=1 linkat:error=EPERM:signal=STOP \
		"linkat:error=EPERM:when=1 renameat2:error=EINVAL:signal=STOP"; do
		# shellcheck disable=SC2086
		start_stopped "$work/log" flock:retval=0 $faults "$wal" "$out"
		other=("$tracer" "$archiver")
		start_stopped "$work/other" flock:retval=0 write:signal=STOP:when=3 "$wal" "$out"
		finish 1 "${other[@]}"
		grep -q "\"$out.redoahead-tmp\" was removed or replaced while it was written" "$work/log"
		if [[ $faults == *renameat2* ]]; then
			finish 1 "$tracer" "$archiver"
		else
			[ "$(ls -A "$work/archive")" = "$name.redoahead-tmp" ]
			finish 0 "$tracer" "$archiver"
			[ "$(ls -A "$work/archive")" = $name ]
			cmp "$out" <(lesslog "$wal" -)
		fi
		rm "$out"
	done
}

@test "SIGTERM ends a run without a trace" {
	need_strace
	run -1 with_fault fsync:signal=TERM:when=1 "$wal" "$out"
	[[ $output == *"stopping: Terminated"* ]]
	[ -z "$(ls -A "$work/archive")" ]
}

# Lost otherwise: a segment that the server removes, and that is not on disk.
@test "errors of the device are errors" {
	local call
	need_strace
	for call in fsync:error=EIO:when=1 write:error=EIO:when=1 pread64:error=EIO:when=4+ linkat,renameat2:error=EIO flock:error=ENOLCK; do
		run -1 with_fault "$call" --compress zstd "$wal" "$out"
		[[ $output == *"redoahead: error: "* ]]
		[ -z "$(ls -A "$work/archive")" ]
	done
	# The name may not be on disk: the next run makes sure that it is.
	run -1 with_fault fsync:error=EIO:when=2 "$wal" "$out"
	[[ $output == *"Input/output error"* ]]
	run -1 with_fault fsync:error=EIO:when=2 "$wal" "$out"
	run -0 lesslog "$wal" "$out"
}

@test "file systems that cannot link or rename as wanted" {
	local faults
	need_strace
	for faults in "linkat:error=EPERM" "linkat:error=EPERM:when=1 renameat2:error=EINVAL" \
		"linkat:error=EPERM renameat2:error=ENOSYS"; do
		# shellcheck disable=SC2086
		run -0 strace -qq -o /dev/null $(printf ' -e inject=%s' $faults) "$redoahead" lesslog "$wal" "$out"
		cmp "$out" <(lesslog "$wal" -)
		[ "$(ls -A "$work/archive")" = $name ]
		rm "$out"
	done
	# Directories that cannot be synced need not be.
	run -0 with_fault fsync:error=EINVAL:when=2 "$wal" "$out"
}

# Lost otherwise: archiving in a chroot without /proc.
@test "without /proc, files are archived, too" {
	[ "$(id -u)" -eq 0 ] || skip "must be root to mount"
	need_namespace --mount
	run -0 unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' - "$redoahead" lesslog "$wal" "$out"
	cmp "$out" <(lesslog "$wal" -)
	[ "$(ls -A "$work/archive")" = $name ]
}
