#!/usr/bin/env bats
# What `redoahead restore` reports to the server when something fails: the command, what is
# fetched ahead, or its own usage.  A status up to 125 is the end of the archive to the server.

bats_require_minimum_version 1.5.0
load lib/servers
load lib/restoring

@test "exit statuses, signals, and no partial files" {
	run -1 restore "$(fetch_command)" 0000000100000009000000AA pg_wal/RECOVERYXLOG
	[ ! -e "$CASE/server/pg_wal/RECOVERYXLOG" ]
	run -3 restore ': %f %p; exit 3' "${segments[0]}" pg_wal/RECOVERYXLOG
	run -127 restore 'no_such_command %f %p' "${segments[0]}" pg_wal/RECOVERYXLOG
	# On SIGTERM of its command, the server ends quietly.
	run restore ': %f %p; kill -TERM $$' "${segments[0]}" pg_wal/RECOVERYXLOG
	[ "$status" -eq 143 ]
	# What the command has restored, the server judges: it refuses a file of another size,
	# and must not take it for the end of the archive.
	restore ": %f; echo half > %p" "${segments[0]}" pg_wal/RECOVERYXLOG
	[ "$(cat "$CASE/server/pg_wal/RECOVERYXLOG")" = half ]
	run -1 restore ": %f; cp $WORK/archive/${segments[0]} %p; exit 1" "${segments[0]}" pg_wal/RECOVERYXLOG
	[ ! -e "$CASE/server/pg_wal/RECOVERYXLOG" ]
	[ -z "$(spooled)" ]
	# The next one that fails does no harm.
	restore "[ %f = ${segments[0]} ] && cp $WORK/archive/%f %p || { echo half > %p; exit 1; }" "${segments[0]}" pg_wal/RECOVERYXLOG
	settled
	[ -z "$(spooled)" ]
	# Nor does one that is wrong.
	restore --jobs 3 "if [ %f = ${segments[0]} ]; then cp $WORK/archive/%f %p; else cp $WORK/archive/${segments[8]} %p; fi" "${segments[0]}" pg_wal/RECOVERYXLOG
	settled
	[ -z "$(spooled)" ]
	run -1 restore ": %f %p; exit 1" "${segments[1]}" pg_wal/RECOVERYXLOG
	restore --jobs 0 ": %f; printf '%%s' %% > %p" 00000002.history pg_wal/RECOVERYHISTORY
	[ "$(cat "$CASE/server/pg_wal/RECOVERYHISTORY")" = % ]
	# pg_rewind, and whoever wants a file elsewhere, gets the plain command.
	restore "cp $WORK/archive/%f %p" "${segments[3]}" "$CASE/server/pg_wal/${segments[3]}"
	cmp "$CASE/server/pg_wal/${segments[3]}" "$WORK/archive/${segments[3]}"
	[ -z "$(spooled)" ]
}

# Lost otherwise: all WAL behind it.  To the server, a command that fails reports the end of
# the archive.
@test "a command that fails beside those that fetch ahead is run again when they have ended" {
	# The archive gives out one file at a time.
	local command="echo %f >>notes; case %f in
		${segments[0]}) ;;
		${segments[2]}) until [ -e go ]; do sleep 0.05; done; touch free ;;
		*.history) [ -e free ] && touch %p; exit ;;
		*) [ -e free ] || exit 1 ;;
		esac; cp $WORK/archive/%f %p"
	restore --jobs 2 "$command" "${segments[0]}" pg_wal/RECOVERYXLOG
	wait_until "the fetches" sh -c "grep -q ${segments[1]} $CASE/server/notes && grep -q ${segments[2]} $CASE/server/notes"
	wait_until "the end of one of them" test ! -e "$spool/${segments[1]}.lock"
	restore --jobs 2 "$command" "${segments[1]}" pg_wal/RECOVERYXLOG 3>&- &
	wait_until "the request" sh -c "[ \$(grep -c ${segments[1]} $CASE/server/notes) -eq 2 ]"
	restore --jobs 2 "$command" 00000002.history pg_wal/RECOVERYHISTORY 3>&- &
	wait_until "the other request" grep -q history "$CASE/server/notes"
	as_server_user touch "$CASE/server/go"
	wait %1
	wait %2
	settled
	cmp "$CASE/server/pg_wal/RECOVERYXLOG" "$WORK/archive/${segments[1]}"
	[ -e "$CASE/server/pg_wal/RECOVERYHISTORY" ]
	[ "$(grep -c "${segments[1]}" "$CASE/server/notes")" -eq 3 ]
	# One that is not there is not requested twice where nothing was in its way.
	rm -r "$spool"
	run -1 restore --jobs 2 "$command" 0000000100000009000000AA pg_wal/RECOVERYXLOG
	[ "$(grep -c 0000000100000009000000AA "$CASE/server/notes")" -eq 1 ]
}

# Lost otherwise: the same, where a quota leaves no space beside the spool.
@test "a command that fails beside a spool with segments is run again without them" {
	local command="[ ! -e full ] || ! ls pg_wal/redoahead.spool | grep -qx '[0-9A-F]*' || exit 1; cp $WORK/archive/%f %p"
	restore --jobs 2 "$command" "${segments[0]}" pg_wal/RECOVERYXLOG
	settled
	[ "$(spooled | wc -l)" -eq 2 ]
	as_server_user touch "$CASE/server/full"
	run -0 restore --jobs 2 "$command" "${segments[5]}" pg_wal/RECOVERYXLOG
	settled
	[[ $output == *"the command for \"${segments[5]}\" failed with status 1 "*"use a lower --jobs"* ]]
	cmp "$CASE/server/pg_wal/RECOVERYXLOG" "$WORK/archive/${segments[5]}"
}

# Lost otherwise: why segments are not fetched ahead, on NFS without locks for example.
@test "where files cannot be locked, the server gets its segment, and the reason is logged" {
	as_user=("${as_user[@]}" "$redoahead_root/build/tests/tools/without_call" flock ENOSYS)
	run -0 restore --jobs 4 "$(fetch_command)" "${segments[0]}" pg_wal/RECOVERYXLOG
	[[ $output == *'cannot use segments in "pg_wal/redoahead.spool": Function not implemented; no segment is fetched ahead'* ]]
	cmp "$CASE/server/pg_wal/RECOVERYXLOG" "$WORK/archive/${segments[0]}"
	settled
	[ "$(cat "$CASE/notes")" = "${segments[0]}" ]
}

# Lost otherwise: lines of the server's log that begin with <4>, where its stderr is not the journal.
@test "only in the journal, messages have a priority" {
	local stderr=$CASE/stderr
	: >"$stderr"
	JOURNAL_STREAM=$(stat -c %d:%i "$stderr") "$WORK/redoahead" check -D "$CASE/none" 2>"$stderr" || true
	grep -q '^<3>redoahead: error: ' "$stderr"
	JOURNAL_STREAM=1:2 "$WORK/redoahead" check -D "$CASE/none" 2>"$stderr" || true
	grep -q '^redoahead: error: ' "$stderr"
}

# Lost otherwise: WAL, for the server would take a smaller status for the end of the archive.
@test "wrong usage ends recovery" {
	run -126 restore 'cp %f %p' "${segments[0]}"
	grep -q 'give COMMAND, %f and %p: 2 words are not three' <<<"$output"
	# Lost otherwise: all of the archive but a segment.  Eight commands write the server's file.
	run -126 restore "cp $WORK/archive/${segments[0]} pg_wal/RECOVERYXLOG" "${segments[0]}" pg_wal/RECOVERYXLOG
	grep -q 'COMMAND names no file: write %%f and %%p in it' <<<"$output"
	run -126 restore 'cp %f pg_wal/RECOVERYXLOG' "${segments[0]}" pg_wal/RECOVERYXLOG
	run -126 restore --jobs 65 'cp %f %p' "${segments[0]}" pg_wal/RECOVERYXLOG
	grep -q 'not a number from 0 to 64' <<<"$output"
	run -127 "$WORK/redoahead" restoer 'cp %f %p' "${segments[0]}" pg_wal/RECOVERYXLOG
	grep -q 'no command "restoer"' <<<"$output"
}
