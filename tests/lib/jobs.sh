# How tests/run runs tests: some at once, each with a time limit, and what counts as its
# results.  To be sourced; it sets functions and the variables below.
#
# The caller sets $only (the one test that is wanted, or nothing), $jobs, $time_limit (minutes)
# and $work (a directory), and `set -m`: each test leads a process group, so that its whole
# family can be ended.

places=1				# tests that may run at once now, which each group sets
started=0				# tests so far
passed=0 failed=0 skipped=0
failures=				# results that are failed, for the end of the output
declare -A running=()	# process group of a test that runs -> "NUMBER SECONDS NAME"

# Begin a test, a command that prints TAP, as soon as there is a place.
begin() {					# NAME COMMAND...
	local name=$1
	shift
	[ -z "$only" ] || [[ " ${name//[\/,.]/ } " == *" $only "* ]] || return 0
	while [ ${#running[@]} -ge "$places" ]; do end_one; done
	started=$((started + 1))
	[ "$places" -gt 1 ] || echo "# $name"
	child "$work/$started" "$@" </dev/null &
	running[$!]="$started $SECONDS $name"
}

# Its output is shown as it comes only if it runs alone.
child() {					# FILE COMMAND...
	local file=$1
	shift
	if [ "$places" -gt 1 ]; then
		limited "$@" >"$file" 2>&1
	else
		limited "$@" 2>&1 | tee "$file"
		return "${PIPESTATUS[0]}"
	fi
}

# Run a command, and end its process group, this shell included, after $time_limit minutes in
# which the machine ran: for a clock, a virtual machine that was suspended has run all the time.
limited() {
	local command watchdog status=0
	"$@" &
	command=$!
	{
		for ((tick = 0; tick < time_limit * 6; tick++)); do
			sleep 10 2>/dev/null
		done
		echo "ended after $time_limit minutes: $*" >&2
		sleep 1			# until it is shown
		trap '' TERM
		kill -TERM 0
		for ((tick = 0; tick < 30; tick++)); do
			sleep 1
			[ "$(pgrep -c -g 0)" -gt 1 ] || exit
		done
		kill -KILL 0
	} >/dev/null &
	watchdog=$!
	wait "$command" || status=$?
	kill "$watchdog" 2>/dev/null || true
	return "$status"
}

# Wait for the end of one of the tests that run; end what it has left behind in
# its process group, show its output and count its results.
end_one() {
	local pid status=0 number begun name
	while :; do
		for pid in "${!running[@]}"; do
			kill -0 "$pid" 2>/dev/null || break 2
		done
		sleep 0.2
	done
	# Of two that a signal ends at the same time, wait -n forgets one.
	wait "$pid" || status=$?
	kill -TERM -- "-$pid" 2>/dev/null || true
	read -r number begun name <<<"${running[$pid]}"
	unset "running[$pid]"
	[ "$places" -eq 1 ] || { echo "# $name"; cat "$work/$number"; }
	count "$name" "$status" "$work/$number"
	echo "# $name: $((SECONDS - begun)) s"
}

end_all() {
	while [ ${#running[@]} -gt 0 ]; do end_one; done
}

# Count results in TAP.  A test that fails, or ends before its plan is done,
# without a failed result is one failure.
count() {					# NAME STATUS FILE
	local name=$1 status=$2 ok not_ok skip missing ended
	read -r ok not_ok skip missing < <(awk '
		/^1\.\.[0-9]+/ { planned += substr($1, 4) }
		/^(not )?ok( |$)/ { ran++ }
		/^(not )?ok .*# *(SKIP|skip)/ { skipped++; next }
		/^ok( |$)/ { passed++ }
		/^not ok( |$)/ { failed++ }
		END { print passed + 0, failed + 0, skipped + 0, (planned > ran) + 0 }' "$3")
	passed=$((passed + ok)) failed=$((failed + not_ok)) skipped=$((skipped + skip))
	if [ "$not_ok" -eq 0 ] &&
		{ [ "$status" -ne 0 ] || [ "$missing" -ne 0 ] || [ $((ok + skip)) -eq 0 ]; }; then
		failed=$((failed + 1))
		ended="not ok - $name: ended with status $status before all of its tests had run"
		echo "$ended"
		failures+="# $ended"$'\n'
	fi
	[ "$not_ok" -eq 0 ] || failures+=$(sed -n "/# *\(SKIP\|skip\)/!s|^not ok|# $name: &|p" "$3")$'\n'
}
