#!/usr/bin/env bats
# `redoahead restore` as restore_command: with commands that are slow, fail at times, or
# write piecemeal; alone, and in recoveries of a stock server from an archive.

bats_require_minimum_version 1.5.0
load lib/servers
load lib/feeding
load lib/blocks
load lib/follow
load lib/restoring

@test "a segment comes, and the next ones are there before they are requested" {
	local i
	restore --jobs 4 "$(fetch_command)" "${segments[0]}" pg_wal/RECOVERYXLOG
	cmp "$CASE/server/pg_wal/RECOVERYXLOG" "$WORK/archive/${segments[0]}"
	for i in 1 2 3 4; do
		wait_until "segment $i" test -e "$spool/${segments[$i]}"
		cmp "$spool/${segments[$i]}" "$WORK/archive/${segments[$i]}"
	done
	settled
	[ ! -e "$spool/${segments[5]}" ]
	for i in 1 2 3 4 5 6; do
		restore --jobs 4 "$(fetch_command)" "${segments[$i]}" pg_wal/RECOVERYXLOG
		cmp "$CASE/server/pg_wal/RECOVERYXLOG" "$WORK/archive/${segments[$i]}"
		settled
		[ "$(spooled | wc -l)" -le 4 ]
	done
	# Each one was fetched once.
	[ -z "$(sort "$CASE/notes" | uniq -d)" ]
}

@test "what is being fetched is waited for, and not fetched again" {
	restore --jobs 3 "$(fetch_command slow)" "${segments[0]}" pg_wal/RECOVERYXLOG
	wait_until "the fetch" grep -q "${segments[1]}" "$CASE/notes"
	restore --jobs 3 "$(fetch_command slow)" "${segments[1]}" pg_wal/RECOVERYXLOG
	cmp "$CASE/server/pg_wal/RECOVERYXLOG" "$WORK/archive/${segments[1]}"
	settled
	[ -z "$(sort "$CASE/notes" | uniq -d)" ]
	# A command that writes piecemeal never shows half a segment.
	restore --jobs 0 "$(fetch_command piecemeal)" "${segments[5]}" pg_wal/RECOVERYXLOG
	restore --jobs 8 "$(fetch_command piecemeal)" "${segments[5]}" pg_wal/RECOVERYXLOG
	until nothing_restores; do
		for file in "$spool"/????????????????????????; do
			[ ! -e "$file" ] || cmp "$file" "$WORK/archive/${file##*/}"
		done
	done
}

@test "a spool that a crash left is not believed" {
	restore --jobs 2 "$(fetch_command)" "${segments[0]}" pg_wal/RECOVERYXLOG
	settled
	as_server_user truncate -s 500000 "$spool/${segments[1]}"
	as_server_user cp "$WORK/archive/${segments[7]}" "$spool/${segments[2]}"
	as_server_user tee "$spool/${segments[3]}.tmp" <<<half >/dev/null
	as_server_user cp "$WORK/archive/${segments[9]}" "$spool/${segments[9]}"
	as_server_user touch "$spool/${segments[1]}.lock"
	for i in 1 2 3; do
		restore --jobs 2 "$(fetch_command)" "${segments[$i]}" pg_wal/RECOVERYXLOG
		cmp "$CASE/server/pg_wal/RECOVERYXLOG" "$WORK/archive/${segments[$i]}"
		settled
	done
	[ ! -e "$spool/${segments[9]}" ]
	# Killed in the middle of fetching: another one goes on.
	(exec "${as_user[@]}" env -C "$CASE/server" "$WORK/redoahead" restore ': %f %p; exec sleep 1000' "${segments[6]}" pg_wal/RECOVERYXLOG) 3>&- &
	victim=$!
	wait_until "the lock" test -e "$spool/${segments[6]}.lock"
	kill -KILL "$victim"
	wait "$victim" || true
	restore --jobs 0 "$(fetch_command)" "${segments[6]}" pg_wal/RECOVERYXLOG
	restore --jobs 2 "$(fetch_command)" "${segments[6]}" pg_wal/RECOVERYXLOG
	cmp "$CASE/server/pg_wal/RECOVERYXLOG" "$WORK/archive/${segments[6]}"
	settled
	# The spool cannot be made.
	rm -rf "$spool"
	as_server_user touch "$spool"
	restore "$(fetch_command)" "${segments[6]}" pg_wal/RECOVERYXLOG
	cmp "$CASE/server/pg_wal/RECOVERYXLOG" "$WORK/archive/${segments[6]}"
	settled
}

# How many blocks redo of a segment needs that are there, and how many of those are in the page
# cache.
listed_and_resident() {		# DATA SEGMENT
	as_server_user "$WORK/redoahead" prefault -D "$1" --dry-run --wal "$WORK/archive" "$2" 2>/dev/null |
		paths_of | resident "$1"
}

# Those that the WAL between a checkpoint and the crash begins with, without the first.
segments_of_updates() {
	local first
	first=$("$STOCK/bin/pg_controldata" "$WORK/crashed" | sed -n "s/.*REDO WAL file: *//p")
	mapfile -t segments < <(printf '%s\n' "${segments[@]}" | sed -n "/$first/,\$p")
}

# Lost otherwise: WAL, where the archive was replaced or the command corrected since the last
# recovery: this one would take segments of before, and may end too early.
@test "what was fetched for another recovery, or by another command, is not used" {
	local new=$CASE/new archive=$CASE/archive late
	pretend_server
	as_server_user cp -r "$WORK/archive" "$new"
	for i in 1 2 3; do
		printf new | as_server_user dd of="$new/${segments[i]}" bs=1 seek=8192 conv=notrunc status=none
	done
	as_server_user ln -s "$WORK/archive" "$archive"
	restore --jobs 1 --no-prefault "cp $archive/%f %p" "${segments[0]}" pg_wal/RECOVERYXLOG
	settled
	[ "$(spooled)" = "${segments[1]}" ]
	as_server_user ln -sfn "$new" "$archive"
	end_pretended
	start_pretended
	restore --jobs 1 --no-prefault "cp $archive/%f %p" "${segments[1]}" pg_wal/RECOVERYXLOG
	cmp "$CASE/server/pg_wal/RECOVERYXLOG" "$new/${segments[1]}"
	settled
	# Another command; one of the first is still fetching when it begins.
	late="[ %f != ${segments[3]} ] || until [ -e $CASE/go ]; do sleep 0.02; done; cp $WORK/archive/%f %p"
	restore --jobs 2 --no-prefault "$late" "${segments[1]}" pg_wal/RECOVERYXLOG
	wait_until "the second segment" test -e "$spool/${segments[2]}"
	for i in 2 3; do
		restore --jobs 1 --no-prefault "cp $new/%f %p" "${segments[i]}" pg_wal/RECOVERYXLOG
		cmp "$CASE/server/pg_wal/RECOVERYXLOG" "$new/${segments[i]}"
		[ "$i" = 3 ] || [ -e "$spool/${segments[3]}.lock" ]
		as_server_user touch "$CASE/go"
		settled
	done
	end_pretended
}

nobody_prefaults() { flock -n "$spool/prefaulted" true; }
has_prefaulted() { [ "$(grep -c ' ' "$spool/prefaulted")" = "$1" ]; }

# Else recovery would end where its WAL ended when it was fetched ahead.
@test "a segment that is still being written is fetched again when the server requests it" {
	local size
	as_server_user mkdir "$CASE/archive"
	as_server_user cp "$WORK/archive/${segments[0]}" "$WORK/archive/${segments[1]}" "$CASE/archive"
	# As pg_receivewal writes it: of the size of a whole one, with zeros behind its WAL.
	size=$(stat -c %s "$WORK/archive/${segments[2]}")
	head -c $((size / 2)) "$WORK/archive/${segments[2]}" >"$CASE/archive/${segments[2]}.partial"
	truncate -s "$size" "$CASE/archive/${segments[2]}.partial"
	fetch="cp $CASE/archive/%f %p 2>/dev/null || cp $CASE/archive/%f.partial %p"
	restore "$fetch" "${segments[0]}" pg_wal/RECOVERYXLOG
	settled
	[ "$(spooled)" = "${segments[1]}" ]
	# The server gets what there is when it requests it.
	restore "$fetch" "${segments[2]}" pg_wal/RECOVERYXLOG
	cmp "$CASE/server/pg_wal/RECOVERYXLOG" "$CASE/archive/${segments[2]}.partial"
	as_server_user cp "$WORK/archive/${segments[2]}" "$CASE/archive"
	restore "$fetch" "${segments[1]}" pg_wal/RECOVERYXLOG
	settled
	restore "$fetch" "${segments[2]}" pg_wal/RECOVERYXLOG
	cmp "$CASE/server/pg_wal/RECOVERYXLOG" "$WORK/archive/${segments[2]}"
	settled
}

# Lost otherwise: look-ahead beyond the end of a segment, where nobody follows.
@test "what redo of the next segments needs is read, unless follow does that" {
	local listed resident
	segments_of_updates
	pretend_server
	restore --jobs 3 "$(fetch_command)" "${segments[0]}" pg_wal/RECOVERYXLOG
	wait_until "the third segment" has_prefaulted 3
	# Another one would find the lock taken, and end.
	wait_until "the end" nobody_prefaults
	for i in 1 2 3; do
		read -r listed resident < <(listed_and_resident "$CASE/server" "${segments[$i]}")
		[ "$listed" -gt 200 ]
		# The last record may end in a segment that is not there; and there are kernels that
		# reclaim what has not been used for a second (DAMON).  Without prefaulting it is a third.
		[ "$resident" -ge $((listed * 3 / 4)) ] || { echo "segment $i: $resident of $listed" >&2; return 1; }
	done
	# Memory for more of them is freed as the server takes them.
	restore --jobs 3 "$(fetch_command)" "${segments[1]}" pg_wal/RECOVERYXLOG
	wait_until "the next segment" grep -q "^$((16#${segments[4]:16:8})) " "$spool/prefaulted"
	wait_until "the end" nobody_prefaults
	has_prefaulted 3
	no grep -q "^$((16#${segments[1]:16:8})) " "$spool/prefaulted"
	# Not by request; not while somebody holds the lock of follow; not without a server.
	for how in --no-prefault --locked --gone; do
		end_pretended
		pretend_server
		as_server_user mkdir -p "$spool"
		exec 8<"$spool"
		[ "$how" != --locked ] || flock -s 8
		[ "$how" != --gone ] || rm "$CASE/server/postmaster.pid"
		restore --jobs 3 $([ "$how" != --no-prefault ] || echo "$how") "$(fetch_command)" "${segments[0]}" pg_wal/RECOVERYXLOG
		wait_until "segment 3" test -e "$spool/${segments[3]}"
		settled
		exec 8<&-
		[ ! -e "$spool/prefaulted" ]
	done
	end_pretended
}

# Lost otherwise: look-ahead in an archive that is slow, just where redo waits for it.
@test "the server takes a segment before it is prefaulted: the next ones are" {
	segments_of_updates
	pretend_server
	cat >"$CASE/fetch" <<-END
		#!/bin/bash
		[ "\$1" != ${segments[2]} ] || until [ -e "$CASE/go" ]; do sleep 0.02; done
		cp "$WORK/archive/\$1" "\$2"
	END
	chmod 755 "$CASE/fetch"
	restore --jobs 3 "$CASE/fetch %f %p" "${segments[0]}" pg_wal/RECOVERYXLOG
	# To prefault the first takes the end of its last record, which the second has.
	wait_until "the third" test -e "$spool/${segments[3]}"
	restore --jobs 3 "$CASE/fetch %f %p" "${segments[1]}" pg_wal/RECOVERYXLOG
	as_server_user touch "$CASE/go"
	wait_until "the second" grep -q "^$((16#${segments[2]:16:8})) " "$spool/prefaulted"
	end_pretended
	settled
}

# Seconds of a command that hangs, by which it is told from those of others.
forever=1$BASHPID
two_sleep() { [ "$(pgrep -cfx "sleep $forever")" -eq 2 ]; }

# Lost otherwise: processes of others, whose numbers were those of ours.
@test "what a command leaves in a session of its own is left alone, and waited for a while only" {
	pretend_server
	restore --jobs 1 "setsid sleep $forever >/dev/null 2>&1 & cp $WORK/archive/%f %p" "${segments[0]}" pg_wal/RECOVERYXLOG
	wait_until "the segment" test -e "$spool/${segments[1]}"
	settled
	# setsid makes it sleep.
	wait_until "both commands" two_sleep
	mapfile -t left < <(pgrep -fx "sleep $forever")
	end_pretended
	[ ${#left[@]} -eq 2 ]
	kill "${left[@]}"
	for pid in "${left[@]}"; do wait_until "the end of $pid" is_gone "$pid"; done
}

# Lost otherwise: a restart of the server, which would wait for a command that hangs; and the
# end of its logger, which waits for all that have its log open.
@test "what is fetched ahead ends with the startup process" {
	pretend_server
	restore --jobs 3 "[ %f = ${segments[0]} ] && cp $WORK/archive/%f %p || sleep $forever" "${segments[0]}" pg_wal/RECOVERYXLOG \
		7>"$CASE/log-of-server"
	wait_until "three commands" hangs 3
	[ -z "$(find /proc/[0-9]*/fd -lname "$CASE/log-of-server" 2>/dev/null)" ]
	end_pretended
	settled
	hangs 0
	# A lock that is left does not count.
	restore --jobs 0 "$(fetch_command)" "${segments[1]}" pg_wal/RECOVERYXLOG
	restore --jobs 1 "$(fetch_command)" "${segments[1]}" pg_wal/RECOVERYXLOG
	settled
}

hangs() { [ "$(pgrep -fxc "sleep $forever" || true)" = "$1" ]; }

# Lost otherwise: the server's own requests, for which the disk is full.
@test "no more is fetched ahead than there is space for twice" {
	need_namespace --mount
	local fetched
	as_server_user rm -r "$CASE/server/pg_wal"
	as_server_user mkdir "$CASE/server/pg_wal"
	as_user=(unshare --mount sh -c 'mount -t tmpfs -o size=7200k,mode=777 none "$0" && exec "$@"' "$CASE/server/pg_wal" "${as_user[@]}")
	restore --jobs 8 --no-prefault "$(fetch_command)" "${segments[0]}" pg_wal/RECOVERYXLOG
	settled
	fetched=$(sort "$CASE/notes" | uniq | wc -l)
	echo "fetched: $fetched"
	# One for the server, then half of the 6 MB that are left.
	[ "$fetched" -eq 4 ]
}

# Lost otherwise: the server in a container, which would take our processes for its own.
@test "a server that is PID 1 survives the end of what is fetched ahead" {
	[ "$(id -u)" -eq 0 ] || skip "needs root for a PID namespace"
	copy_cluster "$WORK/crashed" "$DATA"
	feed_from_archive "$DATA"
	settings "$DATA" restore_command="$WORK/redoahead restore --jobs 4 \"$CASE/fetch %%f %%p\" %f %p"
	# What is fetched ahead waits until it is killed, or may go on, and makes no process that
	# could be taken for it.
	as_server_user mkfifo "$CASE/fifo"
	cat >"$CASE/fetch" <<-END
		#!/bin/bash
		[[ \$2 != *redoahead.spool* ]] || until [ -e "$CASE/go" ]; do read -rt 0.02 <>"$CASE/fifo"; done
		cp "$WORK/archive/\$1" "\$2"
	END
	chmod 755 "$CASE/fetch"
	(exec unshare --pid --fork --mount-proc --kill-child -- "${as_user[@]}" "$STOCK/bin/postgres" -D "$DATA" -k "$DATA") \
		>"$DATA.log" 2>&1 3>&- &
	server=$!
	wait_until "fetching ahead" grep -q 'restored log file' "$DATA.log"
	wait_until "three processes that fetch ahead" fetch_ahead
	# The command, its shell, and the process that runs it; of the second, the latter alone,
	# and what it leaves is killed by its parent.
	kill -KILL "$(parent "$(parent "${fetchers[0]}")")" "$(parent "${fetchers[0]}")" "${fetchers[0]}"
	kill -KILL "$(parent "$(parent "${fetchers[1]}")")"
	kill -KILL "${fetchers[2]}"
	wait_until "the end of the second" is_gone "${fetchers[1]}"
	as_server_user touch "$CASE/go"
	wait_until "the end of recovery" is_ready "$DATA"
	no grep -E 'terminated by signal|reinitializing' "$DATA.log"
	pkill -INT -P "$server" -x postgres
	wait "$server" || true
	same_data "$WORK/recovered" "$DATA"
}

fetch_ahead() {
	mapfile -t fetchers < <(pgrep -f "^/bin/bash $CASE/fetch .*redoahead.spool")
	[ ${#fetchers[@]} -ge 3 ]
}
parent() { ps -o ppid= "$1" | tr -d " "; }

# Lost otherwise: look-ahead beyond the end of the segment that the server has.
@test "follow decodes segments before the server requests them" {
	segments_of_updates
	copy_cluster "$WORK/crashed" "$DATA"
	feed_from_archive "$DATA"
	# The server waits for the fourth segment, which has been fetched ahead with the fifth.
	cat >"$CASE/restore" <<-END
		#!/bin/bash
		[ "\$1" != ${segments[3]} ] || until [ -e "$CASE/go" ]; do sleep 0.02; done
		exec "$WORK/redoahead" restore --jobs 3 --no-prefault "cp $WORK/archive/%f %p" "\$@"
	END
	chmod 755 "$CASE/restore"
	settings "$DATA" recovery_prefetch=off restore_command="$CASE/restore %f %p"
	evict "$DATA"
	start_follow "$DATA"
	start_server --no-wait "$STOCK" "$DATA"
	wait_until "the request" pgrep -f "^/bin/bash $CASE/restore ${segments[3]}"
	wait_until "blocks of the next segment" is_read_ahead "${segments[4]}"
	pgrep -f "^/bin/bash $CASE/restore ${segments[3]}"
	as_server_user touch "$CASE/go"
	wait_until "the end of recovery" is_ready "$DATA"
	wait_until "the end for follow" has_followed "$DATA"
	stop_follow "$DATA"
	stop_server "$DATA"
	settled
	same_data "$WORK/recovered" "$DATA"
}

is_read_ahead() {			# SEGMENT
	local listed resident
	read -r listed resident < <(listed_and_resident "$DATA" "$1")
	[ "$listed" -gt 1000 ] && [ "$resident" -ge $((listed * 9 / 10)) ]
}

# Lost otherwise: what the command is for.
@test "a stock server recovers from an archive, with follow beside it" {
	copy_cluster "$WORK/crashed" "$DATA"
	# Crash recovery takes the first two from pg_wal, see feed_from_archive.
	feed_from_archive "$DATA"
	settings "$DATA" recovery_prefetch=off \
		restore_command="$WORK/redoahead restore --jobs 4 \"$WORK/fetch $WORK/archive $CASE/notes %%f %%p slow\" %f %p"
	evict "$DATA"
	start_follow "$DATA"
	start_server --no-wait "$STOCK" "$DATA"
	wait_until "the end of recovery" is_ready "$DATA"
	wait_until "the end for follow" has_followed "$DATA"
	stop_follow "$DATA"
	stop_server "$DATA"
	same_data "$WORK/recovered" "$DATA"
	# At the end, the server asks for the last ones again.
	[ "$(sort "$CASE/notes" | uniq -d | while read -r name; do [ ! -e "$WORK/archive/$name" ] || echo "$name"; done | wc -l)" -le 2 ]
	no grep -q 'cannot stat.*0000000[2-9]$' "$DATA.log"
	daemon_has_read "$DATA" 1000
	spool=$DATA/pg_wal/redoahead.spool settled
}
